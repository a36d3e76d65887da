/** The log's consistency as a page checks it, beside the steps of the RFC written down another way. */
import { createHash, webcrypto } from 'node:crypto'
import { expect } from 'chai'
import { openCrypto } from '../../src/web/crypto/crypto.ts'
import { checkConsistency } from '../../src/web/result/consistency.ts'
import { verifyConsistency } from '../support/reference/merkle-proofs.ts'
import { consistencyProof, leafOf, rootOf } from '../support/reference/merkle-trees.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

describe('consistency of the log in a page', () => {
  const treeOf = (size: number) => ({ size, root: hex(rootOf(0, size)) })
  const outcomeOf = async (
    first: number,
    second: number,
    proof: readonly Uint8Array[],
    earlier = treeOf(first),
  ) => {
    const crypto = await openCrypto(webcrypto.subtle as SubtleCrypto)
    return (await checkConsistency(earlier, treeOf(second), proof.map(hex), crypto)).outcome
  }

  it('holds for every two sizes of up to 20, as the RFC says', async () => {
    for (let second = 1; second <= 20; second += 1)
      for (let first = 1; first <= second; first += 1) {
        const proof = consistencyProof(first, 0, second)
        expect(verifyConsistency(first, second, rootOf(0, first), rootOf(0, second), proof)).to.equal(true)
        expect(await outcomeOf(first, second, proof), `${first} ${second}`).to.equal('passed')
      }
  }).timeout(20_000)

  it('does not hold with another root, or with a hash that is changed, missing or too many', async () => {
    for (const [first, second] of [
      [1, 2],
      [3, 7],
      [4, 8],
      [6, 8],
      [8, 20],
      [13, 20],
      [5, 5],
    ] as const) {
      const proof = consistencyProof(first, 0, second)
      const wrong = { size: first, root: hex(leafOf(99)) }
      expect(await outcomeOf(first, second, proof, wrong), `${first} ${second}`).to.equal('failed')
      expect(await outcomeOf(first, second, [...proof, leafOf(1)])).to.equal('failed')
      for (let at = 0; at < proof.length; at += 1) {
        expect(await outcomeOf(first, second, proof.toSpliced(at, 1))).to.equal('failed')
        expect(await outcomeOf(first, second, proof.with(at, leafOf(99)))).to.equal('failed')
      }
    }
  }).timeout(20_000)

  it('holds for a log that was empty, whose root is that of no leaf', async () => {
    const empty = { size: 0, root: createHash('sha256').digest('hex') }
    expect(await outcomeOf(0, 3, [], empty)).to.equal('passed')
    expect(await outcomeOf(0, 3, [leafOf(0)], empty)).to.equal('failed')
    expect(await outcomeOf(0, 3, [], { size: 0, root: hex(leafOf(0)) })).to.equal('failed')
  })
})
