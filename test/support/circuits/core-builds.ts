/**
 * What the suites of the core run against: both builds, and the reference.
 * @module
 */
import { readFileSync } from 'node:fs'
import { type Core, coreModule, createCore } from '../../../src/core/index.ts'
import { createReferenceCore } from '../reference/core.ts'

const BUILD = new URL('../../../build/', import.meta.url)

const debugModule = new WebAssembly.Module(readFileSync(new URL('core.debug.wasm', BUILD)))

/** The two builds of the WebAssembly module. */
export const MODULES: readonly { name: string; module: WebAssembly.Module }[] = [
  { name: 'release build', module: coreModule() },
  { name: 'debug build', module: debugModule },
]

export const CORES: readonly { name: string; core: Core }[] = [
  ...MODULES.map(({ name, module }) => ({ name, core: createCore({ module }) })),
  { name: 'reference', core: createReferenceCore() },
]

/** All of a core's memory after `use`, byte by byte. */
export const memoryAfter = (use: (core: Core) => void): Buffer => {
  const memory = new WebAssembly.Memory({ initial: 1 })
  use(createCore({ memory }))
  return Buffer.from(memory.buffer)
}

export const hex = (bytes: Uint8Array | undefined): string | undefined =>
  bytes && Buffer.from(bytes).toString('hex')

/** A file of test/vectors. */
export const vectors = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../vectors/${name}.json`, import.meta.url), 'utf8'))
