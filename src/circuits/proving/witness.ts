/**
 * Runs the witness program that circom 2 makes of a circuit: input signals in, the values of all wires out.
 * An instance keeps what it was told. Its memory is all that it can change, so this is put back after each witness as it was
 * in the beginning, and the instance then knows as little as a new one.
 * @module
 */
import { FIELD_MODULUS } from '../../core/field.ts'
import type { WitnessInput } from '../circuit.ts'

/** What the program exports; values go through 32-bit words of a shared buffer, the lowest first. */
interface WitnessProgram {
  readonly memory: WebAssembly.Memory
  init(checkSanity: number): void
  getFieldNumLen32(): number
  getWitnessSize(): number
  getInputSignalSize(hashHigh: number, hashLow: number): number
  getInputSize(): number
  /** Address of the buffer. */
  getSharedRWMemoryStart(): number
  writeSharedRWMemory(index: number, word: number): void
  setInputSignal(hashHigh: number, hashLow: number, position: number): void
  getWitness(index: number): void
}

/** No witness satisfies the circuit's constraints for this input. */
export class WitnessError extends Error {
  override readonly name = 'WitnessError'
}

const WORD_BYTES = 4
const SECTION_HEADER_BYTES = 12
const FILE_HEADER_BYTES = 12
const WTNS_VERSION = 2
const SECTIONS = 2

/** How circom names input signals: FNV-1a of 64 bits, as its two halves. */
const signalHash = (name: string): [high: number, low: number] => {
  let hash = 0xcbf29ce484222325n
  for (const byte of new TextEncoder().encode(name))
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n)
  return [Number(hash >> 32n), Number(hash & 0xffffffffn)]
}

const instantiate = async (module: WebAssembly.Module): Promise<WitnessProgram> => {
  const nothing = () => undefined
  const instance = await WebAssembly.instantiate(module, {
    runtime: {
      exceptionHandler(code: number) {
        throw new WitnessError(`the witness program stopped with code ${code}`)
      },
      printErrorMessage: nothing,
      writeBufferMessage: nothing,
      showSharedRWMemory: nothing,
    },
  })
  // The program's interface is fixed by circom; the tests call all of it.
  return instance.exports as object as WitnessProgram
}

const setInputs = (program: WitnessProgram, input: WitnessInput): void => {
  const words = program.getFieldNumLen32()
  const names = Object.entries(input)
  const count = Object.values(input).flat().length
  if (count !== program.getInputSize())
    throw new WitnessError(`the circuit has ${program.getInputSize()} inputs, not ${count}`)
  program.init(0)
  for (const [name, value] of names) {
    const [high, low] = signalHash(name)
    const elements = typeof value === 'string' ? [value] : value
    if (program.getInputSignalSize(high, low) !== elements.length)
      throw new WitnessError(`the circuit has no input called ${name} with ${elements.length} elements`)
    elements.forEach((text, position) => {
      let rest = BigInt(text)
      for (let i = 0; i < words; i++, rest >>= 32n)
        program.writeSharedRWMemory(i, Number(rest & 0xffffffffn) | 0)
      program.setInputSignal(high, low, position)
    })
  }
}

/** Bytes of a wire's value, the lowest first. */
export const WIRE_BYTES = 32

const readWires = (program: WitnessProgram): Uint8Array<ArrayBuffer> => {
  const wires = program.getWitnessSize()
  const value = new Uint8Array(program.memory.buffer, program.getSharedRWMemoryStart(), WIRE_BYTES)
  const values = new Uint8Array(wires * WIRE_BYTES)
  for (let wire = 0; wire < wires; wire++) {
    program.getWitness(wire)
    values.set(value, wire * WIRE_BYTES)
  }
  return values
}

/** A copy without the zeros at the end, which are half of a new program's memory. */
const withoutZeros = (bytes: Uint8Array): Uint8Array =>
  bytes.slice(0, bytes.findLastIndex((byte) => byte !== 0) + 1)

/**
 * Computes a witness.
 * @returns the value of each wire, WIRE_BYTES each, canonical; the first one is 1, the public signals follow
 * @throws WitnessError when no witness exists, or the input names other signals than the circuit has
 */
export type ComputeWires = (input: WitnessInput) => Uint8Array<ArrayBuffer>

/** Makes an instance of a witness program, which keeps nothing of one witness for the next. */
export const createWitnessProgram = async (module: WebAssembly.Module): Promise<ComputeWires> => {
  const program = await instantiate(module)
  const pristine = withoutZeros(new Uint8Array(program.memory.buffer))
  return (input) => {
    try {
      setInputs(program, input)
      return readWires(program)
    } finally {
      const memory = new Uint8Array(program.memory.buffer)
      memory.set(pristine)
      memory.fill(0, pristine.length)
    }
  }
}

/**
 * A witness as the file that snarkjs takes (`wtns`, version 2): prime, count, then each wire.
 * @param values as ComputeWires gives them
 */
export const witnessFile = (values: Uint8Array): Uint8Array<ArrayBuffer> => {
  const headBytes = WORD_BYTES + WIRE_BYTES + WORD_BYTES
  const valuesOffset = FILE_HEADER_BYTES + 2 * SECTION_HEADER_BYTES + headBytes
  const file = new Uint8Array(valuesOffset + values.length)
  const view = new DataView(file.buffer)
  let at = 0
  const put = (word: number) => {
    view.setUint32(at, word, true)
    at += WORD_BYTES
  }
  const putSection = (id: number, bytes: number) => [id, bytes, 0].forEach(put)
  file.set(new TextEncoder().encode('wtns'))
  at = WORD_BYTES
  ;[WTNS_VERSION, SECTIONS].forEach(put)
  putSection(1, headBytes)
  put(WIRE_BYTES)
  for (let i = 0n; i < WIRE_BYTES / WORD_BYTES; i++)
    put(Number(BigInt.asUintN(32, FIELD_MODULUS >> (32n * i))))
  put(values.length / WIRE_BYTES)
  putSection(2, values.length)
  file.set(values, valuesOffset)
  return file
}
