/** What the host may call and read in the field bundle. @module */
export { FIELD_BYTES, FIELD_ELEMENTS, FIELD_INPUT, FIELD_OUTPUT, firstNotCanonical } from './field-elements'
export { FIELD_PRODUCTS, fieldMultiply, FIRST, multiplyMany, multiplyMany4, SECOND } from './field'
export { poseidonAbsorb, poseidonBegin, poseidonEnd, poseidonPairs } from './poseidon'
