/** The ledger's own tables as row values. @module */
import { bytes, integer, type RowOf, table, text } from '../store/table.ts'
import type { EntryType } from './decision.ts'

export const HEAD_NAME = 'ledger'

/** The name of a log's rows, beside its number: servers of before there were several know log 0 by it. */
export const headName = (log: number): string => (log === 0 ? HEAD_NAME : `${HEAD_NAME}/${log}`)

/** A row for each log, which everyone who writes to that log locks. */
export const heads = table('ledger_head', {
  log: integer().key(),
  name: text(),
  size: integer(),
  root: bytes(),
  /** Roots of the perfect subtrees that make up the tree, 32 bytes each, from the left. */
  edge: bytes(),
  updated_at: integer(),
})

export const entries = table('ledger_entries', {
  /** Part of the key once there is a second log (growth.ts). */
  log: integer(),
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
  /** Part of the key once there is a second log (growth.ts). */
  log: integer(),
  /** Place in tree 2 of the log. */
  position: integer().key(),
  /** Index of the entry in tree 1. */
  idx: integer(),
  leaf: bytes(),
})

export type PoseidonLeafRow = RowOf<typeof poseidonLeaves>

export const poseidonRoots = table('poseidon_roots', {
  /** Part of the key once there is a second log (growth.ts). */
  log: integer(),
  shard: integer().key(),
  /** Leaves that the shard held, 1 to 4,096. */
  size: integer().key(),
  root: bytes(),
  /** Index of the entry that says so, in the same log. */
  entry_index: integer(),
})

/** Heads of the other logs as log 0 has them. */
export const loggedHeads = table('ledger_heads', {
  /** 1 or more. */
  log: integer().key(),
  size: integer().key(),
  root: bytes(),
  /** Index of the entry in log 0 that says so. */
  entry_index: integer(),
})

export type LoggedHeadRow = RowOf<typeof loggedHeads>

export type PoseidonRootRow = RowOf<typeof poseidonRoots>

export const tiles = table('ledger_tiles', {
  /** Part of the key once there is a second log (growth.ts). */
  log: integer(),
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

/** One for each key, and never replaced: batches of two logs that answer one key at once are in each other's way, and the second is run again. */
export const answers = table('idempotent_answers', {
  organisation: text().key(),
  key: text().key(),
  /** Keyed hash of the request's body, lower-case hex. */
  request_hash: text(),
  /** JSON of the answer, sealed. */
  sealed_answer: bytes(),
  /** Unix ms. */
  expires_at: integer(),
})

export type AnswerRow = RowOf<typeof answers>
