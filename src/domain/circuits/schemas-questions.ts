/** Wire shapes of the circuit routes. @module */
import Type, { type Static } from 'typebox'
import { DateTime, orNull } from '../../json/schemas.ts'
import { Expect } from '../../rules/schemas.ts'
import { asListed } from '../audit/schemas.ts'
import { asLogged } from '../consent/schemas.ts'
import { SnarkProofJson } from '../proofs/schemas.ts'
import {
  AggregationInputs,
  ByConsentId,
  ByReceipt,
  ByToken,
  ByTokenId,
  ConsentSignals,
  PaymentSignals,
  PresentedPayment,
  TokenSignals,
} from '../proofs/statements/schemas-inputs.ts'
import {
  AuditInputs,
  ByDigest,
  ByIndex,
  HybridTokenQuestion,
  QuantumSignals,
} from '../proofs/statements/schemas-membership.ts'
import { asIssued } from '../tokens/schemas.ts'

const CLOSED = { additionalProperties: false } as const

/** The raw form: the signals by name. */
const signalsForm = <S extends Type.TSchema>(inputs: S) => Type.Object({ inputs }, CLOSED)

/** A form that presents something of which more may be expected. */
const expecting = <P extends Type.TProperties>({ properties }: Type.TObject<P>) =>
  Type.Object({ ...properties, expect: Type.Optional(Expect) }, CLOSED)

/** A thing by its name, beside which all of what its making answered may stand. */
const withAnswer = <A extends Type.TProperties, N extends Type.TProperties>(
  answered: A,
  by: Type.TObject<N>,
) => Type.Object({ ...answered, ...by.properties }, CLOSED)

export const TokenValidationRequest = Type.Union([
  expecting(withAnswer(asIssued, ByToken)),
  expecting(ByTokenId),
  expecting(signalsForm(TokenSignals)),
])
export const ConsentVerificationRequest = Type.Union([
  expecting(withAnswer(asLogged, ByConsentId)),
  expecting(ByReceipt),
  expecting(signalsForm(ConsentSignals)),
])
// An entry is the caller's own: nothing is presented of which anything could be expected.
export const AuditProofRequest = Type.Union([
  withAnswer(asListed, ByIndex),
  ByDigest,
  signalsForm(AuditInputs),
])
export const ProofAggregationRequest = Type.Union([
  expecting(AggregationInputs),
  expecting(signalsForm(AggregationInputs)),
])
export const QuantumSafeTokenRequest = Type.Union([
  expecting(HybridTokenQuestion),
  expecting(signalsForm(QuantumSignals)),
])

const TerminalProof = Type.Object(
  {
    proof: Type.Unknown({
      description:
        'Made by the terminal: the JSON form of snarkjs, or a text `zk1.…`, which needs no publicInputs.',
    }),
    publicInputs: Type.Optional(
      Type.Array(Type.String(), { description: "Decimals, in the circuit's order." }),
    ),
  },
  CLOSED,
)
export const OfflineValidationRequest = Type.Union([
  expecting(TerminalProof),
  expecting(PresentedPayment),
  expecting(signalsForm(PaymentSignals)),
])

const answerFields = {
  success: Type.Literal(true, { description: 'The question was answered; the field after it says how.' }),
  circuit_id: Type.String(),
  proofId: orNull(Type.String({ description: '`prf_…`, as the proof routes know it.' })),
  proof: orNull(SnarkProofJson),
  publicInputs: orNull(Type.Array(Type.String())),
  digest: orNull(Type.String({ description: 'Names what was proven, lower-case hex.' })),
  verifiedAt: DateTime,
  reasonCodes: Type.Array(Type.String(), {
    description:
      'Why it is false; empty when it is true. DECISION_NO: the proof shows so. With any other code nothing is proven, and proofId, proof, publicInputs and digest are null.',
  }),
  message: Type.Optional(Type.String({ description: 'The same for people, where it can be told.' })),
}

/** The answer of one circuit route. @param field the result field's name @param description when it is true */
const answer = <const Field extends string, Title extends string>(
  field: Field,
  title: Title,
  description: string,
) => {
  const result = Type.Boolean({ description })
  // A computed name is a string to the compiler.
  return Type.Object(
    { [field]: result, ...answerFields } as Record<Field, typeof result> & typeof answerFields,
    {
      title,
    },
  )
}

/** One answer for each route, by its result field. */
export const CIRCUIT_ANSWERS = {
  token_valid: answer(
    'token_valid',
    'TokenValidation',
    "The token is this service's, in time, for this audience or for any, neither revoked nor used up.",
  ),
  consent_verified: answer(
    'consent_verified',
    'ConsentVerification',
    'The consent was signed by this service, covers controller and purpose now, and was neither withdrawn nor superseded.',
  ),
  integrity_verified: answer(
    'integrity_verified',
    'IntegrityVerification',
    'An entry of yours is in a logged root of the ledger; the proof does not say which.',
  ),
  aggregation_valid: answer(
    'aggregation_valid',
    'ProofAggregation',
    'Every one of the proofs was verified again. Whether all of them say YES is the public signal `all`.',
  ),
  quantum_safe_valid: answer(
    'quantum_safe_valid',
    'QuantumSafeValidation',
    'The logged token has a post-quantum signature, what is required of it, time left and decision 1.',
  ),
  offline_valid: answer(
    'offline_valid',
    'OfflineValidation',
    'The payment is one that was accepted, within the bounds, and its terminal is registered.',
  ),
} as const
export type ResultField = keyof typeof CIRCUIT_ANSWERS

/** What every answer has besides its result field. */
export type CircuitAnswer = Omit<Static<(typeof CIRCUIT_ANSWERS)['token_valid']>, 'token_valid'>
