/**
 * Poseidon rearranged for speed; the result is the same function. Three things are done once, here:
 *
 * 1. In the partial rounds only the first element meets an S-box, so the other two are a linear system that the S-box
 *    outputs drive. It is eliminated (Cayley–Hamilton): with t = trace and d = determinant of the lower right 2 × 2
 *    block of the matrix, each S-box input is one sum of three outputs and two inputs before it.
 * 2. Constants are moved behind the matrix, where they are added to the sum that is made anyway.
 * 3. Values are kept divided by scales known beforehand, chosen so that one factor in most sums is 1.
 * @module
 */
import {
  FULL_ROUNDS,
  invert,
  MODULUS,
  PARTIAL_ROUNDS,
  type PoseidonParameters,
  power,
  reduce,
} from './poseidon-parameters.ts'

/** The base of the kernels' Montgomery form: nine limbs of 29 bits. */
const MONTGOMERY = (1n << 261n) % MODULUS

/** Three sums over the same three values: x0 + x1 · k1[i] + x2 · k2[i] + k[i]. */
export interface Mix {
  k1: readonly bigint[]
  k2: readonly bigint[]
  k: readonly bigint[]
}

/** One sum over at most four values: Σ x[i] · factors[i] + constant. */
export interface Dot {
  factors: readonly bigint[]
  constant: bigint
}

/** The schedule's constants, in Montgomery form unless said otherwise. */
export interface PoseidonSchedule {
  /** Plain constants, added to the plain inputs. */
  start: readonly bigint[]
  /** Three full rounds; of the fourth only the S-boxes are left. */
  opening: readonly Mix[]
  /** u(0) and u(−1) from the three S-box outputs; y(−1) is the first of them, y(−2) is 0. */
  entry: readonly Dot[]
  /** Round r makes u(r+1) = y(r) + the dot product with y(r−1), y(r−2), u(r), u(r−1); odd rounds have both pairs swapped. */
  partial: readonly Dot[]
  /** The second and third element, from y(n−2), y(n−1), u(n−1), u(n), n being the number of partial rounds. */
  rejoin: readonly Dot[]
  closing: readonly Mix[]
  /** From the last S-box outputs to the result; plain factors, so that the result is plain. */
  output: Dot
}

type Row = readonly bigint[]

const dot = (a: Row, b: Row): bigint => reduce(a.reduce((sum, x, i) => sum + x * (b[i] ?? 0n), 0n))
const at = (row: Row, i: number): bigint => row[i] ?? 0n
const montgomery = (x: bigint): bigint => (reduce(x) * MONTGOMERY) % MODULUS

/** A sum over scaled values, divided by the scale of its result. */
const scaled = (factors: Row, scales: Row, constant: bigint, scale: bigint): Dot => {
  const by = invert(scale)
  return {
    factors: factors.map((factor, i) => montgomery(factor * at(scales, i) * by)),
    constant: montgomery(constant * by),
  }
}

const sboxScales = (scales: Row): bigint[] => scales.map((scale) => power(scale, 5n))

/** The round constants of the second and third element, carried through the partial rounds to where they meet an S-box. */
const carryConstants = (
  constants: readonly Row[],
  matrix: readonly Row[],
): { first: bigint[]; last: Row } => {
  const half = FULL_ROUNDS / 2
  let carry: Row = [0n, 0n, 0n]
  const first: bigint[] = []
  for (let r = half; r < half + PARTIAL_ROUNDS; r++) {
    const sum = (constants[r] ?? []).map((c, i) => reduce(c + at(carry, i)))
    first.push(at(sum, 0))
    carry = matrix.map((row) => dot(row, [0n, at(sum, 1), at(sum, 2)]))
  }
  const last = (constants[half + PARTIAL_ROUNDS] ?? []).map((c, i) => reduce(c + at(carry, i)))
  return { first: [...first, at(last, 0)], last }
}

/**
 * The partial rounds as a linear system: with x the first element before an S-box, y after it, h the other two,
 * x' = m·y + v·h and h' = H·h + w·y. As H·H = t·H − d, x(r+1) = m·y(r) + y1·y(r−1) + y2·y(r−2) + t·x(r) − d·x(r−1).
 * It holds from r = 0 on with y(−1) and h(−1) from the round before, y(−2) = 0 and d·x(−1) = v·(t − H)·h(−1).
 */
const recurrence = (matrix: readonly Row[]) => {
  const [[m = 0n, v1 = 0n, v2 = 0n] = [], [w1 = 0n, a = 0n, b = 0n] = [], [w2 = 0n, c = 0n, d = 0n] = []] =
    matrix
  const v: Row = [v1, v2]
  const vH: Row = [reduce(v1 * a + v2 * c), reduce(v1 * b + v2 * d)]
  const t = reduce(a + d)
  const det = reduce(a * d - b * c)
  const vw = dot(v, [w1, w2])
  const y2 = reduce(dot(vH, [w1, w2]) - t * vw + det * m)
  const xBefore = v.map((x, j) => reduce((t * x - at(vH, j)) * invert(det)))
  return { m, v, vH, t, det, y1: reduce(vw - t * m), y2, xBefore }
}

