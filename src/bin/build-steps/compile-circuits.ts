/**
 * A process that compiles circuits, one after the other: the compiler is WebAssembly of nine megabytes, which V8 makes
 * ready and fast once for all of them. Started by build-circuits.ts, in the root of the repository.
 * @module
 */
import fs from 'node:fs'
import { fileURLToPath } from 'node:url'
import { bindings, CircomRunner } from 'circom'
import { OPTIONS } from '../circuits/circuits-sources.ts'

/** What the parent asks for. */
export interface CircuitToCompile {
  readonly id: string
  /** Where the outputs go, seen from the root. */
  readonly output: string
}

const program = fs.readFileSync(fileURLToPath(import.meta.resolve('circom/circom.wasm')))

process.on('message', ({ id, output }: CircuitToCompile) => {
  new CircomRunner({
    args: [`circuits/${id}.circom`, ...OPTIONS, '-o', output],
    env: process.env,
    preopens: { '.': '.' },
    bindings: { ...bindings, fs },
  })
    .execute(program)
    .then(
      () => process.send?.(id),
      // What is wrong with the circuit was printed.
      () => process.exit(1),
    )
})
