/**
 * What a route gives, compiled: status, content type, body, 304 where the client has it already, and in tests the
 * check against its schema; streams are passed on as they are.
 * @module
 */

import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { type Compression, mayCompress } from './compression.ts'
import type { UnreadAnswers } from './connections/unread.ts'
import type { HttpContext } from './context.ts'
import { JSON_TYPE } from './errors.ts'
import { EVENT_STREAM_TYPE, EventStreamReply } from './event-stream.ts'
import { answerCheck, type Check } from './input/validation.ts'
import { Reply, type Route } from './route.ts'

/** RFC 9110 §8.8.3, without the mark of weak ones. */
const OPAQUE_TAGS = /"[\x21\x23-\x7e\x80-\xff]*"/g

const opaqueTags = (text: string): readonly string[] => text.match(OPAQUE_TAGS) ?? []

/**
 * Gives the answer an ETag, the hash of its content, unless the handler gave one, and compares If-None-Match with it:
 * weakly, a list of tags or `*` (§13.1.2). Not Koa's `ctx.fresh`, which gives way to `Cache-Control: no-cache`; every
 * `fetch` adds that to a condition of its caller's own (Fetch Standard, HTTP-network-or-cache fetch).
 * @param content what would be sent with status 200
 * @returns whether 304 is the answer
 */
const isUnchanged = (ctx: HttpContext, content: string | Uint8Array): boolean => {
  if (!ctx.res.hasHeader('ETag')) ctx.set('ETag', `"${hash('sha256', content, 'base64url')}"`)
  const condition = ctx.req.headers['if-none-match']?.trim()
  if (condition === undefined || condition === '*') return condition !== undefined
  const [own = ''] = opaqueTags(String(ctx.res.getHeader('ETag')))
  return opaqueTags(condition).includes(own)
}

/** Forms of one content in several codings have one tag, so it can't be a strong one (§8.8.1). */
const weaken = ({ res }: HttpContext): void => {
  const tag = res.getHeader('ETag')
  if (typeof tag === 'string' && tag.startsWith('"')) res.setHeader('ETag', `W/${tag}`)
}

type Verify = (status: number, body: unknown, isJson: boolean) => void

/** @throws Error when an answer differs from what the route declares */
const compileAnswerCheck = (route: Route): Verify => {
  const checks = new Map<number, Check | null>()
  for (const [status, schema] of Object.entries(route.response)) {
    checks.set(Number(status), schema === null ? null : answerCheck(schema))
  }
  return (status, body, isJson) => {
    const check = checks.get(status)
    if (check === undefined) throw new Error(`${route.name} answered the undeclared status ${status}`)
    if (check === null || body === undefined) {
      if (check !== null || body !== undefined)
        throw new Error(`${route.name} answered ${status} with a missing or unexpected body`)
      return
    }
    if (!isJson) return
    // What the client will read: undefined members are gone, dates are text.
    const sent = body instanceof Uint8Array ? Buffer.from(body).toString() : JSON.stringify(body)
    const misfit = check(JSON.parse(sent))
    if (misfit) {
      const [{ path, message }] = misfit.details
      throw new Error(`${route.name} answered ${status} with a bad body: ${path} ${message}`)
    }
  }
}

const successStatus = (route: Route): number => {
  const status = Number(Object.keys(route.response)[0])
  if (!(status >= 200 && status < 400)) throw new Error(`${route.name} declares no success status first`)
  return status
}

export interface AnswerKit {
  readonly unread: Pick<UnreadAnswers, 'send'>
  readonly compression: Compression
  readonly checkResponses: boolean
}

/**
 * @param kit.unread where answers wait for their clients
 * @param kit.checkResponses whether answers are held against the route's schemas; the function then throws Error
 * @throws Error for a route whose first status is no success
 */
export const compileAnswer = (
  route: Route,
  kit: AnswerKit,
): ((ctx: HttpContext, result: unknown) => void | Promise<void>) => {
  const { unread, checkResponses } = kit
  const compression = mayCompress(route) ? kit.compression : undefined
  const success = successStatus(route)
  const [usualType = JSON_TYPE] = [route.produces ?? JSON_TYPE].flat()
  const verify = checkResponses ? compileAnswerCheck(route) : undefined
  const revalidates = route.response[304] === null
  return (ctx, result) => {
    if (result instanceof EventStreamReply) {
      if (usualType !== EVENT_STREAM_TYPE) throw new Error(`${route.name} does not declare that it streams`)
      result.begin(ctx)
      return
    }
    let status = success
    let body = result
    if (result instanceof Reply) {
      status = result.status
      body = result.body
      for (const [name, value] of Object.entries(result.headers)) ctx.res.setHeader(name, value)
    }
    if (!ctx.res.hasHeader('Content-Type')) ctx.res.setHeader('Content-Type', usualType)
    const isJson = String(ctx.res.getHeader('Content-Type')).startsWith('application/json')
    if (!(body instanceof Readable)) verify?.(status, body, isJson)
    ctx.status = status
    if (body instanceof Readable) {
      // Read as fast as the client takes it, and destroyed when that goes away.
      ctx.body = body
      return
    }
    if (body === undefined) {
      // Koa writes "null" for an answer that is JSON, and has its own mind about the status.
      ctx.res.removeHeader('Content-Type')
      ctx.body = null
      ctx.status = status
      return
    }
    // Bytes are sent as they are, also those of JSON that was serialised before.
    const content = body instanceof Uint8Array ? body : isJson ? JSON.stringify(body) : String(body)
    const coding = compression?.choose(ctx, content)
    const unchanged = revalidates && status === 200 && isUnchanged(ctx, content)
    if (coding !== undefined) weaken(ctx)
    if (unchanged) {
      ctx.status = 304
      ctx.body = null
    } else if (compression === undefined || coding === undefined) unread.send(ctx, content)
    else return compression.send(ctx, content, coding)
  }
}
