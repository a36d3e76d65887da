/** Wire shapes of hybrid tokens. @module */
import Type, { type Static } from 'typebox'
import { idOf, orNull } from '../../json/schemas.ts'
import {
  CLASSICAL_ALGORITHMS,
  MAX_CLAIMS_DEPTH,
  MAX_HYBRID_TOKEN_BYTES,
  MAX_LIFE_SECONDS,
  MAX_SUBJECT_CHARACTERS,
  PQ_ALGORITHMS,
  VERIFICATION_POLICIES,
} from '../../protocol/hybrid-token.ts'
import { EXPECTATION_REASONS, Expect } from '../../rules/schemas.ts'

export const DEFAULT_LIFE_SECONDS = 300
/** How long after a caller asked what to sign it may bring the signatures. */
export const MAX_PREPARED_AGE_SECONDS = 600
const MAX_SIGNATURE_CHARACTERS = 8192
const MAX_ACCEPTED_SIGNERS = 16
const MAX_ID_CHARACTERS = 64

const Seconds = Type.Integer({ minimum: 0, description: 'Unix seconds.' })
const Claims = Type.Record(Type.String(), Type.Unknown(), {
  description: `Claims about the subject; \`decision\` is 1 or 0. At most ${MAX_CLAIMS_DEPTH} levels deep. Anyone who has the token can read them.`,
})
const ClassicalAlgorithm = Type.Enum([...CLASSICAL_ALGORITHMS])
const PqAlgorithm = Type.Enum([...PQ_ALGORITHMS], {
  description: 'Dilithium2 is ML-DSA-44, Dilithium3 is ML-DSA-65, both as in FIPS 204.',
})
const VerificationPolicy = Type.Enum([...VERIFICATION_POLICIES], {
  description: 'Which signatures are required.',
})
const GivenKid = Type.String({
  pattern: '^([A-Za-z0-9_-]{43})?$',
  description: 'RFC 7638 thumbprint of an active key of one of your agents or devices.',
})
const GivenSignature = Type.String({
  maxLength: MAX_SIGNATURE_CHARACTERS,
  description:
    'Base64url, made with the key named in the matching `kid_…`. Absent or empty: the service signs.',
})

export const NewHybridToken = Type.Object(
  {
    subject: Type.String({
      minLength: 1,
      maxLength: MAX_SUBJECT_CHARACTERS,
      description: 'The subject of the token.',
    }),
    claims: Type.Optional(Claims),
    alg_classical: Type.Optional(Type.Enum([...CLASSICAL_ALGORITHMS], { default: 'Ed25519' })),
    alg_pq: Type.Optional(Type.Enum([...PQ_ALGORITHMS], { default: 'Dilithium3' })),
    verification_policy: Type.Optional(Type.Enum([...VERIFICATION_POLICIES], { default: 'hybrid_required' })),
    exp: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: `Unix seconds, later than now and at most ${MAX_LIFE_SECONDS} seconds (365 days) after iat; default: ${DEFAULT_LIFE_SECONDS} seconds after it.`,
      }),
    ),
    sig_classical: Type.Optional(GivenSignature),
    sig_pq: Type.Optional(GivenSignature),
    kid_classical: Type.Optional(GivenKid),
    kid_pq: Type.Optional(GivenKid),
    token_id: Type.Optional(
      Type.String({
        pattern: '^hyt_[0-9a-z]{26}$',
        description:
          'Only with your own signatures, as returned by `?prepare=1`; 422 `read_only` where the service makes one.',
      }),
    ),
    iat: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: `Only with your own signatures, as returned by \`?prepare=1\`, at most ${MAX_PREPARED_AGE_SECONDS} seconds ago; 422 \`read_only\` where the service sets another one.`,
      }),
    ),
    signing_input: Type.Optional(
      Type.String({
        description: 'As returned by `?prepare=1`; 422 `read_only` if it differs from the bytes to sign.',
      }),
    ),
    context: Type.Optional(Type.String({ description: 'As returned by `?prepare=1`.' })),
  },
  { title: 'NewHybridToken' },
)
export type NewHybridToken = Static<typeof NewHybridToken>

