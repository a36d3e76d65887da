/** Why an agent is not recognised, or may not do what it wants: every code, with a sentence for people. @module */

/** About what an agent presented, and about the agent itself. */
export const EVIDENCE_REASONS = {
  SIGNATURE_MISSING: 'The request has no Signature or no Signature-Input field.',
  SIGNATURE_MALFORMED:
    'Its signature fields, or those that they cover, are not what RFC 9421 and RFC 8941 allow; or a field has more than 32 spaces in a row.',
  SIGNATURE_AMBIGUOUS: 'It has several signatures of known tags; name the label of one.',
  COMPONENT_MISSING: 'The signature covers a field that the request does not have.',
  COMPONENT_UNSUPPORTED: 'The signature covers a component that is not supported here, or more than 32.',
  ALG_MISMATCH: 'The message names another algorithm than the one of the key.',
  SIGNATURE_INVALID: 'The key did not sign it.',
  KEY_UNKNOWN: 'No active agent of your organisation is enrolled with the key that it names.',
  KEY_MISMATCH: 'It names another key than those of the agent.',
  AUTHORITY_UNCOVERED: 'The signature does not cover @authority.',
  PATH_UNCOVERED: 'The signature covers neither @path nor @target-uri, as its tag demands.',
  SIGNATURE_AGENT_UNCOVERED: 'The request has a Signature-Agent field that the signature does not cover.',
  AUDIENCE_MISMATCH: 'It was made for another audience.',
  CREATED_MISSING: 'It does not say when it was created.',
  EXPIRES_MISSING: 'It does not say when it expires.',
  WINDOW_INVALID: 'It expires no later than it was created, or more than 480 seconds later.',
  NOT_YET_VALID: 'It was created in the future.',
  SIGNATURE_EXPIRED: 'Its time is over.',
  NONCE_MISSING: 'It has no nonce.',
  NONCE_WEAK: 'Its nonce is not base64 or base64url of 16 to 192 bytes.',
  NONCE_REPLAYED: 'Its nonce was used before.',
  TAG_MISSING: 'The signature has no tag.',
  TAG_UNKNOWN: 'The tag of the signature is not one of those known here.',
  TAG_MISMATCH: 'The signature has another tag than the one that is needed.',
  DIGEST_UNCOVERED: 'The request has a body, and the signature does not cover Content-Digest.',
  DIGEST_MALFORMED: 'Content-Digest holds no sha-256 or sha-512 of the right length (RFC 9530).',
  DIGEST_MISMATCH: 'Content-Digest is not that of the body.',
  BODY_MISSING: 'The request says that it has a body, and none was sent along.',
  JWS_MALFORMED: 'It is no compact JWS whose header and payload are JSON objects.',
  HEADER_REFUSED: 'Its header is not exactly {alg, kid, typ}, with the typ that is needed.',
  CARD_UNSIGNED: 'The card has no signature in the form of the A2A specification.',
  AGENT_PENDING: 'The agent has not answered its challenge yet.',
  AGENT_SUSPENDED: 'The agent is suspended.',
  AGENT_REVOKED: 'The agent was revoked.',
  AGENT_EXPIRED: 'The time of the agent is over.',
  AGENT_CHANGED: 'The agent was changed in the same moment; ask again.',
} as const satisfies Record<string, string>
export type EvidenceReason = keyof typeof EVIDENCE_REASONS

/** About what an agent wants to do. */
export const AUTHORISATION_REASONS = {
  SIGNATURE_REQUIRED: 'The agent has not signed the request; have it signed, or ask whom it acts for.',
  REQUEST_NOT_SIGNED: 'What the agent signed is not this action, resource, amount, currency and payee.',
  ACTION_NOT_ALLOWED: 'The action is not among those that the agent may do.',
  PAYEE_REQUIRED: 'The agent may pay certain payees only, and none is named.',
  PAYEE_NOT_ALLOWED: 'The payee is not among those that the agent may pay.',
  LIMITS_MISSING: 'The agent was given no limits, so it may spend nothing.',
  CURRENCY_MISMATCH: "The currency is not that of the agent's limits.",
  PER_TRANSACTION_EXCEEDED: 'The amount is above what the agent may spend at once.',
  PER_DAY_EXCEEDED: 'The amount is above what the agent may still spend today (UTC).',
} as const satisfies Record<string, string>
export type AuthorisationReason = keyof typeof AUTHORISATION_REASONS

export type Reason = EvidenceReason | AuthorisationReason

export const EVIDENCE_REASON_CODES = Object.keys(EVIDENCE_REASONS) as EvidenceReason[]
export const REASON_CODES = [...EVIDENCE_REASON_CODES, ...Object.keys(AUTHORISATION_REASONS)] as Reason[]
