/** What witnesses have cosigned, and which of several servers asks them: the tables behind `witnessing.ts`. @module */
import type { Database } from '../../store/database.ts'
import { bytes, integer, type RowOf, table, text } from '../../store/table.ts'
import { NOW_MS } from '../follower.ts'

export const cosignatures = table('ledger_cosignatures', {
  /** The name of the log. */
  origin: text().key(),
  /** Submission prefix of the witness. */
  witness: text().key(),
  /** Of the checkpoint that it cosigned last. */
  size: integer(),
  root: bytes(),
  /** Signature lines of keys that the policy names. */
  lines: text(),
  /** Unix ms. */
  cosigned_at: integer(),
})

export const witnessed = table('ledger_witnessed', {
  origin: text().key(),
  /** Null before any checkpoint was witnessed. */
  size: integer().null(),
  root: bytes().null(),
  /** The signed note, with the cosignatures. */
  note: text().null(),
  /** Unix ms. */
  witnessed_at: integer().null(),
  /** Whoever asks the witnesses. */
  holder: text().null(),
  /** Unix ms by the clock of the database. */
  held_until: integer(),
})

export type CosignatureRow = RowOf<typeof cosignatures>

/** A checkpoint that the policy accepts. */
export interface WitnessedCheckpoint {
  readonly size: number
  readonly root: Uint8Array
  readonly note: string
  /** Unix ms. */
  readonly at: number
}

const CREATE = `INSERT INTO ledger_witnessed (origin, held_until) VALUES (?, 0) ON CONFLICT (origin) DO NOTHING`
const ACQUIRE = `UPDATE ledger_witnessed SET holder = ?, held_until = ${NOW_MS} + ?::bigint
  WHERE origin = ? AND (holder = ? OR held_until <= ${NOW_MS}) RETURNING origin`
const RELEASE = `UPDATE ledger_witnessed SET held_until = 0 WHERE origin = ? AND holder = ?`
/** A witness never goes back; whoever is late with an older answer changes nothing. */
const KEEP_COSIGNATURE = `INSERT INTO ledger_cosignatures AS kept (origin, witness, size, root, lines, cosigned_at)
  VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (origin, witness) DO UPDATE
  SET size = excluded.size, root = excluded.root, lines = excluded.lines, cosigned_at = excluded.cosigned_at
  WHERE kept.size <= excluded.size`
const KEEP_WITNESSED = `UPDATE ledger_witnessed SET size = ?, root = ?, note = ?, witnessed_at = ?
  WHERE origin = ? AND coalesce(size, 0) <= ?`

/** @param origin the name of the log, whose rows alone are looked at */
export const createCosignatures = ({ knex }: Pick<Database, 'knex'>, origin: string) => ({
  /** Takes the right to ask, or keeps it. @returns whether the holder has it now */
  async acquire(holder: string, leaseMs: number): Promise<boolean> {
    await knex.raw(CREATE, [origin])
    const { rows } = await knex.raw<{ rows: object[] }>(ACQUIRE, [holder, leaseMs, origin, holder])
    return rows.length === 1
  },

  async release(holder: string): Promise<void> {
    await knex.raw(RELEASE, [origin, holder])
  },

  /** What each witness has cosigned last. */
  find: (): Promise<CosignatureRow[]> => knex<CosignatureRow>('ledger_cosignatures').where({ origin }),

  async keep(row: Omit<CosignatureRow, 'origin'>): Promise<void> {
    const { witness, size, root, lines, cosigned_at } = row
    await knex.raw(KEEP_COSIGNATURE, [origin, witness, size, Buffer.from(root), lines, cosigned_at])
  },

  /** The newest checkpoint that the policy accepts. */
  async newest(): Promise<WitnessedCheckpoint | undefined> {
    const row = await knex<RowOf<typeof witnessed>>('ledger_witnessed').where({ origin }).first()
    if (row === undefined || row.size === null || row.root === null || row.note === null) return undefined
    return { size: row.size, root: row.root, note: row.note, at: row.witnessed_at ?? 0 }
  },

  async publish({ size, root, note, at }: WitnessedCheckpoint): Promise<void> {
    await knex.raw(KEEP_WITNESSED, [size, Buffer.from(root), note, at, origin, size])
  },
})
