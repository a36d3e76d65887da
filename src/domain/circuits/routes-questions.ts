/** Routes that ask one circuit, by what callers have. @module */
import type { Static } from 'typebox'
import type { Caller } from '../../caller.ts'
import type { ErrorCode } from '../../errors.ts'
import { Reply, route } from '../../http/route.ts'
import type { AuditService } from '../audit/service.ts'
import type { ConsentService } from '../consent/service.ts'
import { HYBRID_TOKEN_EXAMPLE } from '../hybrid-tokens/schemas.ts'
import type { Answered, CircuitQuestions, Question } from '../proofs/circuit-questions.ts'
import type { TokensService } from '../tokens/service.ts'
import type { UsageService } from '../usage/service.ts'
import {
  AuditProofRequest,
  CIRCUIT_ANSWERS,
  ConsentVerificationRequest,
  OfflineValidationRequest,
  ProofAggregationRequest,
  QuantumSafeTokenRequest,
  TokenValidationRequest,
} from './schemas-questions.ts'

interface Services {
  readonly audit: Pick<AuditService, 'requireListed'>
  readonly consents: Pick<ConsentService, 'requireLogged'>
  readonly tokens: Pick<TokensService, 'requireIssued'>
  readonly circuitQuestions: CircuitQuestions
  readonly usage: UsageService
}

const tag = 'Circuits'
const ERRORS: readonly ErrorCode[] = [
  'not_found',
  'inputs_insufficient',
  'not_provable',
  'subscription_inactive',
  'free_allocation_used',
  'prover_overloaded',
]
/** Of routes that take what the making of a thing answered. */
const ERRORS_OF_THINGS: readonly ErrorCode[] = [...ERRORS, 'read_only']
const WHOLE = 'The answer that made it may come back whole.'
const EXPECTED =
  'What differs from `expect` is not proved: the field is false, with EXPECTATION_ and the name among the reasons, and no proof is used up.'
const COMMON =
  'What is not so is a 200 with the field false. The raw form `inputs` takes the signals by name; `now`, `scope` and `ctx` are set by the service.'

/** What the circuit is asked: the signals by name, or what the caller has of it; and what is expected of that. */
type Asked = Pick<Question, 'expect'> & Readonly<Record<string, unknown>>
const askedIn = ({ expect, ...body }: Asked): Question => ({
  inputs: 'inputs' in body ? body.inputs : body,
  expect,
})

const tokenAsked = ({
  token,
  audience,
  expect,
}: Extract<Static<typeof TokenValidationRequest>, { token?: string }>): Question => ({
  inputs: { token, audience },
  expect,
})

const consentAsked = ({
  consentId,
  purpose,
  controller,
  subjectId,
  expect,
}: Extract<Static<typeof ConsentVerificationRequest>, { consentId: string }>): Question => ({
  inputs: { consentId, purpose, controller, subjectId },
  expect,
})

const reply = async <Body>(usage: UsageService, { organisation }: Caller, answer: Promise<Body>) =>
  new Reply(200, await answer, await usage.headers(organisation))

const validateToken = route({
  name: 'validateTokenByCircuit',
  method: 'POST',
  path: '/api/circuits/token-validation',
  auth: 'key',
  scope: 'circuit',
  tag,
  summary: 'Prove that a signed token is valid',
  description: `Send \`token\`, \`tokenId\` or \`inputs\`. The proof shows neither subject nor claims; its nullifier is the same for every proof of the token. ${WHOLE} ${EXPECTED} ${COMMON}`,
  body: TokenValidationRequest,
  response: { 200: CIRCUIT_ANSWERS.token_valid },
  errors: ERRORS_OF_THINGS,
  example: {
    body: {
      tokenId: '{tokenId}',
      audience: 'https://gate.example',
      expect: { status: 'active', max_age_seconds: 86_400 },
    },
  },
  async handler({ caller, body }, { circuitQuestions, tokens, usage }: Services) {
    if ('token' in body) await tokens.requireIssued(caller, body)
    const asked = 'token' in body ? tokenAsked(body) : askedIn(body)
    return reply(
      usage,
      caller,
      circuitQuestions.ask(caller, 'token_validation', asked, ({ holds, ...rest }) => ({
        token_valid: holds,
        ...rest,
      })),
    )
  },
})

const verifyConsent = route({
  name: 'verifyConsentByCircuit',
  method: 'POST',
  path: '/api/circuits/consent-verification',
  auth: 'key',
  scope: 'circuit',
  tag,
  summary: 'Prove that a signed consent covers a purpose',
  description: `Send \`consentId\` or \`receipt\` with \`purpose\`, or \`inputs\`. With \`subjectId\` it must be the consent of that person, whom \`subject_handle\` among the public inputs stands for. A consent that was withdrawn, superseded or refused is false, also in proofs that were made before. ${WHOLE} ${EXPECTED} ${COMMON}`,
  body: ConsentVerificationRequest,
  response: { 200: CIRCUIT_ANSWERS.consent_verified },
  errors: ERRORS_OF_THINGS,
  example: { body: { consentId: '{consentId}', purpose: 'newsletter', subjectId: 'customer-1007' } },
  async handler({ caller, body }, { circuitQuestions, consents, usage }: Services) {
    if ('consentId' in body) await consents.requireLogged(caller, body)
    const asked = 'consentId' in body ? consentAsked(body) : askedIn(body)
    return reply(
      usage,
      caller,
      circuitQuestions.ask(caller, 'consent_verification', asked, ({ holds, ...rest }) => ({
        consent_verified: holds,
        ...rest,
      })),
    )
  },
})

