/** What a route's example needs to exist: a caller with its scope, and whatever its `{placeholders}` name. */

import { randomUUID } from 'node:crypto'
import { systemCaller } from '../../src/caller.ts'
import type { Example, Route } from '../../src/http/route.ts'
import type { TestApp, TestOrganisation } from './app.ts'
import { makeLoggedDigest, makePayment } from './circuits/circuit-fixtures.ts'
import { ok } from './client.ts'
import { signIn, signUp } from './domain/accounts.ts'
import { makeSigningAgent } from './domain/agent-trust.ts'
import { agentRoutesOf, newAgentKey } from './domain/agents.ts'
import { makeAuditProof, writeEntry } from './domain/audit-proofs.ts'
import { consentRoutesOf } from './domain/consents.ts'
import { createAgent, postPlain } from './domain/envelopes.ts'
import { createProxy, sharedTarget, USER_ID } from './domain/hermes.ts'
import { hybridRoutesOf } from './domain/hybrid-tokens.ts'
import { kycRoutesOf } from './domain/kyc.ts'
import { bindDomain, createPod } from './domain/pods.ts'
import { challengeRoutesOf } from './domain/presentations.ts'
import { asText, generated } from './domain/proof-api.ts'
import { screeningRoutesOf } from './domain/screening.ts'
import { addMember, invited } from './domain/team.ts'
import { ticketRoutesOf } from './domain/tickets.ts'
import { terminalTill } from './domain/tills.ts'
import { tokenRoutesOf } from './domain/tokens.ts'
import { codeOf, enableTotp, startTotp } from './domain/totp.ts'
import { createWallet, possessionProof, sdJwtRoutesOf } from './domain/wallets.ts'
import { hashOf, signedResult } from './verification.ts'
import { register, verify } from './webhooks.ts'

/** Placeholder → makes the thing and tells its value. */
type Makers = Readonly<
  Record<string, (app: TestApp, owner: TestOrganisation) => Promise<Record<string, string>>>
>

const created = <T>(app: TestApp, key: string, path: string, body: object): Promise<T> =>
  ok(app, 'POST', path, { key, body })

const DOMAIN = 'verify.shop.example'
/** Another, so that what is told of the first does not depend on what was called before. */
const BOUND_DOMAIN = 'checks.shop.example'

const makeBoundPod = async (app: TestApp, { apiKey }: TestOrganisation) => {
  const { podId } = await createPod(app, apiKey)
  await bindDomain(app, podId, BOUND_DOMAIN)
  return { boundPodId: podId }
}

const makeAccount = async (app: TestApp) => {
  const { email, password, accountId } = await signUp(app)
  return { email, password, accountId }
}

const makeTerminal = async (app: TestApp, { apiKey }: TestOrganisation) => {
  const terminal = await created<{ terminalId: string; terminalSecret: string }>(
    app,
    apiKey,
    '/console/api/terminals',
    { label: 'Till' },
  )
  return { terminalId: terminal.terminalId, terminalSecret: terminal.terminalSecret }
}

/** A payment is late when the key that made it was revoked before it arrived. */
const makeLatePayment = async (app: TestApp, owner: TestOrganisation) => {
  const till = await terminalTill(app, owner)
  await app.request('DELETE', `/console/api/keys/${till.keyId}`, { key: owner.apiKey })
  await till.sync([till.payment()])
  const { body } = await app.request<{ payments: { paymentId: string }[] }>(
    'GET',
    '/console/api/payments?status=late',
    { key: owner.apiKey },
  )
  const paymentId = body.payments[0]?.paymentId
  if (paymentId === undefined) throw new Error('no late payment')
  return { paymentId }
}

/** Too many wrong secrets of a terminal. */
const makeAlert = async (app: TestApp, { organisationId: organisation }: TestOrganisation) => {
  const { ledger, security } = app.services
  const row = security.alertRow({ organisation, type: 'auth_bruteforce', subject: 'ter_1', at: Date.now() })
  await ledger.append(systemCaller(organisation, 'test'), (tx) => {
    tx.append({ type: 'gate', data: {} })
    tx.write(row)
  })
  return { alertId: row.values.id }
}

