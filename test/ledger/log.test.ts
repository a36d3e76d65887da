import { RFC9162 } from '@transmute/rfc9162'
import { expect } from 'chai'
import fc from 'fast-check'
import { createLog, type Log } from '../../src/ledger/tree/log.ts'
import type { Database } from '../../src/store/database.ts'
import { callerOf, claiming, openTestLedger, type TestLedger, together } from '../support/ledger.ts'
import * as reference from '../support/reference/merkle.ts'
import { verifyConsistency, verifyInclusion } from '../support/reference/merkle-proofs.ts'
import { acceptsInclusion } from '../support/sigstore.ts'

const SIZE = 620
const hex = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('hex')

/** Whether @transmute/rfc9162 accepts an audit path. */
const acceptsPath = (leaf: number, size: number, hash: Buffer, path: readonly Uint8Array[], root: Buffer) =>
  RFC9162.verifyInclusionProof(root, hash, {
    log_id: '',
    tree_size: size,
    leaf_index: leaf,
    inclusion_path: [...path],
  })

const isPowerOf2 = (n: number): boolean => (n & (n - 1)) === 0

/**
 * Whether @transmute/rfc9162 accepts a consistency proof, for 0 < from < to. It leaves the second step of RFC 9162
 * §2.1.4.2 to its caller: a first size that is a power of 2 has its root put before the proof.
 */
const acceptsConsistency = (
  from: number,
  to: number,
  rootFrom: Buffer,
  rootTo: Buffer,
  proof: readonly Uint8Array[],
) =>
  RFC9162.verifyConsistencyProof(rootFrom, rootTo, {
    log_id: '',
    tree_size_1: from,
    tree_size_2: to,
    consistency_path: isPowerOf2(from) ? [rootFrom, ...proof] : [...proof],
  })

/** Leaf hashes and canonical texts of the whole log. */
const readLeaves = async ({ knex }: Database): Promise<{ leaves: Buffer[]; texts: Buffer[] }> => {
  const rows: { leaf_hash: Uint8Array; entry: string }[] = await knex('ledger_entries').orderBy('idx')
  return {
    leaves: rows.map((row) => Buffer.from(row.leaf_hash)),
    texts: rows.map((row) => Buffer.from(row.entry)),
  }
}

