/** Wire shapes of verification. @module */
import Type, { type Static } from 'typebox'
import { askedId, DateTime, idOf, OfLog, orNull } from '../../json/schemas.ts'
import { Logic, Rules } from '../../rules/schemas.ts'
import { PolicyVerification } from './schemas-v1.ts'

export const MAX_BATCH_RESULTS = 100
const MAX_DATA_KEYS = 1000
const MAX_TTL_SECONDS = 10 * 366 * 24 * 3600
const MAX_NONCE_CHARACTERS = 128
const MAX_CIRCUIT_ID_CHARACTERS = 64

const Decision = orNull(Type.Enum(['YES', 'NO']), {
  description:
    'Null if no question was asked: the result attests the submitted data, and nothing is decided.',
})
const QUESTION =
  'The question: `none` if there were no rules, so that the result only attests the submitted data; otherwise the SHA-256 of the rules, the tree or the policy, lower-case hex. The JWS carries it'

export const VerifyOptions = Type.Object(
  {
    circuit_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_CIRCUIT_ID_CHARACTERS,
        description: 'The circuit to prove with; default: the one that proves most about the rules.',
      }),
    ),
    rules: Type.Optional(Rules),
    logic: Type.Optional(Logic),
    ttl: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_TTL_SECONDS,
        description: 'Seconds after which the result expires; default: never.',
      }),
    ),
    nonce: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_NONCE_CHARACTERS,
        description: 'Bound by the proof: the party that chose it can see that the result is fresh.',
      }),
    ),
    include_receipt: Type.Optional(
      Type.Boolean({ description: 'Whether the answer includes the full ledger receipt of the result.' }),
    ),
  },
  { title: 'VerifyOptions' },
)
export type VerifyOptions = Static<typeof VerifyOptions>

export const VerifyData = Type.Record(Type.String(), Type.Unknown(), {
  minProperties: 1,
  maxProperties: MAX_DATA_KEYS,
  description: 'The data to verify. Neither stored nor logged, and never part of what is signed.',
})
export type VerifyData = Static<typeof VerifyData>

export const VerifyRequest = Type.Object({ data: VerifyData, options: Type.Optional(VerifyOptions) })
export type VerifyRequest = Static<typeof VerifyRequest>

const VerificationId = idOf('ver')
const Digest = Type.String({
  description: "SHA-256 over the circuit's id and the public signals, lower-case hex; identifies the result.",
})
const Jws = Type.String({ description: 'Compact JWS: EdDSA, typ `vr+jws`.' })
const CircuitId = Type.String({ description: 'The circuit whose public signals the digest is made of.' })
const ReasonWord = Type.Enum(['missing_data'], {
  description: 'Why the decision is NO, if the reason is not simply that the rules do not hold.',
})
const LeafHash = Type.String({ description: 'Leaf hash of the ledger entry, lower-case hex.' })

export const Receipt = Type.Object(
  {
    log: OfLog,
    entryId: Type.String(),
    index: Type.Integer({ minimum: 0 }),
    leafHash: LeafHash,
    treeSize: Type.Integer({ minimum: 1, description: 'Size of the ledger including this entry.' }),
    root: Type.String({ description: 'RFC 6962 root at that size, lower-case hex.' }),
    inclusion: Type.String({ format: 'uri', description: 'Address of the inclusion proof of the entry.' }),
    witnessed: Type.Optional(
      Type.Literal('pending', {
        description:
          'No witness has seen the entry yet: its inclusion proof names the newest checkpoint that they have cosigned, once one covers it. Absent where the service has no policy of witnesses, and for other logs than 0.',
      }),
    ),
  },
  { title: 'LedgerReceipt' },
)

