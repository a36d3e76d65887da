/**
 * What a prover needs of a proving key, a file of snarkjs (`zkey`, Groth16 on BN254), and which verification key belongs to it.
 * Works in browsers and workers too.
 * @module
 */
import { FIELD_MODULUS } from '../../core/field.ts'
import { inverseP, modP } from '../../protocol/base-field.ts'
import type { VerificationKey } from '../proof-form.ts'
import { scalarOf } from './scalars.ts'

const FILE_HEADER_BYTES = 12
const SECTION_HEADER_BYTES = 12
const COORDINATE_BYTES = 32
const G1_BYTES = 2 * COORDINATE_BYTES
const G2_BYTES = 4 * COORDINATE_BYTES
/** Matrix, row, signal, then the number. */
const TERM_HEADER_BYTES = 12
const TERM_BYTES = TERM_HEADER_BYTES + COORDINATE_BYTES
/** A number's length and that of the other one, both primes, then three counts. */
const COUNTS_OFFSET = 2 * (4 + COORDINATE_BYTES)
const POINTS_OFFSET = COUNTS_OFFSET + 12
const MONTGOMERY_INVERSE = inverseP(modP(1n << BigInt(8 * COORDINATE_BYTES)))

const SECTION = { header: 2, ic: 3, terms: 4, a: 5, b1: 6, b2: 7, c: 8, h: 9 } as const

/** Points as the file has them, and which scalar belongs to each. None of them is infinity. */
export interface Bases {
  /** Little-endian coordinates in Montgomery form for 2^256; 64 bytes a point in G1, 128 in G2. */
  readonly points: Uint8Array<ArrayBuffer>
  /** Of its wire, or of its place in the domain. */
  readonly numbers: readonly number[]
}

/** A sparse matrix by rows: A or B of the constraints. */
export interface Matrix {
  /** Where the terms of each row begin, and where those of the last one end. */
  readonly bounds: Uint32Array<ArrayBuffer>
  /** The wire of each term. */
  readonly wires: Uint32Array<ArrayBuffer>
  /** The number of each term, 32 bytes, little-endian, times 2^512. */
  readonly numbers: Uint8Array<ArrayBuffer>
}

export interface ProvingKey {
  readonly wires: number
  readonly publicSignals: number
  /** A power of two. */
  readonly domain: number
  readonly a: Bases
  readonly b1: Bases
  readonly b2: Bases
  /** Of the wires that aren't public. */
  readonly c: Bases
  /** Of the quotient. */
  readonly h: Bases
  readonly alpha1: Uint8Array<ArrayBuffer>
  readonly beta1: Uint8Array<ArrayBuffer>
  readonly beta2: Uint8Array<ArrayBuffer>
  readonly delta1: Uint8Array<ArrayBuffer>
  readonly delta2: Uint8Array<ArrayBuffer>
  readonly matrices: readonly [a: Matrix, b: Matrix]
}

/** All of some bases, one after the other. */
export const joinBases = (all: readonly Bases[]): Bases => {
  const points = new Uint8Array(all.reduce((sum, bases) => sum + bases.points.length, 0))
  let at = 0
  for (const bases of all) {
    points.set(bases.points, at)
    at += bases.points.length
  }
  return { points, numbers: all.flatMap(({ numbers }) => numbers) }
}

/** Content of the sections by number. @throws RangeError where the file is cut off */
const sectionsOf = (bytes: Uint8Array): Map<number, Uint8Array> => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const sections = new Map<number, Uint8Array>()
  for (let at = FILE_HEADER_BYTES; at < bytes.length; ) {
    const id = view.getUint32(at, true)
    const size = Number(view.getBigUint64(at + 4, true))
    at += SECTION_HEADER_BYTES
    if (at + size > bytes.length) throw new RangeError(`section ${id} of the proving key is cut off`)
    sections.set(id, bytes.subarray(at, at + size))
    at += size
  }
  return sections
}

/** The points of a section that aren't infinity, which is all zero; the first one belongs to scalar `first`. */
const basesOf = (section: Uint8Array, pointBytes: number, first = 0): Bases => {
  const starts: number[] = []
  for (let at = 0; at < section.length; at += pointBytes)
    if (section.subarray(at, at + pointBytes).some((byte) => byte !== 0)) starts.push(at)
  const points = new Uint8Array(starts.length * pointBytes)
  starts.forEach((at, i) => {
    points.set(section.subarray(at, at + pointBytes), i * pointBytes)
  })
  return { points, numbers: starts.map((at) => first + at / pointBytes) }
}

