/** The answer of a target as JSON, within limits that are checked before it is parsed. @module */
import { fail } from '../../errors.ts'
import { parseExact, scanJson } from '../../json/exact-numbers.ts'

const MAX_DEPTH = 64
export const MAX_NODES = 200_000
export const MAX_INEXACT = 1000

const TOO_LARGE = {
  depth: `The answer of the target nests deeper than ${MAX_DEPTH} levels.`,
  values: `The answer of the target has more than ${MAX_NODES} values.`,
  inexact: `The answer of the target has more than ${MAX_INEXACT} numbers that a double can't represent exactly.`,
}

/**
 * Reads a document. Numbers that a double can't hold are bigint, or NaN where they aren't whole, as rules know them.
 * @param bytes UTF-8, with or without a byte order mark
 * @throws AppError upstream_too_large, upstream_invalid
 */
export const readDocument = (bytes: Buffer): unknown => {
  const scan = scanJson(bytes, { depth: MAX_DEPTH, values: MAX_NODES, inexact: MAX_INEXACT })
  if ('exceeds' in scan) return fail('upstream_too_large', { message: TOO_LARGE[scan.exceeds] })
  try {
    return parseExact(bytes, scan.inexact)
  } catch (error) {
    // Without the error of the parser: its message quotes the document, which is nobody's to log.
    if (error instanceof SyntaxError || error instanceof TypeError) return fail('upstream_invalid')
    throw error
  }
}
