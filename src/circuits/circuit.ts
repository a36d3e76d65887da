/**
 * What one circuit is: its statement, its signals by name, and how a caller's values become all of them.
 * Outside of this folder nobody writes `publicSignals[1]`.
 * @module
 */
import { FIELD_MODULUS } from '../core/field.ts'

/** Signals by name, as the witness computation takes them: canonical decimals. */
export type WitnessInput = Readonly<Record<string, string>>

type Named<Name extends string> = Readonly<Record<Name, bigint>>

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
  Output extends string,
  Input extends string,
  Secret extends string,
> extends Statement<Id> {
  /** Public outputs, in the order of the circuit. They stand first among the public signals. */
  readonly outputs: readonly Output[]
  /** Public inputs, in the order of the circuit. */
  readonly inputs: readonly Input[]
  readonly secrets: readonly Secret[]
  /** Every signal that follows from what the caller knows. @throws RangeError for values that no witness exists for */
  assign(values: Values): Named<Output | Input | Secret>
}

export interface Circuit<Id extends string = string, Values = never, Public extends string = string>
  extends Statement<Id> {
  /** Names of the public signals, in the order of a proof's `publicSignals`. */
  readonly publicNames: readonly Public[]
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

/** Makes the circuit from its definition. */
export const defineCircuit = <
  const Id extends string,
  Values,
  Output extends string,
  Input extends string,
  Secret extends string,
>({
  outputs,
  inputs,
  secrets,
  assign,
  ...statement
}: Definition<Id, Values, Output, Input, Secret>): Circuit<Id, Values, Output | Input> => {
  const publicNames: readonly (Output | Input)[] = [...outputs, ...inputs]
  return {
    ...statement,
    publicNames,
    secretNames: secrets,
    witnessInput(values) {
      const signals = assign(values)
      return Object.fromEntries([...inputs, ...secrets].map((name) => [name, element(name, signals[name])]))
    },
    publicSignals(values) {
      const signals = assign(values)
      return publicNames.map((name) => element(name, signals[name]))
    },
    read(publicSignals) {
      if (publicSignals.length !== publicNames.length || !publicSignals.every(isCanonicalSignal))
        throw new RangeError(`${statement.id} has ${publicNames.length} public signals, canonical decimals`)
      const entries = publicNames.map((name, i) => [name, BigInt(publicSignals[i] ?? '')])
      return Object.fromEntries(entries) as Named<Output | Input>
    },
  }
}
