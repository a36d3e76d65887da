/** Processor time of the thread that asks, which Node 20 tells through WASI alone. @module */
import { WASI } from 'node:wasi'

/** A module that has nothing but a page of memory, which it exports by the name that WASI asks for. */
const MEMORY_MODULE = Uint8Array.of(
  ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...[5, 3, 1, 0, 1],
  ...[7, 10, 1, 6, ...Buffer.from('memory'), 2, 0],
)
const CLOCK_THREAD_CPUTIME_ID = 3

/** @returns a function that tells the processor time of this thread, in ms; a call takes about a microsecond */
export const createThreadClock = (): (() => number) => {
  const wasi = new WASI({ version: 'preview1' })
  const instance = new WebAssembly.Instance(new WebAssembly.Module(MEMORY_MODULE))
  wasi.initialize(instance)
  const memory = instance.exports.memory as WebAssembly.Memory
  const view = new DataView(memory.buffer)
  const tell = wasi.wasiImport.clock_time_get as (clock: number, precision: bigint, at: number) => number
  return () => {
    if (tell(CLOCK_THREAD_CPUTIME_ID, 1n, 0) !== 0) throw new Error('this system tells no time of threads')
    return Number(view.getBigUint64(0, true)) / 1e6
  }
}
