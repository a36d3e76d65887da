/** Query strings (application/x-www-form-urlencoded, WHATWG URL §5.1), strictly. @module */
import { AppError } from '../../errors.ts'
import { MAX_UNKNOWN_TOLD, unknownMember } from '../../json/unknown-members.ts'
import type { Auth, Route } from '../route.ts'
import { asJsonSchema } from './schema.ts'

const QUERY_MAX_PARAMETERS = 100

const decode = (text: string): string => {
  try {
    const decoded = decodeURIComponent(text.replaceAll('+', ' '))
    if (!decoded.includes('\u0000')) return decoded
  } catch {
    // Falls through: a malformed escape and a NUL are the same mistake to the caller.
  }
  throw new AppError('invalid_query', { message: 'The query string is not properly percent-encoded.' })
}

/**
 * @param query without the question mark
 * @returns text by name; a name that occurs more than once has a list
 * @throws AppError invalid_query for malformed percent-encoding or more than QUERY_MAX_PARAMETERS parameters
 */
export const parseQuery = (query: string): Record<string, string | string[]> => {
  const result: Record<string, string | string[]> = Object.create(null)
  if (query === '') return result
  const pairs = query.split('&').filter((pair) => pair !== '')
  if (pairs.length > QUERY_MAX_PARAMETERS) {
    throw new AppError('invalid_query', {
      message: `At most ${QUERY_MAX_PARAMETERS} query parameters are accepted.`,
    })
  }
  for (const pair of pairs) {
    const equals = pair.indexOf('=')
    const name = decode(equals < 0 ? pair : pair.slice(0, equals))
    const value = equals < 0 ? '' : decode(pair.slice(equals + 1))
    const earlier = result[name]
    result[name] =
      earlier === undefined ? value : Array.isArray(earlier) ? [...earlier, value] : [earlier, value]
  }
  return result
}

/** Links to what needs no credential may carry what others have added to them, such as `utm_source`. */
const PUBLIC: readonly Auth[] = ['none', 'optional', 'metrics']

/**
 * @returns the only query parameters that a route takes; undefined: it takes any, and ignores or reads those that it
 *   does not name
 */
export const knownParameters = ({ auth, query }: Pick<Route, 'auth' | 'query'>): string[] | undefined => {
  const { properties = {}, additionalProperties } = query ? asJsonSchema(query) : {}
  return PUBLIC.includes(auth) || additionalProperties ? undefined : Object.keys(properties)
}

/** @throws AppError unknown_parameter */
export const requireParameters = (names: readonly string[], known: readonly string[]): void => {
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length === 0) return
  const details = unknown
    .slice(0, MAX_UNKNOWN_TOLD)
    .map((name) => ({ ...unknownMember('query', name, known), code: 'unknown_parameter' }))
  throw new AppError('unknown_parameter', { details })
}
