/** Text without its case, for comparing what people write. @module */

/**
 * Compatibility caseless form (Unicode Standard §3.13, D146): two texts that differ only in case, width or
 * composition have the same one. Lower case before upper case takes İ apart; upper case makes ß and ς what they are
 * compared as, and does not depend on neighbours, so that parts of a text fold as they do within it.
 */
export const foldCase = (text: string): string =>
  text.normalize('NFKC').toLowerCase().toUpperCase().normalize('NFKC')
