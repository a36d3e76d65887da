/** What fuzzing knows of something that reads input from outside. @module */
import { AppError } from '../../../src/errors.ts'

export interface Parser {
  readonly name: string
  /**
   * Reads one input, and throws where what was read breaks a promise of the parser, such as that each value has one text.
   * A promise is waited for.
   */
  parse(input: Buffer): unknown
  /** Good inputs, as the product or a standard writes them; others are made from these. */
  readonly seeds: readonly (string | Uint8Array)[]
  /** The errors that it declares. Any other one is a fault. */
  readonly refusesWith?: readonly ErrorClass[]
}

type ErrorClass = abstract new (...args: never[]) => Error

/** Marks a text in UTF-16, which may hold half a surrogate pair; others are UTF-8. No UTF-8 begins with it. */
const UTF_16 = 0xff

/** The text that an input stands for. */
export const textOf = (input: Buffer): string =>
  input[0] === UTF_16 ? input.toString('utf16le', 1) : input.toString()

/** An input that stands for a text which UTF-8 can't hold. */
export const utf16 = (text: string): Buffer =>
  Buffer.concat([Buffer.of(UTF_16), Buffer.from(text, 'utf16le')])

/** A parser of text. */
export const ofText = (
  name: string,
  seeds: readonly string[],
  parse: (text: string) => unknown,
  refusesWith: readonly ErrorClass[] = [],
): Parser => ({ name, seeds, refusesWith, parse: (input) => parse(textOf(input)) })

/** A parser of what JSON holds. What is no JSON never comes to it. */
export const ofJson = (
  name: string,
  seeds: readonly unknown[],
  parse: (value: unknown) => unknown,
  refusesWith: readonly ErrorClass[] = [],
): Parser => ({
  name,
  seeds: seeds.map((seed) => JSON.stringify(seed)),
  refusesWith,
  parse(input) {
    let value: unknown
    try {
      value = JSON.parse(textOf(input))
    } catch {
      return undefined
    }
    return parse(value)
  },
})

/** Keeps a promise of a parser. @throws Error with what it says where it doesn't hold */
export const promise = (holds: boolean, says: string): void => {
  if (!holds) throw new Error(`broken: ${says}`)
}

/** What nobody's input may cause. */
const FAULTS: readonly string[] = ['internal', 'unavailable']

export const isDeclared = ({ refusesWith = [] }: Parser, error: unknown): boolean =>
  error instanceof AppError
    ? refusesWith.includes(AppError) && !FAULTS.includes(error.code)
    : refusesWith.some((kind) => error instanceof kind)
