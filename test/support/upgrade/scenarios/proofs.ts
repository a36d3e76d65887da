/** A proof of every circuit, verified, spent and revoked ones, and signed results. @module */
import { CIRCUITS } from '../../../../src/circuits/catalogue.ts'
import { type Answered, asking } from '../../circuits/circuit-questions.ts'
import { demandSuccess } from '../../client.ts'
import { proveEntry, writeEntry } from '../../domain/audit-proofs.ts'
import { consentRoutesOf } from '../../domain/consents.ts'
import { hybridRoutesOf } from '../../domain/hybrid-tokens.ts'
import { kycRoutesOf } from '../../domain/kyc.ts'
import {
  ADULT,
  ADULT_INPUTS,
  asPresented,
  asText,
  BRITISH,
  generated,
  PERSON,
} from '../../domain/proof-api.ts'
import { terminalTill } from '../../domain/tills.ts'
import { tokenRoutesOf } from '../../domain/tokens.ts'
import { hashOf, postBatch, verified } from '../../verification.ts'
import type { Story } from '../story.ts'

const VERIFY = '/v1/proofs/verify'
const DAY_SECONDS = 86_400
/** Entries below one stored tile, and one more. */
const TILE_BATCHES = 3
const BATCH_ITEMS = 100

/** As the proof API gives it, or as a circuit route does. */
interface Made {
  readonly circuit_id: string
  readonly presented: object
}

/** Proofs that the proof API makes, by what they are. */
const fromProofApi = async ({ app, owner }: Story): Promise<Made[]> => {
  const { apiKey } = owner
  await kycRoutesOf(app, apiKey).verified('proven')
  const { tokenId } = await tokenRoutesOf(app, apiKey).issued({ ttl: DAY_SECONDS })
  const { consentId } = await consentRoutesOf(app, apiKey).logged({ subjectId: 'proven' })
  const either = { op: 'OR', children: [ADULT, { field: 'country', op: 'eq', value: 'FR' }] }
  const made = await Promise.all(
    (
      [
        ['simple_yesno', ADULT_INPUTS],
        ['yesno', ADULT_INPUTS],
        ['yesno', { data: { ...PERSON, age: 16 }, rules: [ADULT] }],
        ['eligibility', { data: PERSON, rules: [ADULT, BRITISH] }],
        ['composite', { data: PERSON, logic: either }],
        ['kyc', { userId: 'proven', minLevel: 'basic', minAge: 18, countries: ['SE', 'NOR'] }],
        ['token_validation', { tokenId }],
        ['consent_verification', { consentId, purpose: 'newsletter' }],
        ['audit_proof', { index: await writeEntry(app, apiKey) }],
      ] as const
    ).map(([circuit_id, inputs]) => generated(app, apiKey, { circuit_id, inputs })),
  )
  const proofIds = made.filter(({ decision }) => decision === 1).map(({ proof_id }) => proof_id)
  const inputs = { proofIds: proofIds.slice(0, 3) }
  const aggregate = await generated(app, apiKey, { circuit_id: 'proof_aggregation', inputs })
  return [...made, aggregate].flatMap((proof) => [
    { circuit_id: proof.circuit_id, presented: asPresented(proof) },
    { circuit_id: proof.circuit_id, presented: { proof_id: proof.proof_id, proof: asText(proof) } },
  ])
}

/** Proofs that only the routes of their circuits make of things that the service keeps. */
const fromCircuitRoutes = async ({ app, owner }: Story): Promise<Made[]> => {
  const { apiKey } = owner
  const exp = Math.floor(Date.now() / 1000) + 30 * DAY_SECONDS
  const token = await hybridRoutesOf(app, apiKey).issued({ exp })
  const till = await terminalTill(app, owner, { floorLimit: 49.99 })
  const payment = till.payment({ at: Date.now() - 500 })
  await till.sync([payment])
  const { proofData, amount, currency, timestamp } = payment
  const offline = { proofData, amount, currency, timestamp: new Date(timestamp).toISOString() }
  const answers: Answered[] = [
    demandSuccess(await asking(app, 'quantum-safe-token')(apiKey, { token })),
    demandSuccess(await asking(app, 'offline-validation')(apiKey, offline)),
  ]
  return answers.map(({ circuit_id, proofId, proof, publicInputs }) => ({
    circuit_id,
    presented: { circuit_id, proof_id: proofId, proof, public_signals: publicInputs },
  }))
}

