/**
 * Makes Groth16 proofs on the thread that asks for them. Works in browsers and workers too.
 * @module
 */
import type { SnarkProof } from '../../protocol/zk1.ts'
import type { WitnessInput } from '../circuit.ts'
import { createProvingCore, type ProofPoints } from './proving-core.ts'
import { readProvingKey } from './proving-key.ts'
import { computeWires, WIRE_BYTES } from './witness.ts'

export interface Proved {
  readonly proof: SnarkProof
  readonly publicSignals: string[]
}

export interface ProvingArtifacts {
  readonly zkey: Uint8Array
  /** Witness program made by circom. */
  readonly wasm: Uint8Array
}

/**
 * Most memory for multiples of a key's points. Circuits up to 1,024 constraints get tables, made in a third of a second,
 * which halve the time of a proof; for larger ones making them takes seconds and saves a fifth.
 */
const TABLE_BYTES = 2 * 2 ** 20

const toJson = ({ a, b, c }: ProofPoints): SnarkProof => {
  const [x0, x1, y0, y1] = b.map(String) as [string, string, string, string]
  return {
    pi_a: [...a.map(String), '1'],
    pi_b: [
      [x0, x1],
      [y0, y1],
      ['1', '0'],
    ],
    pi_c: [...c.map(String), '1'],
    protocol: 'groth16',
    curve: 'bn128',
  }
}

const decimals = (wires: Uint8Array, count: number): string[] =>
  Array.from({ length: count }, (_, i) => {
    const wire = wires.subarray(WIRE_BYTES * (i + 1), WIRE_BYTES * (i + 2))
    return String(wire.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n))
  })

/**
 * Prepares for proofs of one circuit, which takes some hundred milliseconds; with large tables, seconds.
 * @param tableBytes most memory for tables; with less of it proofs take longer
 * @returns a function that makes proofs; it throws WitnessError where no witness exists
 * @throws RangeError for what is no proving key of Groth16 on BN254
 */
export const createProofMaker = async (
  { zkey, wasm }: ProvingArtifacts,
  tableBytes = TABLE_BYTES,
): Promise<(input: WitnessInput) => Promise<Proved>> => {
  // A copy, since shared memory can't be compiled from.
  const module = await WebAssembly.compile(new Uint8Array(wasm))
  const key = readProvingKey(zkey)
  const core = createProvingCore(key, tableBytes)
  return async (input) => {
    const wires = await computeWires(module, input)
    try {
      const proof = toJson(core.prove(wires))
      return { proof, publicSignals: decimals(wires, key.publicSignals) }
    } finally {
      wires.fill(0)
    }
  }
}
