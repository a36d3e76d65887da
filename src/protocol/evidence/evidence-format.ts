/** What evidence is made of: docs/exports.md has the format. Whoever makes or checks it says these words. @module */

export const EVIDENCE_FORMAT = 'assay-evidence/1'
/** `typ` of the manifest's JWS. */
export const EVIDENCE_TYPE = 'evidence+jws'
/** What the chain begins with. */
export const CHAIN_START = '0'.repeat(64)

/** Files of the form `zip`. */
export const EVIDENCE_ENTRY = 'evidence.ndjson'
export const INSTRUCTIONS_ENTRY = 'VERIFY.txt'

/** Entries of the ledger that are exported under their own name; every entry is a `merkle.leaf` as well. */
export const FACT_TYPES = ['prove', 'verify', 'gate', 'attest', 'spend', 'revoke', 'key.revoked'] as const
