/**
 * Answers that their clients have not read yet. A large one is handed over in pieces, as its client takes them. Bytes
 * that a handler gives are sent as they lie in memory; texts are one answer's own, and what waits of them is bounded.
 * @module
 */
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { HttpContext } from '../context.ts'

/** A client that takes 1 KiB a second is seen to take a piece well within the 30 s after which it would be cut off. */
export const PIECE_BYTES = 16 * 1024
/** Texts that wait in all. Beyond it, whichever client has taken nothing for the longest time is cut off. */
export const UNREAD_MAX_BYTES = 64 * 1024 * 1024

/** Pieces that are handed over before the loop looks after others again. */
const PIECES_PER_TURN = 32

type GiveLater = (give: () => void) => void

/** Spreads what hundreds of clients take at once over turns of the loop, first come first served. */
const createPacing = (): GiveLater => {
  let due: (() => void)[] = []
  const turn = (): void => {
    const now = due.slice(0, PIECES_PER_TURN)
    due = due.slice(PIECES_PER_TURN)
    if (due.length > 0) setImmediate(turn)
    for (const give of now) give()
  }
  return (give) => {
    if (due.push(give) === 1) setImmediate(turn)
  }
}

/** Content, no faster than it is read. */
class Pieces extends Readable {
  /** When the last piece was taken, in ms of performance.now(). */
  takenAt = performance.now()
  readonly #content: Buffer
  readonly #giveLater: GiveLater
  #taken = 0

  constructor(content: Buffer, giveLater: GiveLater) {
    super({ highWaterMark: PIECE_BYTES })
    this.#content = content
    this.#giveLater = giveLater
  }

  override _read(): void {
    this.takenAt = performance.now()
    this.#giveLater(() => {
      if (this.destroyed) return
      const piece = this.#content.subarray(this.#taken, this.#taken + PIECE_BYTES)
      this.#taken += piece.length
      this.push(piece.length === 0 ? null : piece)
    })
  }
}

interface Waiting {
  readonly response: ServerResponse
  readonly pieces: Pieces
  readonly bytes: number
}

export interface UnreadAnswers {
  /** Bytes of texts that wait. */
  readonly bytes: number
  /**
   * Answers with `content`, whose headers are set. Bytes must not change any more.
   * @param isOwn whether the memory is held for this answer; default: that of texts
   */
  send(ctx: HttpContext, content: string | Uint8Array, isOwn?: boolean): void
}

/** The same memory, also where threads share it. */
const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

/** @param maxBytes of texts that may wait in all; a single one may be larger */
export const createUnreadAnswers = (maxBytes = UNREAD_MAX_BYTES): UnreadAnswers => {
  const giveLater = createPacing()
  const waiting = new Set<Waiting>()
  let total = 0

  const release = (answer: Waiting): void => {
    if (waiting.delete(answer)) total -= answer.bytes
  }

  const cutOffSlowest = (except: Waiting): void => {
    let slowest: Waiting | undefined
    for (const answer of waiting) {
      if (answer === except) continue
      if (slowest === undefined || answer.pieces.takenAt < slowest.pieces.takenAt) slowest = answer
    }
    if (slowest === undefined) return
    release(slowest)
    // With what the kernel still keeps for it.
    slowest.response.socket?.resetAndDestroy()
  }

  const hold = (answer: Waiting): void => {
    waiting.add(answer)
    total += answer.bytes
    // Once all of it is handed over to the kernel, or the client has gone.
    answer.response.once('close', () => release(answer))
    while (total > maxBytes && waiting.size > 1) cutOffSlowest(answer)
  }

  return {
    get bytes() {
      return total
    },
    send(ctx, content, isOwn = typeof content === 'string') {
      if (content.length <= PIECE_BYTES) {
        ctx.body = typeof content === 'string' ? content : viewOf(content)
        return
      }
      const bytes = typeof content === 'string' ? Buffer.from(content) : viewOf(content)
      const pieces = new Pieces(bytes, giveLater)
      ctx.body = pieces
      ctx.length = bytes.length
      // A client that has gone will not say so again.
      if (isOwn && ctx.writable) hold({ response: ctx.res, pieces, bytes: bytes.length })
    },
  }
}
