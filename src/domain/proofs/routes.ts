/** Routes that make, check, spend and take in proofs. @module */
import { iso } from '../../clock.ts'
import { Reply, route } from '../../http/route.ts'
import type { UsageService } from '../usage/service.ts'
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

const checkedJson = ({ valid, verified, decision, reasonCodes }: CheckedProof): VerifiedProofJson => ({
  valid,
  verified,
  decision,
  reasonCodes: [...reasonCodes],
})

const checkedV1 = ({
  valid,
  verified,
  decision,
  digest,
  context,
  reasonCodes,
  consumed,
  consumedAt,
}: CheckedProof): ProofVerified => ({
  valid,
  verified,
  decision,
  digest,
  context,
  reason_codes: [...reasonCodes],
  ...(consumed !== undefined && { consumed }),
  ...(consumedAt !== undefined && { consumed_at: iso(consumedAt) }),
})

const generateProof = route({
  name: 'generateProof',
  method: 'POST',
  path: '/api/proof/generate',
  auth: 'key',
  scope: 'proof',
  tag,
  summary: 'Prove that rules hold for data, or that they do not',
  description:
    'One comparison is proved with `yesno`, up to eight joined by AND with `eligibility`, a tree with `composite`, anything else as a committed decision with `simple_yesno`. Without an active subscription each proof uses up a free one; X-Free-Remaining says how many are left.',
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
  summary: 'Check a proof',
  description:
    'What is wrong with a proof is told by reason codes, with 200. Without `proofId` send `circuitId`, or the proof is looked up by its signals.',
  body: VerifyProofRequest,
  response: { 200: VerifiedProofJson },
  errors: [],
  example: { body: { proofId: '{proofId}', proof: '{zk1}' } },
  handler: ({ caller, body }, { proofs }: Services) => {
    const { publicInputs: publicSignals, ...presented } = body
    return proofs.verify(caller, { ...presented, publicSignals }, checkedJson)
  },
})

const syncProofs = route({
  name: 'syncProofs',
  method: 'POST',
  path: '/api/proof/sync',
  auth: 'key',
  scope: 'proof',
  tag,
  summary: 'Hand in up to 100 proofs',
  description:
    'Known ones are checked again; valid ones that were unknown are recorded, which does not make them verified: nobody knows what they were made for. All are recorded in one commit. Counts as ten requests.',
  body: SyncRequest,
  bodyLimit: 'batch',
  cost: SYNC_COST,
  response: { 200: SyncResult },
  errors: ['batch_too_large'],
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
    'Without an active subscription each proof uses up a free one; X-Free-Remaining says how many are left. What is not so, and can only be proved where it is, answers 422 `not_provable` with reason STATEMENT_FALSE. A payment has one proof on record: another one gets it again, and is 409 `conflict` with its `proof_id` where it should bind a `context` or `subject` of its own.',
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
  auth: 'key',
  scope: 'proof',
  tag,
  summary: 'Check a proof, and spend it',
  description:
    'With `consume` a verified proof of a YES is spent, once for all: its digest, and the nullifier of circuits that have one to spend. A NO, and a proof that answers no question, may be verified, but is accepted nowhere: `consumed` is false, for DECISION_NO or NO_QUESTION. What is wrong with a proof is told by reason codes, with 200, and spends nothing.',
  body: ProofVerifyRequest,
  response: { 200: ProofVerified },
  errors: ['double_spend', 'read_only'],
  example: { body: { proof_id: '{proofId}', circuit_id: 'yesno', proof: '{zk1}', consume: true } },
  handler: async ({ caller, body }, { proofs }: Services) => {
    const { proof_id: proofId, circuit_id: circuitId, proof, public_signals: publicSignals, consume } = body
    const { decision, digest, expect } = body
    await proofs.requireAsMade(caller, body)
    const ask = { proofId, circuitId, proof, publicSignals, consume, decision, digest, expect }
    return proofs.verify(caller, ask, checkedV1)
  },
})

export const proofRoutes = [generateProof, verifyProof, syncProofs, generateProofV1, verifyProofV1]