describe('log', () => {
  let store: TestLedger
  let log: Log
  let leaves: Buffer[]
  let texts: Buffer[]
  const roots: Buffer[] = []
  before(async () => {
    store = await openTestLedger()
    // In batches of several sizes, so that tiles are completed by one batch and by several.
    for (let done = 0; done < SIZE; ) {
      const count = Math.min(1 + ((done * 7) % 90), SIZE - done)
      const items = Array.from({ length: count }, (_, i) => claiming(`key ${done + i}`))
      await store.ledger.append(callerOf('org_1'), together(items))
      done += count
    }
    log = createLog(store.database)
    const read = await readLeaves(store.database)
    leaves = read.leaves
    texts = read.texts
    for (let size = 0; size <= SIZE; size++) roots.push(reference.rootOf(leaves.slice(0, size)))
  })
  after(() => store.close())

  it('has the root of the recursive definition at every earlier size', async () => {
    for (let size = 0; size <= SIZE; size++) expect(hex(await log.root(size))).to.equal(hex(roots[size]))
    expect(hex((await log.head()).root)).to.equal(hex(roots[SIZE]))
  })

  it('gives the audit path of the recursive definition, which outside verifiers accept, at every size', async () => {
    for (let size = 1; size <= SIZE; size++) {
      for (const leaf of new Set([((size * 37) % 255) % size, size - 1])) {
        const path = await log.inclusion(leaf, size)
        expect(path.map(hex), `${leaf} of ${size}`).to.deep.equal(
          reference.inclusionPath(leaf, leaves.slice(0, size)).map(hex),
        )
        const root = roots[size] as Buffer
        expect(acceptsInclusion({ leaf, size, path, root, text: texts[leaf] as Buffer })).to.equal(true)
        expect(verifyInclusion(leaf, size, leaves[leaf] as Buffer, path, root)).to.equal(true)
        expect(await acceptsPath(leaf, size, leaves[leaf] as Buffer, path, root)).to.equal(true)
        const other = leaves[(leaf + 1) % size] as Buffer
        if (size > 1 && size <= 64) expect(await acceptsPath(leaf, size, other, path, root)).to.equal(false)
      }
    }
  })

  it('gives consistency proofs between any two sizes, which an independent verifier and an outside one accept', async () => {
    const sizes = fc.integer({ min: 0, max: SIZE })
    await fc.assert(
      fc.asyncProperty(sizes, sizes, async (a, b) => {
        const [from, to] = [Math.min(a, b), Math.max(a, b)]
        const proof = await log.consistency(from, to)
        expect(proof.map(hex)).to.deep.equal(reference.consistencyProof(from, leaves.slice(0, to)).map(hex))
        if (from === 0) return
        expect(verifyConsistency(from, to, roots[from] as Buffer, roots[to] as Buffer, proof)).to.equal(true)
        const other = Buffer.alloc(32, 1)
        expect(verifyConsistency(from, to, other, roots[to] as Buffer, proof)).to.equal(false)
        // Of a tree with itself the RFC has nothing to verify.
        if (from === to) return
        const [first, second] = [roots[from] as Buffer, roots[to] as Buffer]
        expect(await acceptsConsistency(from, to, first, second, proof)).to.equal(true)
        expect(await acceptsConsistency(from, to, first, other, proof)).to.equal(false)
        expect(await acceptsConsistency(from, to, roots[from - 1] as Buffer, second, proof)).to.equal(false)
      }),
      { numRuns: 400 },
    )
    for (let to = 1; to <= SIZE; to += 1) {
      const proof = await log.consistency(Math.ceil(to / 2), to)
      expect(
        verifyConsistency(
          Math.ceil(to / 2),
          to,
          roots[Math.ceil(to / 2)] as Buffer,
          roots[to] as Buffer,
          proof,
        ),
      ).to.equal(true)
    }
  })

  it('publishes full and partial tiles on every level, and none that the tree does not hold', async () => {
    expect(hex(await log.tile(0, 0, 256))).to.equal(hex(Buffer.concat(leaves.slice(0, 256))))
    expect(hex(await log.tile(0, 1, 3))).to.equal(hex(Buffer.concat(leaves.slice(256, 259))))
    expect(hex(await log.tile(0, 2, SIZE - 512))).to.equal(hex(Buffer.concat(leaves.slice(512))))
    const above = [leaves.slice(0, 256), leaves.slice(256, 512)].map((part) => reference.rootOf(part))
    expect(hex(await log.tile(1, 0, 2))).to.equal(hex(Buffer.concat(above)))
    for (const [level, tile, width] of [
      [0, 2, SIZE - 511],
      [0, 2, 256],
      [0, 3, 1],
      [1, 0, 3],
      [1, 1, 1],
      [2, 0, 1],
    ] as const) {
      expect(await log.tile(level, tile, width), `${level}/${tile}.p/${width}`).to.equal(undefined)
    }
  })

  it('still proves what was logged when the entries have been purged', async () => {
    const own = await openTestLedger()
    try {
      const items = Array.from({ length: 300 }, (_, i) => claiming(`key ${i}`))
      await own.ledger.append(callerOf('org_1'), together(items))
      const { leaves: before } = await readLeaves(own.database)
      await own.database.knex('ledger_entries').where('idx', '<', 256).delete()
      const path = await createLog(own.database).inclusion(17, 300)
      expect(verifyInclusion(17, 300, before[17] as Buffer, path, reference.rootOf(before))).to.equal(true)
    } finally {
      await own.close()
    }
  })

  it('refuses leaves and sizes beyond the tree', async () => {
    for (const ask of [
      () => log.root(SIZE + 1),
      () => log.inclusion(SIZE, SIZE),
      () => log.inclusion(0, SIZE + 1),
      () => log.inclusion(-1, SIZE),
      () => log.consistency(2, 1),
      () => log.consistency(1, SIZE + 1),
    ]) {
      expect(await ask().catch((error: Error) => error.name)).to.equal('RangeError')
    }
  })
})
