/**
 * Every error the service answers with: one table from stable code to HTTP status and meaning.
 * @module
 */

/** Codes in alphabetical groups by status. The code is the `error` field of the body and never changes. */
export const ERRORS = {
  invalid_json: [400, 'The request body is not valid JSON.'],
  invalid_request: [400, 'The request is malformed.'],
  invalid_query: [400, 'The query string is malformed.'],
  unknown_parameter: [400, 'The query contains a parameter that this route does not accept.'],
  invalid_body: [400, 'The request body must be a JSON object with agent_name and text, or with envelope.'],
  text_required: [400, 'The message has no text.'],
  agent_name_required: [400, 'The message has no agent_name.'],
  agent_name_invalid: [400, 'The agent_name is too long or has no visible characters.'],
  name_reserved: [400, 'This name, or one that looks like it, is reserved for the operator.'],
  text_too_short: [400, 'The text is too short.'],
  text_too_long: [400, 'The text is too long.'],
  model_too_long: [400, 'The model is too long.'],
  topic_too_long: [400, 'The topic is too long.'],
  control_characters: [400, 'The message contains control characters; only newline and tab are allowed.'],
  too_many_links: [400, 'The text contains too many links.'],
  secret_detected: [400, 'The message seems to contain a credential. It was not stored.'],
  unknown_prompt: [400, 'There is no prompt with this id.'],
  unknown_reply_to: [400, 'There is no message with this id to reply to.'],
  envelope_schema: [400, 'The envelope is not of the form agent-relay/1.'],
  envelope_signature: [400, 'The signature of the envelope is not valid for its key.'],
  envelope_audience: [400, 'The envelope is addressed to another service.'],
  envelope_action: [400, 'The envelope is for another action.'],
  envelope_expired: [400, 'The envelope has expired.'],
  envelope_not_yet_valid: [400, 'The envelope is not valid yet.'],
  envelope_params: [400, 'The params of the envelope do not fit its action.'],
  envelope_proof_invalid: [400, 'The proof of the envelope is not valid, or not bound to this envelope.'],
  proof_not_accepted: [
    400,
    'Proofs of this circuit are not accepted here: no issuer confirms what they state.',
  ],
  sign_in_expired: [
    400,
    'This sign-in was not begun in this browser, has expired or was used before. Begin again.',
  ],
  ambiguous_credentials: [400, 'The request carries two different credentials.'],
  unauthorized: [401, 'A valid credential is required.'],
  invalid_credentials: [401, 'The credentials are wrong.'],
  totp_required: [401, 'The password is right. This account also needs a one-time code, as `code`.'],
  totp_invalid: [401, 'The one-time code is wrong, was used before or has expired.'],
  subscription_inactive: [402, 'The subscription of the organisation is not active.'],
  free_allocation_used: [
    402,
    'There is no active subscription, and the free proofs have been used or have expired.',
  ],
  forbidden: [403, 'The caller is not allowed to do this.'],
  csrf_required: [403, 'The X-CSRF-Token header is missing or wrong.'],
  insufficient_scope: [403, 'The credential lacks the scope that this route needs.'],
  sign_in_refused: [403, 'The identity provider did not sign you in.'],
  identity_unknown: [
    403,
    'No account is linked to this identity. Sign in with your password, and link it on the page Account.',
  ],
  name_claimed: [403, 'This name, or one that looks like it, is bound to another key.'],
  proof_in_use: [403, 'This proof is used by another key; this key can use it 24 hours after its last use.'],
  verified_only: [403, 'Only verified agents can post at the moment.'],
  pod_pending: [403, 'The pod has not been activated yet.'],
  pod_suspended: [403, 'The pod is suspended.'],
  not_found: [404, 'Not found, or it belongs to another caller.'],
  method_not_allowed: [405, 'The path exists, but not with this method.'],
  conflict: [409, 'The request conflicts with the current state.'],
  double_spend: [409, 'This digest was consumed before.'],
  token_used: [409, 'This single-use token was used before.'],
  duplicate_message: [409, 'The same message was posted before.'],
  replayed_envelope: [409, 'This envelope was used before.'],
  email_taken: [409, 'An account with this e-mail exists already.'],
  transaction_conflict: [409, 'This transaction id was used with other content.'],
  key_registered: [409, 'This key is or was registered for an agent or device of the organisation.'],
  idempotency_in_flight: [409, 'A request with this Idempotency-Key is still running.'],
  already_deleted: [409, 'The route was deleted before.'],
  limit_reached: [409, 'The organisation has reached its maximum number of these, given in `limit`.'],
  challenge_closed: [409, 'The challenge was answered or has ended; `reason` says which.'],
  domain_limit: [409, 'The pod has reached its maximum number of domains, given in `limit`.'],
  pod_archived: [410, 'The pod was permanently closed.'],
  route_deleted: [410, 'The route was deleted.'],
  invitation_invalid: [410, 'The invitation is unknown, has expired, was used or was revoked.'],
  token_not_active: [410, 'This is no longer valid: it has expired, was used or was revoked.'],
  payload_too_large: [413, 'The request body is larger than this route accepts.'],
  unsupported_media_type: [415, 'The request body must be sent as application/json.'],
  validation_failed: [422, 'The request does not match the schema.'],
  read_only: [422, 'A read-only member was sent with a different value.'],
  unknown_member: [422, 'The request contains an unknown member.'],
  signature_invalid: [422, 'The signature is not valid for the data to sign and the named key.'],
  number_not_exact: [422, 'A number has more digits than can be kept exactly; send it as a string.'],
  tree_too_large: [422, 'There are too many rules, or they are nested too deeply.'],
  inputs_insufficient: [422, 'Inputs that this circuit needs are missing.'],
  list_invalid: [422, 'The watch list cannot be read; nothing was changed.'],
  not_provable: [422, "The value can't be represented exactly in a proof."],
  token_too_large: [422, 'The token is too large for a QR code that phones can read.'],
  idempotency_key_reused: [422, 'This Idempotency-Key was used with another query or body.'],
  invalid_idempotency_key: [422, 'Idempotency-Key must be 1 to 255 visible ASCII characters.'],
  batch_too_large: [422, 'The batch has more items than this route accepts.'],
  amount_precision: [422, 'The amount has more decimals than its currency allows.'],
  currency_invalid: [422, 'The currency is not an ISO 4217 code.'],
  pan_not_allowed: [422, 'The value looks like a card number; send a token instead.'],
  invalid_domain: [422, "The domain can't be bound to a pod."],
  invalid_url: [422, 'The URL is missing or malformed.'],
  url_not_https: [422, 'The URL does not begin with https.'],
  url_blocked: [422, 'The URL is not allowed: it contains a user or password, or its address is not public.'],
  invalid_event: [422, 'There is no event with this name.'],
  events_empty: [422, 'At least one event must be named.'],
  label_required: [422, 'A label that is not blank is required.'],
  search_too_broad: [422, 'The search takes too long: its words are too common.'],
  criteria_required: [422, 'There is no question: send criteria, an id, or both.'],
  rate_limited: [429, 'Too many requests.'],
  internal: [500, 'Something went wrong on our side.'],
  not_implemented: [501, 'This is not implemented; `use` names the route to call instead.'],
  credential_certificate_expired: [501, 'The certificate that signs credentials for wallets has expired.'],
  sign_in_not_configured: [501, 'This service has no identity provider to sign in with.'],
  pass_signing_not_configured: [501, 'This service has no certificates to sign passes with.'],
  dns_error: [502, 'The DNS query failed.'],
  egress_blocked: [
    502,
    'The address of the target is not allowed. The operator can allow it with EGRESS_ALLOW_CIDRS.',
  ],
  source_failed: [502, 'A data source did not answer.'],
  identity_provider_failed: [502, 'The identity provider cannot be reached, or gave no usable answer.'],
  provider_failed: [502, 'The KYC provider gave no usable answer. Nothing was stored.'],
  upstream_unreachable: [502, 'The target could not be reached.'],
  upstream_status: [502, 'The target did not answer with a success status.'],
  upstream_too_large: [502, 'The answer of the target is too large to search.'],
  upstream_invalid: [502, 'The answer of the target is not JSON.'],
  lists_unavailable: [503, 'No list is loaded for a type of check.'],
  log_inconsistent: [
    503,
    'The log differs from an earlier signed checkpoint; nothing is signed until an operator has resolved this.',
  ],
  posting_paused: [503, 'Posting is paused.'],
  proof_service_unavailable: [503, "Proofs can't be verified at the moment; try again."],
  prover_overloaded: [503, 'Too many proofs are queued; try again.'],
  unavailable: [503, 'The service is temporarily unavailable; try again.'],
  upstream_timeout: [504, 'The target did not answer in time.'],
} as const satisfies Record<string, readonly [status: number, meaning: string]>