/** What every signed result tells, with or without a proof. */
const resultFields = {
  success: Type.Boolean({ description: 'False for a NO; true for a YES, or if no question was asked.' }),
  verificationId: VerificationId,
  timestamp: DateTime,
  decision: Decision,
  reason: Type.Optional(ReasonWord),
  jws: Jws,
  signature: Type.String({
    description:
      'base64url Ed25519 over "verification/1\\n" and the canonical JSON of {circuitId, decision, digest, timestamp, verificationId}.',
  }),
  digest: Digest,
  salt: Type.String({
    description:
      'base64url, 32 bytes: opens the data commitment. Shown once; stored only with the answer to a request with an Idempotency-Key, encrypted, for 24 hours.',
  }),
  circuitId: CircuitId,
  rulesHash: orNull(Type.String(), {
    description:
      'SHA-256 of the canonical JSON of {rules, logic} that decided, lower-case hex, as `ctx` binds it; null without rules. In a pod it is the hash of the policy.',
  }),
  question: Type.String({ description: `${QUESTION}.` }),
  log: OfLog,
  merkleRoot: Type.String({ description: 'Root of the ledger with this entry, lower-case hex.' }),
  merkleLeafHash: LeafHash,
  merkleIndex: Type.Integer({ minimum: 0, description: 'Index of the entry in the ledger.' }),
  kid: Type.String({ description: 'The signing key, as in /.well-known/jwks.json.' }),
  qrUrl: Type.String({ format: 'uri', description: 'Public address of the result.' }),
  expiresAt: Type.Optional(DateTime),
  receipt: Type.Optional(Receipt),
}

export const VerificationResult = Type.Object(
  {
    ...resultFields,
    proof: Type.String({ description: 'Groth16 proof and public signals: `zk1.` and base64url.' }),
    proofId: idOf('prf'),
  },
  { title: 'VerificationResult' },
)
export type VerificationResult = Static<typeof VerificationResult>

/** A result without a zero-knowledge proof. */
export const SignedResult = Type.Object(resultFields, { title: 'SignedResult' })
export type SignedResult = Static<typeof SignedResult>

/** Items are open: one that is wrong is refused in its place and leaves the others alone. */
export const BatchRequest = Type.Object({
  items: Type.Array(Type.Unknown(), {
    minItems: 1,
    description:
      'At most 100. An object with an object `data` is read as the body of POST /verify; any other object is the data itself.',
  }),
})
export type BatchRequest = Static<typeof BatchRequest>

const RefusedItem = Type.Object(
  {
    success: Type.Literal(false),
    verificationId: Type.Null(),
    error: Type.String({ description: 'The error code that POST /verify would have returned.' }),
    message: Type.String(),
    details: Type.Optional(
      Type.Array(
        Type.Object({
          path: Type.String({ description: 'JSON Pointer into the item.' }),
          code: Type.String(),
          message: Type.String(),
        }),
      ),
    ),
  },
  { title: 'RefusedItem' },
)
export type RefusedItem = Static<typeof RefusedItem>

export const BatchResult = Type.Object(
  {
    success: Type.Literal(true),
    count: Type.Integer({ minimum: 1, description: 'Number of results, including rejected items.' }),
    results: Type.Array(Type.Union([SignedResult, RefusedItem]), {
      description: 'In the order of the items.',
    }),
  },
  { title: 'BatchResult' },
)
export type BatchResult = Static<typeof BatchResult>

export const VerificationInfo = Type.Object(
  {
    success: Type.Literal(true),
    engine: Type.Object({ name: Type.String(), version: Type.String() }),
    status: Type.Literal('operational'),
    issuer: Type.String({
      format: 'uri',
      description: 'What the service calls itself: the `iss` of all that it signs.',
    }),
    timestamp: DateTime,
  },
  { title: 'VerificationInfo' },
)
export type VerificationInfo = Static<typeof VerificationInfo>

const Status = Type.Enum(['VALID', 'EXPIRED', 'REVOKED'], {
  description: 'REVOKED: the owner revoked it. EXPIRED: its `ttl` has passed.',
})

