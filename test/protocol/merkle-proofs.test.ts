/** The verifiers of inclusion and consistency, against public vectors and the recursive definition. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import fc from 'fast-check'
import {
  leafHash as leafHashOf,
  verifyConsistency as verifyHexConsistency,
  verifyInclusion as verifyHexInclusion,
} from '../../src/bin/packages/contents/verify/index.ts'
import { verifyConsistency, verifyInclusion } from '../../src/protocol/merkle-proofs.ts'
import { consistencyProof, inclusionPath, leafHash, rootOf } from '../support/reference/merkle.ts'

interface Vectors {
  readonly inclusion: readonly {
    readonly file: string
    readonly leafIdx: number
    readonly treeSize: number
    readonly root: string
    readonly leafHash: string
    readonly proof: readonly string[] | null
    readonly wantErr: boolean
  }[]
  readonly consistency: readonly {
    readonly file: string
    readonly size1: number
    readonly size2: number
    readonly root1: string
    readonly root2: string
    readonly proof: readonly string[] | null
    readonly wantErr: boolean
  }[]
}

const vectors = JSON.parse(
  readFileSync(new URL('../vectors/merkle-proofs.json', import.meta.url), 'utf8'),
) as Vectors

/** Of the vectors that are refused there because a proof from the empty tree says nothing: that tree is the beginning of every one here. */
const FROM_EMPTY = 'consistency/additional/size1-is-zero-and-size2-is-not-zero'
/** Roots of 12 bytes, which are taken there as they are. */
const NO_ROOT = 'consistency/additional/sizes-are-equal-one-and-proof-is-empty'

const nodeHash = (left: Uint8Array, right: Uint8Array): Uint8Array =>
  createHash('sha256').update(Buffer.of(1)).update(left).update(right).digest()
const EMPTY_ROOT = createHash('sha256').digest()

const bytes = (text: string | null): Buffer => Buffer.from(text ?? '', 'base64')
const hex = (all: Uint8Array): string => Buffer.from(all).toString('hex')
const leavesOf = (count: number): Buffer[] =>
  Array.from({ length: count }, (_, i) => leafHash(Buffer.from(`leaf ${i}`)))

