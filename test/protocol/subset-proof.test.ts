/** Many leaves of one tree at once: what the leaves and the hashes between them make is the tree's root, and nothing else. */
import { expect } from 'chai'
import fc from 'fast-check'
import { createCore } from '../../src/core/index.ts'
import { rebuildTree, subtreesBetween } from '../../src/protocol/evidence/subset-proof.ts'
import { leafHash, rootOf } from '../support/reference/merkle.ts'

const MAX_LEAVES = 80
const { sha256 } = createCore()
const leaves = Array.from({ length: MAX_LEAVES }, (_, i) => leafHash(Buffer.from(`entry ${i}`)))

/** The hashes between two leaves, by the slow definition of a tree. */
const between = (from: number, to: number): Buffer[] =>
  subtreesBetween(from, to).map((range) => rootOf(leaves.slice(range.from, range.to)))

const treeAndSome = fc
  .integer({ min: 0, max: MAX_LEAVES })
  .chain((size) => fc.tuple(fc.constant(size), fc.subarray(leaves.slice(0, size).map((_, index) => index))))
  .map(([size, told]) => ({ size, told }))

/** @param replace another hash for one of those between */
const rebuilt = (
  size: number,
  told: readonly number[],
  replace?: (hash: Buffer, place: number) => Buffer,
) => {
  const tree = rebuildTree(sha256)
  let place = 0
  const taken = (from: number, to: number) =>
    between(from, to).map((hash) => replace?.(hash, place++) ?? hash)
  for (const index of told) {
    expect(tree.skip(index, taken(tree.size, index))).to.equal(true)
    tree.add(leaves[index] as Buffer)
  }
  expect(tree.skip(size, taken(tree.size, size))).to.equal(true)
  expect(tree.size).to.equal(size)
  return Buffer.from(tree.root()).toString('hex')
}

describe('proofs of many leaves', () => {
  it('leads any leaves of any tree to its root', () => {
    fc.assert(
      fc.property(treeAndSome, ({ size, told }) => {
        expect(rebuilt(size, told)).to.equal(rootOf(leaves.slice(0, size)).toString('hex'))
      }),
      {
        examples: [
          [{ size: 0, told: [] }],
          [{ size: 64, told: [0, 63] }],
          [{ size: 80, told: leaves.map((_, i) => i) }],
        ],
      },
    )
  })

  it('covers the leaves between two others with at most two subtrees of a height, each in its place', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 40), fc.nat(2 ** 40), (a, b) => {
        const [from, to] = a < b ? [a, b] : [b, a]
        const found = subtreesBetween(from, to)
        let next = from
        const lengths = new Map<number, number>()
        for (const range of found) {
          const length = range.to - range.from
          expect(range.from).to.equal(next)
          expect(Number.isInteger(Math.log2(length)) && range.from % length === 0).to.equal(true)
          lengths.set(length, (lengths.get(length) ?? 0) + 1)
          next = range.to
        }
        expect(next).to.equal(to)
        expect(Math.max(0, ...lengths.values())).to.be.at.most(2)
      }),
    )
  })

  it('leads another hash to another root', () => {
    const root = rootOf(leaves.slice(0, 77)).toString('hex')
    const told = [3, 4, 40, 76]
    const count = between(0, 3).length + between(5, 40).length + between(41, 76).length
    for (let wrong = 0; wrong < count; wrong++) {
      const change = (hash: Buffer, place: number) => (place === wrong ? leafHash(hash) : hash)
      expect(rebuilt(77, told, change)).not.to.equal(root)
    }
  })

  it('refuses too many hashes, too few, and a way back', () => {
    const tree = rebuildTree(sha256)
    expect(tree.skip(5, between(0, 5).slice(1))).to.equal(false)
    expect(tree.skip(5, [...between(0, 5), leaves[5] as Buffer])).to.equal(false)
    expect(tree.skip(5, between(0, 5))).to.equal(true)
    expect(tree.skip(4, [])).to.equal(false)
    expect(tree.skip(5, [])).to.equal(true)
  })
})
