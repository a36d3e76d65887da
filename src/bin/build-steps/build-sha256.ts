/**
 * Writes assembly/sha256-rounds.ts: the unrolled compression functions of SHA-256. AssemblyScript has no macros, and
 * a function can't change eight variables at once, so the rounds are written out by this program.
 *
 * Run it with `npx tsx src/bin/build-steps/build-sha256.ts`; a test compares its output with the file in the tree.
 * @module
 */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const TARGET = fileURLToPath(new URL('../../../assembly/sha256-rounds.ts', import.meta.url))

/** Round constants, FIPS 180-4 section 4.2.2: the first 32 bits of the cube roots of the first 64 primes. */
const roundConstants = (): number[] => {
  const constants: number[] = []
  for (let candidate = 2; constants.length < 64; candidate++) {
    let prime = true
    for (let factor = 2; factor * factor <= candidate; factor++) if (candidate % factor === 0) prime = false
    if (prime) constants.push(cubeRootFraction(candidate))
  }
  return constants
}

/** floor(2^32 × cbrt(n)) mod 2^32, by bisection in integers. */
const cubeRootFraction = (n: number): number => {
  const target = BigInt(n) << 96n
  let root = 0n
  for (let bit = 1n << 40n; bit > 0n; bit >>= 1n) if ((root + bit) ** 3n <= target) root += bit
  return Number(BigInt.asUintN(32, root))
}

const rotate = (x: number, count: number): number => (x >>> count) | (x << (32 - count))

/** K[t] + W[t] of a block that is known beforehand, section 6.2.2 step 1. */
const constantSchedule = (block: readonly number[], constants: readonly number[]): number[] => {
  const w = [...block]
  for (let t = 16; t < 64; t++) {
    const x = w[t - 15] ?? 0
    const y = w[t - 2] ?? 0
    const sigma0 = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3)
    const sigma1 = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10)
    w.push(((w[t - 16] ?? 0) + sigma0 + (w[t - 7] ?? 0) + sigma1) >>> 0)
  }
  return w.map((word, t) => (word + (constants[t] ?? 0)) >>> 0)
}

/** The second block of a 64-byte message: the padding bit, zeros, and the length of 512 bits. */
const PADDING_OF_64_BYTES = [0x80000000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 512]

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'] as const

/** The names that play a to h in round t: instead of moving eight values, the names rotate. */
const roles = (t: number): string[] => NAMES.map((_, i) => NAMES[(i - t + 64) % 8] ?? '')

const table = (name: string, words: readonly number[]): string[] => {
  const hex = words.map((word) => `0x${word.toString(16).padStart(8, '0')}`)
  const lines: string[] = []
  for (let i = 0; i < hex.length; i += 8) lines.push(`  ${hex.slice(i, i + 8).join(', ')},`)
  return [`const ${name}: usize = memory.data<u32>([`, ...lines, '], 64)']
}

/**
 * One round, section 6.2.2 step 3. `t` is summed in the order that keeps e, the newest value, off the longest path.
 */
const round = (t: number, wordAndConstant: string): string[] => {
  const [a, b, c, d, e, f, g, h] = roles(t)
  return [
    `t = ${h} + ${wordAndConstant} + choose(${e}, ${f}, ${g}) + sum1(${e})`,
    `${d} += t`,
    `${h} = sum0(${a}) + t + majority(${a}, ${b}, ${c})`,
  ]
}

const sixteen = (line: (t: number) => string[]): string[] =>
  Array.from({ length: 16 }, (_, t) => line(t)).flat()

const at = (offset: number): string => (offset === 0 ? '' : `, ${offset}`)

const load = (from: string, offset: number): string => `load<u32>(${from}${at(offset)})`

const loadState = NAMES.map((name, i) => `let ${name} = ${load('state', 4 * i)}`)
const addState = NAMES.map((name, i) => `store<u32>(state, ${load('state', 4 * i)} + ${name}${at(4 * i)})`)