type Recurrence = ReturnType<typeof recurrence>

/** Factors of y(n−1), y(n−2), x(n), x(n−1) that give the second and third element after the partial rounds. */
const rejoining = ({ v, vH, t, det, y1, y2 }: Recurrence): Row[] => {
  const vh: Row = [y1, y2, t, -det]
  const vHh: Row = [y2 + t * y1, t * y2, t * t - det, -t * det]
  const [[a, b], [c, d]] = [
    [at(v, 0), at(v, 1)],
    [at(vH, 0), at(vH, 1)],
  ]
  const by = invert(a * d - b * c)
  return [
    vh.map((x, i) => reduce((d * x - b * at(vHh, i)) * by)),
    vh.map((x, i) => reduce((a * at(vHh, i) - c * x) * by)),
  ]
}

interface Partial {
  partial: Dot[]
  rejoin: Dot[]
  scales: Row
}

/** Pairs of values stand in two lanes in turn, the newer one where the older one stood before. */
const inTurn = (odd: boolean, [a = 0n, b = 0n, c = 0n, d = 0n]: Row): Row =>
  odd ? [b, a, d, c] : [a, b, c, d]

/**
 * @param first constants of the first element before its S-boxes, and after the last
 * @param last constants of the first closing round
 * @param yScale scale of y(−1); u(0) and u(−1) have scale 1
 */
const partialRounds = (first: Row, last: Row, rule: Recurrence, yScale: bigint): Partial => {
  const partial: Dot[] = []
  let [u, uBefore, y1, y2] = [1n, 1n, yScale, 1n]
  for (let r = 0; r < PARTIAL_ROUNDS; r++) {
    const y = power(u, 5n)
    const scale = reduce(rule.m * y)
    const constant = at(first, r + 1) - rule.t * at(first, r) + (r === 0 ? 0n : rule.det * at(first, r - 1))
    const odd = r % 2 === 1
    const factors = inTurn(odd, [rule.y1, rule.y2, rule.t, -rule.det])
    partial.push(scaled(factors, inTurn(odd, [y1, y2, u, uBefore]), constant, scale))
    ;[u, uBefore, y1, y2] = [scale, u, y, y1]
  }
  const [kn, kBefore] = [at(first, PARTIAL_ROUNDS), at(first, PARTIAL_ROUNDS - 1)]
  const rejoin = rejoining(rule).map((factors, i) => {
    const constant = at(last, i + 1) - at(factors, 2) * kn - at(factors, 3) * kBefore
    return scaled(inTurn(true, factors), [y2, y1, uBefore, u], constant, 1n)
  })
  return { partial, rejoin, scales: [u, 1n, 1n] }
}

/** Full rounds with the constants of `added` behind each; every sum's first factor becomes its scale. */
const fullRounds = (
  matrix: readonly Row[],
  added: readonly Row[],
  from: Row,
): { rounds: Mix[]; scales: Row } => {
  let scales = from
  const rounds = added.map((constants): Mix => {
    const y = sboxScales(scales)
    scales = matrix.map((factors) => reduce(at(factors, 0) * at(y, 0)))
    const sums = matrix.map((factors, i) => scaled(factors, y, at(constants, i), at(scales, i)))
    return {
      k1: sums.map(({ factors }) => at(factors, 1)),
      k2: sums.map(({ factors }) => at(factors, 2)),
      k: sums.map(({ constant }) => constant),
    }
  })
  return { rounds, scales }
}

/** Computes the schedule of the given parameters. */
export const poseidonSchedule = ({ constants, matrix }: PoseidonParameters): PoseidonSchedule => {
  const half = FULL_ROUNDS / 2
  const rule = recurrence(matrix)
  const { first, last } = carryConstants(constants, matrix)
  // A plain value x stands in Montgomery form for x / MONTGOMERY, so MONTGOMERY is the scale of the inputs.
  const opening = fullRounds(matrix, constants.slice(1, half), [MONTGOMERY, MONTGOMERY, MONTGOMERY])
  const y = sboxScales(opening.scales)
  const entry = [scaled(matrix[0] ?? [], y, at(first, 0), 1n), scaled([0n, ...rule.xBefore], y, 0n, 1n)]
  const { partial, rejoin, scales } = partialRounds(first, last, rule, at(y, 0))
  const closing = fullRounds(matrix, constants.slice(half + PARTIAL_ROUNDS + 1), scales)
  const output = sboxScales(closing.scales).map((scale, i) => reduce(at(matrix[0] ?? [], i) * scale))
  return {
    start: constants[0] ?? [],
    opening: opening.rounds,
    entry,
    partial,
    rejoin,
    closing: closing.rounds,
    output: { factors: output, constant: 0n },
  }
}