const makeResult = async (app: TestApp, { apiKey }: TestOrganisation) => {
  const result = await signedResult(app, apiKey)
  return { verificationId: result.verificationId, hash: hashOf(result) }
}

/** As the example of its validation wants it. */
const makeToken = async (app: TestApp, { apiKey }: TestOrganisation) => {
  const { token, tokenId } = await tokenRoutesOf(app, apiKey).issued({
    audience: 'https://gate.example',
    singleUse: true,
  })
  return { token, tokenId }
}

/** As the examples of the consent routes want it. */
const makeConsent = async (app: TestApp, { apiKey }: TestOrganisation) => {
  const { consentId } = await consentRoutesOf(app, apiKey).logged({
    subjectId: 'customer-1007',
    purposes: ['newsletter'],
  })
  return { consentId }
}

const makeTicket = async (app: TestApp, { apiKey }: TestOrganisation) => {
  const { ticket_id, qr_payload } = await ticketRoutesOf(app, apiKey).issued()
  return { ticketId: ticket_id, qrPayload: qr_payload }
}

const makeAgent = async (app: TestApp, { apiKey }: TestOrganisation) => {
  const { agent_id } = await agentRoutesOf(app, apiKey).active(await newAgentKey())
  return { agentId: agent_id }
}

const makeSuspendedAgent = async (app: TestApp, owner: TestOrganisation) => {
  const { agentId } = await makeAgent(app, owner)
  await agentRoutesOf(app, owner.apiKey).step(agentId, 'suspend')
  return { suspendedAgentId: agentId }
}

const makeBadge = async (app: TestApp, owner: TestOrganisation) => {
  const { agentId } = await makeAgent(app, owner)
  const { body } = await agentRoutesOf(app, owner.apiKey).badge({ agent_id: agentId })
  return { badgeId: body.badge_id }
}

const makeDevice = async (app: TestApp, { apiKey }: TestOrganisation) => {
  const { device_id } = await created<{ device_id: string }>(app, apiKey, '/v1/devices', { name: 'Scanner' })
  return { deviceId: device_id }
}

const makeVerifiedPerson = async (app: TestApp, { apiKey }: TestOrganisation) => {
  const userId = `customer-${randomUUID()}`
  await kycRoutesOf(app, apiKey).verified(userId)
  return { verifiedUserId: userId }
}

/** Somebody whose data is incomplete. */
const makeReviewedPerson = async (app: TestApp, { apiKey }: TestOrganisation) => {
  const reviewedUserId = `customer-${randomUUID()}`
  const { body } = await kycRoutesOf(app, apiKey).verify({
    userId: reviewedUserId,
    data: { givenName: 'Anna' },
  })
  return { reviewedUserId, reviewedReference: body.reference }
}

/** Somebody on the list that ships, who is found. */
const makeScreenedPerson = async (app: TestApp, { apiKey }: TestOrganisation) => {
  const screenedUserId = `customer-${randomUUID()}`
  const body = { userId: screenedUserId, name: 'Ivan Arkadyevich Testov', checkTypes: ['sanctions'] }
  const { findings } = await screeningRoutesOf(app, apiKey).subscribed(body)
  return { screenedUserId, findingId: findings[0]?.findingId ?? '' }
}

const makeWalletProof = async (app: TestApp, { apiKey }: TestOrganisation) => {
  const wallet = await createWallet()
  const userId = `customer-${randomUUID()}`
  await kycRoutesOf(app, apiKey).verified(userId)
  const nonce = await sdJwtRoutesOf(app, apiKey).nonce(userId)
  const proof = await possessionProof(wallet, nonce)
  return { holderX: wallet.jwk.x, holderY: wallet.jwk.y, possessionProof: proof }
}

/** As the examples of validation and circuit want it. */
const makeHybridToken = async (app: TestApp, { apiKey }: TestOrganisation) => {
  const token = await hybridRoutesOf(app, apiKey).issued()
  return {
    hybridTokenId: token.token_id,
    hybridSigClassical: token.sig_classical,
    hybridSigPq: token.sig_pq,
    hybridIatNumber: String(token.iat),
    hybridExpNumber: String(token.exp),
    hybridKidClassical: token.kid_classical,
    hybridKidPq: token.kid_pq,
  }
}

