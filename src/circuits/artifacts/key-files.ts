/**
 * What the files of a setup say of themselves: who put randomness into powers (.ptau) and proving keys (.zkey). Node only.
 * @module
 */
import { createHash } from 'node:crypto'
import { coordinatesOf } from '../proving/proving-key.ts'
import type { Contribution, Transcript } from './setup-record.ts'

const HEADER_BYTES = 12
const HASH_BYTES = 64
const COORDINATE_BYTES = 32
const G1_BYTES = 2 * COORDINATE_BYTES
const G2_BYTES = 4 * COORDINATE_BYTES

const ZKEY_CONTRIBUTIONS_SECTION = 10
const PTAU_CONTRIBUTIONS_SECTION = 7
/** δ after it, and the three points that show it was known. */
const ZKEY_CONTRIBUTION_G1S = 3
const ZKEY_CONTRIBUTION_POINTS_BYTES = ZKEY_CONTRIBUTION_G1S * G1_BYTES + G2_BYTES
/** The new points (3 in G1, 2 in G2), what shows that their logarithms were known (6 and 3), and a hash under way. */
const PTAU_CONTRIBUTION_POINTS_BYTES = 9 * G1_BYTES + 5 * G2_BYTES + 216

const BEACON_TYPE = 1
const NAME_PARAMETER = 1

/**
 * One section of a file of iden3's binary format: magic, version, count, then (id u32, bytes u64, content) each.
 * @throws RangeError where there is none, or the file is cut off
 */
export const readSection = (bytes: Uint8Array, section: number): Buffer => {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = HEADER_BYTES; at < file.length; ) {
    const id = file.readUInt32LE(at)
    const size = Number(file.readBigUInt64LE(at + 4))
    at += HEADER_BYTES
    if (at + size > file.length) throw new RangeError(`section ${id} is cut off`)
    if (id === section) return file.subarray(at, at + size)
    at += size
  }
  throw new RangeError(`there is no section ${section}`)
}

/** Points as hashes take them: big-endian coordinates, of G2 with the higher part first. */
const uncompressed = (bytes: Buffer, at: number, coordinates: 2 | 4): Buffer => {
  const [a = 0n, b = 0n, ...more] = coordinatesOf(bytes.subarray(at, at + coordinates * COORDINATE_BYTES))
  const [c, d] = more
  const ordered = c === undefined || d === undefined ? [a, b] : [b, a, d, c]
  return Buffer.from(ordered.map((x) => x.toString(16).padStart(2 * COORDINATE_BYTES, '0')).join(''), 'hex')
}

/** BLAKE2b of the points of a contribution and of the hash of all before it: what snarkjs tells who contributes. */
const contributionHash = (contribution: Buffer): string => {
  const hash = createHash('blake2b512')
  for (let i = 0; i < ZKEY_CONTRIBUTION_G1S; i++) hash.update(uncompressed(contribution, i * G1_BYTES, 2))
  hash.update(uncompressed(contribution, ZKEY_CONTRIBUTION_G1S * G1_BYTES, 4))
  return hash.update(contribution.subarray(ZKEY_CONTRIBUTION_POINTS_BYTES)).digest('hex')
}

const contributionName = (parameters: Buffer): string =>
  parameters[0] === NAME_PARAMETER ? parameters.toString('utf8', 2, 2 + (parameters[1] ?? 0)) : ''

/**
 * Reads contributions: their number, then each with its points, a hash, its type and its parameters.
 * @param pointsBytes what stands before the hash
 * @param hashOf how a contribution is named, by its points and its hash
 */
const readContributions = (
  section: Buffer,
  pointsBytes: number,
  hashOf: (contribution: Buffer) => string,
): Contribution[] => {
  let at = 4
  return Array.from({ length: section.readUInt32LE(0) }, () => {
    const fixed = section.subarray(at, at + pointsBytes + HASH_BYTES)
    at += fixed.length
    const [type, length] = [section.readUInt32LE(at), section.readUInt32LE(at + 4)]
    at += 8
    const name = contributionName(section.subarray(at, at + length))
    at += length
    return { name, hash: hashOf(fixed), ...(type === BEACON_TYPE && { beacon: true as const }) }
  })
}

/** The history of a proving key: the hash of the circuit, then every contribution with the hash that snarkjs tells. */
export const readTranscript = (zkey: Uint8Array): Transcript => {
  const section = readSection(zkey, ZKEY_CONTRIBUTIONS_SECTION)
  const contributions = section.subarray(HASH_BYTES)
  return {
    circuitHash: section.toString('hex', 0, HASH_BYTES),
    contributions: readContributions(contributions, ZKEY_CONTRIBUTION_POINTS_BYTES, contributionHash),
  }
}

/** The history of powers: every contribution with the "next challenge" that snarkjs tells. */
export const readPowersContributions = (ptau: Uint8Array): Contribution[] =>
  readContributions(readSection(ptau, PTAU_CONTRIBUTIONS_SECTION), PTAU_CONTRIBUTION_POINTS_BYTES, (fixed) =>
    fixed.toString('hex', PTAU_CONTRIBUTION_POINTS_BYTES),
  )
