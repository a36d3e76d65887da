/** Which of two content types a client would rather have (RFC 9110 §12.5.1). @module */

interface Acceptance {
  readonly quality: number
  /** 3 for the type itself, 2 for all of its kind, 1 for anything, 0 where nothing covers it. */
  readonly specificity: number
  /** Of the range in the header, from 0. */
  readonly position: number
}

const NOT_ACCEPTED: Acceptance = { quality: 0, specificity: 0, position: 0 }

/** A q-value; what can't be read counts as if it were not there. */
const qualityOf = (parameters: readonly string[]): number => {
  const text = parameters.map((parameter) => /^\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*$/i.exec(parameter)?.[1])
  return Math.min(1, Number(text.find((value) => value !== undefined) ?? 1))
}

/** How well an Accept header takes a type, by its most specific range that covers it. */
const acceptance = (accept: string, type: string): Acceptance => {
  const ranges = ['*/*', `${type.split('/', 1)[0]}/*`, type]
  let best = NOT_ACCEPTED
  for (const [position, part] of accept.split(',').entries()) {
    const [range = '', ...parameters] = part.split(';')
    const specificity = ranges.indexOf(range.trim().toLowerCase()) + 1
    if (specificity > best.specificity) best = { quality: qualityOf(parameters), specificity, position }
  }
  return best
}

/**
 * Whether a client would rather have `type` than `usual`. Of two types that it takes equally well, the one that it names
 * more precisely wins, then the one that it names first. Whoever takes anything gets the usual one.
 * @param accept the Accept header as it was sent
 */
export const prefers = (accept: string | string[] | undefined, type: string, usual: string): boolean => {
  const header = String(accept ?? '')
  const wanted = acceptance(header, type)
  const other = acceptance(header, usual)
  if (wanted.quality !== other.quality) return wanted.quality > other.quality
  if (wanted.quality === 0) return false
  if (wanted.specificity !== other.specificity) return wanted.specificity > other.specificity
  return wanted.position < other.position
}
