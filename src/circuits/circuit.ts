/**
 * What one circuit is: its statement, its signals by name, and how a caller's values become all of them.
 * Outside of this folder nobody writes `publicSignals[1]`.
 * @module
 */
import { FIELD_MODULUS } from '../core/field.ts'

/** Signals by name, as the witness computation takes them: canonical decimals, a list for a signal of several. */
export type WitnessInput = Readonly<Record<string, string | readonly string[]>>

/** What is to be proved. */
export interface Provable {
  /** Holds secrets: only the prover sees it. */
  readonly witness: WitnessInput
  /** Those that the proof must have. */
  readonly publicSignals: readonly string[]
}

/** A signal by its name, or the name and length of one that has several elements. */
type Signal = string | readonly [name: string, length: number]
type NameOf<S extends Signal> = S extends readonly [infer Name extends string, number] ? Name : S & string
/** Elements by the names of their signals. */
type Named<S extends Signal> = {
  readonly [One in S as NameOf<One>]: One extends string ? bigint : readonly bigint[]
}

interface Statement<Id extends string> {
  /** Name of the circuit's file, and its id everywhere. */
  readonly id: Id
  readonly name: string
  readonly description: string
  readonly version: string
  /** Most constraints, public signals included: a power of two, which sets the time that a proof takes. */
  readonly domain: number
  /** What a proof shows by itself. */
  readonly proves: string
  /** What whoever relies on a proof must check besides. */
  readonly checks: readonly string[]
  /** Whether the commitment is the prover's own choice, so that a proof shows consistency only. */
  readonly selfAsserted: boolean
}

interface Definition<
  Id extends string,
  Values,
  Output extends Signal,
  Input extends Signal,
  Secret extends Signal,
> extends Statement<Id> {
  /** Public outputs, in the order of the circuit. They stand first among the public signals. */
  readonly outputs: readonly Output[]
  /** Public inputs, in the order of the circuit. */
  readonly inputs: readonly Input[]
  readonly secrets: readonly Secret[]
  /** Every signal that follows from what the caller knows. @throws RangeError for values that no witness exists for */
  assign(values: Values): Named<Output | Input | Secret>
}

export interface Circuit<Id extends string = string, Values = never, Public extends Signal = Signal>
  extends Statement<Id> {
  /** Names of the public signals, in the order of a proof's `publicSignals`; `name[0]`, `name[1]`… for several. */
  readonly publicNames: readonly string[]
  /** Named in the same way. */
  readonly secretNames: readonly string[]
  /** What the prover takes. @throws RangeError for values that no witness exists for */
  witnessInput(values: Values): WitnessInput
  /**
   * The public signals that a proof of these values has, computed natively, so that a digest exists without a proof.
   * @throws RangeError for values that no witness exists for
   */
  publicSignals(values: Values): string[]
  /** Public signals by name. @throws RangeError unless there is one canonical decimal for each name */
  read(publicSignals: readonly string[]): Named<Public>
}

const DECIMAL = /^(?:0|[1-9]\d{0,76})$/

/** Whether this is an element of the scalar field in decimal, without leading zeros. */
export const isCanonicalSignal = (text: unknown): text is string =>
  typeof text === 'string' && DECIMAL.test(text) && BigInt(text) < FIELD_MODULUS

const element = (name: string, value: bigint): string => {
  if (value < 0n || value >= FIELD_MODULUS) throw new RangeError(`${name} must be an element of the field`)
  return value.toString()
}

const nameOf = (signal: Signal): string => (typeof signal === 'string' ? signal : signal[0])

/** The names of a signal's elements. */
const namesOf = (signal: Signal): string[] =>
  typeof signal === 'string' ? [signal] : Array.from({ length: signal[1] }, (_, i) => `${signal[0]}[${i}]`)

type Assigned = Readonly<Record<string, bigint | readonly bigint[]>>

/** The elements of a signal. @throws RangeError unless there are as many as it has, all of the field */
const elementsOf = (signal: Signal, values: Assigned): string[] => {
  const value = values[nameOf(signal)] ?? []
  const elements = typeof value === 'bigint' ? [value] : value
  const names = namesOf(signal)
  if (elements.length !== names.length)
    throw new RangeError(`${nameOf(signal)} must have ${names.length} elements`)
  return elements.map((one, i) => element(names[i] ?? '', one))
}

/** Makes the circuit from its definition. */
export const defineCircuit = <
  const Id extends string,
  Values,
  const Output extends Signal,
  const Input extends Signal,
  const Secret extends Signal,
>({
  outputs,
  inputs,
  secrets,
  assign,
  ...statement
}: Definition<Id, Values, Output, Input, Secret>): Circuit<Id, Values, Output | Input> => {
  const publics: readonly Signal[] = [...outputs, ...inputs]
  const publicNames = publics.flatMap(namesOf)
  return {
    ...statement,
    publicNames,
    secretNames: secrets.flatMap(namesOf),
    witnessInput(values) {
      const signals = assign(values)
      const entries = [...inputs, ...secrets].map((signal) => {
        const elements = elementsOf(signal, signals)
        return [nameOf(signal), typeof signal === 'string' ? elements.join() : elements]
      })
      return Object.fromEntries(entries)
    },
    publicSignals(values) {
      const signals = assign(values)
      return publics.flatMap((signal) => elementsOf(signal, signals))
    },
    read(publicSignals) {
      if (publicSignals.length !== publicNames.length || !publicSignals.every(isCanonicalSignal))
        throw new RangeError(`${statement.id} has ${publicNames.length} public signals, canonical decimals`)
      const rest = publicSignals.map(BigInt)
      const entries = publics.map((signal) => {
        const elements = rest.splice(0, namesOf(signal).length)
        return [nameOf(signal), typeof signal === 'string' ? elements[0] : elements]
      })
      return Object.fromEntries(entries)
    },
  }
}
