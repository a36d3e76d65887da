/**
 * Patterns of texts that several schemas ask for. Like every pattern of a schema they keep to what all engines of
 * regular expressions read alike (JSON Schema 2020-12 §6.4): no look-around, no named groups, no classes that depend
 * on the engine, such as `\s` and `\p{…}`.
 * @module
 */

/** No control characters, so no line breaks either: what people compare, and what stands in one line of a log. */
export const ONE_LINE = '^[^\\x00-\\x1f\\x7f-\\x9f]*$'

/** White space of ECMAScript, which is also what `trim()` takes away. The characters themselves, as RE2 has no `\u`. */
const WHITE_SPACE = '\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff'

/** At least one character that can be seen. */
export const NOT_BLANK = `[^${WHITE_SPACE}]`
