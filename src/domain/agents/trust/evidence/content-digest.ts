/** Content-Digest (RFC 9530 §2): the digest of a message's content, as its field states it. @module */
import { hash, timingSafeEqual } from 'node:crypto'
import { isInnerList, parseDictionary } from 'structured-headers'
import type { EvidenceReason } from '../reasons.ts'

/** Those of RFC 9530 §5 that collisions are not known of, by their names in node:crypto. */
const ALGORITHMS = { 'sha-256': 'sha256', 'sha-512': 'sha512' } as const

const isAlgorithm = (name: string): name is keyof typeof ALGORITHMS => Object.hasOwn(ALGORITHMS, name)

const readDictionary = (field: string): ReturnType<typeof parseDictionary> | undefined => {
  try {
    return parseDictionary(field)
  } catch {
    // The only way in which the parser says that it is no dictionary.
    return undefined
  }
}

/**
 * Holds the field against the content. Every digest of a known algorithm must be right, and there must be one;
 * algorithms that are not known are ignored (RFC 9530 §2).
 * @param field the values of all occurrences, joined by commas
 * @returns why it fails, or undefined
 */
export const contentDigestFault = (field: string, content: Uint8Array): EvidenceReason | undefined => {
  const digests = readDictionary(field)
  if (digests === undefined) return 'DIGEST_MALFORMED'
  let known = 0
  for (const [name, member] of digests) {
    if (!isAlgorithm(name)) continue
    if (isInnerList(member) || !(member[0] instanceof ArrayBuffer)) return 'DIGEST_MALFORMED'
    const stated = new Uint8Array(member[0])
    const actual = hash(ALGORITHMS[name], content, 'buffer')
    if (stated.length !== actual.length) return 'DIGEST_MALFORMED'
    if (!timingSafeEqual(stated, actual)) return 'DIGEST_MISMATCH'
    known++
  }
  return known === 0 ? 'DIGEST_MALFORMED' : undefined
}
