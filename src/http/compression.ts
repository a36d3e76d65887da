/**
 * Content codings of answers (RFC 9110 §8.4). Compressed is only what is everybody's, texts of public GET routes: an answer
 * that held a secret beside what a stranger chose would betray it by its length (BREACH). A content is compressed as a whole
 * on a thread of Node's pool, and remembered: nothing is kept for as long as a client reads, and lengths are known.
 * @module
 */
import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import Negotiator from 'negotiator'
import pLimit from 'p-limit'
import { ACCEPT_MAX_CHARACTERS } from './accept.ts'
import type { UnreadAnswers } from './connections/unread.ts'
import type { HttpContext } from './context.ts'
import type { Route } from './route.ts'

/** Below it a coding saves no packet. */
export const COMPRESSION_MIN_BYTES = 1024
/** Beyond it hashing and copying would hold up the loop for milliseconds. */
export const COMPRESSION_MAX_BYTES = 4 * 1024 * 1024
/** Half of the threads that there are: files need them as well. */
const MAX_AT_ONCE = 2
/** Beyond it answers go as they are. */
const MAX_WAITING = 32
const MAX_REMEMBERED_BYTES = 16 * 1024 * 1024
/** Of each, beside its content: key, array and places in lists. */
const ENTRY_BYTES = 512
/** A third of the time of the default, which is the most, and within a tenth of its size. */
const BROTLI_QUALITY = 5
const TEXTS = /^(?:text\/|application\/json|image\/svg\+xml)/

const CODERS = {
  br: (content: string | Uint8Array) =>
    promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
  gzip: promisify<string | Uint8Array, Buffer>(gzip),
}
/** What zlib gives is part of a block of up to 16 KiB, which a short content would keep as a whole. */
const encode = async (coding: Coding, content: string | Uint8Array): Promise<Uint8Array> =>
  new Uint8Array(await CODERS[coding](content))
type Coding = keyof typeof CODERS
const CODINGS = Object.keys(CODERS) as Coding[]

export interface Compression {
  /**
   * Says in Vary that the answer depends on Accept-Encoding, where it does.
   * @param content of the answer, whose headers are set
   * @returns the first of our codings that the client takes; undefined: the content goes as it is
   */
  choose(ctx: HttpContext, content: string | Uint8Array): Coding | undefined
  /** Answers with the content in this coding. */
  send(ctx: HttpContext, content: string | Uint8Array, coding: Coding): Promise<void>
}

/** Whether answers of the route may be compressed. */
export const mayCompress = ({ auth, method }: Pick<Route, 'auth' | 'method'>): boolean =>
  auth === 'none' && method === 'GET'

export const createCompression = (unread: Pick<UnreadAnswers, 'send'>): Compression => {
  const limited = pLimit(MAX_AT_ONCE)
  const remembered = new LRUCache<string, Uint8Array, { coding: Coding; content: string | Uint8Array }>({
    maxSize: MAX_REMEMBERED_BYTES,
    sizeCalculation: ({ length }) => length + ENTRY_BYTES,
    // Who waits for a content is answered, also where others have taken its place.
    ignoreFetchAbort: true,
    fetchMethod: (_key, _stale, { context: { coding, content } }) => limited(() => encode(coding, content)),
  })
  return {
    choose(ctx, content) {
      if (content.length < COMPRESSION_MIN_BYTES || content.length > COMPRESSION_MAX_BYTES) return undefined
      if (!TEXTS.test(String(ctx.res.getHeader('Content-Type')))) return undefined
      ctx.vary('Accept-Encoding')
      const { headers } = ctx.req
      const { 'accept-encoding': asked = '' } = headers
      if (asked === '' || asked.length > ACCEPT_MAX_CHARACTERS || limited.pendingCount >= MAX_WAITING)
        return undefined
      const accepted = new Negotiator({ headers }).encodings(CODINGS)
      return CODINGS.find((coding) => accepted.includes(coding))
    },
    async send(ctx, content, coding) {
      const key = `${coding} ${hash('sha256', content, 'base64url')}`
      const coded = await remembered.forceFetch(key, { context: { coding, content } })
      ctx.set('Content-Encoding', coding)
      unread.send(ctx, coded, true)
    },
  }
}
