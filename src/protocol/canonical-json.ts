/** Canonical JSON (RFC 8785): what is hashed and signed. @module */
import canonicalize from 'canonicalize'

/** ECMAScript escapes a surrogate only where its other half is missing; an escaped backslash before it is none. */
const HALF_PAIR = /(?<!\\)(?:\\\\)*\\ud[89a-f]/

/**
 * The canonical JSON of a value. Members that are undefined are left out.
 * @throws TypeError for what has none: undefined, numbers that are not finite, what holds itself, and texts or names with
 *   half a surrogate pair (RFC 8785 §3.2.2.2), which have no UTF-8, so that two of them could share a hash
 */
export const canonicalJson = (value: unknown): string => {
  const text = canonicalized(value)
  if (text === undefined) throw new TypeError('What is no JSON has no canonical JSON.')
  if (text.includes('\\ud') && HALF_PAIR.test(text))
    throw new TypeError('Half a surrogate pair has no canonical JSON.')
  return text
}

/** Whether a value has a canonical JSON: what was read as JSON may hold half a surrogate pair, or a number that is not finite. */
export const hasCanonicalJson = (value: unknown): boolean => {
  try {
    canonicalJson(value)
    return true
  } catch (error) {
    if (error instanceof TypeError) return false
    throw error
  }
}

/** Whether two values have the same canonical JSON. What has none is the same as nothing. */
export const isSameJson = (a: unknown, b: unknown): boolean =>
  hasCanonicalJson(a) && hasCanonicalJson(b) && canonicalJson(a) === canonicalJson(b)

const canonicalized = (value: unknown): string | undefined => {
  try {
    return canonicalize(value)
  } catch (cause) {
    throw new TypeError(
      'The value has no canonical JSON: a number that is not finite, or an object inside itself.',
      {
        cause,
      },
    )
  }
}
