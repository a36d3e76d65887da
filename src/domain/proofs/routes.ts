/** Routes that make, check, spend and take in proofs. @module */
import { iso } from '../../clock.ts'
import { Reply, route } from '../../http/route.ts'
import type { UsageService } from '../usage/service.ts'
import { readContext } from './binding.ts'
import { generatedV1 } from './made-json.ts'
import type { CheckedProof, GeneratedProof } from './proof.ts'
import {
  GeneratedProofJson,
  GenerateRequest,
  ProofGenerated,
  ProofGenerateRequest,
  ProofVerified,
  ProofVerifyRequest,
  SyncRequest,
  SyncResult,
  VerifiedProofJson,
  VerifyProofRequest,
} from './schemas.ts'
import { KnownProof, ProofPage, ProofPath, ProofsQuery } from './schemas-list.ts'
import type { ProofsService } from './service.ts'

interface Services {
  readonly proofs: ProofsService
  readonly usage: UsageService
}

const tag = 'Proofs'
const GENERATE_ERRORS = [
  'tree_too_large',
  'not_provable',
  'subscription_inactive',
  'free_allocation_used',
  'prover_overloaded',
  'proof_service_unavailable',
] as const
/** An upload may hold a hundred proofs, each about as costly as a request of its own. */
const SYNC_COST = 10

const generatedJson = (made: GeneratedProof): GeneratedProofJson => ({
  proofId: made.proofId,
  proof: made.proof as GeneratedProofJson['proof'],
  publicInputs: [...made.publicSignals],
  decision: made.decision,
  digest: made.digest,
  circuitId: made.circuitId,
})

const checkedJson = ({
  valid,
  verified,
  decision,
  reasonCodes,
  ...checked
}: CheckedProof): VerifiedProofJson => {
  const { elsewhere, proofId } = checked
  return {
    valid,
    verified,
    decision,
    reasonCodes: [...reasonCodes],
    ...(verified && elsewhere && proofId && { proofId, ...elsewhere, madeBy: 'elsewhere' }),
  }
}

const checkedV1 = ({
  valid,
  verified,
  decision,
  digest,
  context,
  reasonCodes,
  consumed,
  consumedAt,
  elsewhere,
  proofId,
}: CheckedProof): ProofVerified => ({
  valid,
  verified,
  decision,
  digest,
  context,
  reason_codes: [...reasonCodes],
  ...(consumed !== undefined && { consumed }),
  ...(consumedAt !== undefined && { consumed_at: iso(consumedAt) }),
  ...(verified && elsewhere && proofId && { proof_id: proofId, ...elsewhere, made_by: 'elsewhere' }),
})

const generateProof = route({
  name: 'generateProof',
  method: 'POST',
  path: '/api/proof/generate',
  auth: 'key',
  scope: 'proof',
  tag,
  summary: 'Prove whether rules hold for data',
  description:
    'One comparison is proved with `yesno`, up to eight joined by AND with `eligibility`, a tree with `composite`, anything else as a committed decision with `simple_yesno`. Without an active subscription each proof uses one free proof; X-Free-Remaining is the number left.',
  body: GenerateRequest,
  exactNumbers: true,
  response: { 200: GeneratedProofJson },
  errors: GENERATE_ERRORS,
  example: {
    body: { userId: 'user-1', rules: [{ field: 'age', op: 'gte', value: 18 }], data: { age: 36 } },
  },
  handler: async ({ caller, body }, { proofs, usage }: Services) => {
    const { userId, rules, data, circuitId } = body
    const asked = Array.isArray(rules) ? { rules } : { logic: rules.logic }
    const { circuitId: chosen, prepared } = proofs.prepareRules({ data, ...asked }, circuitId, {
      rules: Array.isArray(rules) ? '' : '/rules',
      circuit: '/circuitId',
    })
    const ask = { circuitId: chosen, prepared, subject: userId, category: 'proof' } as const
    const made = await proofs.generate(caller, ask, generatedJson)
    return new Reply(200, made, await usage.headers(caller.organisation))
  },
})

const verifyProof = route({
  name: 'verifyProof',
  method: 'POST',
  path: '/api/proof/verify',
  auth: 'key',
  scope: 'proof',
  tag,
  summary: 'Verify a proof',
  description:
    'A proof that fails a check returns 200 with reason codes. Without `proofId` send `circuitId`; otherwise the proof is looked up by its signals. One that was made elsewhere is checked by its `context`, and recorded if it is verified.',
  body: VerifyProofRequest,
  response: { 200: VerifiedProofJson },
  errors: ['proof_service_unavailable'],
  example: { body: { proofId: '{proofId}', proof: '{zk1}' } },
  handler: ({ caller, body }, { proofs }: Services) => {
    const { publicInputs: publicSignals, ...presented } = body
    const context = readContext(presented.context)
    return proofs.verify(caller, { ...presented, context, publicSignals }, checkedJson)
  },
})

