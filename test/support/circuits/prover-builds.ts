/**
 * What the suite of the prover runs against: both builds, with their memory handed out.
 * @module
 */
import { readFileSync } from 'node:fs'
import {
  createAllocator,
  instantiateProver,
  proverModule,
} from '../../../src/circuits/proving/proving-instance.ts'

const debugModule = new WebAssembly.Module(
  readFileSync(new URL('../../../build/prover.debug.wasm', import.meta.url)),
)

const build = (name: string, module: WebAssembly.Module) => {
  const instance = instantiateProver(module)
  return { name, instance, allocator: createAllocator(instance) }
}

export const PROVERS = [build('release build', proverModule()), build('debug build', debugModule)]

export type ProverBuild = (typeof PROVERS)[number]