export type ErrorCode = keyof typeof ERRORS

/** One finding about the input. `path` is a JSON Pointer (RFC 6901) into the body, or `query/…`, `params/…`, `header/…`. */
export interface ErrorDetail {
  path: string
  code: string
  message: string
}

/** One reference token of a JSON Pointer (RFC 6901 §3). */
export const pointerToken = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')

/** What is wrong with an input that was held against a schema: the code to refuse it with, and where. */
export interface Misfit {
  readonly code: 'validation_failed' | 'unknown_member'
  /** At least one. */
  readonly details: [ErrorDetail, ...ErrorDetail[]]
}

/** The limit that a call was refused for, as sent in its headers. */
export interface RefusedLimit {
  readonly limit: number
  readonly windowSeconds: number
  readonly remaining: number
  readonly resetSeconds: number
  /** Unix seconds. */
  readonly resetAt: number
}

export interface ErrorOptions {
  /** Overrides the table's meaning. */
  message?: string
  details?: ErrorDetail[]
  /** Upper-case word where a specification names one, such as `DOUBLE_SPEND`. */
  reason?: string
  /** Seconds; also sent as the Retry-After header. */
  retryAfter?: number
  /** Where it isn't the one that every call of the route is counted against. */
  limit?: RefusedLimit
  /** The few named extra fields of a route, such as `digest` and `consumed_at`. */
  extras?: Record<string, unknown>
  cause?: unknown
}