export const PrepareQuery = Type.Object({
  prepare: Type.Optional(
    Type.Enum(['1'], { description: 'Issues nothing; returns the bytes to sign with your keys.' }),
  ),
})
export type PrepareQuery = Static<typeof PrepareQuery>

const signedMembers = {
  token_id: idOf('hyt'),
  subject: Type.String(),
  claims: Claims,
  alg_classical: ClassicalAlgorithm,
  alg_pq: PqAlgorithm,
  verification_policy: VerificationPolicy,
  iat: Seconds,
  exp: Seconds,
  kid_classical: Type.String({ description: 'RFC 7638 thumbprint; empty if that signature was left out.' }),
  kid_pq: Type.String({ description: 'RFC 7638 thumbprint; empty if that signature was left out.' }),
}

const SIGNER_TYPES = ['service', 'agent', 'device'] as const
export type SignerType = (typeof SIGNER_TYPES)[number]

export const HybridTokenIssued = Type.Object(
  {
    ...signedMembers,
    sig_classical: Type.String({ description: 'Base64url, 64 bytes; empty if it was left out.' }),
    sig_pq: Type.String({
      description: 'Base64url, 2,420 or 3,309 bytes; empty if it was left out.',
    }),
    signed_by: Type.Enum([...SIGNER_TYPES]),
  },
  { title: 'HybridToken', description: `At most ${MAX_HYBRID_TOKEN_BYTES} bytes of JSON.` },
)
export type HybridTokenIssued = Static<typeof HybridTokenIssued>

export const HybridTokenPrepared = Type.Object(
  {
    ...signedMembers,
    signing_input: Type.String({ description: 'Base64url of the bytes that both signatures cover.' }),
    context: Type.String({ description: 'The context string for ML-DSA (FIPS 204 §5.2), in UTF-8.' }),
  },
  {
    title: 'HybridTokenPrepared',
    description: 'Send all of these members back together with the signatures.',
  },
)
export type HybridTokenPrepared = Static<typeof HybridTokenPrepared>

/** Why a hybrid token is not valid, with a sentence for people. */
export const HYBRID_REASONS = {
  TOKEN_MALFORMED: 'It is not a hybrid token: a member is missing, unknown or malformed.',
  TOKEN_TOO_LARGE: `It is larger than ${MAX_HYBRID_TOKEN_BYTES} bytes of JSON.`,
  ALGORITHM_UNKNOWN: 'It names an algorithm that hybrid tokens do not support.',
  POLICY_UNKNOWN: 'Its verification_policy is unknown.',
  LIFETIME_INVALID: 'Its exp is not after its iat, or more than 365 days after it.',
  CLASSICAL_SIGNATURE_MISSING: 'The classical signature is required and missing.',
  PQ_SIGNATURE_MISSING: 'The post-quantum signature is required and missing.',
  CLASSICAL_SIGNATURE_MALFORMED: 'The classical signature is not canonical base64url of 64 bytes.',
  PQ_SIGNATURE_MALFORMED:
    'The post-quantum signature is not canonical base64url of the length defined in FIPS 204.',
  CLASSICAL_KEY_UNKNOWN: 'kid_classical is not an active key of this algorithm.',
  PQ_KEY_UNKNOWN: 'kid_pq is not an active key of this algorithm.',
  CLASSICAL_SIGNATURE_INVALID: 'The classical signature is wrong.',
  PQ_SIGNATURE_INVALID: 'The post-quantum signature is wrong.',
  SIGNER_MISMATCH: 'The two keys belong to different signers, or signed_by names another signer.',
  SIGNER_NOT_ACCEPTED: 'Its signer is not in accept_signers.',
  TOKEN_UNKNOWN: 'Your organisation did not issue it.',
  TOKEN_EXPIRED: 'It has expired.',
  TOKEN_REVOKED: 'It was revoked.',
  ...EXPECTATION_REASONS,
} as const satisfies Record<string, string>
export type HybridReason = keyof typeof HYBRID_REASONS