const makeProof = async (app: TestApp, { apiKey }: TestOrganisation) => {
  const made = await generated(app, apiKey)
  return { proofId: made.proof_id, zk1: asText(made) }
}

const makeChallenge = async (app: TestApp, { apiKey }: TestOrganisation) => {
  const { challenge_id } = await challengeRoutesOf(app, apiKey).asked()
  return { challengeId: challenge_id }
}

const makeProxy = async (app: TestApp, { apiKey }: TestOrganisation) => {
  const { id } = await createProxy(app, { destinationUrl: 'https://api.example.org/members' }, apiKey)
  return { proxyId: id }
}

/** Targets on this machine are open to the operator's routes only. */
const makeHermesRoute = async (app: TestApp) => {
  const target = await sharedTarget()
  const { slug } = await createProxy(app, { destinationUrl: `${target.url}/members` }, app.adminKey)
  return { slug }
}

const makeWebhook = async (app: TestApp, { apiKey }: TestOrganisation) => {
  const { id } = await register(
    app,
    { key: apiKey },
    { url: 'https://hooks.shop.example/', events: ['proof.spent'] },
  )
  return { webhookId: id }
}

/** Paused, so that nothing is sent anywhere; what is announced to it can be read. */
const makeAnnouncedWebhook = async (app: TestApp, { apiKey }: TestOrganisation) => {
  const { id } = await register(
    app,
    { key: apiKey },
    { url: 'https://hooks.shop.example/', events: ['proof.verified'] },
  )
  await ok(app, 'PATCH', `/api/webhooks/${id}`, { key: apiKey, body: { active: false } })
  await verify(app, apiKey)
  return { announcedWebhookId: id }
}

const makePolicy = async (app: TestApp, { apiKey }: TestOrganisation) => {
  const policyId = `order-${randomUUID().slice(0, 8)}`
  const path = `/console/api/policies/${policyId}`
  await ok(app, 'PUT', path, { key: apiKey, body: { rules: [] } })
  return { policyId }
}

const makeMessage = async (app: TestApp) => {
  const { body } = await postPlain(app)
  return { message: String(body.message.id) }
}

/** A signed message, and the envelope by which its author takes it back. */
const makeSignedRemoval = async (app: TestApp) => {
  const agent = createAgent(app)
  const { id } = await agent.posted()
  const envelope = agent.sign({ agent_id: 'ada', action: 'chat.remove', params: { id } })
  return {
    signedMessage: String(id),
    signedMessageNumber: String(id),
    removalId: envelope.id,
    removalKey: envelope.key.x,
    removalAudience: envelope.audience,
    removalIssuedAt: envelope.issued_at,
    removalExpiresAt: envelope.expires_at,
    removalSignature: envelope.signature,
  }
}

/** One that is open. */
const makeInvitation = async (app: TestApp, { apiKey }: TestOrganisation) => {
  const { invitationId, invitation } = await invited(app, { key: apiKey })
  return { invitationId, invitation }
}

