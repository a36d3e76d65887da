/** Which of several content types a client would rather have (RFC 9110 §12.5.1). @module */
import Negotiator from 'negotiator'

/** A range that has parameters takes only what has them too; this is what everything that is text here has. */
const CHARSET = '; charset=utf-8'
/** Browsers send 150. Each range is compared with each type, so what is longer would take milliseconds. */
export const ACCEPT_MAX_CHARACTERS = 2048

/**
 * Whether a client would rather have one of `types` than `usual`. Of types that it takes equally well, the one that it names
 * more precisely wins, then the one that it names first. Whoever takes anything, or nothing of these, gets the usual one.
 * @param accept the Accept header as it was sent
 */
export const prefers = (
  accept: string | string[] | undefined,
  types: string | readonly string[],
  usual: string,
): boolean => {
  if (accept === undefined || accept.length > ACCEPT_MAX_CHARACTERS) return false
  const offered = [usual, types].flat().map((type) => type + CHARSET)
  const best = new Negotiator({ headers: { accept: String(accept) } }).mediaType(offered)
  return best !== undefined && best !== offered[0]
}
