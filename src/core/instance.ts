/**
 * One instance of the WebAssembly core, its memory, and how bytes and texts go in and out.
 * @module
 */
import { CORE_WASM_BASE64 } from '../../build/core-wasm.ts'

/** What assembly/index.ts exports as functions; addresses and lengths are numbers. */
interface CoreFunctions {
  sha256(length: number): void
  sha256Begin(): void
  sha256Update(blocks: number): void
  sha256End(length: number, before: number): void
  sha256Batch32(count: number): void
  sha256Batch64(count: number): void
  hmacKey(length: number, slot: number): void
  hmacImport(slot: number): void
  hmacExport(slot: number): void
  hmacForget(slot: number): void
  hmacBegin(slot: number): void
  hmacEnd(slot: number, length: number, before: number): void
  base64urlEncode(length: number): void
  base64urlDecode(length: number): number
  prove(
    slot: number,
    tokenBytes: number,
    amountHigh: number,
    amountLow: number,
    currency: number,
    nonce: number,
    timeHigh: number,
    timeLow: number,
    merchantBytes: number,
  ): void
  verifyBatch(slot: number, count: number): void
  setHas(k0: number, k1: number, k2: number): number
  setAdd(k0: number, k1: number, k2: number): number
  setDirectoryIndex(k0: number, k1: number, k2: number): number
  setHasBatch(count: number): void
  setAddBatch(from: number, count: number): number
  setMove(shard: number): void
  setCheck(address: number, bytes: number): void
}

/** Names of the constants that assembly/index.ts exports as globals. */
const LAYOUT = [
  'INPUT',
  'INPUT_BYTES',
  'OUTPUT',
  'OUTPUT_BYTES',
  'KEY_SLOTS',
  'MERCHANT',
  'MERCHANT_BYTES',
  'BATCH',
  'BATCH_PROOFS',
  'BATCH_TEXTS',
  'BATCH_MERCHANTS',
  'BATCH_VERDICTS',
  'RECORD_BYTES',
  'COMPACT_AT',
  'STORED_AT',
  'STORED_CHARACTERS',
  'NULLIFIER_OUT_AT',
  'SET_BASE',
  'SET_COEFFICIENTS',
  'SET_DIRECTORY',
  'SET_DIRECTORY_BITS',
  'SET_ENTRY_BYTES',
  'SET_BUCKET_BYTES',
  'SET_BUCKET_LIMIT_EIGHTHS',
  'SET_HEADER_BYTES',
  'SET_PIECE_ENTRIES',
] as const

/** An instance of one of the modules: its functions, its constants, its memory. */
export interface Instance<Functions, Name extends string> {
  readonly call: Functions
  readonly layout: Readonly<Record<Name, number>>
  readonly memory: WebAssembly.Memory
}

export type CoreInstance = Instance<CoreFunctions, (typeof LAYOUT)[number]>

export interface InstanceOptions {
  /** A module compiled elsewhere, such as {@link coreModule} posted to a worker. */
  module?: WebAssembly.Module
  /** Memory for this instance alone, zeroed, at least one page of 64 KiB. */
  memory?: WebAssembly.Memory
}

/** WebAssembly's own ceiling: 65,536 pages of 64 KiB. */
const MAXIMUM_PAGES = 65_536

let compiled: WebAssembly.Module | undefined

/** Compiles a module that was embedded as base64. */
export const compile = (base64: string): WebAssembly.Module =>
  new WebAssembly.Module(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)))

/** The compiled core: decoded and compiled once. It can be posted to workers. */
export const coreModule = (): WebAssembly.Module => {
  compiled ??= compile(CORE_WASM_BASE64)
  return compiled
}

/** A new instance of a module, with its own memory and the constants that it exports under these names. */
export const instantiateModule = <Functions, Name extends string>(
  module: WebAssembly.Module,
  names: readonly Name[],
  options: InstanceOptions,
): Instance<Functions, Name> => {
  const memory = options.memory ?? new WebAssembly.Memory({ initial: 1, maximum: MAXIMUM_PAGES })
  const { exports } = new WebAssembly.Instance(module, { env: { memory } })
  const constant = (name: string): number => {
    const value = exports[name]
    if (!(value instanceof WebAssembly.Global))
      throw new TypeError(`this is another module: ${name} is missing`)
    return value.value
  }
  const layout = Object.fromEntries(names.map((name) => [name, constant(name)]))
  // The compiler of assembly/ and these interfaces can't see each other; the tests call every function through them.
  return { call: exports as object as Functions, layout: layout as Record<Name, number>, memory }
}

/** A new instance of the core with its own memory. */
export const instantiate = (options: InstanceOptions = {}): CoreInstance =>
  instantiateModule<CoreFunctions, (typeof LAYOUT)[number]>(options.module ?? coreModule(), LAYOUT, options)

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** UTF-8 of a text; lone surrogates become U+FFFD. */
export const utf8 = (text: string): Uint8Array => encoder.encode(text)

/** Text of ASCII bytes. */
export const ascii = (bytes: Uint8Array): string => decoder.decode(bytes)

/**
 * Writes a text in UTF-8 into `room`.
 * @returns the number of bytes, or -1, with `room` zeroed, when it is longer than that
 */
export const writeText = (room: Uint8Array, text: string): number => {
  const { read, written } = encoder.encodeInto(text, room)
  if (read === text.length) return written
  room.fill(0)
  return -1
}
