/** What circuits see of an encoded value (`encodeValue` of src/rules/encode.ts). @module */

/** Encoded numbers begin here and have 64 bits. */
const NUMBERS_FROM = 1n << 248n
const NUMBERS_TO = NUMBERS_FROM + (1n << 64n)

/** Whether an element is an encoded number: what orderings are for. */
export const isNumber = (encoded: bigint): boolean => encoded >= NUMBERS_FROM && encoded < NUMBERS_TO
