/** Wire form of the audit: entries, proofs, k-anonymous counts. @module */
import Type, { type Static } from 'typebox'
import { DateTime, dateTime, OfLog, orNull, pageLimit, SearchedCursor } from '../../json/schemas.ts'

export const ENTRY_TYPES = [
  'verify',
  'prove',
  'spend',
  'key.revoked',
  'gate',
  'attest',
  'payment',
  'revoke',
  'chat',
  'account',
  'hybrid_token',
  'ledger.poseidon_root',
  'ledger.head',
] as const

export const MAX_PAGE_ENTRIES = 1_000
const Hash = Type.String({ pattern: '^[0-9a-f]{64}$' })
const Index = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Since = Type.Optional(dateTime('Only entries at or after this time.'))
const Until = Type.Optional(dateTime('Only entries before this time.'))
const TreeSize = Type.Integer({ minimum: 0, description: 'Entries in the log.' })
const Hashes = Type.Array(Hash, { description: 'SHA-256 hashes, lower-case hex.' })

const askedLog = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: 63, description }))

/** A question about the entries of a log: an organisation has one, an operator reads any. */
export const AskedLog = askedLog(
  'Which log; default: that of your organisation. Only an operator may ask about another one.',
)

export const AuditQuery = Type.Object({
  log: AskedLog,
  type: Type.Optional(Type.Enum([...ENTRY_TYPES])),
  since: Since,
  until: Until,
  cursor: Type.Optional(
    Type.String({ pattern: '^[0-9]{1,15}$', description: '`nextCursor` of the previous page.' }),
  ),
  limit: pageLimit(MAX_PAGE_ENTRIES, 50),
})
export type AuditQuery = Static<typeof AuditQuery>

const Nullable = (description: string) => orNull(Type.String(), { description })

export const AuditEntry = Type.Object(
  {
    log: OfLog,
    index: Type.Integer({ minimum: 0, description: 'Index in the log.' }),
    leafHash: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256(0x00 ‖ entry).' }),
    id: Type.String(),
    organisationId: Type.String(),
    type: Type.Enum([...ENTRY_TYPES]),
    at: DateTime,
    digest: Nullable('Digest of what the entry is about, as in other answers.'),
    keyId: Nullable('Id of the API key named in the entry.'),
    circuitId: Nullable('The circuit of a proof.'),
    proofId: Nullable('The proof.'),
    entry: Nullable(
      'Canonical JSON, exactly the bytes that were hashed. Null for entries of other organisations.',
    ),
  },
  { title: 'AuditEntry' },
)
export type AuditEntry = Static<typeof AuditEntry>

/** Members of an entry that may come back with its index as they were. */
export const AS_LISTED = [
  'log',
  'leafHash',
  'id',
  'organisationId',
  'type',
  'at',
  'digest',
  'keyId',
  'circuitId',
  'proofId',
  'entry',
] as const
/** The same as optional members of a question. */
export const asListed = Type.Partial(Type.Pick(AuditEntry, [...AS_LISTED])).properties

export const AuditPage = Type.Object(
  {
    log: OfLog,
    entries: Type.Array(AuditEntry),
    treeSize: TreeSize,
    root: Hash,
    checkpoint: Type.String({
      description: 'Signed note over `treeSize` and `root` (C2SP tlog-checkpoint).',
    }),
    nextCursor: SearchedCursor,
  },
  { title: 'AuditPage' },
)
export type AuditPage = Static<typeof AuditPage>

export const InclusionQuery = Type.Object({
  log: AskedLog,
  index: Index,
  treeSize: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Default: current size of the log.',
    }),
  ),
})
export type InclusionQuery = Static<typeof InclusionQuery>

const WitnessedTree = Type.Object(
  {
    treeSize: TreeSize,
    root: Hash,
    checkpoint: Type.String({ description: 'Signed note (C2SP tlog-checkpoint), with the cosignatures.' }),
  },
  { title: 'WitnessedTree' },
)

export const InclusionProof = Type.Object(
  {
    log: OfLog,
    index: Index,
    treeSize: TreeSize,
    leafHash: Hash,
    hashes: Hashes,
    root: Hash,
    witnessed: Type.Optional(
      Type.Union([Type.Literal('pending'), WitnessedTree], {
        description:
          'The newest checkpoint that witnesses have cosigned, if it covers the entry; else `pending`. Absent where the service has no policy of witnesses, and for other logs than 0, whose heads log 0 has.',
      }),
    ),
  },
  { title: 'InclusionProof' },
)
export type InclusionProof = Static<typeof InclusionProof>

export const ConsistencyQuery = Type.Object({
  log: askedLog('Which log; default: that of your organisation.'),
  from: Index,
  to: Type.Optional(Index),
})
export type ConsistencyQuery = Static<typeof ConsistencyQuery>

export const ConsistencyProof = Type.Object(
  { log: OfLog, from: TreeSize, to: TreeSize, hashes: Hashes },
  { title: 'ConsistencyProof' },
)
export type ConsistencyProof = Static<typeof ConsistencyProof>

export const PseudonymisedQuery = Type.Object({
  k: Type.Optional(
    Type.Integer({ description: 'Minimum number of distinct subjects per row, 5 to 1,000.', default: 5 }),
  ),
  since: Since,
  until: Until,
  fields: Type.Optional(
    Type.String({
      pattern: '^((type|hour)(,(type|hour))*)?$',
      default: 'type',
      description: 'How a day is divided: `type`, or `type,hour`; empty for whole days. Hours divide types.',
    }),
  ),
})
export type PseudonymisedQuery = Static<typeof PseudonymisedQuery>

const PseudonymisedRow = Type.Object(
  {
    bucket: dateTime('Start of the UTC day or hour.'),
    span: Type.Enum(['day', 'hour']),
    type: orNull(Type.Enum([...ENTRY_TYPES]), { description: 'Null: several types.' }),
    merged: Type.Boolean({ description: 'Whether the row merges parts that had too few subjects.' }),
    entries: orNull(Type.Integer(), { description: 'Null while the day is not over.' }),
    subjects: Type.Integer({ description: 'Distinct subjects, rounded down to a multiple of k.' }),
  },
  { title: 'PseudonymisedRow' },
)

export const Pseudonymised = Type.Object(
  {
    k: Type.Integer(),
    window: Type.Object({
      since: DateTime,
      until: DateTime,
    }),
    pseudonymEpoch: Type.Integer({ description: 'The current 90-day epoch of pseudonyms.' }),
    rows: Type.Array(PseudonymisedRow),
    suppressed: Type.Integer({
      description: 'Number of days left out because they have fewer than k subjects.',
    }),
  },
  { title: 'Pseudonymised' },
)
export type Pseudonymised = Static<typeof Pseudonymised>
