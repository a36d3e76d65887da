/** Wire shapes of verification by an organisation's policy. @module */
import Type, { type Static } from 'typebox'
import { DateTime, idOf, OfLog, orNull } from '../../json/schemas.ts'
import { ProofContextJson, SnarkProofJson } from '../proofs/schemas.ts'

const MAX_CIRCUIT_ID_CHARACTERS = 64
const MAX_IDENTIFIER_CHARACTERS = 256
const MAX_CURRENCY_CHARACTERS = 16
const MAX_NONCE_CHARACTERS = 128
const MAX_CONTEXT_KEYS = 200
const MAX_TTL_SECONDS = 10 * 366 * 24 * 3600

export const VerificationContext = Type.Object(
  {
    amount: Type.Optional(Type.Number({ description: 'In units of the currency.' })),
    currency: Type.Optional(Type.String({ maxLength: MAX_CURRENCY_CHARACTERS, description: 'ISO 4217.' })),
    inputs: Type.Optional(
      Type.Object(
        {},
        {
          additionalProperties: Type.Unknown(),
          description:
            'For circuits that prove a credential, a token, a consent, entries or payments: the inputs of the circuit, as in POST /v1/proofs/generate. They are not part of the facts. Circuits that prove the policy take none.',
        },
      ),
    ),
  },
  {
    additionalProperties: Type.Unknown(),
    maxProperties: MAX_CONTEXT_KEYS,
    description: 'Facts for the policy, as `context.…`; any further members are allowed.',
  },
)
export type VerificationContext = Static<typeof VerificationContext>

export const PolicyVerifyRequest = Type.Object(
  {
    circuit_id: Type.String({
      minLength: 1,
      maxLength: MAX_CIRCUIT_ID_CHARACTERS,
      description: 'The circuit to prove with; its policy decides.',
    }),
    identifier: Type.String({
      maxLength: MAX_IDENTIFIER_CHARACTERS,
      description: 'The subject; the fact `identifier`. Only a keyed hash of it is stored.',
    }),
    context: Type.Optional(VerificationContext),
    ttl: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_TTL_SECONDS,
        description: 'Seconds after which result and proof expire; default: never.',
      }),
    ),
    nonce: Type.Optional(
      Type.String({ minLength: 1, maxLength: MAX_NONCE_CHARACTERS, description: 'Bound by the proof.' }),
    ),
  },
  { title: 'PolicyVerifyRequest' },
)
export type PolicyVerifyRequest = Static<typeof PolicyVerifyRequest>

export const PolicyVerification = Type.Object(
  {
    verification_id: idOf('ver'),
    decision: Type.Integer({ minimum: 0, maximum: 1 }),
    verdict: Type.Enum(['YES', 'NO'], { description: 'The decision in words.' }),
    circuit_id: Type.String(),
    reason_codes: Type.Array(Type.String()),
    policy_version: Type.Integer({ minimum: 0, description: '0: the default policy.' }),
    digest: Type.String({
      description: "SHA-256 over the circuit's id and the public signals, lower-case hex.",
    }),
    proof_id: idOf('prf'),
    proof: SnarkProofJson,
    public_signals: Type.Array(Type.String({ description: 'Canonical decimal.' })),
    context: ProofContextJson,
    salt: Type.String({
      description: 'base64url, 32 bytes: opens `data_commitment` of the JWS. Shown once.',
    }),
    jws: Type.String({ description: 'Compact JWS: EdDSA, typ `vr+jws`.' }),
    issued_at: DateTime,
    expires_at: orNull(DateTime),
    log: OfLog,
    merkle_root: Type.String({ description: 'Root of the ledger with this entry, lower-case hex.' }),
    merkle_leaf_hash: Type.String({ description: 'Leaf hash of the ledger entry, lower-case hex.' }),
  },
  { title: 'PolicyVerification' },
)
export type PolicyVerification = Static<typeof PolicyVerification>