const MS_PER_SECOND = 1000
/** More than a minute, which programs wait out: somebody has to do something. */
const OPERATOR_RETRY_SECONDS = 300
const PAUSED_RETRY_SECONDS = 60

type CodeOf<S extends number> = { [C in ErrorCode]: (typeof ERRORS)[C][0] extends S ? C : never }[ErrorCode]

/** When to come back, of each 503, where nobody knows better. */
const RETRY_SECONDS: Readonly<Record<CodeOf<503>, number> & Partial<Record<ErrorCode, number>>> = {
  lists_unavailable: OPERATOR_RETRY_SECONDS,
  log_inconsistent: OPERATOR_RETRY_SECONDS,
  posting_paused: PAUSED_RETRY_SECONDS,
  proof_service_unavailable: 1,
  prover_overloaded: 1,
  unavailable: 1,
}

/** An error that is shown to the caller. Any other error becomes a 500 without details. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly details: ErrorDetail[] | undefined
  readonly reason: string | undefined
  readonly retryAfter: number | undefined
  readonly limit: RefusedLimit | undefined
  readonly extras: Record<string, unknown> | undefined

  constructor(code: ErrorCode, options: ErrorOptions = {}) {
    const [status, meaning] = ERRORS[code]
    super(options.message ?? meaning, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.status = status
    this.details = options.details
    this.reason = options.reason
    // Whoever is told to come back is told when (RFC 9110 §10.2.3).
    this.retryAfter = options.retryAfter ?? RETRY_SECONDS[code]
    this.limit = options.limit
    this.extras = options.extras
  }
}

/** Throws an {@link AppError}; an expression, so it fits behind `??`. */
export const fail = (code: ErrorCode, options?: ErrorOptions): never => {
  throw new AppError(code, options)
}

/**
 * Refuses a call that is beyond a limit, and says of which, and how much of that is left.
 * @param now Unix ms
 * @throws AppError rate_limited, always
 */
export const failBeyond = (
  { limit, remaining, resetSeconds }: Pick<RefusedLimit, 'limit' | 'remaining' | 'resetSeconds'>,
  windowSeconds: number,
  now: number,
  message?: string,
): never => {
  const resetAt = Math.ceil(now / MS_PER_SECOND) + resetSeconds
  return fail('rate_limited', {
    message,
    retryAfter: Math.max(1, resetSeconds),
    limit: { limit, windowSeconds, remaining, resetSeconds, resetAt },
  })
}

/** Errors whose details say what is wrong with the input. */
const FINDINGS: readonly ErrorCode[] = ['validation_failed', 'unknown_member', 'read_only']

/** What is wrong with the input, where a batch judges it item by item. @throws the error, where it is no such finding */
export const detailOf = (error: unknown): ErrorDetail => {
  const [detail] = error instanceof AppError && FINDINGS.includes(error.code) ? (error.details ?? []) : []
  if (detail === undefined) throw error
  return detail
}
