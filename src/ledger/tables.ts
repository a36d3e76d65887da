/** The ledger's own tables as row values. @module */
import { table } from '../store/table.ts'

export const HEAD_NAME = 'ledger'

interface EntryRow {
  idx: number
  id: string
  organisation: string
  type: string
  /** Unix ms. */
  at: number
  /** Pseudonym of whom the entry is about, as the text says it. */
  subject: string | null
  key_id: string | null
  circuit_id: string | null
  proof_id: string | null
  digest: string | null
  leaf_hash: Uint8Array
  /** Canonical JSON, byte for byte what was hashed. */
  entry: string
}

export const entries = table<EntryRow>('ledger_entries', [
  'idx',
  'id',
  'organisation',
  'type',
  'at',
  'subject',
  'key_id',
  'circuit_id',
  'proof_id',
  'digest',
  'leaf_hash',
  'entry',
])

export interface PoseidonLeafRow {
  /** Place in tree 2. */
  position: number
  /** Index of the entry in tree 1. */
  idx: number
  leaf: Uint8Array
}

export const poseidonLeaves = table<PoseidonLeafRow>('poseidon_leaves', ['position', 'idx', 'leaf'])

export interface PoseidonRootRow {
  shard: number
  /** Leaves that the shard held, 1 to 4,096. */
  size: number
  root: Uint8Array
  /** Index of the entry that says so. */
  entry_index: number
}

export const poseidonRoots = table<PoseidonRootRow>('poseidon_roots', [
  'shard',
  'size',
  'root',
  'entry_index',
])

interface TileRow {
  level: number
  tile: number
  root: Uint8Array
  /** 256 hashes. */
  hashes: Uint8Array
}

export const tiles = table<TileRow>('ledger_tiles', ['level', 'tile', 'root', 'hashes'])

export interface ClaimRow {
  organisation: string
  kind: string
  key: string
  /** JSON text. */
  holder: string | null
  /** Unix ms. */
  at: number
}

/** No rule for conflicts: the unique index has the last word. */
export const claims = table<ClaimRow>('ledger_claims', ['organisation', 'kind', 'key', 'holder', 'at'])

export interface CounterRow {
  organisation: string
  counter: string
  value: number
}

export const counters = table<CounterRow>('ledger_counters', ['organisation', 'counter', 'value'], {
  key: ['organisation', 'counter'],
  columns: { value: 'sum' },
})

export interface AnswerRow {
  organisation: string
  key: string
  /** Keyed hash of the request's body, lower-case hex. */
  request_hash: string
  /** JSON of the answer, sealed. */
  sealed_answer: Uint8Array
  /** Unix ms. */
  expires_at: number
}

/** Only an expired answer is ever replaced: a live one is found first, under the head's lock. */
export const answers = table<AnswerRow>(
  'idempotent_answers',
  ['organisation', 'key', 'request_hash', 'sealed_answer', 'expires_at'],
  {
    key: ['organisation', 'key'],
    columns: { request_hash: 'last', sealed_answer: 'last', expires_at: 'last' },
  },
)
