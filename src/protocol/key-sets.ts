/** The service's public keys as others fetch them. @module */

/** `max-age` of the documents: whoever keeps them that long does not know newer keys. */
export const KEYS_MAX_AGE_SECONDS = 300