/** Proofs that were spent, alone and within an aggregate. */
const spend = async ({ app, ok, owner, remember }: Story): Promise<void> => {
  const { apiKey } = owner
  const make = (): ReturnType<typeof generated> => generated(app, apiKey)
  const [alone, member, unspent] = [await make(), await make(), await make()]
  const inputs = { proofIds: [member.proof_id] }
  const aggregate = await generated(app, apiKey, { circuit_id: 'proof_aggregation', inputs })
  for (const proof of [alone, aggregate]) await ok('POST', VERIFY, { ...asPresented(proof), consume: true })
  for (const [what, proof] of [
    ['a spent proof', alone],
    ['a spent aggregate', aggregate],
    ['a member of a spent aggregate', member],
  ] as const) {
    const body = { ...asPresented(proof), consume: true }
    remember({ what: `${what} stays spent`, method: 'POST', path: VERIFY, by: apiKey, body, status: 409 })
  }
  remember({
    what: 'a proof that nobody has spent can be',
    method: 'POST',
    path: VERIFY,
    by: apiKey,
    body: { ...asPresented(unspent), consume: true },
    says: { '/verified': true, '/consumed': true },
    once: true,
  })
}

/** Signed results: one that counts, one that was revoked with its proof. */
const signResults = async ({ app, ok, owner, remember, signed }: Story): Promise<void> => {
  const { apiKey } = owner
  const options = { rules: [ADULT], ttl: DAY_SECONDS, nonce: 'n-0001' }
  const kept = await verified(app, apiKey, { data: PERSON, options })
  const revoked = await verified(app, apiKey, { data: PERSON, options: { rules: [ADULT] } })
  await ok('POST', '/verify/revoke', { verificationId: revoked.verificationId })
  signed('a result', kept.jws)
  for (const [what, result] of [
    ['a result', kept],
    ['a revoked result', revoked],
  ] as const) {
    const { verificationId, proofId, proof } = result
    remember({ what, method: 'GET', path: `/verify/${verificationId}`, by: apiKey })
    remember({ what: `${what}, by its code`, method: 'GET', path: `/verify/qr/${hashOf(result)}` })
    remember({
      what: `the proof of ${what}`,
      method: 'POST',
      path: '/api/proof/verify',
      by: apiKey,
      body: { proofId, proof },
      says: { '/verified': result === kept },
    })
  }
}

/** What the log shows of an entry to anybody, and enough entries that tiles are stored. */
const proveTheLog = async ({ app, owner, remember }: Story): Promise<void> => {
  const { apiKey } = owner
  const { proof, publicInputs, checkpoint } = await proveEntry(app, apiKey, {
    index: await writeEntry(app, apiKey),
  })
  remember({
    what: 'a proof about the log holds, under the checkpoint of its time',
    method: 'POST',
    path: '/api/audit/zkp-verify',
    by: apiKey,
    body: { proof, publicInputs, checkpoint },
    says: { '/integrity_verified': true },
  })
  for (let batch = 0; batch < TILE_BATCHES; batch++) {
    const items = Array.from({ length: BATCH_ITEMS }, (_, i) => ({ sku: `A-${batch}-${i}`, weight: i }))
    demandSuccess(await postBatch(app, apiKey, items))
  }
}

export const fillProofs = async (story: Story): Promise<void> => {
  const { owner, remember } = story
  const made = [...(await fromProofApi(story)), ...(await fromCircuitRoutes(story))]
  const missing = CIRCUITS.filter(({ id }) => !made.some(({ circuit_id }) => circuit_id === id))
  if (missing.length > 0) throw new Error(`no proof of ${missing.map(({ id }) => id).join()}`)
  for (const { circuit_id, presented } of made)
    remember({
      what: `a proof of ${circuit_id} is verified`,
      method: 'POST',
      path: VERIFY,
      by: owner.apiKey,
      body: presented,
      says: { '/verified': true },
    })
  await spend(story)
  await signResults(story)
  await proveTheLog(story)
}
