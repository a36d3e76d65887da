/** The answer of a target as JSON, within limits that are checked before it is parsed. @module */
import { setImmediate as turn } from 'node:timers/promises'
import { fail } from '../../errors.ts'
import { type Inexact, parseExact, readInexact, scanJson } from '../../json/exact-numbers.ts'

const MAX_DEPTH = 64
export const MAX_NODES = 200_000
export const MAX_INEXACT = 1000
/** After so many numbers that may be inexact others get their turn. */
const NUMBERS_PER_TURN = 20_000

const TOO_LARGE = {
  depth: `The answer of the target nests deeper than ${MAX_DEPTH} levels.`,
  values: `The answer of the target has more than ${MAX_NODES} values.`,
  inexact: `The answer of the target has more than ${MAX_INEXACT} numbers that a double can't represent exactly.`,
}

const tooLarge = (what: keyof typeof TOO_LARGE): never =>
  fail('upstream_too_large', { message: TOO_LARGE[what] })

const readAllInexact = async (bytes: Buffer, doubtful: readonly number[]): Promise<Inexact[]> => {
  const inexact: Inexact[] = []
  for (const [index, start] of doubtful.entries()) {
    if (index % NUMBERS_PER_TURN === NUMBERS_PER_TURN - 1) await turn()
    const found = readInexact(bytes, start)
    if (found) inexact.push(found)
    if (inexact.length > MAX_INEXACT) tooLarge('inexact')
  }
  return inexact
}

/**
 * Reads a document. Numbers that a double can't hold are bigint, or NaN where they aren't whole, as rules know them.
 * @param bytes UTF-8, with or without a byte order mark
 * @throws AppError upstream_too_large, upstream_invalid
 */
export const readDocument = async (bytes: Buffer): Promise<unknown> => {
  const scan = scanJson(bytes, { depth: MAX_DEPTH, values: MAX_NODES })
  if ('exceeds' in scan) return tooLarge(scan.exceeds)
  const inexact = await readAllInexact(bytes, scan.doubtful)
  try {
    return parseExact(bytes, inexact)
  } catch (error) {
    // Without the error of the parser: its message quotes the document, which is nobody's to log.
    if (error instanceof SyntaxError || error instanceof TypeError) return fail('upstream_invalid')
    throw error
  }
}
