/**
 * Writes the arithmetic kernels of a prime field as AssemblyScript: Montgomery sums of products in columns (product
 * scanning), nine limbs of 29 bits, R = 2^261. A column sums at most five times nine products of 58 bits, which 64 bits
 * hold without a carry. For primes m of 254 bits and factors below 8m, products are below 2m, and sums below 2m and
 * what is added to them; only what leaves the field is reduced fully.
 *
 * BN254's r is 1 modulo 2^28, so the lowest limb of r is 2^28 + 1 and −1/r modulo 2^29 is 2^28 − 1: both are shifts.
 * @module
 */

export const LIMBS = 9
const LIMB_BITS = 29
const COLUMNS = 2 * LIMBS - 1

/** Bytes of an element as nine u32, and of four elements as nine vectors. */
export const ELEMENT_BYTES = 4 * LIMBS
export const VECTOR_BYTES = 16 * LIMBS

/** The limbs of a value below 2^261, least first. */
export const limbs = (x: bigint): number[] =>
  Array.from({ length: LIMBS }, (_, i) => Number(BigInt.asUintN(LIMB_BITS, x >> BigInt(LIMB_BITS * i))))

/** The prime that a kernel reduces by. */
export interface Prime {
  readonly limbs: readonly number[]
  /** −1/m modulo 2^29. */
  readonly inverse: number
  /** Whether a product with the lowest limb, and one with `inverse`, are a shift and a sum. */
  readonly isShift: boolean
}

/** What kernels know of an odd prime. */
export const primeOf = (value: bigint): Prime => {
  let inverse = 1n
  // Newton's iteration doubles the bits that are right.
  for (let bits = 1; bits < LIMB_BITS; bits *= 2)
    inverse = BigInt.asUintN(LIMB_BITS, inverse * (2n - value * inverse))
  const [lowest = 0] = limbs(value)
  return {
    limbs: limbs(value),
    inverse: Number(BigInt.asUintN(LIMB_BITS, -inverse)),
    isShift: lowest === 2 ** 28 + 1,
  }
}

const MASK = '0x1fffffff'

const hexadecimal = (x: number): string => `0x${x.toString(16)}`
const offset = (bytes: number): string => (bytes === 0 ? '' : `, ${bytes}`)
const indices = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

/** Pairs of limbs whose products belong to column k. */
const column = (k: number): (readonly [number, number])[] =>
  indices(LIMBS)
    .filter((i) => k - i >= 0 && k - i < LIMBS)
    .map((i) => [i, k - i] as const)

/** Pairs of a quotient and a limb of r above the lowest whose products belong to column k. */
const reductions = (k: number): (readonly [number, number])[] => column(k).filter(([, j]) => j > 0)

const sum = (terms: readonly string[]): string => terms.reduce((x, y) => `i64x2.add(${x}, ${y})`)

const widen = (half: 'low' | 'high', x: string, y: string): string =>
  `i64x2.extmul_${half}_i32x4_u(${x}, ${y})`

const kernel = (
  summary: string,
  name: string,
  parameters: readonly string[],
  body: readonly string[],
): string[] => [
  `/** ${summary} */`,
  `export function ${name}(${parameters.map((parameter) => `${parameter}: usize`).join(', ')}): void {`,
  ...body.map((line) => `  ${line}`),
  '}',
  '',
]

/** A limb to add, as text of 64 bits. */
type Addend = (limb: number) => string

/** The limbs of the element at an address. */
const element =
  (name: string): Addend =>
  (limb) =>
    `<u64>load<u32>(${name}${offset(4 * limb)})`

/**
 * Montgomery reduction of one element's columns, and its stores; `added` are elements to add.
 * @param type i64 where columns may be negative
 */
const reduceColumns = (
  { limbs: modulus, inverse, isShift }: Prime,
  columns: (k: number) => { lines: string[]; value: string },
  added: readonly Addend[],
  type: 'u64' | 'i64' = 'u64',
): string[] => {
  const lines = [`let a: ${type} = 0`]
  const quotient = isShift ? '((a << 28) - a)' : `a * ${hexadecimal(inverse)}`
  const lowest = (q: string) => (isShift ? `${q} + (${q} << 28)` : `${q} * ${hexadecimal(modulus[0] ?? 0)}`)
  for (let k = 0; k < COLUMNS; k++) {
    const { lines: before, value } = columns(k)
    const products = reductions(k).map(([i, j]) => `q${i} * ${hexadecimal(modulus[j] ?? 0)}`)
    const addends = k < LIMBS ? [] : added.map((limb) => limb(k - LIMBS))
    lines.push(...before, `a += ${[value, ...products, ...addends].join(' + ')}`)
    if (k < LIMBS)
      lines.push(`const q${k} = ${quotient} & ${MASK}`, `a = (a + ${lowest(`q${k}`)}) >> ${LIMB_BITS}`)
    else lines.push(`store<u32>(z, <u32>a & ${MASK}${offset(4 * (k - LIMBS))})`, `a >>= ${LIMB_BITS}`)
  }
  const tops = added.map((limb) => ` + ${limb(LIMBS - 1)}`).join('')
  return [...lines, `store<u32>(z, <u32>${tops ? `(a${tops})` : 'a'}, ${ELEMENT_BYTES - 4})`]
}

