/** The log: indexes are dense, each leaf is the hash of its entry, and every checkpoint that was ever signed is a root of it. */
import type { Database } from '../../../src/store/database.ts'
import { leafHash, nodeHash, rootOf } from '../../support/reference/merkle.ts'
import type { Area, Context } from '../area.ts'
import type { Operation } from '../model.ts'

interface EntryRow {
  readonly idx: number
  readonly entry: string
  readonly leaf_hash: Uint8Array
}

interface Checkpoint {
  readonly size: number
  /** Base64. */
  readonly root: string
  readonly operation: Operation
}

/** Entries that are read at once. */
const PAGE = 20_000

/** Roots as leaves come: the hashes of the perfect subtrees from the left, as RFC 6962 §2.1 adds them up. */
const createGrowingRoot = () => {
  const subtrees: { readonly size: number; readonly hash: Buffer }[] = []
  return {
    add(leaf: Buffer): void {
      let right = { size: 1, hash: leaf }
      for (let left = subtrees.at(-1); left?.size === right.size; left = subtrees.at(-1)) {
        subtrees.pop()
        right = { size: 2 * right.size, hash: nodeHash(left.hash, right.hash) }
      }
      subtrees.push(right)
    },
    root: (): Buffer =>
      subtrees.length === 0
        ? rootOf([])
        : subtrees.map(({ hash }) => hash).reduceRight((right, left) => nodeHash(left, right)),
  }
}

/** @returns size and root of a signed note (C2SP tlog-checkpoint); what signs it, others look at */
const readCheckpoint = (note: string, operation: Operation): Checkpoint => {
  const [, size = '', root = ''] = note.split('\n')
  return { size: Number(size), root, operation }
}

export const log = ({ model, ask }: Context): Area => {
  let checkpoints: Checkpoint[] = []
  /** The log as far as it was read, and its roots. */
  const leaves: Buffer[] = []
  const growing = createGrowingRoot()

  /** Takes up what was written since, and holds the checkpoints against it. */
  const readOn = async (database: Database): Promise<void> => {
    const wanted = new Map<number, Checkpoint[]>()
    for (const one of checkpoints) wanted.set(one.size, [...(wanted.get(one.size) ?? []), one])
    checkpoints = []
    const compare = (): void => {
      const signed = wanted.get(leaves.length)
      if (signed === undefined) return
      const root = growing.root().toString('base64')
      for (const { operation } of signed.filter((one) => one.root !== root))
        model.broken('roots recompute', `the log signed another root at size ${leaves.length}`, operation)
      wanted.delete(leaves.length)
    }
    compare()
    for (;;) {
      const { rows } = await database.query<EntryRow>(
        'SELECT idx, entry, leaf_hash FROM ledger_entries WHERE idx >= $1 ORDER BY idx LIMIT $2',
        [leaves.length, PAGE],
      )
      for (const { idx, entry, leaf_hash } of rows) {
        const leaf = leafHash(Buffer.from(entry))
        if (idx !== leaves.length || !leaf.equals(leaf_hash)) {
          model.broken('each index once', `entry ${idx} stands at ${leaves.length}, or has another hash`)
          return
        }
        leaves.push(leaf)
        growing.add(leaf)
        compare()
      }
      if (rows.length < PAGE) break
    }
    // What was signed after the entries were read is for the next time.
    for (const later of wanted.values()) checkpoints.push(...later)
  }

  const compareHead = async (database: Database): Promise<void> => {
    const { rows } = await database.query<{ size: number; root: Uint8Array }>(
      `SELECT size, root FROM ledger_head WHERE log = 0`,
      [],
    )
    const [head] = rows
    if (head === undefined || head.size !== leaves.length || !growing.root().equals(head.root))
      model.broken('roots recompute', `the head says ${head?.size}, and ${leaves.length} entries stand`)
    if (!rootOf(leaves).equals(growing.root())) model.broken('roots recompute', 'by the definition')
    const lost = checkpoints.find(({ size }) => size > leaves.length)
    if (lost) model.broken('no lost write', `${lost.size} entries were signed`, lost.operation)
  }

  return {
    name: 'log',
    clients: 1,
    pauseMs: 500,
    async step() {
      const operation = model.begin('log', 'checkpoint')
      const { body } = await ask<string>(operation, 'GET', '/checkpoint', { answers: [200] })
      checkpoints.push(readCheckpoint(body, operation))
    },
    async check(database, isEnd) {
      await readOn(database)
      if (isEnd) await compareHead(database)
    },
  }
}
