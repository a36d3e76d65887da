/** What the host may call and read in the verifier's bundle. @module */
export { checkCombination, checkProof, HEAP, keyBytes, MOST_PROOFS, OUTSIDE, prepareKey, readProof } from './verifier'
