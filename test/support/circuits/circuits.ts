/** Circuits for tests: the shipped ones with their files, and templates of circuits/lib compiled by themselves. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import {
  type Artifacts,
  type CircuitArtifacts,
  loadArtifacts,
} from '../../../src/circuits/artifacts/artifacts.ts'
import { CIRCUITS, type CircuitId } from '../../../src/circuits/catalogue.ts'
import type { ProvingArtifacts } from '../../../src/circuits/proving/groth16.ts'
import { createWitnessProgram, witnessFile } from '../../../src/circuits/proving/witness.ts'
import { type ConstraintSystem, readR1cs, readWitness } from '../reference/r1cs.ts'

const ROOT = join(import.meta.dirname, '../../..')

const withFiles = async (loaded: Artifacts) => {
  const entries = CIRCUITS.map(
    async ({ id }) => [id, { ...loaded[id], ...(await loaded[id].load()) }] as const,
  )
  return Object.fromEntries(await Promise.all(entries)) as Record<
    CircuitId,
    CircuitArtifacts & ProvingArtifacts
  >
}

/** The shipped ones, with their files. */
export const artifacts = await withFiles(loadArtifacts())

type Value = bigint | string
/** Values of signals by name, a list for a signal of several elements. */
export type Inputs = Readonly<Record<string, Value | readonly Value[]>>

export interface CompiledCircuit {
  readonly system: ConstraintSystem
  /** All wires of the witness for these inputs. @throws WitnessError where there is none */
  witness(input: Inputs): Promise<bigint[]>
}

const compiled = (r1cs: Buffer, wasm: Uint8Array): CompiledCircuit => {
  const program = createWitnessProgram(new WebAssembly.Module(new Uint8Array(wasm)))
  return {
    system: readR1cs(r1cs),
    async witness(input) {
      const texts = Object.entries(input).map(([name, value]) => [
        name,
        Array.isArray(value) ? value.map(String) : String(value),
      ])
      return readWitness(witnessFile((await program)(Object.fromEntries(texts))))
    },
  }
}

/** A file of build/circuits. */
export const builtFile = (name: string): Buffer => readFileSync(join(ROOT, 'build/circuits', name))

/** What the names that circom gives to signals tell about the wires of a built circuit. */
export interface Symbols {
  /** Wire by name; −1 where it was optimised away. */
  readonly wires: ReadonlyMap<string, number>
  /** Inverses in circomlib's IsZero, which are free where the number is 0. */
  readonly idleInverses: ReadonlySet<number>
  /** Bits that circomlib's AliasCheck holds below the prime. */
  readonly belowPrime: ReadonlySet<number>
  /** Of circomlib's EdDSAPoseidonVerifier, which has no outputs. */
  readonly verifier: ReadonlySet<number>
}

/** Reads a sym file, whose lines are: label, wire, component, name. */
const symbolsIn = (file: Buffer): Symbols => {
  const lines = file.toString('utf8').trim().split('\n')
  const wires = new Map(
    lines.map((line) => line.split(',')).map(([, wire, , name]) => [String(name), Number(wire)]),
  )
  const wiresOf = (isOne: (name: string) => boolean) =>
    new Set([...wires].filter(([name, wire]) => wire >= 0 && isOne(name)).map(([, wire]) => wire))
  /** Of circomlib's Num2Bits_strict, whose bits go through an AliasCheck. */
  const strict = [...wires.keys()].flatMap((name) => /^(.*)\.aliasCheck\.in\[0\]$/.exec(name)?.[1] ?? [])
  return {
    wires,
    idleInverses: wiresOf((name) => name.endsWith('.inv')),
    verifier: wiresOf((name) => name.includes('.EdDSAPoseidonVerifier')),
    belowPrime: wiresOf((name) => strict.includes(name.replace(/(\.n2b)?\.out\[\d+\]$/, ''))),
  }
}

/** What the names of a built circuit's signals tell. */
export const readSymbols = (id: string): Symbols => symbolsIn(builtFile(`${id}.sym`))

/** A circuit of the catalogue as it was built. */
export const shippedCircuit = (id: string): CompiledCircuit =>
  compiled(builtFile(`${id}.r1cs`), builtFile(`${id}.wasm`))

interface CompiledTemplate extends CompiledCircuit {
  readonly symbols: Symbols
}

const compileAt = async (level: 'O1' | 'O2', name: string): Promise<CompiledTemplate> => {
  const directory = await mkdtemp(join(tmpdir(), 'assay-circuit-'))
  // The compiler sees nothing outside of the project, but it may write where it is told.
  const source = `test/circuits/templates/${name}.circom`
  const libraries = ['-l', 'node_modules', '-l', 'circuits/lib']
  const options = [`--${level}`, '--r1cs', '--wasm', '--sym', ...libraries, '-o', directory]
  try {
    await promisify(execFile)(process.execPath, ['node_modules/circom/cli.js', source, ...options], {
      cwd: ROOT,
    })
    const file = (path: string) => readFile(join(directory, path))
    const symbols = symbolsIn(await file(`${name}.sym`))
    return { ...compiled(await file(`${name}.r1cs`), await file(`${name}_js/${name}.wasm`)), symbols }
  } finally {
    await rm(directory, { recursive: true })
  }
}

/** Compiles test/circuits/templates/NAME.circom, as the shipped circuits are. */
export const compileTemplate = (name: string): Promise<CompiledCircuit> => compileAt('O2', name)

/** The same with its linear constraints as they were written: the optimiser adds them up, so that none can be followed. */
export const compileUnmixed = (name: string): Promise<CompiledTemplate> => compileAt('O1', name)
