/** The ledger's own tables as row values. @module */
import { bytes, integer, type RowOf, table, text } from '../store/table.ts'
import type { EntryType } from './decision.ts'

export const HEAD_NAME = 'ledger'

/** The one row that everyone who writes locks. */
export const heads = table('ledger_head', {
  name: text().key(),
  size: integer(),
  root: bytes(),
  /** Roots of the perfect subtrees that make up the tree, 32 bytes each, from the left. */
  edge: bytes(),
  updated_at: integer(),
})

export const entries = table('ledger_entries', {
  idx: integer().key(),
  id: text(),
  organisation: text(),
  type: text<EntryType>(),
  /** Unix ms. */
  at: integer(),
  /** Pseudonym of whom the entry is about, as the text says it. */
  subject: text().null(),
  key_id: text().null(),
  circuit_id: text().null(),
  proof_id: text().null(),
  digest: text().null(),
  leaf_hash: bytes(),
  /** Canonical JSON, byte for byte what was hashed. */
  entry: text(),
})

export type EntryRow = RowOf<typeof entries>

export const poseidonLeaves = table('poseidon_leaves', {
  /** Place in tree 2. */
  position: integer().key(),
  /** Index of the entry in tree 1. */
  idx: integer(),
  leaf: bytes(),
})

export type PoseidonLeafRow = RowOf<typeof poseidonLeaves>

export const poseidonRoots = table('poseidon_roots', {
  shard: integer().key(),
  /** Leaves that the shard held, 1 to 4,096. */
  size: integer().key(),
  root: bytes(),
  /** Index of the entry that says so. */
  entry_index: integer(),
})

export type PoseidonRootRow = RowOf<typeof poseidonRoots>

export const tiles = table('ledger_tiles', {
  level: integer().key(),
  tile: integer().key(),
  root: bytes(),
  /** 256 hashes. */
  hashes: bytes(),
})

/** No rule for conflicts: the unique index has the last word. */
export const claims = table('ledger_claims', {
  organisation: text().key(),
  kind: text().key(),
  key: text().key(),
  /** JSON text. */
  holder: text().null(),
  /** Unix ms. */
  at: integer(),
})

export type ClaimRow = RowOf<typeof claims>

export const counters = table('ledger_counters', {
  organisation: text().key(),
  counter: text().key(),
  value: integer().merge('sum'),
})

export type CounterRow = RowOf<typeof counters>

/** Only an expired answer is ever replaced: a live one is found first, under the head's lock. */
export const answers = table('idempotent_answers', {
  organisation: text().key(),
  key: text().key(),
  /** Keyed hash of the request's body, lower-case hex. */
  request_hash: text().merge('last'),
  /** JSON of the answer, sealed. */
  sealed_answer: bytes().merge('last'),
  /** Unix ms. */
  expires_at: integer().merge('last'),
})

export type AnswerRow = RowOf<typeof answers>
