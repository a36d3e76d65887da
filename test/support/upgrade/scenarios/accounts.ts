/** Accounts, sessions, keys, stored answers, policies, agents and watch lists. @module */
import { randomUUID } from 'node:crypto'
import { signIn, signUp } from '../../domain/accounts.ts'
import { agentRoutesOf, newAgentKey } from '../../domain/agents.ts'
import { invited, openTeam } from '../../domain/team.ts'
import type { Story } from '../story.ts'

const ME = '/console/api/me'
const KEYS = '/console/api/keys'

interface NewKey {
  readonly keyId: string
  readonly apiKey: string
}

/** A browser's session, and passwords that are right and wrong. */
const signInAndOut = async ({ app, remember }: Story): Promise<void> => {
  const account = await signUp(app)
  const { email, password } = account
  const { headers } = await signIn(app, account)
  await signIn(app, { email, password: 'a wrong horse battery' })
  const body = { email, password }
  remember({ what: 'a session goes on', method: 'GET', path: ME, by: headers })
  remember({ what: 'an account signs in', method: 'POST', path: '/console/api/session', body, status: 201 })
}

/** A member with a role, and an invitation that is open. */
const invite = async ({ app, remember }: Story): Promise<void> => {
  const { owner, members } = await openTeam(app, 'auditor')
  await invited(app, owner)
  remember({
    what: 'members have their roles',
    method: 'GET',
    path: '/console/api/accounts',
    by: owner.headers,
  })
  remember({ what: 'a role says what it may do', method: 'GET', path: ME, by: members[0]?.headers })
}

/** Keys that count and keys that no longer do. */
const makeKeys = async ({ ok, remember }: Story): Promise<void> => {
  const make = (body: object) => ok<NewKey>('POST', KEYS, body)
  const narrow = await make({ label: 'narrow', scopes: ['merchant'] })
  const revoked = await make({ label: 'revoked' })
  await ok('DELETE', `${KEYS}/${revoked.keyId}`)
  const rotated = await make({ label: 'rotated' })
  const next = await ok<NewKey>('POST', `${KEYS}/${rotated.keyId}/rotate`, { overlapSeconds: 0 })
  const overlapping = await make({ label: 'overlapping' })
  await ok<NewKey>('POST', `${KEYS}/${overlapping.keyId}/rotate`, { overlapSeconds: 30 * 86_400 })
  const me = (what: string, by: string, status = 200) =>
    remember({ what, method: 'GET', path: ME, by, status })
  me('a key signs in', narrow.apiKey)
  me('a revoked key does not', revoked.apiKey, 401)
  me('a rotated key does not', rotated.apiKey, 401)
  me('what it was rotated to does', next.apiKey)
  me('a key works beside what it was rotated to', overlapping.apiKey)
  remember({
    what: 'a key has its scopes only',
    method: 'GET',
    path: KEYS,
    by: narrow.apiKey,
    status: 403,
  })
}

/** Answers that are kept for a day; the fixture is opened within it. */
const repeatRequests = async ({ app, owner, remember }: Story): Promise<void> => {
  const repeatable = [
    [KEYS, { label: 'made once' }],
    ['/api/tokens/generate', { subject: 'member-7' }],
    ['/api/consent/log', { subjectId: 'once', controller: 'https://shop.example', purposes: ['analytics'] }],
  ] as const
  for (const [path, body] of repeatable) {
    const headers = { 'idempotency-key': randomUUID() }
    const { status } = await app.request('POST', path, { key: owner.apiKey, body, headers })
    const what = `a repeated Idempotency-Key gets its stored answer from ${path}`
    remember({ what, method: 'POST', path, by: owner.apiKey, body, headers, status })
  }
}

const decide = async ({ ok, owner, remember }: Story): Promise<void> => {
  const path = '/console/api/policies/order'
  const rule = (limit: number) => ({
    effect: 'permit',
    reason: 'SMALL',
    rules: [{ field: 'context.amount', op: 'lte', value: limit }],
  })
  await ok('PUT', path, { rules: [rule(10)] })
  await ok('PUT', path, { rules: [rule(100)] })
  const body = {
    subject: { type: 'user', id: 'ada@shop.example' },
    action: { name: 'refund' },
    resource: { type: 'order', id: 'A-1007' },
  }
  for (const [amount, decision] of [
    [50, true],
    [500, false],
  ] as const)
    remember({
      what: `a policy decides on an amount of ${amount}`,
      method: 'POST',
      path: '/v1/nior/policy/decide',
      by: owner.apiKey,
      body: { ...body, context: { amount } },
      says: { '/decision': decision },
    })
  remember({ what: 'the last version of a policy counts', method: 'GET', path, by: owner.apiKey })
}

/** Agents in every state, a device, badges. */
const enrolAgents = async ({ app, ok, owner, remember, signed }: Story): Promise<void> => {
  const agents = agentRoutesOf(app, owner.apiKey)
  const limits = { currency: 'GBP', per_transaction: 50, per_day: 200, allowed_actions: ['purchase'] }
  await agents.pending(await newAgentKey())
  const active = await agents.active(await newAgentKey('P-256'), { limits, capabilities: ['purchase'] })
  const suspended = await agents.active(await newAgentKey())
  await agents.step(suspended.agent_id, 'suspend')
  const revoked = await agents.active(await newAgentKey())
  await agents.step(revoked.agent_id, 'revoke')
  const { body: badge } = await agents.badge({ agent_id: active.agent_id, format: 'jws' })
  if (badge.jws === null) throw new Error(`no signed badge: ${JSON.stringify(badge)}`)
  signed('a badge of an agent', badge.jws)
  await ok('POST', '/v1/devices', { name: 'Scanner' })
  for (const { agent_id } of [active, suspended, revoked]) {
    const path = `/console/api/agents/${agent_id}`
    remember({ what: 'an agent is what it was', method: 'GET', path, by: owner.apiKey })
  }
  for (const kind of ['agents', 'devices'])
    remember({ what: `all ${kind}`, method: 'GET', path: `/console/api/${kind}`, by: owner.apiKey })
}

const screen = async ({ app, ok, owner, remember }: Story): Promise<void> => {
  const content = JSON.stringify({
    id: 'own-7',
    schema: 'Person',
    properties: { name: ['Maximilian Probemann'], birthDate: ['1961-04-12'] },
  })
  const list = {
    action: 'upload',
    listId: 'house-list',
    format: 'opensanctions',
    checkTypes: ['watchlist'],
    files: [{ name: 'house.ftm.json', content }],
  }
  await ok('POST', '/console/api/lists', list, app.adminKey)
  for (const name of ['Maximilian Probemann', 'Grace Hopper']) {
    const body = { userId: `screened-${name.length}`, name, dateOfBirth: '1961-04-12', country: 'DE' }
    await ok('POST', '/api/aml/check', body)
    const what = `${name} is on the same lists`
    remember({ what, method: 'POST', path: '/api/aml/check', by: owner.apiKey, body })
  }
}

export const fillAccounts = async (story: Story): Promise<void> => {
  await signInAndOut(story)
  await invite(story)
  await makeKeys(story)
  await repeatRequests(story)
  await decide(story)
  await enrolAgents(story)
  await screen(story)
}
