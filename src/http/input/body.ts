/**
 * Request bodies: what is accepted, and reading them within a bound.
 * @module
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { AppError } from '../../errors.ts'
import { createGathered } from '../../net/gathered.ts'
import type { BodyLimit } from '../route.ts'
import type { ArrivingBodies, ArrivingBody } from './arriving.ts'

const KIBIBYTE = 1024
/** Largest body by class, in bytes as sent. */
export const BODY_LIMIT_BYTES: Readonly<Record<BodyLimit, number>> = {
  default: 256 * KIBIBYTE,
  batch: 1024 * KIBIBYTE,
  chat: 64 * KIBIBYTE,
}

/**
 * The system resets a connection that is closed while something is unread, and the answer is lost to a client that is still sending.
 * So what is left of a body that is refused for its size is read and thrown away first, within these bounds.
 */
const DISCARD_BYTES = 16 * 1024 * KIBIBYTE
const DISCARD_MS = 1000

const JSON_TYPE = 'application/json'
const UTF8_PARAMETER = /^charset\s*=\s*(?:utf-8|"utf-8")$/

/** JSON without parameters, or with `charset=utf-8` (RFC 9110 §8.3.1); empty parameters are none (§5.6.6). */
const isJsonType = (header: string): boolean => {
  const [type, ...parameters] = header.split(';').map((part) => part.trim().toLowerCase())
  return type === JSON_TYPE && parameters.every((part) => part === '' || UTF8_PARAMETER.test(part))
}

/** @throws AppError unsupported_media_type for another type, another charset or a compressed body */
export const requireJson = (headers: IncomingHttpHeaders): void => {
  const type = headers['content-type']
  if (type !== JSON_TYPE && (type === undefined || !isJsonType(type))) {
    throw new AppError('unsupported_media_type')
  }
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new AppError('unsupported_media_type', { message: 'Compressed request bodies are not accepted.' })
  }
}

/** Whether a request says that it carries a body (RFC 9112 §6.3). */
export const hasBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined ||
  (headers['content-length'] !== undefined && headers['content-length'] !== '0')

/** Counts a body with those of its owner: {@link ArrivingBodies.count}. */
type Count = (refuse: Parameters<ArrivingBodies['count']>[1]) => ArrivingBody

const tooLarge = (limitBytes: number): AppError =>
  new AppError('payload_too_large', { message: `The request body can have at most ${limitBytes} bytes.` })

/** Reads on into nothing until the end, DISCARD_BYTES or DISCARD_MS. */
const discard = (request: IncomingMessage): Promise<void> =>
  new Promise((resolve) => {
    // The end may have come with what crossed the limit, before anybody listened here.
    if (request.readableEnded || request.destroyed) return resolve()
    let bytes = 0
    const finish = () => {
      clearTimeout(timer)
      request.off('data', count).off('end', finish).off('close', finish)
      request.pause()
      resolve()
    }
    const count = (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > DISCARD_BYTES) finish()
    }
    const timer = setTimeout(finish, DISCARD_MS)
    request.on('data', count).on('end', finish).on('close', finish)
    request.resume()
  })

/** @param announcedBytes undefined where its length is not known */
const collect = (
  request: IncomingMessage,
  limitBytes: number,
  announcedBytes: number | undefined,
  count: Count,
): Promise<Buffer | undefined> =>
  new Promise((resolve, reject) => {
    const gathered = createGathered(limitBytes)
    let missing = announcedBytes ?? Number.POSITIVE_INFINITY
    let arriving: ArrivingBody | undefined
    const stop = () => {
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose)
      arriving?.end()
    }
    const onRefused = (error: AppError) => {
      stop()
      // What still comes of it is read into nothing.
      reject(error)
    }
    const onData = (chunk: Buffer) => {
      if (!gathered.add(chunk)) {
        stop()
        resolve(undefined)
        return
      }
      missing -= chunk.length
      // Most come in one piece, and never wait for another.
      if (missing <= 0) return
      arriving ??= count(onRefused)
      arriving.add(chunk.length)
    }
    const onEnd = () => {
      stop()
      resolve(gathered.whole())
    }
    const onClose = () => {
      stop()
      reject(new AppError('invalid_request', { message: 'The request body is incomplete.' }))
    }
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose)
    // It closed while the credential was looked up, and says nothing any more.
    if (request.destroyed) onClose()
  })

/**
 * Reads a body whole. One that announces or turns out to be larger than `limitBytes` is refused without being kept.
 * @param count is called where it comes in pieces
 * @throws AppError payload_too_large, invalid_request when the client goes away in the middle, rate_limited and unavailable where too
 *   much arrives
 */
export const readBody = async (
  request: IncomingMessage,
  limitBytes: number,
  count: Count,
): Promise<Buffer> => {
  const length = request.headers['content-length']
  const announced = length === undefined ? undefined : Number(length)
  const body =
    (announced ?? 0) > limitBytes ? undefined : await collect(request, limitBytes, announced, count)
  if (body !== undefined) return body
  await discard(request)
  throw tooLarge(limitBytes)
}
