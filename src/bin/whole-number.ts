/** Options of commands that are whole numbers. @module */
import { InvalidArgumentError } from 'commander'

/** Reads a whole number from `least` to `most`. */
export const wholeNumber =
  (least: number, most: number) =>
  (text: string): number => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : -1
    if (value < least || value > most)
      throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`)
    return value
  }

export const port = wholeNumber(0, 65_535)
