/**
 * What a Poseidon hash is of: the tag is the capacity element the sponge starts from, so that a hash made for one
 * purpose is never a hash for another. The circuits use the same numbers.
 * @module
 */

/** Starting state of `poseidon(tag, inputs)` for each purpose. The number of inputs is fixed for each tag. */
export const POSEIDON_TAGS = {
  COMMITMENT: 1,
  POLICY: 2,
  PROGRAM: 3,
  LEAF: 4,
  NODE: 5,
  NULLIFIER: 6,
  SUBJECT: 7,
  PAYMENT: 8,
  KYC: 9,
  TOKEN: 10,
  CONSENT: 11,
  AGGREGATE: 12,
} as const
