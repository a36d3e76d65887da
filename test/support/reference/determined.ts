/**
 * Which wires can have one value only, once all inputs are given: a search for freedom that a circuit leaves to its
 * prover. It starts from the inputs and goes on through every constraint that leaves one value to its last unknown
 * wire, or to the bits of a sum. What is left could be chosen by the prover (or is beyond these rules).
 *
 * It reasons about one witness, so wires that only matter for other inputs stay free, such as the inverse in IsZero(0).
 * @module
 */
import type { Combination, Constraint, ConstraintSystem } from './r1cs.ts'

interface Sides {
  /** The part of each side that is known. */
  readonly known: bigint
  readonly unknown: ReadonlyMap<number, bigint>
}

/** No sum of so many bits has a second form modulo the field. */
const LARGEST_SUM_BITS = 253
/** Bits that circomlib's AliasCheck holds below the prime. */
const LARGEST_CHECKED_BITS = 254
/** A constraint with more unknown wires that are no bits is not looked at: it says nothing of one of them yet. */
const MOST_UNKNOWN = 4

const EXPONENTS = new Map(Array.from({ length: LARGEST_CHECKED_BITS }, (_, k) => [1n << BigInt(k), k]))

const power = (base: bigint, exponent: bigint, prime: bigint): bigint => {
  let result = 1n
  for (let b = base, e = exponent; e > 0n; e >>= 1n, b = (b * b) % prime)
    if (e & 1n) result = (result * b) % prime
  return result
}

/**
 * Whether the coefficients are, up to a common factor and to signs (a bit can be counted as 1 − bit), different powers
 * of two whose sum is below the prime.
 */
const isBinarySum = (coefficients: readonly bigint[], prime: bigint, bits: number): boolean =>
  coefficients.some((unit) => {
    const inverse = power(unit, prime - 2n, prime)
    const exponents = new Set<number>()
    const areSmall = coefficients.every((c) => {
      const scaled = (c * inverse) % prime
      const exponent = EXPONENTS.get(scaled) ?? EXPONENTS.get(prime - scaled)
      if (exponent !== undefined) exponents.add(exponent)
      return exponent !== undefined && exponent < bits
    })
    return areSmall && exponents.size === coefficients.length
  })

const wiresOf = (constraint: Constraint): Set<number> =>
  new Set(constraint.flatMap((side) => side.map(([wire]) => wire)))

/**
 * @param outputs how many public signals are outputs
 * @param belowPrime bits that an AliasCheck of circomlib's holds below the prime
 * @returns wires that are not determined by the inputs of this witness
 */