const syncProofs = route({
  name: 'syncProofs',
  method: 'POST',
  path: '/api/proof/sync',
  auth: 'key',
  scope: 'proof',
  tag,
  summary: 'Upload up to 100 proofs',
  description:
    'Known proofs are verified again. Unknown valid proofs are recorded, which does not make them verified, because their context is not known. All are recorded in one commit. Counts as ten requests.',
  body: SyncRequest,
  bodyLimit: 'batch',
  cost: SYNC_COST,
  response: { 200: SyncResult },
  errors: ['batch_too_large', 'proof_service_unavailable'],
  example: { body: { proofs: [{ proofId: '{proofId}', proof: '{zk1}' }] } },
  handler: ({ caller, body }, { proofs }: Services) => proofs.sync(caller, body),
})

const generateProofV1 = route({
  name: 'generateProofV1',
  method: 'POST',
  path: '/v1/proofs/generate',
  auth: 'key',
  scope: 'proof',
  tag,
  summary: 'Make a proof with a circuit of your choice',
  description:
    'Without an active subscription each proof uses one free proof; X-Free-Remaining is the number left. A false statement for which the circuit has no proof of a NO returns 422 `not_provable` with reason STATEMENT_FALSE. A payment has one proof on record: a second request returns that proof, or 409 `conflict` with its `proof_id` if it asks for a different `context` or `subject`.',
  body: ProofGenerateRequest,
  exactNumbers: true,
  response: { 200: ProofGenerated },
  errors: [...GENERATE_ERRORS, 'not_found', 'inputs_insufficient', 'conflict'],
  example: {
    body: {
      circuit_id: 'yesno',
      inputs: { data: { age: 36 }, rules: [{ field: 'age', op: 'gte', value: 18 }] },
      context: { nonce: 'n-0001', ttl: 3600 },
    },
  },
  handler: async ({ caller, body }, { proofs, usage }: Services) => {
    const { circuit_id: circuitId, inputs, context = {}, subject } = body
    const prepared = await proofs.prepare(caller, circuitId, inputs)
    const { nonce, ttl: ttlSeconds, purpose } = context
    const ask = { circuitId, prepared, nonce, ttlSeconds, purpose, subject, category: 'proof' } as const
    const made = await proofs.generate(caller, ask, generatedV1)
    return new Reply(200, made, await usage.headers(caller.organisation))
  },
})

const verifyProofV1 = route({
  name: 'verifyProofV1',
  method: 'POST',
  path: '/v1/proofs/verify',
  auth: 'console',
  scope: 'proof',
  tag,
  summary: 'Verify a proof and optionally spend it',
  description:
    'With `consume` a verified proof of a YES is spent permanently: its digest, and its nullifier if the circuit has one to spend. A NO, or a proof that answers no question, can be verified but not spent: `consumed` is false, with DECISION_NO or NO_QUESTION. A proof that fails a check returns 200 with reason codes, and nothing is spent. A proof that was made elsewhere is checked by its `context`, and recorded if it is verified.',
  body: ProofVerifyRequest,
  response: { 200: ProofVerified },
  errors: ['double_spend', 'read_only', 'proof_service_unavailable'],
  example: { body: { proof_id: '{proofId}', circuit_id: 'yesno', proof: '{zk1}', consume: true } },
  handler: async ({ caller, body }, { proofs }: Services) => {
    const presented = await proofs.presented(caller, body)
    return proofs.verify(caller, { ...presented, consume: body.consume }, checkedV1)
  },
})

const listProofs = route({
  name: 'listProofs',
  method: 'GET',
  path: '/console/api/proofs',
  auth: 'console',
  scope: 'audit',
  tag,
  summary: 'List proofs',
  description: 'All proofs that the organisation made or recorded, newest first.',
  query: ProofsQuery,
  response: { 200: ProofPage },
  errors: [],
  example: { query: { circuitId: 'yesno', limit: '20' } },
  handler: ({ caller, query }, { proofs }: Services) => proofs.list(caller, query),
})

const getProof = route({
  name: 'getProof',
  method: 'GET',
  path: '/console/api/proofs/{proofId}',
  auth: 'console',
  scope: 'audit',
  tag,
  summary: 'Get a proof with what it was made for',
  params: ProofPath,
  response: { 200: KnownProof },
  errors: ['not_found'],
  handler: ({ caller, params }, { proofs }: Services) => proofs.find(caller, params.proofId),
})

export const proofRoutes = [
  listProofs,
  getProof,
  generateProof,
  verifyProof,
  syncProofs,
  generateProofV1,
  verifyProofV1,
]
