/** Tokens of all kinds, tickets, consents, people. @module */
import { ok } from '../../client.ts'
import { signIn } from '../../domain/accounts.ts'
import { consentRoutesOf } from '../../domain/consents.ts'
import { hybridRoutesOf, signaturesOf, signingAgent } from '../../domain/hybrid-tokens.ts'
import { annaWith, kycRoutesOf } from '../../domain/kyc.ts'
import { screeningRoutesOf } from '../../domain/screening.ts'
import { addMember } from '../../domain/team.ts'
import { ticketRoutesOf } from '../../domain/tickets.ts'
import { tokenRoutesOf } from '../../domain/tokens.ts'
import type { Story } from '../story.ts'

const DAY_SECONDS = 86_400

const fillTokens = async ({ app, owner, remember, signed }: Story): Promise<void> => {
  const tokens = tokenRoutesOf(app, owner.apiKey)
  const audience = 'https://gate.example'
  const plain = await tokens.issued({ audience, claims: { level: 'gold', seats: 2 }, ttl: DAY_SECONDS })
  const used = await tokens.issued({ singleUse: true, ttl: DAY_SECONDS })
  const unused = await tokens.issued({ singleUse: true, ttl: DAY_SECONDS })
  const revoked = await tokens.issued({ ttl: DAY_SECONDS })
  await tokens.validate({ token: used.token, consume: true })
  await tokens.revoke(revoked.tokenId, 'lost')
  signed('a token', plain.token)
  const path = '/api/tokens/validate'
  const validate = (what: string, body: object, more: object = {}) =>
    remember({ what, method: 'POST', path, by: owner.apiKey, body, ...more })
  validate('a token is valid', { token: plain.token, audience }, { says: { '/valid': true } })
  validate('a token for elsewhere is not', { token: plain.token, audience: 'https://else.example' })
  validate('a used token stays used', { token: used.token, consume: true }, { status: 409 })
  validate('a token of one use is still there', { token: unused.token }, { says: { '/valid': true } })
  const use = { token: unused.token, consume: true }
  validate('and can be used', use, { says: { '/valid': true, '/consumed': true }, once: true })
  validate('a revoked token stays revoked', { token: revoked.token }, { says: { '/valid': false } })
  for (const { tokenId } of [plain, used, unused, revoked])
    remember({
      what: 'what a token is',
      method: 'GET',
      path: `/api/tokens/${tokenId}/status`,
      by: owner.apiKey,
    })
}

const fillHybridTokens = async ({ app, ok, owner, remember }: Story): Promise<void> => {
  const hybrid = hybridRoutesOf(app, owner.apiKey)
  const exp = Math.floor(Date.now() / 1000) + 30 * DAY_SECONDS
  const own = await hybrid.issued({ exp, claims: { decision: 1, level: 'gold' } })
  const p256 = await hybrid.issued({ exp, alg_classical: 'ECDSA_P256', alg_pq: 'Dilithium3' })
  const revoked = await hybrid.issued({ exp })
  const agent = await signingAgent(app, owner)
  const kids = { kid_classical: agent.classical.kid, kid_pq: agent.pq.kid }
  const { body: draft } = await hybrid.prepare({ subject: 'x', alg_pq: 'Dilithium2', exp, ...kids })
  const ofAgent = await hybrid.issued({ ...draft, ...signaturesOf(agent, draft) })
  await ok('POST', '/api/tokens/revoke', { tokenId: revoked.token_id })
  const path = '/v1/tokens/validate-quantum-safe'
  for (const [what, token, valid] of [
    ['a hybrid token is valid', own, true],
    ['so is one of other algorithms', p256, true],
    ['so is one that an agent signed', ofAgent, true],
    ['a revoked one is not', revoked, false],
  ] as const)
    remember({
      what,
      method: 'POST',
      path,
      by: owner.apiKey,
      body: { token, accept_signers: [agent.agentId] },
      says: { '/valid': valid },
    })
}

const fillTickets = async ({ app, owner, remember }: Story): Promise<void> => {
  const tickets = ticketRoutesOf(app, owner.apiKey)
  const spent = await tickets.issued({ subject: 'member-7', single_use: true, ttl: DAY_SECONDS })
  const open = await tickets.issued({
    subject: 'member-8',
    single_use: true,
    claims: { seat: '12A' },
    ttl: DAY_SECONDS,
  })
  const revoked = await tickets.issued({ subject: 'member-9', ttl: DAY_SECONDS })
  await ok(app, 'POST', `/console/api/tickets/${revoked.ticket_id}/revoke`, {
    key: owner.apiKey,
    body: { reason: 'lost' },
  })
  await tickets.handIn([spent.qr_payload])
  const handIn = (what: string, ticket: string, more: object) =>
    remember({
      what,
      method: 'POST',
      path: '/v1/qr/proofs/batch',
      by: owner.apiKey,
      body: { proofs: [ticket] },
      ...more,
    })
  handIn('a spent ticket stays spent', spent.qr_payload, { status: 409 })
  handIn('a revoked ticket is not redeemed', revoked.qr_payload, {
    says: { '/results/0/reason_codes/0': 'TICKET_REVOKED' },
  })
  handIn('a ticket that nobody has used can be', open.qr_payload, {
    says: { '/results/0/consumed': true },
    once: true,
  })
}

