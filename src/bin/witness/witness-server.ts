/** The HTTP side of a witness: two paths of C2SP tlog-witness below a prefix. @module */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createGathered } from '../../net/gathered.ts'
import type { Answer, Witness } from './witness.ts'

/** A checkpoint with cosignatures of a dozen witnesses, and the longest proof. */
const MAX_BODY_BYTES = 64 * 1024
const TEXT = 'text/plain; charset=utf-8'
const ADD_CHECKPOINT = '/add-checkpoint'
const CHECKPOINT = /^\/([0-9a-f]{64})\/checkpoint$/

const plain = (status: number, why: string): Answer => ({ status, type: TEXT, body: `${why}\n` })
const TOO_LARGE = plain(413, `The body has more than ${MAX_BODY_BYTES} bytes.`)

/** @returns undefined for a body that is too large, of which no more is kept than the limit */
const readBody = async (request: IncomingMessage): Promise<Buffer | undefined> => {
  const gathered = createGathered(MAX_BODY_BYTES)
  // Leaving the loop must not destroy the connection that the refusal goes over.
  const chunks: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false })
  for await (const chunk of chunks) if (!gathered.add(chunk)) return undefined
  return gathered.whole()
}

/** @returns undefined for what is no UTF-8 */
const textOf = (bytes: Buffer): string | undefined => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

const answerTo = async (request: IncomingMessage, path: string, witness: Witness): Promise<Answer> => {
  const { method } = request
  if (path === ADD_CHECKPOINT) {
    if (method !== 'POST') return plain(405, 'Use POST.')
    const bytes = await readBody(request)
    if (bytes === undefined) return TOO_LARGE
    const body = textOf(bytes)
    return body === undefined ? plain(400, 'The body is not UTF-8.') : witness.addCheckpoint(body)
  }
  const originHash = CHECKPOINT.exec(path)?.[1]
  if (originHash === undefined) return plain(404, 'There is no such path.')
  return method === 'GET' || method === 'HEAD' ? witness.checkpoint(originHash) : plain(405, 'Use GET.')
}

const send = (
  response: ServerResponse,
  { status, type, body, retryAfter }: Answer,
  isLast: boolean,
): void => {
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    ...(retryAfter !== undefined && { 'Retry-After': retryAfter }),
    // The rest of a body that is too large is not read.
    ...(isLast && { Connection: 'close' }),
  })
  response.end(response.req.method === 'HEAD' ? undefined : body)
}

/**
 * @param prefix path below which the witness answers, without a slash at the end; empty for none
 * @param onFault what kept a request from being answered: the disk, most likely. It was not cosigned
 */
export const witnessListener =
  (witness: Witness, prefix: string, onFault: (error: unknown) => void): RequestListener =>
  (request, response) => {
    const path = (request.url ?? '').split('?', 1)[0] ?? ''
    const below = path.startsWith(prefix) ? path.slice(prefix.length) : ''
    answerTo(request, below, witness)
      .catch((error: unknown): Answer => {
        if (!request.errored) onFault(error)
        return plain(500, 'The witness could not do that.')
      })
      .then((answer) => send(response, answer, answer === TOO_LARGE))
  }
