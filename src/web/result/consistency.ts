/** Checks that a log only grew: the consistency proof of RFC 9162 §2.1.4. @module */
import { concat, fromHex, hexOf } from '../../protocol/checkpoint/note.ts'
import type { PageCrypto } from '../crypto/page-crypto.ts'
import type { Tree } from './checkpoint.ts'
import { type Finding, failed, passed } from './finding.ts'

type Hashing = Pick<PageCrypto, 'sha256'>

/** Not by shifting, which knows 32 bits only. */
const half = (n: number): number => Math.floor(n / 2)
const isOdd = (n: number): boolean => n % 2 === 1

/** RFC 9162 §2.1.4.2, for 0 < first.size < second.size. */
const holds = async (
  first: Tree,
  second: Tree,
  hashes: readonly string[],
  crypto: Hashing,
): Promise<boolean> => {
  const join = async (left: string, right: string): Promise<string> =>
    hexOf(await crypto.sha256(concat(Uint8Array.of(1), fromHex(left), fromHex(right))))
  const isPowerOfTwo = Number.isInteger(Math.log2(first.size))
  const [start, ...rest] = isPowerOfTwo ? [first.root, ...hashes] : hashes
  if (start === undefined) return false
  let [node, last] = [first.size - 1, second.size - 1]
  for (; isOdd(node); last = half(last)) node = half(node)
  let [firstRoot, secondRoot] = [start, start]
  for (const hash of rest) {
    if (last === 0) return false
    if (isOdd(node) || node === last) {
      firstRoot = await join(hash, firstRoot)
      secondRoot = await join(hash, secondRoot)
      for (; !isOdd(node) && node !== 0; last = half(last)) node = half(node)
    } else secondRoot = await join(secondRoot, hash)
    node = half(node)
    last = half(last)
  }
  return firstRoot === first.root && secondRoot === second.root && last === 0
}

/**
 * @param earlier what was signed before @param later what is signed now, not smaller
 * @param hashes the proof, lower-case hex
 */
export const checkConsistency = async (
  earlier: Tree,
  later: Tree,
  hashes: readonly string[],
  crypto: Hashing,
): Promise<Finding> => {
  const fits =
    earlier.size === later.size
      ? hashes.length === 0 && earlier.root === later.root
      : earlier.size === 0
        ? hashes.length === 0 && earlier.root === hexOf(await crypto.sha256(new Uint8Array()))
        : hashes.length > 0 && (await holds(earlier, later, hashes, crypto))
  return fits
    ? passed(
        `The first ${earlier.size} entries of the log are those that were signed then: none was changed or taken out, ${later.size - earlier.size} were added.`,
      )
    : failed(
        `The log of ${later.size} entries does not go on from the ${earlier.size} that were signed then. Keep both checkpoints: together they show that the log was changed.`,
      )
}
