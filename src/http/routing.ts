/**
 * The way from a path to its route: a path without parameters is looked up; the others have one @koa/router for each
 * first segment, so that a request is compared with the few routes of its family and not with all of them.
 * @module
 */
import { Router } from '@koa/router'
import { AppError } from '../errors.ts'
import type { HttpContext, HttpState } from './context.ts'
import type { Endpoint } from './endpoint.ts'
import type { HttpMiddleware } from './middleware.ts'

const firstSegment = (path: string): string =>
  path.slice(1, (path.indexOf('/', 1) + 1 || path.length + 1) - 1)

/** `/things/{thingId}` as the router writes it: `/things/:thingId`, or `/things/*thingId` where it takes the rest. */
const templateOf = ({ path, route }: Pick<Endpoint, 'path' | 'route'>): string =>
  (route.takesRest ? path.replace(/\{(\w+)\}$/, '*$1') : path).replace(/\{(\w+)\}/g, ':$1')

/** Fixed segments before parameters, from the left: `/a/b/{x}` is tried before `/a/{y}/c`. */
const specificity = (path: string): string =>
  path
    .split('/')
    .map((segment) => (segment.startsWith('{') ? '1' : '0'))
    .join('')

/** The router leaves what it can't decode as it is; here that is the caller's mistake. */
const checkEncoding = (path: string): void => {
  if (!path.includes('%')) return
  try {
    if (!decodeURIComponent(path).includes('\u0000')) return
  } catch {
    // Falls through: a malformed escape and a NUL are the same mistake to the caller.
  }
  throw new AppError('invalid_request', { message: 'The path is not properly percent-encoded.' })
}

const allowed = (methods: Iterable<string>): string => [...new Set([...methods, 'OPTIONS'])].sort().join(', ')

/** No route took the request: the path is unknown, or known with other methods. */
const refuse = (ctx: HttpContext, methods: readonly string[]): void => {
  if (methods.length === 0) throw new AppError('not_found', { message: 'Path not found.' })
  ctx.set('Allow', allowed(methods))
  if (ctx.method !== 'OPTIONS') throw new AppError('method_not_allowed')
  ctx.status = 204
}

const assertUnique = (endpoints: readonly Endpoint[]): void => {
  const seen = new Set<string>()
  for (const { method, path } of endpoints) {
    if (firstSegment(path).startsWith('{')) throw new Error(`${path} starts with a parameter`)
    if (seen.has(`${method} ${path}`)) throw new Error(`two routes are ${method} ${path}`)
    seen.add(`${method} ${path}`)
  }
}

/** By method. */
type Methods = ReadonlyMap<string, Endpoint>

/** Such a path is itself, whatever parameter it would fit: with another method it is 405, not somebody's id. */
const fixedPaths = (endpoints: readonly Endpoint[]): ReadonlyMap<string, Methods> => {
  const fixed = new Map<string, Map<string, Endpoint>>()
  for (const endpoint of endpoints) {
    const { method, path } = endpoint
    const methods = fixed.get(path) ?? new Map<string, Endpoint>()
    fixed.set(path, methods.set(method, endpoint))
    if (method === 'GET') methods.set('HEAD', endpoint)
  }
  return fixed
}

const NO_PARAMETERS = Object.freeze({})

const run = (
  ctx: HttpContext,
  endpoint: Endpoint,
  params: Readonly<Record<string, string>>,
): Promise<void> => {
  ctx.state.route = endpoint.route
  return endpoint.run(ctx, params)
}

/**
 * Finds and runs the route of a request.
 * @throws Error at once when two endpoints share method and path, or a path starts with a parameter
 * @throws AppError on a request: not_found, method_not_allowed (with Allow), invalid_request for malformed
 *   percent-encoding, and whatever the route throws
 */
export const createRouting = (endpoints: readonly Endpoint[]): HttpMiddleware => {
  assertUnique(endpoints)
  const fixed = fixedPaths(endpoints.filter(({ path }) => !path.includes('{')))
  const parametrised = endpoints.filter(({ path }) => !fixed.has(path))
  const routers = new Map<string, Router<HttpState>>()
  for (const endpoint of parametrised.sort((a, b) => (specificity(a.path) < specificity(b.path) ? -1 : 1))) {
    const family = firstSegment(endpoint.path)
    const router = routers.get(family) ?? new Router<HttpState>({ strict: true, sensitive: true })
    routers.set(family, router)
    router.register(templateOf(endpoint), [endpoint.method], (ctx) => run(ctx, endpoint, ctx.params))
  }
  const families = new Map([...routers].map(([family, router]) => [family, router.routes()]))

  return async (ctx, next) => {
    const { path } = ctx.state
    const methods = fixed.get(path)
    if (methods) {
      const endpoint = methods.get(ctx.method)
      return endpoint ? run(ctx, endpoint, NO_PARAMETERS) : refuse(ctx, [...methods.keys()])
    }
    checkEncoding(path)
    const find = families.get(firstSegment(path))
    if (find === undefined) return refuse(ctx, [])
    // The router leaves on the context which of its routes have this path, whatever their method.
    const routed: typeof ctx & { matched?: readonly { methods: readonly string[] }[] } = ctx
    return find(ctx as Parameters<typeof find>[0], async () => {
      refuse(
        ctx,
        (routed.matched ?? []).flatMap(({ methods }) => methods),
      )
      await next()
    })
  }
}