/** A product of two elements, by the names of their addresses, and whether it is taken away. */
interface Factors {
  readonly x: string
  readonly y: string
  readonly isMinus?: boolean
}

/**
 * A sum of products of two elements. Limbs of x times pairs of limbs of y: even limbs of x give the columns (0, 1),
 * (2, 3) …, odd ones (1, 2), (3, 4) …; these are moved by a lane and added.
 */
const productsKernel = (
  prime: Prime,
  { summary, name, products }: { summary: string; name: string; products: readonly Factors[] },
): string[] => {
  const pair = ({ x, y }: Factors, i: number, m: number) =>
    widen(m % 2 ? 'high' : 'low', `${x}${i}`, `${y}${m >> 1}`)
  const places = (parity: number, c: number) =>
    indices(LIMBS).filter((i) => i % 2 === parity && c - (i >> 1) >= 0 && c - (i >> 1) <= 4)
  /** The products of a column, those that are taken away last; none where it has none. */
  const terms = (parity: number, c: number): string[] => {
    const of = (isMinus: boolean) =>
      products
        .filter((factors) => (factors.isMinus ?? false) === isMinus)
        .flatMap((factors) => places(parity, c).map((i) => pair(factors, i, c - (i >> 1))))
    const [plus, minus] = [of(false), of(true)]
    return minus.length ? [`i64x2.sub(${sum(plus)}, ${sum(minus)})`] : plus
  }
  const columns = (k: number) => {
    const c = k >> 1
    if (k % 2) return { lines: [], value: `i64x2.extract_lane(c${c}, 1)` }
    const odd = terms(1, c)
    const lines = [...(odd.length ? [`const o${c} = ${sum(odd)}`] : [])]
    const before = c === 0 ? 'i64x2.splat(0)' : `o${c - 1}`
    const after = odd.length ? `o${c}` : 'i64x2.splat(0)'
    lines.push(`const c${c} = i64x2.add(v128.shuffle<u64>(${before}, ${after}, 1, 2), ${sum(terms(0, c))})`)
    return { lines, value: `i64x2.extract_lane(c${c}, 0)` }
  }
  const isSigned = products.some(({ isMinus }) => isMinus)
  const modulus: Addend = (limb) => hexadecimal(prime.limbs[limb] ?? 0)
  return kernel(
    summary,
    name,
    ['z', ...products.flatMap(({ x, y }) => [x, y])],
    [
      ...products.flatMap(({ x, y }) => [
        ...indices(LIMBS).map((i) => `const ${x}${i} = v128.load_splat<u32>(${x}${offset(4 * i)})`),
        `const ${y}0 = v128.load(${y})`,
        `const ${y}1 = v128.load(${y}, 16)`,
        `const ${y}2 = v128.load_zero<u32>(${y}, 32)`,
      ]),
      ...(isSigned ? reduceColumns(prime, columns, [modulus], 'i64') : reduceColumns(prime, columns, [])),
    ],
  )
}

/** The product of two elements. */
export const multiplyKernel = (prime: Prime): string[] =>
  productsKernel(prime, { summary: 'z = x · y / R.', name: 'multiply', products: [{ x: 'x', y: 'y' }] })

/** The two parts of a product in a quadratic extension, each with one reduction. */
export const pairKernels = (prime: Prime): string[] => [
  ...productsKernel(prime, {
    summary: 'z = (x · y + v · w) / R; limbs of x and v may be sums of two.',
    name: 'multiplySum',
    products: [
      { x: 'x', y: 'y' },
      { x: 'v', y: 'w' },
    ],
  }),
  ...productsKernel(prime, {
    summary: 'z = (x · y − v · w) / R + the modulus; limbs of x and v may be sums of two.',
    name: 'multiplyDifference',
    products: [
      { x: 'x', y: 'y' },
      { x: 'v', y: 'w', isMinus: true },
    ],
  }),
]

/** The sum of the products of four elements with four constants, lane by lane, and a constant and an element. */
export const dotKernel = (prime: Prime): string[] => {
  const columns = (k: number) => {
    const products = (['low', 'high'] as const).flatMap((half) =>
      column(k).map(([i, j]) => widen(half, `x${i}`, `k${j}`)),
    )
    return {
      lines: [`const c${k} = ${sum(products)}`],
      value: `i64x2.extract_lane(c${k}, 0) + i64x2.extract_lane(c${k}, 1)`,
    }
  }
  return kernel(
    'z = y + Σ x[lane] · k[lane] / R + the constant behind k.',
    'dot',
    ['z', 'y', 'x', 'k'],
    [
      ...indices(LIMBS).map((i) => `const x${i} = v128.load(x${offset(16 * i)})`),
      ...indices(LIMBS).map((i) => `const k${i} = v128.load(k${offset(16 * i)})`),
      `const added = k + ${VECTOR_BYTES}`,
      ...reduceColumns(prime, columns, [element('y'), element('added')]),
    ],
  )
}

