/** Reading the body of an answer within its limit, packed (RFC 9110 §8.4) or not. @module */
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib'
import { EgressError } from './egress-error.ts'
import { createGathered } from './gathered.ts'

/** What requests offer, and what answers may use. */
export const ACCEPTED_ENCODINGS = 'gzip, deflate, br'

type Decode = (packed: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>

const inflateZlib: Decode = promisify(inflate)
const inflateBare: Decode = promisify(inflateRaw)
const gunzipped: Decode = promisify(gunzip)

/** The low half of a zlib stream's first byte (RFC 1950 §2.2); some servers send bare DEFLATE instead. */
const ZLIB_METHOD = 8

const DECODERS: Readonly<Record<string, Decode>> = {
  gzip: gunzipped,
  'x-gzip': gunzipped,
  br: promisify(brotliDecompress),
  deflate: (packed, options) =>
    ((packed[0] ?? 0) & 0x0f) === ZLIB_METHOD ? inflateZlib(packed, options) : inflateBare(packed, options),
}

const tooLarge = (maxBytes: number, status: number): EgressError =>
  new EgressError('too_large', `the answer has more than ${maxBytes} bytes`, { status })

/** @throws EgressError too_large, as soon as the limit is passed */
export const readWithin = async (
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
  status: number,
): Promise<Buffer> => {
  const gathered = createGathered(maxBytes)
  for await (const chunk of chunks) if (!gathered.add(chunk)) throw tooLarge(maxBytes, status)
  return gathered.whole()
}

/**
 * Unpacks a body. No more than `maxBytes` are ever produced, whatever the packed bytes promise.
 * @param encoding the Content-Encoding header; at most one coding
 * @throws EgressError too_large, undecodable
 */
export const unpack = async (
  packed: Buffer,
  encoding: string | undefined,
  maxBytes: number,
  status: number,
): Promise<Buffer> => {
  const coding = encoding?.trim().toLowerCase() || 'identity'
  if (coding === 'identity' || packed.length === 0) return packed
  const decode = Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined
  if (!decode) throw new EgressError('undecodable', 'the answer has an unknown Content-Encoding', { status })
  try {
    return await decode(packed, { maxOutputLength: maxBytes })
  } catch (error) {
    if (error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') {
      throw tooLarge(maxBytes, status)
    }
    throw new EgressError('undecodable', `the answer is not ${coding}`, { status, cause: error })
  }
}