const MAKERS: Makers = {
  circuitId: async () => ({ circuitId: 'yesno' }),
  message: makeMessage,
  signedMessage: makeSignedRemoval,
  organisationId: async (_, { organisationId }) => ({ organisationId }),
  accountId: async (app, { apiKey }) => {
    const { accountId } = await addMember(app, { key: apiKey }, 'viewer')
    return { accountId }
  },
  merchantId: async (_, { merchantId }) => ({ merchantId }),
  keyId: async (app, { apiKey }) => {
    const { keyId } = await created<{ keyId: string }>(app, apiKey, '/console/api/keys', { label: 'spare' })
    return { keyId }
  },
  leakedKey: async (app, { apiKey }) => {
    const leaked = await created<{ apiKey: string }>(app, apiKey, '/console/api/keys', { label: 'leaked' })
    return { leakedKey: leaked.apiKey }
  },
  terminalId: makeTerminal,
  level: async () => ({ level: '0' }),
  tile: async () => ({ tile: '000.p/1' }),
  entryIndex: async (app, { apiKey }) => {
    await created(app, apiKey, '/console/api/keys', { label: 'spare' })
    const { body } = await app.request<{ entries: { index: number }[] }>('GET', '/api/audit', { key: apiKey })
    return { entryIndex: String(body.entries[0]?.index) }
  },
  entryIndexNumber: async (app, { apiKey }) => ({ entryIndexNumber: String(await writeEntry(app, apiKey)) }),
  auditProof: makeAuditProof,
  leafCommitment: makeAuditProof,
  poseidonRoot: makeAuditProof,
  auditCtx: makeAuditProof,
  aud: makeAuditProof,
  auditNonce: makeAuditProof,
  shardNumber: makeAuditProof,
  shardSizeNumber: makeAuditProof,
  rootIndexNumber: makeAuditProof,
  treeSizeNumber: makeAuditProof,
  treeRoot: makeAuditProof,
  terminalSecret: makeTerminal,
  paymentId: makeLatePayment,
  alertId: makeAlert,
  proofId: makeProof,
  zk1: makeProof,
  challengeId: makeChallenge,
  slug: makeHermesRoute,
  proxyId: makeProxy,
  userId: async () => ({ userId: USER_ID }),
  policyId: makePolicy,
  webhookId: makeWebhook,
  announcedWebhookId: makeAnnouncedWebhook,
  podId: async (app, { apiKey }) => ({ podId: (await createPod(app, apiKey)).podId }),
  boundPodId: makeBoundPod,
  domain: async () => ({ domain: DOMAIN }),
  token: makeToken,
  tokenId: makeToken,
  agentId: makeAgent,
  agentProof: makeSigningAgent,
  agentRequest: makeSigningAgent,
  suspendedAgentId: makeSuspendedAgent,
  badgeId: makeBadge,
  deviceId: makeDevice,
  ticketId: makeTicket,
  qrPayload: makeTicket,
  verificationId: makeResult,
  hash: makeResult,
  consentId: makeConsent,
  loggedDigest: makeLoggedDigest,
  laterNumber: async () => ({ laterNumber: String(Math.floor(Date.now() / 1000) + 3600) }),
  hybridTokenId: makeHybridToken,
  hybridSigClassical: makeHybridToken,
  hybridSigPq: makeHybridToken,
  hybridIatNumber: makeHybridToken,
  hybridExpNumber: makeHybridToken,
  hybridKidClassical: makeHybridToken,
  hybridKidPq: makeHybridToken,
  proofData: makePayment,
  paymentTime: makePayment,
  asset: async ({ services }) => ({ asset: services.pages.assets[0] ?? '' }),
  verifiedUserId: makeVerifiedPerson,
  reviewedUserId: makeReviewedPerson,
  reviewedReference: makeReviewedPerson,
  screenedUserId: makeScreenedPerson,
  findingId: makeScreenedPerson,
  holderX: makeWalletProof,
  holderY: makeWalletProof,
  possessionProof: makeWalletProof,
  invitationId: makeInvitation,
  invitation: makeInvitation,
  email: makeAccount,
  password: makeAccount,
}

/** What lists have in them when their example is called, by operation: a list that is empty shows nothing. */
const LISTED: Readonly<Record<string, readonly string[]>> = {
  listAccounts: ['accountId'],
  listInvitations: ['invitationId'],
  listTerminals: ['terminalId'],
  listSecurityAlerts: ['alertId'],
  listConsoleAlerts: ['alertId'],
  listAllAlerts: ['alertId'],
  listAudit: ['accountId'],
  listPayments: ['paymentId'],
  listResults: ['hash'],
  listProofs: ['proofId'],
  listConsents: ['consentId'],
  listTokens: ['tokenId'],
  listTickets: ['ticketId'],
  listPeople: ['reviewedUserId'],
  listScreeningFindings: ['findingId'],
  listConsoleScreeningFindings: ['findingId'],
  listAgents: ['agentId'],
  listDevices: ['deviceId'],
  listPods: ['boundPodId'],
  listProxies: ['proxyId'],
  listWebhooks: ['webhookId'],
}

export interface Fixtures {
  /** A key that may call the route. */
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Placeholder → value. */
  readonly values: Readonly<Record<string, string>>
}

const namesIn = (text: string): string[] => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)