const indent = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`)

/** `state` ← compression of whole blocks; the schedule is extended in SIMD, four words after every four rounds. */
const compress = (): string[] => {
  const vectors = [0, 1, 2, 3]
  const extend = (q: number) => {
    const [w0, w4, w8, w12] = vectors.map((i) => `x${(q + i) % 4}`)
    return [
      `${w0} = extend(${w0}, ${w4}, ${w8}, ${w12})`,
      `v128.store(SCHEDULE, i32x4.add(${w0}, v128.load(k${at(16 * q)}))${at(16 * q)})`,
    ]
  }
  const fromSchedule = (t: number) => round(t, load('SCHEDULE', 4 * t))
  return [
    '/** Hashes `count` whole blocks of 64 bytes into `state` (eight words), section 6.2.2. */',
    'export function compress(state: usize, blocks: usize, count: i32): void {',
    '  let t: u32',
    '  for (; count > 0; --count, blocks += 64) {',
    ...indent(indent(loadState)),
    ...vectors.map((q) => `    let x${q} = bigEndian(v128.load(blocks${at(16 * q)}))`),
    ...vectors.map(
      (q) => `    v128.store(SCHEDULE, i32x4.add(x${q}, v128.load(K${at(16 * q)}))${at(16 * q)})`,
    ),
    '    for (let k: usize = K + 64; k < K + 256; k += 64) {',
    ...indent(indent(indent(sixteen((t) => [...fromSchedule(t), ...(t % 4 === 3 ? extend(t >> 2) : [])])))),
    '    }',
    ...indent(indent(sixteen(fromSchedule))),
    ...indent(indent(addState)),
    '  }',
    '}',
  ]
}

const compressPadding = (): string[] => [
  '/** Hashes the constant second block of a 64-byte message into `state`. */',
  'export function compressPadding(state: usize): void {',
  '  let t: u32',
  ...indent(loadState),
  '  for (let k: usize = PADDING; k < PADDING + 256; k += 64) {',
  ...indent(indent(sixteen((t) => round(t, load('k', 4 * t))))),
  '  }',
  ...indent(addState),
  '}',
]

/**
 * One round on four messages at once. Maj shares a ^ b with the following round through `same` and `other`: unlike for
 * words, the compiler does not find it by itself.
 */
const round4 = (t: number, word: string): string[] => {
  const [a, b, , d, e, f, g, h] = roles(t)
  const [same, other] = t % 2 === 0 ? ['x', 'y'] : ['y', 'x']
  return [
    `t = i32x4.add(i32x4.add(i32x4.add(${h}, ${word}), sum1x4(${e})), choose4(${e}, ${f}, ${g}))`,
    `${d} = i32x4.add(${d}, t)`,
    `${same} = v128.xor(${a}, ${b})`,
    `${h} = i32x4.add(i32x4.add(t, sum0x4(${a})), v128.xor(${b}, v128.and(${same}, ${other})))`,
  ]
}

const loadState4 = NAMES.map((name, i) => `let ${name} = v128.load(state${at(16 * i)})`)
const addState4 = NAMES.map(
  (name, i) => `v128.store(state, i32x4.add(v128.load(state${at(16 * i)}), ${name})${at(16 * i)})`,
)
const splat = (from: string, t: number): string => `v128.load_splat<u32>(${from}${at(4 * t)})`
const word4 = (t: number): string => `v128.load(WORDS4${at(16 * (t % 16))})`

const compress4 = (): string[] => {
  const extend = (t: number) => {
    return [
      `w = extend4(${word4(t)}, ${word4(t + 1)}, ${word4(t + 9)}, ${word4(t + 14)})`,
      `v128.store(WORDS4, w${at(16 * t)})`,
    ]
  }
  return [
    '/** Hashes the four blocks whose words stand in WORDS4 into `state` (eight vectors); destroys WORDS4. */',
    'export function compress4(state: usize): void {',
    '  let t: v128, w: v128, x: v128',
    ...indent(loadState4),
    '  let y = v128.xor(b, c)',
    ...indent(sixteen((t) => round4(t, `i32x4.add(${word4(t)}, ${splat('K', t)})`))),
    '  for (let k: usize = K + 64; k < K + 256; k += 64) {',
    ...indent(indent(sixteen((t) => [...extend(t), ...round4(t, `i32x4.add(w, ${splat('k', t)})`)]))),
    '  }',
    ...indent(addState4),
    '}',
  ]
}
const compressPadding4 = (): string[] => [
  '/** Hashes the constant second block of four 64-byte messages into `state`. */',
  'export function compressPadding4(state: usize): void {',
  '  let t: v128, x: v128',
  ...indent(loadState4),
  '  let y = v128.xor(b, c)',
  '  for (let k: usize = PADDING; k < PADDING + 256; k += 64) {',
  ...indent(indent(sixteen((t) => round4(t, splat('k', t))))),
  '  }',
  ...indent(addState4),
  '}',
]

/** The text of assembly/sha256-rounds.ts. */
export const sha256Rounds = (): string => {
  const constants = roundConstants()
  return [
    '// generated by src/bin/build-steps/build-sha256.ts; edit that program instead',
    '/**',
    ' * The compression function of SHA-256 (FIPS 180-4 section 6.2.2), for one message and for four at once.',
    ' * @module',
    ' */',
    'import {',
    '  bigEndian, choose, choose4, extend, extend4, majority, sum0, sum0x4, sum1, sum1x4,',
    "} from './sha256-steps'",
    '',
    '// jscpd:ignore-start',
    '/** Round constants, section 4.2.2. */',
    ...table('K', constants),
    '',
    '/** K[t] + W[t] of the second block of every 64-byte message. */',
    ...table('PADDING', constantSchedule(PADDING_OF_64_BYTES, constants)),
    '',
    '/** K[t] + W[t] of sixteen rounds. A block can be recovered from it, so it is wiped after keys and messages. */',
    'export const SCHEDULE: usize = memory.data(64, 64)',
    '',
    '/** Sixteen message words of four messages, one vector a word. */',
    'export const WORDS4: usize = memory.data(256, 64)',
    '',
    ...compress(),
    '',
    ...compressPadding(),
    '',
    ...compress4(),
    '',
    ...compressPadding4(),
    '// jscpd:ignore-end',
    '',
  ].join('\n')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(TARGET, sha256Rounds())
