/** What the suite of the verifier runs against: both builds. @module */
import { readFileSync } from 'node:fs'
import { verifierModule } from '../../../src/circuits/verifying/key-verifier.ts'

const debugModule = new WebAssembly.Module(
  readFileSync(new URL('../../../build/verifier.debug.wasm', import.meta.url)),
)

export const VERIFIERS = [
  { name: 'release build', module: verifierModule() },
  { name: 'debug build', module: debugModule },
]
