/**
 * What a route takes, compiled: body, query and path parameters.
 * @module
 */
import { AppError, type ErrorCode, type ErrorDetail } from '../errors.ts'
import { BODY_LIMIT_BYTES, hasBody, readBody, requireJson } from './body.ts'
import type { HttpContext } from './context.ts'
import { parseJson } from './json.ts'
import { parseQuery } from './query.ts'
import type { Route } from './route.ts'
import { asJsonSchema, isOpen } from './schema.ts'
import { bodyCheck, type Check, textCheck } from './validation.ts'

const EMPTY_BODY = Buffer.alloc(0)

const refuse = (code: ErrorCode, detail: ErrorDetail): never => {
  throw new AppError(code, { details: [detail] })
}

/** A body as it came and as it was understood. */
export interface Body {
  readonly raw: Buffer
  readonly value: unknown
}

/** Reads, parses and checks bodies. @returns a function that throws AppError for what the route does not accept */
export const compileBody = (route: Route): ((ctx: HttpContext) => Promise<Body>) => {
  const { body: schema, bodyLimit = 'default', bodyForm = 'checked', exactNumbers = false } = route
  if (schema === undefined) return async () => ({ raw: EMPTY_BODY, value: undefined })
  const shape = asJsonSchema(schema)
  const isChecked = bodyForm === 'checked'
  const open = !isChecked || isOpen(shape)
  const check: Check | undefined = isChecked ? bodyCheck(schema) : undefined
  const limitBytes = BODY_LIMIT_BYTES[bodyLimit]
  const isObjectRoute = shape.type === 'object'
  const optional = isObjectRoute && (shape.required ?? []).length === 0
  return async (ctx) => {
    const { headers } = ctx.req
    const sent = hasBody(headers)
    if (sent || headers['content-type'] !== undefined) requireJson(headers)
    const raw = sent ? await readBody(ctx.req, limitBytes) : EMPTY_BODY
    if (bodyForm === 'bytes') return { raw, value: raw }
    if (raw.length === 0 && !optional) {
      throw new AppError('invalid_json', { message: 'The request body is empty; send a JSON document.' })
    }
    const value = raw.length === 0 ? {} : parseJson(raw, open, exactNumbers)
    if (isObjectRoute && (typeof value !== 'object' || value === null || Array.isArray(value))) {
      throw new AppError('invalid_request', { message: 'The request body must be a JSON object.' })
    }
    const detail = check?.(value)
    if (detail) refuse('validation_failed', detail)
    return { raw, value }
  }
}

/** @returns a function that throws AppError invalid_query */
export const compileQuery = (route: Route): ((query: string) => unknown) => {
  if (route.query === undefined) return () => undefined
  const check = textCheck(route.query, 'query')
  return (text) => {
    const value = parseQuery(text)
    const detail = check(value)
    if (detail) refuse('invalid_query', detail)
    return value
  }
}

/**
 * A path parameter that can't be one names nothing: 404, as for any unknown id.
 * @returns a function that throws AppError not_found
 */
export const compileParams = (route: Route): ((params: Readonly<Record<string, string>>) => unknown) => {
  if (route.params === undefined) return (params) => params
  const check = textCheck(route.params, 'params')
  return (params) => {
    const value = { ...params }
    const detail = check(value)
    if (detail) refuse('not_found', detail)
    return value
  }
}
