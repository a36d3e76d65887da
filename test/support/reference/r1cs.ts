/**
 * The constraints of a circuit, read from the files of circom and checked in plain integers: what a proof proves,
 * without the proof.
 * @module
 */

/** Σ coefficient · wire, as pairs. */
export type Combination = readonly (readonly [wire: number, coefficient: bigint])[]

/** (A · w) × (B · w) = C · w */
export type Constraint = readonly [a: Combination, b: Combination, c: Combination]

export interface ConstraintSystem {
  readonly prime: bigint
  readonly wires: number
  /** Wires 1 to this one are public: outputs first, then inputs. */
  readonly publicSignals: number
  /** The inputs that are private follow the public wires. */
  readonly privateInputs: number
  readonly constraints: readonly Constraint[]
}

/** Of 32 bytes, the lowest first. */
const integer = (bytes: Buffer): bigint =>
  (bytes.readBigUInt64LE(24) << 192n) |
  (bytes.readBigUInt64LE(16) << 128n) |
  (bytes.readBigUInt64LE(8) << 64n) |
  bytes.readBigUInt64LE(0)

/** Sections of iden3's binary format by their ids. */
const sections = (file: Buffer): Map<number, Buffer> => {
  const found = new Map<number, Buffer>()
  for (let at = 12; at < file.length; ) {
    const size = Number(file.readBigUInt64LE(at + 4))
    found.set(file.readUInt32LE(at), file.subarray(at + 12, at + 12 + size))
    at += 12 + size
  }
  return found
}

/** https://github.com/iden3/r1csfile/blob/master/doc/r1cs_bin_format.md */
export const readR1cs = (file: Buffer): ConstraintSystem => {
  const found = sections(file)
  const [header, body] = [found.get(1), found.get(2)]
  if (!header || !body) throw new Error('no r1cs')
  const bytes = header.readUInt32LE(0)
  const numbers = [0, 1, 2, 3].map((i) => header.readUInt32LE(4 + bytes + 4 * i))
  const [wires = 0, outputs = 0, publicInputs = 0, privateInputs = 0] = numbers
  const count = header.readUInt32LE(4 + bytes + 24)
  let at = 0
  const combination = (): Combination => {
    const terms = body.readUInt32LE(at)
    at += 4
    return Array.from({ length: terms }, () => {
      const term = [body.readUInt32LE(at), integer(body.subarray(at + 4, at + 4 + bytes))] as const
      at += 4 + bytes
      return term
    })
  }
  const constraints = Array.from(
    { length: count },
    (): Constraint => [combination(), combination(), combination()],
  )
  const prime = integer(header.subarray(4, 4 + bytes))
  return { prime, wires, publicSignals: outputs + publicInputs, privateInputs, constraints }
}

/** The values of all wires out of a `wtns` file. */
export const readWitness = (file: Uint8Array): bigint[] => {
  const values = sections(Buffer.from(file)).get(2)
  if (!values) throw new Error('no wtns')
  return Array.from({ length: values.length / 32 }, (_, i) => integer(values.subarray(32 * i, 32 * i + 32)))
}

const evaluate = (combination: Combination, witness: readonly bigint[], prime: bigint): bigint =>
  combination.reduce((sum, [wire, coefficient]) => sum + coefficient * (witness[wire] ?? 0n), 0n) % prime

/** Whether the values satisfy these constraints. */
export const satisfies = (
  constraints: readonly Constraint[],
  witness: readonly bigint[],
  prime: bigint,
): boolean =>
  constraints.every(([a, b, c]) => {
    const [x, y, z] = [a, b, c].map((side) => evaluate(side, witness, prime)) as [bigint, bigint, bigint]
    return (x * y - z) % prime === 0n
  })

/** For each wire the constraints that it is in. */
export const constraintsByWire = ({ wires, constraints }: ConstraintSystem): Constraint[][] => {
  const byWire = Array.from({ length: wires }, (): Constraint[] => [])
  for (const constraint of constraints)
    for (const wire of new Set(constraint.flatMap((side) => side.map(([index]) => index))))
      byWire[wire]?.push(constraint)
  return byWire
}