const fillConsents = async ({ app, owner, remember, signed }: Story): Promise<void> => {
  const consents = consentRoutesOf(app, owner.apiKey)
  const given = await consents.logged({ subjectId: 'given', purposes: ['newsletter', 'analytics'] })
  const withdrawn = await consents.logged({ subjectId: 'withdrawn' })
  await consents.revoke(withdrawn.consentId, 'asked by telephone')
  const superseded = await consents.logged({ subjectId: 'superseded' })
  const later = await consents.logged({ subjectId: 'superseded', purposes: ['newsletter', 'analytics'] })
  signed('a receipt of a consent', given.receipt)
  for (const subjectId of ['given', 'withdrawn', 'superseded', 'nobody']) {
    const body = { subjectId, purpose: 'newsletter', controller: 'https://shop.example' }
    const says = { '/valid': subjectId === 'given' || subjectId === 'superseded' }
    const what = `the consent of "${subjectId}"`
    remember({ what, method: 'POST', path: '/api/consent/verify', by: owner.apiKey, body, says })
  }
  for (const { consentId } of [given, withdrawn, superseded, later]) {
    const path = `/api/consent/${consentId}/status`
    remember({ what: 'what became of a consent', method: 'GET', path, by: owner.apiKey })
  }
}

/** A decision on a case that waits for a second reviewer, which is not wanted for long. */
const proposeDecision = async (app: Story['app'], { apiKey: key }: Story['owner']): Promise<void> => {
  const want = (secondReviewer: boolean) =>
    ok(app, 'PUT', '/console/api/review-settings', { key, body: { secondReviewer } })
  await want(true)
  const person = { userId: 'reviewed', data: { givenName: 'Anna' } }
  const { reference } = (await kycRoutesOf(app, key).verify(person)).body
  const { headers } = await signIn(app, await addMember(app, { key }, 'operator'))
  const body = { reference, verdict: 'approve', reason: 'The passport was seen.' }
  await ok(app, 'POST', '/console/api/people/reviewed/decision', { headers, body })
  await want(false)
}

const fillPeople = async ({ app, owner, remember }: Story): Promise<void> => {
  const people = kycRoutesOf(app, owner.apiKey)
  await people.verified('anna')
  await people.verified('moved')
  await people.verified('moved', annaWith({ country: 'NO' }))
  await people.verified('erased')
  await people.erase('erased')
  for (const userId of ['anna', 'moved'])
    for (const rest of ['', '/data', '/credential'])
      remember({
        what: `what is known of "${userId}"${rest}`,
        method: 'GET',
        path: `/api/kyc/${userId}${rest}`,
        by: owner.apiKey,
      })
  await proposeDecision(app, owner)
  remember({
    what: 'a decision waits for a second reviewer',
    method: 'GET',
    path: '/console/api/people?userId=reviewed',
    by: owner.apiKey,
  })
  const path = '/api/kyc/erased/data'
  remember({ what: 'who was erased is gone', method: 'GET', path, by: owner.apiKey, status: 404 })
}

/** Somebody on the list that ships, decided once; the other finding waits. */
const fillScreening = async ({ app, owner, remember, signed }: Story): Promise<void> => {
  const routes = screeningRoutesOf(app, owner.apiKey)
  const name = 'Ivan Arkadyevich Testov'
  const { findings } = await routes.subscribed({ userId: 'listed', name, dateOfBirth: '1961-04-12' })
  await routes.subscribed({ userId: 'namesake', name })
  await routes.subscribed({ userId: 'left', name: 'Somebody Unlisted' })
  await routes.end('left')
  const decided = await routes.decided(findings[0]?.findingId ?? '', {
    verdict: 'not_this_person',
    reason: 'The passport was seen.',
  })
  signed('a decision on a finding', decided.decision?.jws ?? '')
  for (const status of ['open', 'decided', 'void'])
    remember({
      what: `findings that are ${status}`,
      method: 'GET',
      path: `/api/aml/findings?status=${status}`,
      by: owner.apiKey,
    })
  const path = '/api/aml/subscriptions/left'
  remember({ what: 'who is screened no more', method: 'GET', path, by: owner.apiKey, status: 404 })
}

export const fillTokensAndPeople = async (story: Story): Promise<void> => {
  await fillTokens(story)
  await fillHybridTokens(story)
  await fillTickets(story)
  await fillConsents(story)
  await fillPeople(story)
  await fillScreening(story)
}
