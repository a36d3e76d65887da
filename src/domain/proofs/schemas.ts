/** Wire shapes of the proof API: camelCase below /api, snake_case below /v1. @module */
import Type, { type Static } from 'typebox'
import { LAST_MS } from '../../clock.ts'
import { DateTime, idOf, OfLog, orNull } from '../../json/schemas.ts'
import { Expect, Logic, Rules } from '../../rules/schemas.ts'

export const MAX_SYNC_PROOFS = 100
const MAX_DATA_KEYS = 1000
const MAX_ID_CHARACTERS = 128
const MAX_NONCE_CHARACTERS = 128
const MAX_TTL_SECONDS = 10 * 366 * 24 * 3600
const MAX_EXP_SECONDS = Math.floor(LAST_MS / 1000)

const Name = Type.String({ minLength: 1, maxLength: MAX_ID_CHARACTERS })
export const Digest = Type.String({
  description: "SHA-256 over the circuit's id and the public signals, lower-case hex.",
})
const Decision = Type.Union([Type.Literal(0), Type.Literal(1)], {
  description: '1 is YES; taken from the public signals.',
})
export const NullableDecision = Type.Union([Type.Literal(0), Type.Literal(1), Type.Null()], {
  description:
    'From the public signals: 1 is YES. 0 also if a policy decided NO (`POLICY_NO`) for the proof or for one of its members. Null if the proof is not valid, or if it answers no question: then it attests the submitted data, and nothing was decided.',
})
const Valid = Type.Boolean({
  description: 'The pairing check succeeds with the key of the circuit. That alone shows little.',
})
const Verified = Type.Boolean({
  description:
    'The proof is valid, known to your organisation, has the signals it was made with, is not expired or spent, and passes all other checks that only the service can make.',
})
const ReasonCodes = (what: string) =>
  Type.Array(Type.String(), { description: `Why it is not ${what}; empty if it is.` })

const Coordinates = Type.Array(Type.String())

export const SnarkProofJson = Type.Object(
  {
    pi_a: Coordinates,
    pi_b: Type.Array(Coordinates),
    pi_c: Coordinates,
    protocol: Type.Literal('groth16'),
    curve: Type.Literal('bn128'),
  },
  { title: 'Groth16Proof', description: 'The JSON form of snarkjs.' },
)

export const PublicSignals = Type.Array(Type.String(), {
  description: 'Field elements in decimal, in the order of the circuit.',
})

/** Whatever is sent: what is wrong with a proof is told by a reason, not by an error. */
export const AnyProof = Type.Unknown({
  description: 'A proof in the JSON form of snarkjs, or a text `zk1.…`.',
})
export const SentSignals = Type.Optional(
  Type.Array(Type.String(), { description: 'Decimals. Can be left out with `zk1.…`, which contains them.' }),
)

const Data = Type.Record(Type.String(), Type.Unknown(), {
  minProperties: 1,
  maxProperties: MAX_DATA_KEYS,
  description:
    'The data that the rules are applied to. Neither stored nor logged, and never part of the proof.',
})

/** `inputs` of the circuits about rules. */
export const RuleInputs = Type.Object({
  data: Data,
  rules: Type.Optional(Rules),
  logic: Type.Optional(Logic),
})
export type RuleInputs = Static<typeof RuleInputs>

export const GenerateRequest = Type.Object({
  userId: Type.String({
    minLength: 1,
    maxLength: MAX_ID_CHARACTERS,
    description: 'The person that the proof is about. Only keyed hashes of it are stored.',
  }),
  rules: Type.Union([Rules, Type.Object({ logic: Logic })], {
    description: 'Rules that must all hold, or `{logic: tree}`.',
  }),
  data: Data,
  circuitId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'Default: the circuit that proves most about the rules.',
    }),
  ),
})
export type GenerateRequest = Static<typeof GenerateRequest>

export const GeneratedProofJson = Type.Object(
  {
    proofId: idOf('prf'),
    proof: SnarkProofJson,
    publicInputs: PublicSignals,
    decision: Decision,
    digest: Digest,
    circuitId: Type.String(),
  },
  { title: 'GeneratedProof' },
)
export type GeneratedProofJson = Static<typeof GeneratedProofJson>

/** What an answer said of a proof, sent back with it: held against the proof. */
const told = {
  decision: Type.Optional(Decision),
  digest: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'As it was returned; with a different value the proof is not verified.',
    }),
  ),
}

