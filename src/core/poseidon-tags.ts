/**
 * What a Poseidon hash is of: the tag is the capacity element the sponge starts from, so that a hash made for one
 * purpose is never a hash for another. The circuits use the same numbers.
 * @module
 */

/**
 * Starting state of `poseidon(tag, inputs)` for each purpose. The number of inputs is fixed for each tag. 9 to 11 were what version 1
 * of credentials, tokens and consents was signed under: no other hash ever gets them.
 */
export const POSEIDON_TAGS = {
  COMMITMENT: 1,
  POLICY: 2,
  PROGRAM: 3,
  LEAF: 4,
  NODE: 5,
  NULLIFIER: 6,
  SUBJECT: 7,
  PAYMENT: 8,
  AGGREGATE: 12,
  /** 8 attributes, which of them are numbers, schema, salt. */
  ELIGIBILITY_DATA: 13,
  /** 16 attributes, which of them are numbers, schema, salt. */
  COMPOSITE_DATA: 14,
  /** Nullifier of a hybrid token, its salt plus its terms. */
  HYBRID_TOKEN: 15,
  /** 8 digests, their decisions as bits. */
  AGGREGATE_CHAIN: 16,
  /** A terminal's secret. */
  TERMINAL: 17,
  /** A holder's secret, the organisation that issues to them. */
  HOLDER: 18,
  /** What is signed of a credential, a token and a consent. */
  KYC2: 19,
  TOKEN2: 20,
  CONSENT2: 21,
  /** A holder's secret, the status of a token or a consent. */
  CREDENTIAL: 22,
} as const
