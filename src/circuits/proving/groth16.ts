/**
 * Makes Groth16 proofs on the thread that asks for them. Works in browsers and workers too.
 * @module
 */
import type { SnarkProof } from '../../protocol/zk1.ts'
import type { WitnessInput } from '../circuit.ts'
import { createProvingCore, type Helpers, type ProofPoints, type ProvingCore } from './proving-core.ts'
import { type ProvingKey, readProvingKey } from './proving-key.ts'
import type { Tables } from './tables.ts'
import { createWitnessProgram, WIRE_BYTES } from './witness.ts'

export interface Proved {
  readonly proof: SnarkProof
  readonly publicSignals: string[]
}

export interface ProvingArtifacts {
  readonly zkey: Uint8Array
  /** Witness program made by circom. */
  readonly wasm: Uint8Array
}

/** Circuits up to so many constraints get tables at once, made in a third of a second, which halve the time of a proof. */
const QUICK_DOMAIN = 1024
/** Most memory for them. */
export const QUICK_TABLE_BYTES = 2 * 2 ** 20

/** Tables that pay off at once: for larger circuits making them takes seconds and saves a fifth of each proof. */
const quickTableBytes = ({ domain }: ProvingKey): number => (domain <= QUICK_DOMAIN ? QUICK_TABLE_BYTES : 0)

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

/** Makes proofs of one circuit on its thread. */
export interface CircuitProver {
  /** @param isStopped as in ProvingCore.prove @throws WitnessError where no witness exists, ProofStopped */
  prove(input: WitnessInput, isStopped?: () => boolean): Proved
  /** As prove, with what others make of it. Nothing else may be asked for until then. */
  proveHelped(input: WitnessInput, helpers: Helpers, isStopped?: () => boolean): Promise<Proved>
  /** As ProvingCore.help. */
  readonly help: ProvingCore['help']
  /** Takes these tables for the proofs that follow. @throws RangeError where they are for another key */
  useTables(tables: Tables): void
}

/**
 * Prepares for proofs of one circuit, which takes some hundred milliseconds; with large tables, seconds.
 * @param tableBytes most memory for tables; with less of it proofs take longer
 * @param tables to take instead of making some
 * @throws RangeError for what is no proving key of Groth16 on BN254
 */
export const createCircuitProver = async (
  { zkey, wasm }: ProvingArtifacts,
  tableBytes?: number,
  tables?: Tables,
): Promise<CircuitProver> => {
  // A copy, since shared memory can't be compiled from.
  const computeWires = await createWitnessProgram(await WebAssembly.compile(new Uint8Array(wasm)))
  const createCore = ({ budgetBytes, bytes }: Partial<Tables>) => {
    const key = readProvingKey(zkey)
    const core = createProvingCore(key, budgetBytes ?? quickTableBytes(key), bytes)
    return { core, publicSignals: key.publicSignals }
  }
  const provedOf = (points: ProofPoints, wires: Uint8Array): Proved => ({
    proof: toJson(points),
    publicSignals: decimals(wires, current.publicSignals),
  })
  let current = createCore(tables ?? { budgetBytes: tableBytes })
  return {
    prove(input, isStopped) {
      const wires = computeWires(input)
      try {
        return provedOf(current.core.prove(wires, isStopped), wires)
      } finally {
        wires.fill(0)
      }
    },
    async proveHelped(input, helpers, isStopped) {
      const wires = computeWires(input)
      try {
        return provedOf(await current.core.proveHelped(wires, helpers, isStopped), wires)
      } finally {
        wires.fill(0)
      }
    },
    help: (...given) => current.core.help(...given),
    useTables(tables) {
      current = createCore(tables)
    },
  }
}

/** As createCircuitProver. @returns a function that makes proofs; it throws WitnessError where no witness exists */
export const createProofMaker = async (
  artifacts: ProvingArtifacts,
  tableBytes?: number,
): Promise<(input: WitnessInput) => Promise<Proved>> => {
  const prover = await createCircuitProver(artifacts, tableBytes)
  return async (input) => prover.prove(input)
}
