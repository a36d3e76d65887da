/**
 * What a route takes, compiled: body, query and path parameters.
 * @module
 */
import Type from 'typebox'
import { AppError, type ErrorCode, type Misfit } from '../../errors.ts'
import { isObject } from '../../protocol/json-object.ts'
import type { HttpContext } from '../context.ts'
import type { Refusals, Route } from '../route.ts'
import type { ArrivingBodies } from './arriving.ts'
import { BODY_LIMIT_BYTES, hasBody, readBody, requireJson } from './body.ts'
import { parseJson } from './json.ts'
import { knownParameters, parseQuery, requireParameters } from './query.ts'
import { asJsonSchema, isOpen, takesObjects } from './schema.ts'
import { bodyCheck, type Check, textCheck } from './validation.ts'

const EMPTY_BODY = Buffer.alloc(0)

/** @param code of the error, unless the route has one of its own for such a detail */
const refuse = (code: ErrorCode, { details }: Misfit, refusals: Refusals = {}): never => {
  const [{ path, code: found }] = details
  const place = path.replaceAll(/\/[0-9]+(?=\/|$)/g, '/*')
  throw new AppError(refusals[place]?.[found] ?? code, { details })
}

/** What a route does with bodies, in two steps: a repeated request gets its stored answer between them. */
export interface BodyReader {
  /**
   * @param owner whose bodies it is counted with while it arrives
   * @returns the bytes as they were sent
   * @throws AppError for a form or a size that the route does not accept, and where too much arrives
   */
  read(ctx: HttpContext, owner: string): Promise<Buffer>
  /** Parses and checks them. @throws AppError for what the route does not accept */
  understand(raw: Buffer): unknown
}

const NO_BODY: BodyReader = { read: async () => EMPTY_BODY, understand: () => undefined }

export const compileBody = (route: Route, arriving: ArrivingBodies): BodyReader => {
  const { body: schema, bodyLimit = 'default', bodyForm = 'checked', exactNumbers = false } = route
  if (schema === undefined) return NO_BODY
  const shape = asJsonSchema(schema)
  const isChecked = bodyForm === 'checked'
  const open = !isChecked || isOpen(shape)
  const check: Check | undefined = isChecked ? bodyCheck(schema) : undefined
  const limitBytes = BODY_LIMIT_BYTES[bodyLimit]
  // A body that is only parsed is refused in words of the route's own.
  const isObjectRoute = isChecked ? takesObjects(shape) : shape.type === 'object'
  const optional = shape.type === 'object' && (shape.required ?? []).length === 0
  return {
    async read({ req }, owner) {
      const sent = hasBody(req.headers)
      if (sent || req.headers['content-type'] !== undefined) requireJson(req.headers)
      return sent
        ? await readBody(req, limitBytes, (onRefused) => arriving.count(owner, onRefused))
        : EMPTY_BODY
    },
    understand(raw) {
      if (bodyForm === 'bytes') return raw
      if (raw.length === 0 && !optional) {
        throw new AppError('invalid_json', { message: 'The request body is empty; send a JSON document.' })
      }
      const value = raw.length === 0 ? {} : parseJson(raw, open, exactNumbers)
      if (isObjectRoute && !isObject(value)) {
        throw new AppError('invalid_request', { message: 'The request body must be a JSON object.' })
      }
      const misfit = check?.(value)
      if (misfit) refuse(misfit.code, misfit, route.refusals)
      return value
    },
  }
}

/**
 * A parameter that would be ignored may be a misspelt bound, so it is refused where the answer is not public.
 * @returns a function that throws AppError invalid_query, unknown_parameter
 */
export const compileQuery = (route: Route): ((query: string) => unknown) => {
  const known = knownParameters(route)
  if (route.query === undefined && known === undefined) return () => undefined
  const check = textCheck(route.query ?? Type.Object({}), 'query')
  return (text) => {
    const value = parseQuery(text)
    if (known !== undefined) requireParameters(Object.keys(value), known)
    const misfit = check(value)
    if (misfit) refuse('invalid_query', misfit, route.refusals)
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
    const misfit = check(value)
    if (misfit) refuse('not_found', misfit)
    return value
  }
}
