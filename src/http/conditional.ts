/** Conditional requests (RFC 9110 §13): a client that holds the current answer is not sent it again. @module */
import { hash } from 'node:crypto'
import type { HttpContext } from './context.ts'

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
export const isUnchanged = (ctx: HttpContext, content: string | Uint8Array): boolean => {
  if (!ctx.res.hasHeader('ETag')) ctx.set('ETag', `"${hash('sha256', content, 'base64url')}"`)
  const condition = ctx.req.headers['if-none-match']?.trim()
  if (condition === undefined || condition === '*') return condition !== undefined
  const [own = ''] = opaqueTags(String(ctx.res.getHeader('ETag')))
  return opaqueTags(condition).includes(own)
}
