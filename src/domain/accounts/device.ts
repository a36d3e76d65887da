/** What a browser says of itself, so short that it tells sessions apart and hardly people. @module */

/** Their marks in the order in which they count: most browsers also name those that they descend from. */
const BROWSERS: readonly (readonly [mark: string, name: string])[] = [
  ['Edg', 'Edge'],
  ['OPR/', 'Opera'],
  ['SamsungBrowser/', 'Samsung Internet'],
  ['Firefox/', 'Firefox'],
  ['FxiOS/', 'Firefox'],
  ['CriOS/', 'Chrome'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
]
const SYSTEMS: readonly (readonly [mark: string, name: string])[] = [
  ['iPhone', 'iOS'],
  ['iPad', 'iOS'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
]
const PRODUCT_MAX_CHARS = 30
/** What is no browser: the name of a program (RFC 9110 §10.1.5), of which only what can stand in one is kept. */
const PRODUCT = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+/

const nameIn = (text: string, marks: typeof BROWSERS): string | undefined =>
  marks.find(([mark]) => text.includes(mark))?.[1]

/** `Firefox on Linux`, `curl`; null where nothing is said. Without versions. @param userAgent value of User-Agent */
export const deviceOf = (userAgent: string | undefined): string | null => {
  if (userAgent === undefined) return null
  const browser = nameIn(userAgent, BROWSERS)
  const name = browser ?? PRODUCT.exec(userAgent)?.[0].slice(0, PRODUCT_MAX_CHARS)
  const system = nameIn(userAgent, SYSTEMS)
  return name !== undefined && system !== undefined ? `${name} on ${system}` : (name ?? system ?? null)
}
