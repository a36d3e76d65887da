/** Requests to a host that stands for one thing of the service. @module */
import type { HttpMiddleware } from '../middleware.ts'

/**
 * The path that is meant by a request to a host.
 * @param host the Host header as it was sent
 * @returns undefined when the path is what it says
 */
export type PathFor = (host: string, method: string, path: string) => Promise<string | undefined> | undefined

/** Turns the path of such requests into the one that is meant, before it is routed. */
export const readHostPaths =
  (pathFor: PathFor): HttpMiddleware =>
  (ctx, next) => {
    const meant = pathFor(ctx.req.headers.host ?? '', ctx.method, ctx.state.path)
    if (meant === undefined) return next()
    return meant.then((path) => {
      if (path !== undefined) {
        ctx.state.path = path
        ctx.path = path
      }
      return next()
    })
  }