export const freeWires = (
  system: ConstraintSystem,
  outputs: number,
  witness: readonly bigint[],
  belowPrime: ReadonlySet<number> = new Set(),
): number[] => {
  const { prime, wires, publicSignals, privateInputs, constraints } = system
  const mod = (x: bigint): bigint => ((x % prime) + prime) % prime
  const isInput = (wire: number): boolean =>
    wire === 0 || (wire > outputs && wire <= publicSignals + privateInputs)
  const free = new Set(Array.from({ length: wires }, (_, i) => i).filter((wire) => !isInput(wire)))
  const booleans = new Set<number>()
  const byWire = Array.from({ length: wires }, (): number[] => [])
  /** Unknown wires of each constraint, and those of them that may be no bits. */
  const unknownCount: number[] = []
  const plainCount: number[] = []
  for (const [i, constraint] of constraints.entries()) {
    const all = wiresOf(constraint)
    for (const wire of all) byWire[wire]?.push(i)
    const unknown = [...all].filter((wire) => free.has(wire)).length
    unknownCount.push(unknown)
    plainCount.push(unknown)
  }

  const split = (side: Combination): Sides => {
    const unknown = new Map<number, bigint>()
    let known = 0n
    for (const [wire, coefficient] of side)
      if (free.has(wire)) unknown.set(wire, mod((unknown.get(wire) ?? 0n) + coefficient))
      else known += coefficient * (witness[wire] ?? 0n)
    return { known: mod(known), unknown }
  }

  const isSum = (bits: Iterable<number>, coefficients: readonly bigint[]): boolean => {
    const areChecked = [...bits].every((wire) => belowPrime.has(wire))
    return isBinarySum(coefficients, prime, areChecked ? LARGEST_CHECKED_BITS : LARGEST_SUM_BITS)
  }

  /** Whether L and L − 1 are the two factors, which makes L a bit. */
  const bitOf = (a: Sides, b: Sides, c: Sides): Sides | undefined => {
    if (c.unknown.size > 0 || c.known !== 0n || a.unknown.size !== b.unknown.size) return undefined
    const isSame = [...a.unknown].every(([wire, coefficient]) => b.unknown.get(wire) === coefficient)
    if (!isSame) return undefined
    const difference = mod(a.known - b.known)
    return difference === 1n || difference === prime - 1n ? (difference === 1n ? a : b) : undefined
  }

  /** Coefficients of what the constraint says of unknown wires, where no two of them are multiplied. */
  const linear = (a: Sides, b: Sides, c: Sides): Map<number, bigint> | undefined => {
    if (a.unknown.size > 0 && b.unknown.size > 0) return undefined
    const sum = new Map<number, bigint>()
    const add = (side: Sides, factor: bigint) => {
      for (const [wire, coefficient] of side.unknown)
        sum.set(wire, mod((sum.get(wire) ?? 0n) + factor * coefficient))
    }
    add(a, b.known)
    add(b, a.known)
    add(c, prime - 1n)
    return new Map([...sum].filter(([, coefficient]) => coefficient !== 0n))
  }

  const queue = [...constraints.keys()]
  const touch = (wire: number, isKnown: boolean, wasPlain: boolean): void => {
    for (const i of byWire[wire] ?? []) {
      if (isKnown) unknownCount[i] = (unknownCount[i] ?? 0) - 1
      if (wasPlain) plainCount[i] = (plainCount[i] ?? 0) - 1
      queue.push(i)
    }
  }
  const markBit = (wire: number): void => {
    if (booleans.has(wire)) return
    booleans.add(wire)
    touch(wire, false, true)
  }

  const settle = (sides: [Sides, Sides, Sides]): number[] => {
    const bit = bitOf(...sides)
    if (bit) {
      const [only] = bit.unknown.keys()
      const coefficient = only === undefined ? 0n : bit.unknown.get(only)
      // The bit itself, or 1 − bit.
      const isBit = coefficient === (bit.known === 1n ? prime - 1n : 1n) && bit.known <= 1n
      if (bit.unknown.size === 1 && only !== undefined && isBit) markBit(only)
      // The bit itself is one more term of the sum.
      else if ([...bit.unknown.keys()].every((wire) => booleans.has(wire)))
        return isSum(bit.unknown.keys(), [1n, ...[...bit.unknown.values()].map((c) => mod(-c))])
          ? [...bit.unknown.keys()]
          : []
      return []
    }
    const terms = linear(...sides)
    if (terms === undefined) return []
    if (terms.size === 1) return [...terms.keys()]
    const areBits = [...terms.keys()].every((wire) => booleans.has(wire))
    return areBits && terms.size > 0 && isSum(terms.keys(), [...terms.values()]) ? [...terms.keys()] : []
  }

  for (let i = queue.pop(); i !== undefined; i = queue.pop()) {
    const [unknown = 0, plain = 0] = [unknownCount[i], plainCount[i]]
    if (unknown === 0 || (unknown > MOST_UNKNOWN && plain > 0)) continue
    const [a, b, c] = constraints[i] as Constraint
    for (const wire of settle([split(a), split(b), split(c)])) {
      free.delete(wire)
      touch(wire, true, !booleans.has(wire))
    }
  }
  return [...free]
}
