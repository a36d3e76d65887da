/**
 * What the files of a setup say of themselves: who put randomness into powers (.ptau) and proving keys (.zkey), and
 * which verification key belongs to a proving key. Node only.
 * @module
 */
import { createHash } from 'node:crypto'
import { inverseP, modP } from '../../protocol/base-field.ts'
import type { VerificationKey } from '../verifier.ts'
import type { Contribution, Transcript } from './setup-record.ts'

const HEADER_BYTES = 12
const HASH_BYTES = 64
const COORDINATE_BYTES = 32
const G1_BYTES = 2 * COORDINATE_BYTES
const G2_BYTES = 4 * COORDINATE_BYTES

const ZKEY_HEADER_SECTION = 2
const IC_SECTION = 3
const ZKEY_CONTRIBUTIONS_SECTION = 10
const PTAU_CONTRIBUTIONS_SECTION = 7
/** Both primes with their lengths, and the number of wires. */
const PUBLIC_COUNT_OFFSET = 4 + COORDINATE_BYTES + 4 + COORDINATE_BYTES + 4
/** After the number of public signals and the size of the domain. */
const ZKEY_POINTS_OFFSET = PUBLIC_COUNT_OFFSET + 4 + 4
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

const MONTGOMERY_INVERSE = inverseP(modP(1n << BigInt(8 * COORDINATE_BYTES)))

/** A coordinate as files hold it: little-endian, multiplied by 2^256. */
const readCoordinate = (bytes: Buffer, at: number): bigint => {
  const reversed = Buffer.from(bytes.subarray(at, at + COORDINATE_BYTES)).reverse()
  return modP(BigInt(`0x${reversed.toString('hex')}`) * MONTGOMERY_INVERSE)
}

const readCoordinates = (bytes: Buffer, at: number, count: number): bigint[] =>
  Array.from({ length: count }, (_, i) => readCoordinate(bytes, at + i * COORDINATE_BYTES))

const g1 = (bytes: Buffer, at: number): string[] => [...readCoordinates(bytes, at, 2).map(String), '1']

const g2 = (bytes: Buffer, at: number): string[][] => {
  const [x0, x1, y0, y1] = readCoordinates(bytes, at, 4).map(String) as [string, string, string, string]
  return [
    [x0, x1],
    [y0, y1],
    ['1', '0'],
  ]
}

/** Everything in a verification key that its proving key has too; `vk_alphabeta_12` follows from it. */
type KeyPoints = Omit<VerificationKey, 'vk_alphabeta_12'>

/** The verification key that belongs to a proving key, by its header and its points IC. */
export const keyPoints = (zkey: Uint8Array): KeyPoints => {
  const header = readSection(zkey, ZKEY_HEADER_SECTION)
  const ic = readSection(zkey, IC_SECTION)
  // α, β in both groups, γ, then δ in both groups.
  const beta2 = ZKEY_POINTS_OFFSET + 2 * G1_BYTES
  const gamma2 = beta2 + G2_BYTES
  return {
    protocol: 'groth16',
    curve: 'bn128',
    nPublic: header.readUInt32LE(PUBLIC_COUNT_OFFSET),
    vk_alpha_1: g1(header, ZKEY_POINTS_OFFSET),
    vk_beta_2: g2(header, beta2),
    vk_gamma_2: g2(header, gamma2),
    vk_delta_2: g2(header, gamma2 + G2_BYTES + G1_BYTES),
    IC: Array.from({ length: ic.length / G1_BYTES }, (_, i) => g1(ic, i * G1_BYTES)),
  }
}

/** Points as hashes take them: big-endian coordinates, of G2 with the higher part first. */
const uncompressed = (bytes: Buffer, at: number, coordinates: 2 | 4): Buffer => {
  const [a = 0n, b = 0n, ...more] = readCoordinates(bytes, at, coordinates)
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