const proveEntry = route({
  name: 'proveEntryByCircuit',
  method: 'POST',
  path: '/api/circuits/audit-proof',
  auth: 'key',
  scope: 'circuit',
  tag,
  summary: 'Prove that an entry is in the ledger without saying which',
  description: `Send \`index\`, \`digest\` or \`inputs\` with one of them. An entry of GET /api/audit may come back whole. ${COMMON}`,
  body: AuditProofRequest,
  response: { 200: CIRCUIT_ANSWERS.integrity_verified },
  errors: ERRORS_OF_THINGS,
  example: { body: { digest: '{loggedDigest}' } },
  async handler({ caller, body }, { audit, circuitQuestions, usage }: Services) {
    if ('index' in body) await audit.requireListed(caller, body)
    const asked = 'index' in body ? { inputs: { index: body.index } } : askedIn(body)
    return reply(
      usage,
      caller,
      circuitQuestions.ask(caller, 'audit_proof', asked, ({ holds, ...rest }) => ({
        integrity_verified: holds,
        ...rest,
      })),
    )
  },
})

const aggregateProofs = route({
  name: 'aggregateProofs',
  method: 'POST',
  path: '/api/circuits/proof-aggregation',
  auth: 'key',
  scope: 'circuit',
  tag,
  summary: 'Have up to eight proofs attested by one',
  description: `Each is verified again, then the service signs that it did: attested, not recursive. What they say is in the public inputs \`count\`, \`yes_count\` and \`all\`. Send \`proofIds\`, or \`inputs\` with them. ${EXPECTED} ${COMMON}`,
  body: ProofAggregationRequest,
  response: { 200: CIRCUIT_ANSWERS.aggregation_valid },
  errors: ERRORS,
  example: { body: { proofIds: ['{proofId}'], expect: { circuit_id: 'yesno', decision: 1 } } },
  handler: ({ caller, body }, { circuitQuestions, usage }: Services) =>
    reply(
      usage,
      caller,
      circuitQuestions.ask(caller, 'proof_aggregation', askedIn(body), ({ holds, ...rest }) => ({
        aggregation_valid: holds,
        ...rest,
      })),
    ),
})

const validateQuantumSafe = route({
  name: 'validateQuantumSafeByCircuit',
  method: 'POST',
  path: '/api/circuits/quantum-safe-token',
  auth: 'key',
  scope: 'circuit',
  tag,
  summary: 'Prove that a logged hybrid token has a post-quantum signature',
  description: `Send \`token\` or \`inputs\`. The signatures are verified by the service, not inside the proof; the statement rests on hashes, and the proof system itself is not post-quantum. ${EXPECTED} ${COMMON}`,
  body: QuantumSafeTokenRequest,
  response: { 200: CIRCUIT_ANSWERS.quantum_safe_valid },
  errors: ERRORS,
  example: {
    body: {
      token: HYBRID_TOKEN_EXAMPLE,
      required_policy: 'pq_only',
    },
  },
  handler: ({ caller, body }, { circuitQuestions, usage }: Services) =>
    reply(
      usage,
      caller,
      circuitQuestions.ask(caller, 'quantum_safe_token', askedIn(body), ({ holds, ...rest }) => ({
        quantum_safe_valid: holds,
        ...rest,
      })),
    ),
})

const validateOffline = route({
  name: 'validateOfflineByCircuit',
  method: 'POST',
  path: '/api/circuits/offline-validation',
  auth: 'key',
  scope: 'circuit',
  tag,
  summary: 'Prove that an accepted payment lies within bounds, or check what its terminal proved',
  description: `Send \`proof\` with \`publicInputs\` as the terminal made them, the payment as it was presented (\`proofData\` with \`amount\`), or \`inputs\`. There is no proof of a NO. ${EXPECTED} ${COMMON}`,
  body: OfflineValidationRequest,
  response: { 200: CIRCUIT_ANSWERS.offline_valid },
  errors: [...ERRORS, 'amount_precision', 'currency_invalid', 'pan_not_allowed'],
  example: {
    body: { proofData: '{proofData}', amount: 12.5, currency: 'GBP', timestamp: '{paymentTime}' },
  },
  handler: ({ caller, body }, { circuitQuestions, usage }: Services) => {
    const present = ({ holds, ...rest }: Answered) => ({ offline_valid: holds, ...rest })
    return reply(
      usage,
      caller,
      'proof' in body
        ? circuitQuestions.adopt(caller, body, present)
        : circuitQuestions.ask(caller, 'offline_validation', askedIn(body), present),
    )
  },
})

export const circuitQuestionRoutes = [
  validateToken,
  verifyConsent,
  proveEntry,
  aggregateProofs,
  validateQuantumSafe,
  validateOffline,
]
