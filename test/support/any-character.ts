import fc from 'fast-check'

const FIRST_SURROGATE = 0xd800
const SURROGATES = 0x800
const LAST = 0x10ffff

/**
 * Any code point but half surrogate pairs, as a `unit` of `fc.string`. The library's own `binary` keeps a table of all of them in the
 * process for good, 230 MB, through which each later collection of garbage in the run has to go.
 */
export const anyCharacter = fc
  .integer({ min: 0, max: LAST - SURROGATES })
  .map((place) => String.fromCodePoint(place < FIRST_SURROGATE ? place : place + SURROGATES))
