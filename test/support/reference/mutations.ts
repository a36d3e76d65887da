/**
 * Which wires of a witness could have another value while all others keep theirs: solved exactly, for every value of
 * the field. Moving a wire by δ changes a constraint A · B = C by δ · (linear + δ · quadratic), which vanishes for at most
 * one other δ, or for all of them.
 * @module
 */
import type { Combination, ConstraintSystem } from './r1cs.ts'

/** δ = −linear / quadratic, as a fraction. */
interface Shift {
  readonly linear: bigint
  readonly quadratic: bigint
}

/** @returns the wires from `first` on that have a second acceptable value by themselves */
export const movableWires = (
  { prime, wires, constraints }: ConstraintSystem,
  witness: readonly bigint[],
  first: number,
): number[] => {
  const mod = (x: bigint): bigint => ((x % prime) + prime) % prime
  const fixed = new Set<number>()
  /** The only shift that the constraints so far allow; absent: all. */
  const shifts = new Map<number, Shift>()
  const evaluate = (side: Combination): bigint =>
    mod(side.reduce((sum, [wire, coefficient]) => sum + coefficient * (witness[wire] ?? 0n), 0n))

  const restrict = (wire: number, linear: bigint, quadratic: bigint): void => {
    if (quadratic === 0n && linear === 0n) return
    const other = shifts.get(wire)
    const isOther = other && mod(other.linear * quadratic - linear * other.quadratic) !== 0n
    if (quadratic === 0n || linear === 0n || isOther) fixed.add(wire)
    else shifts.set(wire, { linear, quadratic })
  }

  for (const sides of constraints) {
    const [a, b] = [evaluate(sides[0]), evaluate(sides[1])]
    const [inA, inB, inC] = sides.map((side) => new Map(side)) as [
      Map<number, bigint>,
      Map<number, bigint>,
      Map<number, bigint>,
    ]
    for (const wire of new Set([...inA.keys(), ...inB.keys(), ...inC.keys()])) {
      if (wire < first || fixed.has(wire)) continue
      const [ca, cb, cc] = [inA.get(wire) ?? 0n, inB.get(wire) ?? 0n, inC.get(wire) ?? 0n]
      restrict(wire, mod(ca * b + cb * a - cc), mod(ca * cb))
    }
  }
  return Array.from({ length: wires - first }, (_, i) => first + i).filter((wire) => !fixed.has(wire))
}