/** A stored result as anyone may see it who was given its address. */
const publicFields = {
  success: Type.Literal(true),
  status: Status,
  verificationId: VerificationId,
  timestamp: DateTime,
  decision: Decision,
  question: orNull(Type.String(), {
    description: `${QUESTION}. Null for results made before this member existed.`,
  }),
  asked: orNull(
    Type.Object({ rules: Type.Optional(Type.Array(Type.Unknown())), logic: Type.Optional(Type.Unknown()) }),
    {
      description:
        'The rules and the tree whose hash is `question`. Values compared for equality (except booleans) or searched for are left out, since a YES would reveal them. Null if nothing was asked, for policies, and for results made before questions were stored.',
    },
  ),
  circuitId: CircuitId,
  proven: Type.Boolean({
    description:
      'Whether a zero-knowledge proof was made and returned with the result; false for an item of a batch, whose circuit only determines the form of the digest.',
  }),
  proof: orNull(Type.String(), {
    description:
      '`zk1.…`, to be verified with the key of the circuit. Null if none was made or stored, for policies, and if `asked` leaves out a value, which the proof would reveal.',
  }),
  log: OfLog,
  merkleIndex: Type.Integer({ minimum: 0, description: 'Index in the log of the entry named in the JWS.' }),
  issuer: Type.String({ format: 'uri', description: 'The service whose keys verify the JWS; its `iss`.' }),
  jws: Jws,
  checkedAt: DateTime,
}

export const PublicResult = Type.Object(publicFields, { title: 'PublicResult' })
export type PublicResult = Static<typeof PublicResult>

export const StoredResult = Type.Object(
  {
    ...publicFields,
    reason: orNull(ReasonWord),
    digest: Digest,
    proofId: orNull(Type.String(), { description: 'Null if no proof was made.' }),
    merkleLeafHash: LeafHash,
    qrUrl: Type.String({ format: 'uri' }),
    expiresAt: orNull(DateTime),
    revokedAt: orNull(DateTime),
  },
  { title: 'StoredResult' },
)
export type StoredResult = Static<typeof StoredResult>

export const ResultParams = Type.Object({ verificationId: askedId('ver') })

/** Members of a result that may come back with its revocation, and have to be as they were. */
export const AS_RESULTED = [
  'timestamp',
  'decision',
  'reason',
  'asked',
  'jws',
  'digest',
  'circuitId',
  'proofId',
  'log',
  'merkleLeafHash',
  'merkleIndex',
  'qrUrl',
  'expiresAt',
] as const

/** The same of an answer of POST /v1/verify. */
export const AS_DECIDED = [
  'decision',
  'verdict',
  'circuit_id',
  'digest',
  'proof_id',
  'jws',
  'issued_at',
  'expires_at',
  'log',
  'merkle_leaf_hash',
] as const satisfies (keyof PolicyVerification)[]

const AskedVerificationId = Type.String({ minLength: 1, maxLength: 64 })

/** What was made, or was looked up: members of both, of which {@link AS_RESULTED} or {@link AS_DECIDED} are compared. */
export const RevokeResult = Type.Union(
  [
    Type.Object({
      ...Type.Partial(VerificationResult).properties,
      ...Type.Partial(StoredResult).properties,
      success: Type.Optional(Type.Boolean()),
      verificationId: AskedVerificationId,
    }),
    Type.Object({
      ...Type.Partial(PolicyVerification).properties,
      verification_id: AskedVerificationId,
    }),
  ],
  {
    title: 'RevokeResult',
    description: 'The id of a result, or the complete result as it was returned.',
  },
)
export type RevokeResult = Static<typeof RevokeResult>

export const Revoked = Type.Object(
  {
    success: Type.Literal(true),
    verificationId: VerificationId,
    status: Type.Literal('REVOKED'),
    revokedAt: DateTime,
  },
  { title: 'RevokedResult' },
)
export type Revoked = Static<typeof Revoked>

export const HashParams = Type.Object({
  hash: Type.String({
    pattern: '^[A-Za-z0-9_-]{43}$',
    description: 'base64url SHA-256 of the compact JWS.',
  }),
})

export const QrQuery = Type.Object({
  format: Type.Optional(
    Type.Enum(['svg', 'png'], { description: 'Returns the QR code, which contains this address.' }),
  ),
})
export type QrQuery = Static<typeof QrQuery>
