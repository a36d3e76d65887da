/** Circuits for tests: the shipped ones with their files, and templates of circuits/lib compiled by themselves. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { loadArtifacts } from '../../src/circuits/artifacts.ts'
import { computeWitness } from '../../src/circuits/witness.ts'
import { type ConstraintSystem, readR1cs, readWitness } from './reference/r1cs.ts'

const ROOT = join(import.meta.dirname, '../..')

export const artifacts = loadArtifacts()

export interface CompiledCircuit {
  readonly system: ConstraintSystem
  /** All wires of the witness for these inputs. @throws WitnessError where there is none */
  witness(input: Readonly<Record<string, bigint | string>>): Promise<bigint[]>
}

const compiled = (r1cs: Buffer, wasm: Uint8Array): CompiledCircuit => {
  const program = new WebAssembly.Module(new Uint8Array(wasm))
  return {
    system: readR1cs(r1cs),
    async witness(input) {
      const texts = Object.entries(input).map(([name, value]) => [name, String(value)])
      return readWitness(await computeWitness(program, Object.fromEntries(texts)))
    },
  }
}

/** A file of build/circuits. */
export const builtFile = (name: string): Buffer => readFileSync(join(ROOT, 'build/circuits', name))

/** A circuit of the catalogue as it was built. */
export const shippedCircuit = (id: string): CompiledCircuit =>
  compiled(builtFile(`${id}.r1cs`), builtFile(`${id}.wasm`))

/** Compiles test/circuits/templates/NAME.circom, as the shipped circuits are. */
export const compileTemplate = async (name: string): Promise<CompiledCircuit> => {
  const directory = await mkdtemp(join(tmpdir(), 'assay-circuit-'))
  // The compiler sees nothing outside of the project, but it may write where it is told.
  const source = `test/circuits/templates/${name}.circom`
  const options = ['--O2', '--r1cs', '--wasm', '-l', 'node_modules', '-l', 'circuits/lib', '-o', directory]
  try {
    await promisify(execFile)(process.execPath, ['node_modules/circom/cli.js', source, ...options], {
      cwd: ROOT,
    })
    const file = (path: string) => readFile(join(directory, path))
    return compiled(await file(`${name}.r1cs`), await file(`${name}_js/${name}.wasm`))
  } finally {
    await rm(directory, { recursive: true })
  }
}