/** How limb i of an operand of a fourfold kernel is loaded. */
export type Load = (i: number) => string

/** Nine vectors at an address. */
export const vector =
  (name: string, at = 0): Load =>
  (i) =>
    `v128.load(${name}${offset(at + 16 * i)})`

/** One element of every `step` bytes at an address, the same in all lanes. */
export const same =
  (name: string, at = 0, step = 16): Load =>
  (i) =>
    `v128.load_splat<u32>(${name}${offset(at + step * i)})`

interface Fourfold {
  summary: string
  name: string
  parameters: readonly string[]
  /** Products of two operands, or the square of one. */
  products: readonly (readonly [Load] | readonly [Load, Load])[]
  added?: readonly Load[]
}

const LOW_WORDS = 'v128.shuffle<u32>(a, b, 0, 2, 4, 6)'
const HALVES = [
  ['low', 'a'],
  ['high', 'b'],
] as const

/** A kernel on four elements at once, lane by lane; `a` and `b` sum the columns of two lanes each. */
export const fourfoldKernel = (
  { inverse, isShift }: Prime,
  { summary, name, parameters, products, added = [] }: Fourfold,
): string[] => {
  const factors = products.map(([x, y], n) => ({ x: `x${n}_`, y: `y${n}_`, loadX: x, loadY: y }))
  const lines = factors.flatMap(({ x, y, loadX, loadY }) =>
    indices(LIMBS).flatMap((i) => [
      `const ${x}${i} = ${loadX(i)}`,
      `const ${y}${i} = ${loadY ? loadY(i) : `i32x4.shl(${x}${i}, 1)`}`,
    ]),
  )
  const pairs = (k: number) =>
    factors.flatMap(({ x, y, loadY }) =>
      column(k)
        .filter(([i, j]) => loadY || i <= j)
        .map(([i, j]) => [`${x}${i}`, !loadY && i === j ? `${x}${j}` : `${y}${j}`] as const),
    )
  lines.push(`const mask = i32x4.splat(${MASK})`, 'let a = i64x2.splat(0)', 'let b = i64x2.splat(0)')
  for (let k = 0; k <= COLUMNS; k++) {
    const all = [
      ...pairs(k),
      ...reductions(k).map(([i, j]) => [`q${i}`, `v128.load(MODULUS_LIMBS${offset(16 * j)})`] as const),
    ]
    const addends = k < LIMBS ? [] : added.map((load) => load(k - LIMBS))
    for (const [half, accumulator] of HALVES) {
      const terms = [
        ...all.map(([x, y]) => widen(half, x, y)),
        ...addends.map((x) => `i64x2.extend_${half}_i32x4_u(${x})`),
      ]
      if (terms.length) lines.push(`${accumulator} = i64x2.add(${accumulator}, ${sum(terms)})`)
    }
    if (k < LIMBS) {
      lines.push(`const w${k} = ${LOW_WORDS}`)
      const quotient = isShift
        ? `i32x4.sub(i32x4.shl(w${k}, 28), w${k})`
        : `i32x4.mul(w${k}, i32x4.splat(${hexadecimal(inverse)}))`
      lines.push(`const q${k} = v128.and(${quotient}, mask)`)
    } else
      lines.push(
        `v128.store(z, ${k < COLUMNS ? `v128.and(${LOW_WORDS}, mask)` : LOW_WORDS}${offset(16 * (k - LIMBS))})`,
      )
    for (const [half, accumulator] of HALVES) {
      const q = `i64x2.extend_${half}_i32x4_u(q${k})`
      const shifted = `i64x2.add(i64x2.add(${accumulator}, ${q}), i64x2.shl(${q}, 28))`
      const multiplied = `i64x2.add(${accumulator}, ${widen(half, `q${k}`, 'v128.load(MODULUS_LIMBS)')})`
      const whole = k >= LIMBS ? accumulator : isShift ? shifted : multiplied
      if (k < COLUMNS) lines.push(`${accumulator} = i64x2.shr_u(${whole}, ${LIMB_BITS})`)
    }
  }
  return kernel(summary, name, ['z', ...parameters], lines)
}

/** Words of elements as lines of a table in the module's data. */
export const table = (name: string, rows: readonly (readonly number[])[]): string[] => [
  `export const ${name}: usize = memory.data<u32>([`,
  ...rows.map((row) => `  ${row.map(hexadecimal).join(', ')},`),
  '], 16)',
]

/** Four elements as nine vectors. */
export const lanes = (elements: readonly bigint[]): number[] => {
  const words = elements.map(limbs)
  return indices(LIMBS).flatMap((i) => indices(4).map((lane) => words[lane]?.[i] ?? 0))
}

/** The modulus as the fourfold kernels load it. */
export const modulusTable = (value: bigint): string[] => [
  '/** The modulus, each limb in four lanes. */',
  ...table('MODULUS_LIMBS', [lanes([value, value, value, value])]),
]