/** A token in examples of routes that take one. */
export const HYBRID_TOKEN_EXAMPLE = {
  token_id: '{hybridTokenId}',
  subject: 'member-7',
  claims: { decision: 1 },
  alg_classical: 'Ed25519',
  alg_pq: 'Dilithium2',
  sig_classical: '{hybridSigClassical}',
  sig_pq: '{hybridSigPq}',
  verification_policy: 'hybrid_required',
  iat: '{hybridIatNumber}',
  exp: '{hybridExpNumber}',
  kid_classical: '{hybridKidClassical}',
  kid_pq: '{hybridKidPq}',
} as const

export const RequiredPolicy = Type.Enum([...VERIFICATION_POLICIES], {
  description: "Signatures that you require in addition to the token's own policy.",
})
export const AcceptedSigners = Type.Array(Type.String({ minLength: 1, maxLength: MAX_ID_CHARACTERS }), {
  maxItems: MAX_ACCEPTED_SIGNERS,
  description:
    'Ids of agents and devices whose signatures are accepted, in addition to those of the service.',
})

/** Members of a token that is the body itself. What is wrong with them is told by reasons, not by an error. */
const member = Type.Optional(Type.Unknown({ description: 'A member of a token that is the body itself.' }))
const membersOfToken = {
  token_id: member,
  subject: member,
  claims: member,
  alg_classical: member,
  alg_pq: member,
  sig_classical: member,
  sig_pq: member,
  verification_policy: member,
  iat: member,
  exp: member,
  kid_classical: member,
  kid_pq: member,
  signed_by: member,
} satisfies Record<keyof HybridTokenIssued, typeof member>

export const ValidateHybridToken = Type.Object(
  {
    token: Type.Optional(
      Type.Unknown({
        description:
          'The token as it was issued. Its members can also be the members of the body. Absent: read from the cookies `assay_ht_0`, `assay_ht_1`, ….',
      }),
    ),
    required_policy: Type.Optional(RequiredPolicy),
    accept_signers: Type.Optional(AcceptedSigners),
    expect: Type.Optional(Expect),
    ...membersOfToken,
  },
  {
    title: 'ValidateHybridToken',
    // Such a member would be taken for something that the token is held against.
    not: {
      anyOf: Object.keys(membersOfToken).map((name) => ({
        properties: { token: { not: { type: 'null' } }, [name]: {} },
        required: ['token', name],
      })),
    },
  },
)
export type ValidateHybridToken = Static<typeof ValidateHybridToken>

const SignatureVerdict = Type.Object(
  {
    checked: Type.Boolean({ description: 'Whether the policies require this signature.' }),
    valid: Type.Boolean({ description: 'Whether it was verified and is correct.' }),
  },
  { title: 'SignatureVerdict' },
)
export type SignatureVerdict = Static<typeof SignatureVerdict>

export const HybridTokenVerdict = Type.Object(
  {
    valid: Type.Boolean(),
    policy: orNull(VerificationPolicy),
    policy_satisfied: Type.Boolean({ description: 'Whether every required signature is correct.' }),
    classical: SignatureVerdict,
    pq: SignatureVerdict,
    expired: Type.Boolean(),
    revoked: Type.Boolean(),
    reason_codes: Type.Array(Type.Enum(Object.keys(HYBRID_REASONS) as HybridReason[]), {
      description: 'Every reason why it is not valid; empty if it is valid.',
    }),
    token_id: orNull(Type.String()),
    subject: orNull(Type.String()),
    claims: orNull(Claims),
    signer: orNull(
      Type.Object({
        type: Type.Enum([...SIGNER_TYPES]),
        id: Type.String({ description: '`agt_…`, `dev_…`, or the base URL of the service.' }),
      }),
    ),
  },
  {
    title: 'HybridTokenVerdict',
    description:
      'policy, token_id, subject and claims are null unless your organisation issued exactly this token; signer is null unless a required signature is correct.',
  },
)
export type HybridTokenVerdict = Static<typeof HybridTokenVerdict>
