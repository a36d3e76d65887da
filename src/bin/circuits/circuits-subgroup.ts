/**
 * Recomputes what docs/pairing.md says of the subgroup check: that what the Miller loop compares holds for points of the subgroup of
 * order r and for no others. Ends with status 1 where something is not so.
 * Run it with `npm run circuits:subgroup`.
 * @module
 */
import { bn254 } from '@noble/curves/bn254.js'
import { nonAdjacentForm, CURVE_PARAMETER as X } from '../build-steps/pairing-constants.ts'

const P = bn254.fields.Fp.ORDER
const R = bn254.fields.Fr.ORDER
/** Trace of Frobenius on E. */
const TRACE = 6n * X * X + 1n
/** #E'(Fp2) / r */
const COFACTOR = 2n * P - R

const modulo = (a: bigint, m: bigint): bigint => ((a % m) + m) % m
const gcd = (a: bigint, b: bigint): bigint => (b === 0n ? (a < 0n ? -a : a) : gcd(b, a % b))

/** a + b · ψ in Z[ψ] / (ψ² − tψ + p). */
type Endomorphism = readonly [a: bigint, b: bigint]
const PSI: Endomorphism = [0n, 1n]
const product = ([a0, a1]: Endomorphism, [b0, b1]: Endomorphism): Endomorphism => [
  a0 * b0 - a1 * b1 * P,
  a0 * b1 + a1 * b0 + a1 * b1 * TRACE,
]
const norm = ([a, b]: Endomorphism): bigint => a * a + a * b * TRACE + b * b * P

const squared = product(PSI, PSI)
const cubed = product(squared, PSI)
const LOOP = 6n * X + 2n
/** What kills B exactly where the comparison holds: (6x + 2) + ψ − ψ² + ψ³. */
const alpha: Endomorphism = [LOOP - squared[0] + cubed[0], 1n - squared[1] + cubed[1]]

/** Multiples of B that T is before each addition, beside what is added, modulo r: for B in the subgroup ψ is p. */
const additions = (): [t: bigint, q: bigint][] => {
  const [, ...digits] = nonAdjacentForm(LOOP)
  const pairs: [bigint, bigint][] = []
  let t = 1n
  for (const digit of digits) {
    t *= 2n
    if (digit === 0) continue
    pairs.push([t, BigInt(digit)])
    t += BigInt(digit)
  }
  pairs.push([t, P], [t + P, -P * P])
  return pairs
}

const isExceptional = ([t, q]: [bigint, bigint]): boolean =>
  [t, t - q, t + q].some((difference) => modulo(difference, R) === 0n)

const statements: readonly [what: string, value: unknown, expected: unknown][] = [
  [
    'p is 36x⁴ + 36x³ + 24x² + 6x + 1',
    36n * X ** 4n + 36n * X ** 3n + 24n * X ** 2n + 6n * X + 1n === P,
    true,
  ],
  ['r is p + 1 − t', P + 1n - TRACE === R, true],
  ['2p − r is p − 1 + t', P - 1n + TRACE === COFACTOR, true],
  ['(2p − r) mod 10069', COFACTOR % 10_069n, 0n],
  ['(2p − r) mod 5864401', COFACTOR % 5_864_401n, 0n],
  ['gcd(2p − r, r)', gcd(COFACTOR, R), 1n],
  ['norm of α modulo r', modulo(norm(alpha), R), 0n],
  ['gcd(norm of α, 2p − r)', gcd(norm(alpha), COFACTOR), 1n],
  ['α modulo r where ψ is p', modulo(LOOP + P - P * P + P ** 3n, R), 0n],
  [
    'additions of the loop that meet T = O, Q or −Q in the subgroup',
    additions().filter(isExceptional).length,
    0,
  ],
]

for (const [what, value, expected] of statements) {
  console.log(`${what}: ${value}`)
  if (value !== expected) process.exitCode = 1
}