export const ProofContextJson = Type.Object(
  {
    aud: Type.String(),
    org: Type.String(),
    circuit: Type.String(),
    statement: Type.Record(Type.String(), Type.Unknown()),
    nonce: Type.String(),
    exp: Type.Optional(Type.Integer({ description: 'Unix seconds.' })),
  },
  {
    title: 'ProofContext',
    description:
      'The public signal `ctx` is the first 31 bytes of SHA-256 of `ctx/1` and the canonical JSON of this.',
  },
)

const MAX_AUD_CHARACTERS = 2048
const MAX_STATED_MEMBERS = 32

/** Of a proof that is not on record, or as the answer that made it told it. */
const SentContextJson = Type.Object(
  {
    aud: Type.String({ minLength: 1, maxLength: MAX_AUD_CHARACTERS }),
    org: Name,
    circuit: Name,
    statement: Type.Record(Type.String(), Type.Unknown(), { maxProperties: MAX_STATED_MEMBERS }),
    nonce: Type.String({ minLength: 1, maxLength: MAX_NONCE_CHARACTERS }),
    exp: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_EXP_SECONDS, description: 'Unix seconds.' })),
  },
  {
    title: 'SentContext',
    description:
      'What the proof is said to be made for, as its making returned it. For a proof that was made elsewhere; it is verified only with a challenge of yours, or with `audience`, `purpose` and `nonce` in `expect`, and if one of `expect.issuers` (default: your organisation) issued what it is about.',
  },
)

const Binding = Type.Enum(['bearer', 'holder'], {
  description:
    '`holder`: only somebody who knows the secret of a holder could make the proof. `bearer`: the issuer made the secret too.',
})
const MadeBy = Type.Literal('elsewhere', {
  description: 'Not by this service. Nobody can know that it was the holder.',
})
/** What the answer says more of a verified proof that was made elsewhere. */
export const madeElsewhere = { issuer: idOf('org'), binding: Binding, made_by: MadeBy }

export const VerifyProofRequest = Type.Object({
  proofId: Type.Optional(Name),
  circuitId: Type.Optional(Name),
  proof: AnyProof,
  publicInputs: SentSignals,
  context: Type.Optional(SentContextJson),
  expect: Type.Optional(Expect),
  ...told,
})
export type VerifyProofRequest = Static<typeof VerifyProofRequest>

const ELSEWHERE = 'Only of a verified proof that was made elsewhere.'

export const VerifiedProofJson = Type.Object(
  {
    valid: Valid,
    verified: Verified,
    decision: NullableDecision,
    reasonCodes: ReasonCodes('verified'),
    proofId: Type.Optional(Type.String({ description: `${ELSEWHERE} Under this id it is on record.` })),
    issuer: Type.Optional(madeElsewhere.issuer),
    binding: Type.Optional(Binding),
    madeBy: Type.Optional(MadeBy),
  },
  { title: 'VerifiedProof' },
)
export type VerifiedProofJson = Static<typeof VerifiedProofJson>

/** One proof of an upload; checked one by one. */
export const SyncItem = Type.Object({
  proofId: Type.Optional(Name),
  circuitId: Type.Optional(Name),
  proof: AnyProof,
  publicInputs: SentSignals,
  ...told,
  createdAt: Type.Optional(DateTime),
  expect: Type.Optional(Expect),
})
export type SyncItem = Static<typeof SyncItem>

export const SyncRequest = Type.Object({
  proofs: Type.Array(Type.Unknown(), {
    description: `At most ${MAX_SYNC_PROOFS} of \`{proofId?, circuitId?, proof, publicInputs, createdAt?}\`.`,
  }),
})
export type SyncRequest = Static<typeof SyncRequest>

export const SyncResult = Type.Object(
  {
    synced: Type.Integer({ minimum: 0, description: 'Valid proofs that were unknown and are now recorded.' }),
    updated: Type.Integer({
      minimum: 0,
      description:
        'Known proofs: verified again, or, if their context is not known (they came by an upload), valid and no more.',
    }),
    proofs: Type.Array(
      Type.Object({
        index: Type.Integer({ minimum: 0 }),
        proofId: Type.String(),
        digest: Digest,
        status: Type.Enum(['synced', 'updated']),
      }),
      { description: 'Proofs of both kinds, in the order of the upload.' },
    ),
    errors: Type.Array(
      Type.Object({
        index: Type.Integer({ minimum: 0 }),
        proofId: orNull(Type.String()),
        reasonCodes: Type.Array(Type.String()),
        message: Type.Optional(Type.String()),
      }),
      { description: 'The others.' },
    ),
  },
  { title: 'ProofSync' },
)
export type SyncResult = Static<typeof SyncResult>

