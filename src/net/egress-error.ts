/** What outbound calls throw. @module */

/**
 * - `blocked`: the URL or an address behind it may not be called
 * - `unreachable`: no name, no connection, no valid certificate, or the connection broke
 * - `timeout`: the deadline passed, whatever was going on
 * - `too_large`: the answer, packed or unpacked, or its head, is larger than allowed
 * - `undecodable`: not HTTP, or an encoding that is unknown or broken
 * - `redirect`: more redirects than allowed, or one that must not be followed
 */
export type EgressErrorKind = 'blocked' | 'unreachable' | 'timeout' | 'too_large' | 'undecodable' | 'redirect'

/** An outbound call that has no usable answer. The message names hosts and reasons, never paths or queries. */
export class EgressError extends Error {
  readonly kind: EgressErrorKind
  /** Status of the answer, where one had begun. */
  readonly status: number | undefined

  constructor(kind: EgressErrorKind, message: string, options: { status?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'EgressError'
    this.kind = kind
    this.status = options.status
  }
}