describe('proofs of a Merkle tree', () => {
  it('of inclusion hold or not as the vectors of transparency-dev/merkle say', () => {
    for (const { file, leafIdx, treeSize, root, leafHash: leaf, proof, wantErr } of vectors.inclusion) {
      const hashes = (proof ?? []).map(bytes)
      const tree = { size: treeSize, root: bytes(root) }
      expect(verifyInclusion(bytes(leaf), leafIdx, tree, hashes, nodeHash), file).to.equal(!wantErr)
      const inclusion = { leafHash: hex(bytes(leaf)), index: leafIdx, hashes: hashes.map(hex) }
      expect(verifyHexInclusion(inclusion, { size: treeSize, root: hex(tree.root) }), file).to.equal(!wantErr)
    }
    expect(vectors.inclusion).to.have.length(98)
  })

  it('of consistency hold or not as the vectors of transparency-dev/merkle say', () => {
    const different: string[] = []
    for (const { file, size1, size2, root1, root2, proof, wantErr } of vectors.consistency) {
      const hashes = (proof ?? []).map(bytes)
      const [earlier, later] = [
        { size: size1, root: bytes(root1) },
        { size: size2, root: bytes(root2) },
      ]
      const held = verifyConsistency(earlier, later, hashes, nodeHash, EMPTY_ROOT)
      if (held !== !wantErr) different.push(file)
      const [first, second] = [
        { size: size1, root: hex(earlier.root) },
        { size: size2, root: hex(later.root) },
      ]
      expect(verifyHexConsistency(first, second, hashes.map(hex)), file).to.equal(held)
    }
    expect(different).to.deep.equal([NO_ROOT])
    expect(vectors.consistency).to.have.length(98)
    // Its second root has 12 bytes. With one that is a root, both say what they mean.
    const fromEmpty = vectors.consistency.find(({ file }) => file === FROM_EMPTY) ?? expect.fail()
    const [empty, one] = [
      { size: 0, root: bytes(fromEmpty.root1) },
      { size: 1, root: rootOf(leavesOf(1)) },
    ]
    expect(verifyConsistency(empty, one, [], nodeHash, EMPTY_ROOT)).to.equal(true)
  })

  it('of consistency are those of the recursive definition, and no others, at any two sizes', () => {
    const leaves = leavesOf(300)
    const sizes = fc.tuple(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 300 }))
    const roots = leavesOf(301).map((_, size) => rootOf(leaves.slice(0, size)))
    const treeOf = (size: number) => ({ size, root: roots[size] ?? expect.fail() })
    const holds = (m: number, n: number, hashes: readonly Uint8Array[], earlier = treeOf(m)) =>
      verifyConsistency(earlier, treeOf(n), hashes, nodeHash, EMPTY_ROOT)
    fc.assert(
      fc.property(sizes, fc.nat(), fc.nat({ max: 255 }), ([a, b], which, bit) => {
        const [m, n] = [Math.min(a, b), Math.max(a, b)]
        const proof = consistencyProof(m, leaves.slice(0, n))
        expect(holds(m, n, proof), `${m} ${n}`).to.equal(true)
        expect(holds(m, n, [...proof, leaves[0] as Buffer])).to.equal(false)
        const forked = {
          size: m,
          root: rootOf([...leaves.slice(0, Math.max(0, m - 1)), leafHash(Buffer.of(9))]),
        }
        expect(holds(m, n, proof, forked)).to.equal(false)
        if (m !== n)
          expect(verifyConsistency(treeOf(n), treeOf(m), proof, nodeHash, EMPTY_ROOT)).to.equal(false)
        const at = proof.length === 0 ? 0 : which % proof.length
        const hash = proof[at]
        if (hash === undefined) return
        expect(holds(m, n, proof.toSpliced(at, 1))).to.equal(false)
        const flipped = Buffer.from(hash)
        flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
        expect(holds(m, n, proof.with(at, flipped))).to.equal(false)
        expect(holds(m, n, proof.with(at, hash.subarray(1)))).to.equal(false)
      }),
      { numRuns: 200 },
    )
  })

  it('of inclusion are those of the recursive definition at any place', () => {
    const leaves = leavesOf(200)
    const places = fc
      .integer({ min: 1, max: 200 })
      .chain((size) =>
        fc.tuple(
          fc.constant(size),
          fc.integer({ min: 0, max: size - 1 }),
          fc.integer({ min: 0, max: size - 1 }),
        ),
      )
    fc.assert(
      fc.property(places, ([size, index, other]) => {
        const tree = { size, root: rootOf(leaves.slice(0, size)) }
        const path = inclusionPath(index, leaves.slice(0, size))
        const leaf = leaves[index] as Buffer
        expect(verifyInclusion(leaf, index, tree, path, nodeHash)).to.equal(true)
        if (other !== index) expect(verifyInclusion(leaf, other, tree, path, nodeHash)).to.equal(false)
        expect(verifyInclusion(leaf, index, { ...tree, size: 2 * size }, path, nodeHash)).to.equal(false)
      }),
      { numRuns: 200 },
    )
    expect(leafHashOf('leaf 0')).to.equal(hex(leaves[0] as Buffer))
  })

  it('say nothing of the empty tree but that it is the beginning of every one', () => {
    const tree = { size: 3, root: rootOf(leavesOf(3)) }
    const empty = { size: 0, root: EMPTY_ROOT }
    const other = { size: 0, root: leafHash(Buffer.of(0)) }
    const holds = (earlier: typeof tree, later: typeof tree, hashes: readonly Uint8Array[] = []) =>
      verifyConsistency(earlier, later, hashes, nodeHash, EMPTY_ROOT)
    expect(holds(empty, tree)).to.equal(true)
    expect(holds(empty, empty)).to.equal(true)
    expect(holds(empty, tree, [EMPTY_ROOT])).to.equal(false)
    expect(holds(other, tree)).to.equal(false)
    expect(holds(other, other)).to.equal(false)
    expect(holds(tree, empty)).to.equal(false)
    expect(verifyInclusion(EMPTY_ROOT, 0, empty, [], nodeHash)).to.equal(false)
  })
})
