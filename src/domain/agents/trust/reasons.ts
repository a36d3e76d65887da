/** Why an agent is not recognised, or may not do what it wants: every code, with a sentence for people. @module */

/** About what an agent presented, and about the agent itself. */
export const EVIDENCE_REASONS = {
  SIGNATURE_MISSING: 'The request has no Signature or no Signature-Input field.',
  SIGNATURE_MALFORMED:
    'Its signature fields, or the fields they cover, do not conform to RFC 9421 and RFC 8941, or a field has more than 32 consecutive spaces.',
  SIGNATURE_AMBIGUOUS: 'It has several signatures with supported tags; name the label of one.',
  COMPONENT_MISSING: 'The signature covers a field that the request does not have.',
  COMPONENT_UNSUPPORTED: 'The signature covers a component that is not supported here, or more than 32.',
  ALG_MISMATCH: 'The message names a different algorithm than that of the key.',
  SIGNATURE_INVALID: 'The signature is wrong.',
  KEY_UNKNOWN: 'The named key does not belong to an active agent of your organisation.',
  KEY_UNPUBLISHED: 'The directory that Signature-Agent names does not publish the named key.',
  DIRECTORY_FAILED:
    'The directory that Signature-Agent names gave no usable answer, or its signature by the named key does not hold.',
  DIRECTORY_URL_REFUSED:
    'The URL that Signature-Agent names has a query or a fragment, so no key is looked up there.',
  DIRECTORY_TYPE_REFUSED:
    'What the URL that Signature-Agent names answers is not of the type application/http-message-signatures-directory+json, as it must be off the well-known path.',
  DIRECTORY_BUSY: 'Too many directories are being looked up for your organisation; try again.',
  KEY_MISMATCH: 'It names a key that does not belong to the agent.',
  AUTHORITY_UNCOVERED: 'The signature covers neither @authority nor @target-uri.',
  PATH_UNCOVERED: 'The signature covers neither @path nor @target-uri, as its tag requires.',
  SIGNATURE_AGENT_UNCOVERED:
    'The request has a Signature-Agent field of which the signature covers no member by its key or, if the field is a single string, not the whole.',
  SIGNATURE_AGENT_AMBIGUOUS:
    'The signature covers several members of Signature-Agent, none of them with the key of its label.',
  SIGNATURE_AGENT_MALFORMED:
    'The Signature-Agent field, or the member that the signature covers, is not an https URL as a string without parameters.',
  AUDIENCE_MISMATCH: 'It is for another audience.',
  CREATED_MISSING: 'The creation time is missing.',
  EXPIRES_MISSING: 'The expiry time is missing.',
  WINDOW_INVALID:
    'It does not expire after its creation, or more than 480 seconds after it; 24 hours if its key is only published.',
  NOT_YET_VALID: 'Its creation time is in the future.',
  SIGNATURE_EXPIRED: 'It has expired.',
  NONCE_MISSING: 'It has no nonce.',
  NONCE_WEAK: 'Its nonce is not base64 or base64url of 16 to 192 bytes.',
  NONCE_REPLAYED: 'Its nonce was used before.',
  TAG_MISSING: 'The signature has no tag.',
  TAG_UNKNOWN: 'The tag of the signature is not supported.',
  TAG_MISMATCH: 'The signature does not have the required tag.',
  DIGEST_UNCOVERED: 'The request has a body, and the signature does not cover Content-Digest.',
  DIGEST_MALFORMED: 'Content-Digest contains no sha-256 or sha-512 of the right length (RFC 9530).',
  DIGEST_MISMATCH: 'Content-Digest does not match the body.',
  BODY_MISSING: 'The headers of the request announce a body, but none was given.',
  JWS_MALFORMED: 'It is not a compact JWS with JSON objects as header and payload.',
  HEADER_REFUSED: 'Its header is not exactly {alg, kid, typ}, with the required typ.',
  CARD_UNSIGNED: 'The card has no signature as defined in the A2A specification.',
  AGENT_PENDING: 'The agent has not answered its challenge yet.',
  AGENT_SUSPENDED: 'The agent is suspended.',
  AGENT_REVOKED: 'The agent was revoked.',
  AGENT_EXPIRED: 'The agent has expired.',
  AGENT_CHANGED: 'The agent was changed at the same time; try again.',
} as const satisfies Record<string, string>
export type EvidenceReason = keyof typeof EVIDENCE_REASONS

/** About what an agent wants to do. */
export const AUTHORISATION_REASONS = {
  SIGNATURE_REQUIRED: 'The agent has not signed the request; have it signed, or ask its principal.',
  REQUEST_NOT_SIGNED: 'The agent signed a different action, resource, amount, currency or payee.',
  ACTION_NOT_ALLOWED: 'The agent is not allowed to perform this action.',
  PAYEE_REQUIRED: 'The agent can pay only certain payees, and no payee is named.',
  PAYEE_NOT_ALLOWED: 'The agent is not allowed to pay this payee.',
  LIMITS_MISSING: "The agent has no limits set, so it can't spend anything.",
  CURRENCY_MISMATCH: "The currency differs from that of the agent's limits.",
  PER_TRANSACTION_EXCEEDED: "The amount exceeds the agent's limit for a single payment.",
  PER_DAY_EXCEEDED: 'The amount exceeds what the agent can still spend today (UTC).',
} as const satisfies Record<string, string>
export type AuthorisationReason = keyof typeof AUTHORISATION_REASONS

export type Reason = EvidenceReason | AuthorisationReason

export const EVIDENCE_REASON_CODES = Object.keys(EVIDENCE_REASONS) as EvidenceReason[]
export const REASON_CODES = [...EVIDENCE_REASON_CODES, ...Object.keys(AUTHORISATION_REASONS)] as Reason[]