/** What a proof is bound to, beside its statement. Closed: a member that nothing binds would only seem to count. */
const AskedContext = Type.Object(
  {
    nonce: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_NONCE_CHARACTERS,
        description:
          'Bound by `ctx`: the party that chose it can see that the proof is fresh. Default: random.',
      }),
    ),
    ttl: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_TTL_SECONDS,
        description: 'Seconds; default: the proof never expires.',
      }),
    ),
    purpose: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_ID_CHARACTERS,
        description:
          'The scope of nullifiers, together with the service: a person can be spent once per purpose. Default: one purpose per question, shown in the statement.',
      }),
    ),
  },
  { additionalProperties: false },
)

export const ProofGenerateRequest = Type.Object({
  circuit_id: Type.String({ minLength: 1, maxLength: 64 }),
  inputs: Type.Record(Type.String(), Type.Unknown(), {
    description:
      'The inputs of the circuit; see the table in docs/proofs.md. Circuits for rules take `{data, rules | logic}`.',
  }),
  context: Type.Optional(AskedContext),
  subject: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_ID_CHARACTERS,
      description: 'The person that the proof is about. Only keyed hashes of it are stored.',
    }),
  ),
})
export type ProofGenerateRequest = Static<typeof ProofGenerateRequest>

export const ProofGenerated = Type.Object(
  {
    proof_id: idOf('prf'),
    circuit_id: Type.String(),
    digest: Digest,
    proof: SnarkProofJson,
    public_signals: PublicSignals,
    decision: Decision,
    reason: Type.Optional(
      Type.String({ description: 'Why it is 0, if the reason is not simply that the rules do not hold.' }),
    ),
    context: ProofContextJson,
    created_at: DateTime,
    expires_at: orNull(DateTime),
    log: OfLog,
    merkle_root: Type.String({
      description: 'Root of the ledger with the entry of this proof, lower-case hex.',
    }),
    merkle_leaf_hash: Type.String({ description: 'Leaf hash of that entry, lower-case hex.' }),
    merkle_index: Type.Integer({ minimum: 0, description: 'Index of that entry in the ledger.' }),
  },
  { title: 'ProofGenerated' },
)
export type ProofGenerated = Static<typeof ProofGenerated>

/** Members of the answer to a generation that may come back with the proof, with the values that they had. */
export const AS_MADE = [
  'reason',
  'context',
  'created_at',
  'expires_at',
  'log',
  'merkle_leaf_hash',
  'merkle_index',
] as const
/** The same with what goes on by itself, so that it is not held against anything. */
const TOLD = [...AS_MADE, 'merkle_root'] as const

export const ProofVerifyRequest = Type.Object(
  {
    proof_id: Type.Optional(Name),
    circuit_id: Type.Optional(Name),
    proof: AnyProof,
    public_signals: SentSignals,
    consume: Type.Optional(
      Type.Boolean({
        description:
          'Spends the proof if it is verified and a YES. Spending it again returns 409 `double_spend`.',
      }),
    ),
    expect: Type.Optional(Expect),
    ...told,
    ...Type.Partial(Type.Pick(ProofGenerated, [...TOLD])).properties,
    context: Type.Optional(SentContextJson),
  },
  // By that id the proof is found that they are told of; a context is also told of one that was made elsewhere.
  {
    dependentRequired: Object.fromEntries(
      TOLD.filter((name) => name !== 'context').map((name) => [name, ['proof_id']]),
    ),
  },
)
export type ProofVerifyRequest = Static<typeof ProofVerifyRequest>

export const ProofVerified = Type.Object(
  {
    valid: Valid,
    verified: Verified,
    decision: NullableDecision,
    digest: orNull(Digest, { description: 'Null if the proof is not valid.' }),
    context: orNull(ProofContextJson, {
      description:
        'The context that the proof was made for. Compare it with your question. Null if the service does not know it.',
    }),
    reason_codes: ReasonCodes('verified, or not accepted for spending'),
    consumed: Type.Optional(
      Type.Boolean({
        description: 'Whether this call spent it; only with `consume`. True only for a verified YES.',
      }),
    ),
    consumed_at: Type.Optional(DateTime),
    proof_id: Type.Optional(Type.String({ description: `${ELSEWHERE} Under this id it is on record.` })),
    ...Type.Partial(Type.Object(madeElsewhere)).properties,
  },
  { title: 'ProofVerified' },
)
export type ProofVerified = Static<typeof ProofVerified>
