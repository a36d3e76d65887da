/** The log's consistency as a page checks it, beside the steps of the RFC written down another way. */
import { hash, webcrypto } from 'node:crypto'
import { expect } from 'chai'
import { nodeHash } from '../../src/ledger/tree/merkle.ts'
import { openCrypto } from '../../src/web/crypto/crypto.ts'
import { checkConsistency } from '../../src/web/result/consistency.ts'
import { verifyConsistency } from '../support/reference/merkle-proofs.ts'

const leaf = (index: number): Uint8Array => hash('sha256', `leaf ${index}`, 'buffer')
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const splitOf = (size: number): number => 2 ** Math.floor(Math.log2(size - 1))

/** RFC 9162 §2.1.1, by definition. */
const rootOf = (start: number, size: number): Uint8Array =>
  size === 1
    ? leaf(start)
    : nodeHash(rootOf(start, splitOf(size)), rootOf(start + splitOf(size), size - splitOf(size)))

/** RFC 9162 §2.1.4.1, by definition. */
const subproof = (m: number, start: number, size: number, isWhole: boolean): Uint8Array[] => {
  if (m === size) return isWhole ? [] : [rootOf(start, size)]
  const k = splitOf(size)
  return m <= k
    ? [...subproof(m, start, k, isWhole), rootOf(start + k, size - k)]
    : [...subproof(m - k, start + k, size - k, false), rootOf(start, k)]
}

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
        const proof = subproof(first, 0, second, true)
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
      const proof = subproof(first, 0, second, true)
      const wrong = { size: first, root: hex(leaf(99)) }
      expect(await outcomeOf(first, second, proof, wrong), `${first} ${second}`).to.equal('failed')
      expect(await outcomeOf(first, second, [...proof, leaf(1)])).to.equal('failed')
      for (let at = 0; at < proof.length; at += 1) {
        expect(await outcomeOf(first, second, proof.toSpliced(at, 1))).to.equal('failed')
        expect(await outcomeOf(first, second, proof.with(at, leaf(99)))).to.equal('failed')
      }
    }
  }).timeout(20_000)

  it('holds for a log that was empty', async () => {
    expect(await outcomeOf(0, 3, [], { size: 0, root: hex(leaf(0)) })).to.equal('passed')
  })
})
