/** A signed request as a caller describes it, made into one that can be verified. @module */
import { AppError } from '../../../../errors.ts'
import type { HttpRequest } from './http-signature.ts'
import { MAX_HEADER_BYTES, MAX_HTTP_BODY_BYTES, type SignedHttpRequest } from './schemas-evidence.ts'

/** @throws AppError validation_failed, always */
export const refuseField = (path: string, code: string, message: string): never => {
  throw new AppError('validation_failed', { details: [{ path, code, message }] })
}

const checkUrl = (url: string): void => {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const isHttp = parsed !== undefined && /^https?:$/.test(parsed.protocol)
  if (!isHttp || parsed.username || parsed.password || url.includes('#'))
    refuseField('/http/url', 'url', 'url must be an absolute http or https URL without user and fragment')
}

const readFields = (headers: SignedHttpRequest['headers']): HttpRequest['fields'] => {
  const fields = Object.entries(headers).flatMap(([name, value]) =>
    [value].flat().map((occurrence) => ({ name, value: occurrence })),
  )
  const bytes = fields.reduce((sum, { name, value }) => sum + Buffer.byteLength(name + value), 0)
  if (bytes > MAX_HEADER_BYTES)
    refuseField('/http/headers', 'too_large', `headers must have at most ${MAX_HEADER_BYTES} bytes together`)
  return fields
}

const readBody = ({ body, body_base64: base64 }: SignedHttpRequest): Buffer => {
  const bytes = base64 === undefined ? Buffer.from(body ?? '') : Buffer.from(base64, 'base64')
  if (base64 !== undefined && bytes.toString('base64') !== base64)
    refuseField('/http/body_base64', 'base64', 'body_base64 must be base64 with padding (RFC 4648 §4)')
  if (bytes.length > MAX_HTTP_BODY_BYTES) {
    const path = base64 === undefined ? '/http/body' : '/http/body_base64'
    refuseField(path, 'too_large', `the body must have at most ${MAX_HTTP_BODY_BYTES} bytes`)
  }
  return bytes
}

/** @throws AppError validation_failed */
export const readHttpRequest = (input: SignedHttpRequest): HttpRequest => {
  checkUrl(input.url)
  return {
    method: input.method,
    url: input.url,
    fields: readFields(input.headers),
    body: readBody(input),
  }
}