/** What the example names, and those parameters of the path that it does not fill. */
export const placeholdersOf = ({ path, example = {} }: Route): Set<string> => {
  const open = namesIn(path).filter((name) => !(name in (example.params ?? {})))
  return new Set([...open, ...namesIn(JSON.stringify(example))])
}

/** The same, and what its lists have in them. */
const neededBy = (route: Route): Set<string> =>
  new Set([...placeholdersOf(route), ...(LISTED[route.name] ?? [])])

/** An account that has a second factor, or is about to. */
const totpFixtures = async (app: TestApp, names: ReadonlySet<string>): Promise<Fixtures> => {
  const account = await makeAccount(app)
  const { headers } = await signIn(app, account)
  if (names.has('totpCode')) {
    const { nextCode } = await enableTotp(app, headers, account)
    return { headers, values: { ...account, totpCode: nextCode } }
  }
  return { headers, values: { ...account, firstTotpCode: codeOf(await startTotp(app, headers, account)) } }
}

/** An account that is signed in twice: as the caller, and in the session that is named. */
const sessionFixtures = async (app: TestApp): Promise<Fixtures> => {
  const account = await makeAccount(app)
  await signIn(app, account)
  const { headers } = await signIn(app, account)
  const { body } = await app.request<{ sessions: { sessionId: string; current: boolean }[] }>(
    'GET',
    '/console/api/sessions',
    { headers },
  )
  const other = body.sessions.find(({ current }) => !current)
  if (other === undefined) throw new Error('no other session')
  return { headers, values: { ...account, sessionId: other.sessionId } }
}

/**
 * Makes what some placeholders name, in an organisation. @param known values that are there already
 * @throws Error for an unknown placeholder
 */
export const makeValues = async (
  app: TestApp,
  owner: TestOrganisation,
  names: Iterable<string>,
  known: Readonly<Record<string, string>> = {},
): Promise<Record<string, string>> => {
  let values = { ...known }
  for (const name of names) {
    if (name in values) continue
    const make = MAKERS[name]
    if (make === undefined) throw new Error(`nobody makes {${name}}; add it to test/support/fixtures.ts`)
    values = { ...values, ...(await make(app, owner)) }
  }
  return values
}

/** Makes a fresh organisation and in it everything that the route's path and example name. @throws Error for an unknown placeholder */
export const createFixtures = async (app: TestApp, route: Route): Promise<Fixtures> => {
  const names = neededBy(route)
  if (names.has('totpCode') || names.has('firstTotpCode')) return totpFixtures(app, names)
  if (route.auth === 'session') return sessionFixtures(app)
  const owner = await app.organisation()
  const values = await makeValues(app, owner, names)
  if (route.auth === 'none') return { values }
  const needsOperator = route.scope === 'admin' || route.scope === 'metrics'
  return { key: needsOperator ? app.adminKey : owner.apiKey, values }
}

/** What examples can't get in a test's server: a placeholder, and what needs a disk, certificates or a provider that it was not given. */
export const WITHOUT_SUCCESS: Readonly<Record<string, number>> = {
  createBackup: 501,
  submitOfflineTransactions: 501,
  tokenPass: 501,
  startProviderSignIn: 501,
  finishProviderSignIn: 400,
  startIdentityLink: 501,
  confirmIdentityLink: 400,
  deleteIdentityLink: 404,
  // There is log 0 alone.
  getLogHead: 404,
}

/** A text that is `{…Number}` becomes a number. */
const replaceAll = (text: string, values: Readonly<Record<string, string>>): string =>
  text
    .replaceAll(/"\{(\w+Number)\}"/g, (whole, name: string) => values[name] ?? whole)
    .replaceAll(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole)

/** The example with its placeholders filled; a path parameter that it does not mention is one itself. */
export const fill = (
  route: Route,
  values: Readonly<Record<string, string>>,
): Example & { readonly url: string } => {
  const example: Example = JSON.parse(replaceAll(JSON.stringify(route.example ?? {}), values))
  const path = replaceAll(route.path, { ...values, ...example.params })
  const query = new URLSearchParams(example.query).toString()
  return { ...example, url: query === '' ? path : `${path}?${query}` }
}