const matrixOf = (section: Uint8Array, matrix: number, rows: number): Matrix => {
  const view = new DataView(section.buffer, section.byteOffset, section.byteLength)
  const offsets: number[] = []
  for (let at = 4; at < section.length; at += TERM_BYTES)
    if (view.getUint32(at, true) === matrix) offsets.push(at)
  const bounds = new Uint32Array(rows + 1)
  for (const at of offsets) {
    const row = view.getUint32(at + 4, true)
    bounds[row + 1] = (bounds[row + 1] ?? 0) + 1
  }
  for (let row = 0; row < rows; row++) bounds[row + 1] = (bounds[row + 1] ?? 0) + (bounds[row] ?? 0)
  const next = bounds.slice()
  const wires = new Uint32Array(offsets.length)
  const numbers = new Uint8Array(offsets.length * COORDINATE_BYTES)
  for (const at of offsets) {
    const row = view.getUint32(at + 4, true)
    const place = next[row] ?? 0
    next[row] = place + 1
    wires[place] = view.getUint32(at + 8, true)
    numbers.set(section.subarray(at + TERM_HEADER_BYTES, at + TERM_BYTES), place * COORDINATE_BYTES)
  }
  return { bounds, wires, numbers }
}

/** Whether the header is that of a key for BN254's scalar field. */
const hasModulus = (header: Uint8Array): boolean => {
  const modulus = header.subarray(COUNTS_OFFSET - COORDINATE_BYTES, COUNTS_OFFSET)
  return modulus.every((byte, i) => byte === Number(BigInt.asUintN(8, FIELD_MODULUS >> BigInt(8 * i))))
}

/** Content of a section by its number. */
type Sections = (id: number) => Uint8Array

const sectionsIn = (zkey: Uint8Array): Sections => {
  const sections = sectionsOf(zkey)
  return (id) => {
    const content = sections.get(id)
    if (content === undefined) throw new RangeError(`the proving key has no section ${id}`)
    return content
  }
}

const headerOf = (section: Sections) => {
  const header = section(SECTION.header)
  if (!hasModulus(header)) throw new RangeError('the proving key is for another curve')
  const view = new DataView(header.buffer, header.byteOffset, header.byteLength)
  const [wires, publicSignals, domain] = [0, 4, 8].map((at) => view.getUint32(COUNTS_OFFSET + at, true)) as [
    number,
    number,
    number,
  ]
  let at = POINTS_OFFSET
  const point = (bytes: number) => {
    at += bytes
    return new Uint8Array(header.subarray(at - bytes, at))
  }
  return {
    wires,
    publicSignals,
    domain,
    alpha1: point(G1_BYTES),
    beta1: point(G1_BYTES),
    beta2: point(G2_BYTES),
    gamma2: point(G2_BYTES),
    delta1: point(G1_BYTES),
    delta2: point(G2_BYTES),
  }
}

/** @throws RangeError for what is no proving key of Groth16 on BN254 */
export const readProvingKey = (zkey: Uint8Array): ProvingKey => {
  const section = sectionsIn(zkey)
  const { gamma2: _, ...header } = headerOf(section)
  const { publicSignals, domain } = header
  return {
    ...header,
    a: basesOf(section(SECTION.a), G1_BYTES),
    b1: basesOf(section(SECTION.b1), G1_BYTES),
    b2: basesOf(section(SECTION.b2), G2_BYTES),
    c: basesOf(section(SECTION.c), G1_BYTES, publicSignals + 1),
    h: basesOf(section(SECTION.h), G1_BYTES),
    matrices: [matrixOf(section(SECTION.terms), 0, domain), matrixOf(section(SECTION.terms), 1, domain)],
  }
}

/** A coordinate: multiplied by 2^256 in the file. */
const coordinateOf = (bytes: Uint8Array): bigint => modP(scalarOf(bytes) * MONTGOMERY_INVERSE)

/** The coordinates of points, one after the other. */
export const coordinatesOf = (points: Uint8Array): bigint[] =>
  Array.from({ length: points.length / COORDINATE_BYTES }, (_, i) =>
    coordinateOf(points.subarray(i * COORDINATE_BYTES, (i + 1) * COORDINATE_BYTES)),
  )

const g1Of = (point: Uint8Array): string[] => [...coordinatesOf(point).map(String), '1']

const g2Of = (point: Uint8Array): string[][] => {
  const [x0 = '', x1 = '', y0 = '', y1 = ''] = coordinatesOf(point).map(String)
  return [
    [x0, x1],
    [y0, y1],
    ['1', '0'],
  ]
}

/**
 * The verification key that belongs to a proving key, by its header and its points IC; `vk_alphabeta_12` follows from it.
 * @throws RangeError for what is no proving key of Groth16 on BN254
 */
export const keyPoints = (zkey: Uint8Array): Omit<VerificationKey, 'vk_alphabeta_12'> => {
  const section = sectionsIn(zkey)
  const { publicSignals, alpha1, beta2, gamma2, delta2 } = headerOf(section)
  const ic = section(SECTION.ic)
  return {
    protocol: 'groth16',
    curve: 'bn128',
    nPublic: publicSignals,
    vk_alpha_1: g1Of(alpha1),
    vk_beta_2: g2Of(beta2),
    vk_gamma_2: g2Of(gamma2),
    vk_delta_2: g2Of(delta2),
    IC: Array.from({ length: ic.length / G1_BYTES }, (_, i) =>
      g1Of(ic.subarray(i * G1_BYTES, (i + 1) * G1_BYTES)),
    ),
  }
}
