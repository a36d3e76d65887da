/**
 * Hybrid tokens in cookies. One is larger than a cookie may be, so its JSON, percent-encoded, is cut into values below
 * 4 KB: `assay_ht_0`, `assay_ht_1`, ….
 * @module
 */

const PREFIX = 'assay_ht_'
/** What browsers keep of one (RFC 6265 §6.1: at least 4,096 bytes with its name and attributes). */
const MAX_VALUE_CHARACTERS = 4096
/** Of the largest token, all of whose text is outside of ASCII. */
const MAX_PARTS = 4

/** Values by the number in their name; of two with one name the first (RFC 6265 §5.4 sends the closest path first). */
const partsOf = (header: string): Map<string, string> => {
  const parts = new Map<string, string>()
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=')
    const name = pair.slice(0, Math.max(equals, 0)).trim()
    if (!name.startsWith(PREFIX)) continue
    const number = name.slice(PREFIX.length)
    if (!parts.has(number)) parts.set(number, pair.slice(equals + 1).trim())
  }
  return parts
}

/**
 * Puts a token together from a Cookie header.
 * @returns what the cookies hold, of which nothing is known yet; undefined where they are no JSON, a part is missing or too
 *   long, or there are too many
 */
export const readTokenCookies = (header: string): unknown => {
  const parts = partsOf(header)
  if (parts.size === 0 || parts.size > MAX_PARTS) return undefined
  const values = Array.from({ length: parts.size }, (_, number) => parts.get(String(number)))
  if (!values.every((value) => value !== undefined && value.length <= MAX_VALUE_CHARACTERS)) return undefined
  try {
    return JSON.parse(decodeURIComponent(values.join('')))
  } catch {
    // The only way in which either says that a text is none.
    return undefined
  }
}
