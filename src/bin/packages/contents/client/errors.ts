/** What the service refuses. What never got an answer is thrown as fetch throws it. @module */

/** Members of the body of every error; some have more. */
export interface ErrorBody {
  readonly error: string
  readonly message?: string
  /** Upper-case code where a specification names one. */
  readonly reason?: string
  readonly request_id?: string
}

/** An answer that is no success, or none of the service. `error` says what it is, and never changes. */
export class AssayError<Body extends ErrorBody = ErrorBody> extends Error {
  override readonly name = 'AssayError'
  readonly operation: string
  readonly status: number
  readonly error: Body['error']
  readonly body: Body
  /** Tell it when you ask about this error. */
  readonly requestId: string | undefined
  /** Seconds after which it may be asked again. */
  readonly retryAfter: number | undefined

  constructor(operation: string, { status, headers }: Response, body: Body) {
    super(`${operation}: ${body.message || body.error} (${status} ${body.error})`)
    this.operation = operation
    this.status = status
    this.error = body.error
    this.body = body
    this.requestId = headers.get('x-request-id') ?? body.request_id
    const seconds = Number(headers.get('retry-after') ?? Number.NaN)
    this.retryAfter = Number.isNaN(seconds) ? undefined : seconds
  }
}

/** The errors with these bodies, told apart by `error`. */
export type ErrorOf<Body> = Body extends ErrorBody
  ? AssayError<Body> & { readonly error: Body['error'] }
  : never
