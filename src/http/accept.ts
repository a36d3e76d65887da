/** Which of several content types a client would rather have (RFC 9110 §12.5.1). @module */
import Negotiator from 'negotiator'

/**
 * All but the quality. They would leave out what has no such parameter, and clients send ever new ones: Prometheus 3 adds
 * `escaping` to each range, and reads what has none.
 */
const PARAMETERS = /;(?!\s*q\s*=)[^;,]*/gi
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
  const ranges = String(accept).replace(PARAMETERS, '')
  const best = new Negotiator({ headers: { accept: ranges } }).mediaType([usual, types].flat())
  return best !== undefined && best !== usual
}
