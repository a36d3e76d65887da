/** What the host may call and read in the prover's bundle. @module */
export { LARGEST_WINDOW_BITS } from './multi-scalar'
export { blind, G1_BYTES, G2_BYTES, HEAP, POINT_BYTES, prepareG1, prepareG2, sumG1, sumG2, writeG1, writeG2 } from './prover'
export { evaluateRows, prepareRoots, quotient, readProducts, readScalars } from './quotient'
