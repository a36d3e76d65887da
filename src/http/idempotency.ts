/**
 * The Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header): a claim that the ledger settles.
 * @module
 */
import { createHash } from 'node:crypto'
import type { Caller, Credential, Idempotency } from '../caller.ts'
import { AppError } from '../errors.ts'

const KEY_PATTERN = /^[\x21-\x7e]{1,255}$/

/** What the header's meaning rests on. */
export interface IdempotencyKit {
  /** A keyed hash: a plain one, kept beside the answer, would let whoever reads it try out what was sent. */
  readonly mac: (data: Uint8Array) => Uint8Array
  /** The answer stored for this request, if there is one. @throws AppError idempotency_key_reused */
  readonly findAnswer: (idempotency: Idempotency) => Promise<Stored | undefined>
}

/** An answer that an earlier request was given; an empty one is null. */
interface Stored {
  readonly answer: unknown
}

const whoseKey = (credential: Credential): string =>
  credential.kind === 'session' ? credential.accountId : credential.id

/** Header of an answer that was stored by an earlier request. */
export const REPLAYED_HEADER = 'Idempotency-Replayed'

/**
 * Binds the header's value to credential, method and path, so that no two of them share keys. Of somebody who is signed in
 * it is their account: whoever signs in again may repeat what they sent before.
 * @param header the header's value, undefined when it was not sent
 * @param request its query is without the question mark, empty for none
 * @param body the raw bytes as received
 * @throws AppError invalid_idempotency_key
 */
export const readIdempotency = (
  header: string | string[] | undefined,
  caller: Pick<Caller, 'organisation' | 'credential'>,
  request: { readonly method: string; readonly path: string; readonly query: string },
  body: Uint8Array,
  { mac }: Pick<IdempotencyKit, 'mac'>,
): Idempotency | undefined => {
  if (header === undefined) return undefined
  const value = String(header)
  if (!KEY_PATTERN.test(value)) throw new AppError('invalid_idempotency_key')
  const { organisation, credential } = caller
  const { method, path, query } = request
  const key = createHash('sha256')
    .update(JSON.stringify([whoseKey(credential), method, path, value]))
    .digest()
  const asked = query === '' ? [] : [createHash('sha256').update(query).digest()]
  // With the key before it, equal bodies of two requests can't be told to be equal either.
  const requestHash = Buffer.from(mac(Buffer.concat([key, ...asked, body]))).toString('hex')
  return { organisation, key: key.toString('hex'), requestHash, replayed: false }
}

/**
 * Requests that are worked on here, by their Idempotency-Key, from before anybody looks for a stored answer: what a request does
 * before it comes to the ledger, such as asking a provider who wants to be paid, is done once as well.
 */
export type Flights = ReturnType<typeof createFlights>

export const createFlights = () => {
  const running = new Set<string>()
  return {
    /**
     * @param find looks for a stored answer, which is given also while another request with the same key runs
     * @throws AppError idempotency_in_flight, or whatever `find` and `work` throw
     */
    async run<R>(
      { organisation, key }: Idempotency,
      find: () => Promise<Stored | undefined>,
      work: (stored: Stored | undefined) => Promise<R>,
    ): Promise<R> {
      const flight = `${organisation}/${key}`
      const isFirst = !running.has(flight)
      running.add(flight)
      try {
        const stored = await find()
        if (stored === undefined && !isFirst) throw new AppError('idempotency_in_flight')
        return await work(stored)
      } finally {
        if (isFirst) running.delete(flight)
      }
    },
  }
}
