/**
 * Where a text stops being the JSON that is accepted. Parsers that are fast do not say it for every text, so one that
 * does reads the text again, once it is known to be wrong.
 * @module
 */
import { parse } from 'lossless-json'

/** Reading a longer text again would keep others waiting for too long. */
const MAX_LOCATED_CHARACTERS = 128 * 1024
const POSITION = / at position (\d{1,9})$/

class RepeatedName extends Error {}

/** @returns characters (UTF-16) from the start of the text */
const positionOfFault = (text: string): number | undefined => {
  let repeated: number | undefined
  try {
    parse(text, undefined, {
      parseNumber: Number,
      onDuplicateKey: ({ position }) => {
        // It counts the quote before the name.
        repeated = position - 1
        throw new RepeatedName()
      },
    })
    return undefined
  } catch (error) {
    if (repeated !== undefined) return repeated
    // Its words quote the text, so nothing else of them is told.
    const found = error instanceof SyntaxError ? POSITION.exec(error.message)?.[1] : undefined
    return found === undefined ? undefined : Number(found)
  }
}

/**
 * @param text JSON of bounded depth that does not parse, or that repeats a member's name
 * @returns such as `line 2, column 14`, both counted from 1; undefined where it can't be told (a name that repeats its
 *   value, too) or the text is too long
 */
export const locateJsonFault = (text: string): string | undefined => {
  if (text.length > MAX_LOCATED_CHARACTERS) return undefined
  const position = positionOfFault(text)
  if (position === undefined) return undefined
  const before = text.slice(0, position)
  const lineStart = before.lastIndexOf('\n') + 1
  return `line ${before.split('\n').length}, column ${position - lineStart + 1}`
}
