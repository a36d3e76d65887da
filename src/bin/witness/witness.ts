/**
 * A witness of transparency logs: it cosigns a checkpoint only if it goes on from all that it has seen of that log, and has put that on
 * its disk (C2SP tlog-witness 1.0).
 * @module
 */
import { isNoteSigned } from '../../keys/note-signatures.ts'
import { nodeHash, rootOf } from '../../ledger/tree/merkle.ts'
import { type AddCheckpoint, readAddCheckpoint, SIZE_TYPE } from '../../protocol/checkpoint/add-checkpoint.ts'
import { type ReadNote, signaturesBy, type VerifierKey } from '../../protocol/checkpoint/note.ts'
import { signatureLine } from '../../protocol/checkpoint/signed-note.ts'
import { verifyConsistency } from '../../protocol/merkle-proofs.ts'
import type { Contradiction, WitnessState } from './witness-state.ts'

const TEXT = 'text/plain; charset=utf-8'
const EMPTY_ROOT = rootOf([])
/** Signature lines that a checkpoint may have. */
const MAX_SIGNATURES = 64
/** Requests that may wait for the one before them. */
const MAX_WAITING = 64
const MINUTE_MS = 60_000
const BUSY_RETRY_SECONDS = 1

/** Keys that sign for a log, by its origin. */
export type FollowedLogs = ReadonlyMap<string, readonly VerifierKey[]>

export interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
  readonly retryAfter?: number
}

/** What became of a request, for whoever runs the witness. */
export interface Handled {
  readonly status: number
  readonly origin: string | undefined
  readonly oldSize: number | undefined
  readonly size: number | undefined
  /** Empty where it was cosigned, or told the size to begin at. */
  readonly why: string
}

interface Options {
  readonly state: WitnessState
  /** Asked with each request, since logs are added while it runs. */
  readonly logs: () => FollowedLogs
  /** Requests of one log in a minute: so many that let its tree grow, and so many others. */
  readonly perMinute: number
  /** Unix ms. */
  readonly now: () => number
  readonly onHandled?: (handled: Handled) => void
}

export interface Witness {
  /** `POST <prefix>/add-checkpoint` */
  addCheckpoint(body: string): Promise<Answer>
  /** `GET <prefix>/<origin hash>/checkpoint` */
  checkpoint(originHash: string): Promise<Answer>
}

const refusal = (status: number, why: string): Answer => ({ status, type: TEXT, body: `${why}\n` })

/**
 * The lines by which the log's keys signed a checkpoint, one of each key: as in Go's `note.Open`, the first counts, and what anybody may repeat
 * is neither looked at nor handed on.
 * @returns undefined where the first line of such a key does not hold: such a note is malformed
 */
const ownLines = (note: ReadNote, keys: readonly VerifierKey[]): readonly string[] | undefined => {
  const own: string[] = []
  for (const key of keys) {
    const first = note.signaturesOf(key).slice(0, 1)
    const signatures = signaturesBy({ ...note, signaturesOf: () => first }, key)
    if (signatures.length !== first.length || !signatures.every(isNoteSigned)) return undefined
    own.push(...first.map((signature) => signatureLine(key, signature)))
  }
  return own
}

/** Counts requests by name, within windows of a minute. */
const createCounter = (perMinute: number, now: () => number) => {
  const windows = new Map<string, { since: number; count: number }>()
  return (name: string): number | undefined => {
    const at = now()
    const window = windows.get(name)
    const isOpen = window !== undefined && at - window.since < MINUTE_MS && at >= window.since
    const current = isOpen ? window : { since: at, count: 0 }
    windows.set(name, current)
    current.count++
    return current.count > perMinute ? Math.ceil((current.since + MINUTE_MS - at) / 1000) : undefined
  }
}

/** Whether a checkpoint goes on from what was seen, whose size the request has named. */
const goesOn = (
  seen: { readonly size: number; readonly root: Uint8Array },
  { size, root }: ReadNote,
  proof: readonly Uint8Array[],
): boolean => verifyConsistency(seen, { size, root }, proof, nodeHash, EMPTY_ROOT)

/** How a checkpoint that was refused contradicts what was seen; undefined where only the proof before it is wrong. */
const contradictionOf = (
  seen: { readonly size: number; readonly root: Uint8Array },
  { size, root }: ReadNote,
): Contradiction | undefined => {
  if (size === seen.size) return Buffer.compare(root, seen.root) === 0 ? undefined : 'root'
  // Every tree goes on from that of nothing.
  return seen.size === 0 ? undefined : 'proof'
}

export const createWitness = ({ state, logs, perMinute, now, onHandled }: Options): Witness => {
  const overRate = createCounter(perMinute, now)
  let waiting = 0
  /** Ends when no request is being decided: one after the other, so that what was compared is what is set. */
  let tail: Promise<unknown> = Promise.resolve()
  const inTurn = async (decide: () => Promise<Answer>): Promise<Answer> => {
    if (waiting >= MAX_WAITING)
      return { ...refusal(503, 'Too many requests wait.'), retryAfter: BUSY_RETRY_SECONDS }
    waiting++
    const decided = tail.then(decide).finally(() => waiting--)
    tail = decided.catch(() => undefined)
    return decided
  }

  /** Compares, sets, and only then signs. */
  const decide = async (
    { oldSize, proof, checkpoint }: AddCheckpoint & { readonly checkpoint: ReadNote },
    body: string,
    own: readonly string[],
  ): Promise<Answer> => {
    const { origin, size, root, text } = checkpoint
    const seen = (await state.seen(origin)) ?? { size: 0, root: EMPTY_ROOT }
    const isGrowing = oldSize === seen.size && size > seen.size
    const retryAfter = overRate(`${isGrowing ? 'growing' : 'other'} ${origin}`)
    if (retryAfter !== undefined) return { ...refusal(429, 'This log asks too often.'), retryAfter }
    if (oldSize !== seen.size) return { status: 409, type: SIZE_TYPE, body: `${seen.size}\n` }
    if (!goesOn(seen, checkpoint, proof)) {
      const kind = contradictionOf(seen, checkpoint)
      if (kind !== undefined) await state.keepRefused(origin, kind, text, body)
      return kind === 'root'
        ? refusal(409, 'The tree of this size that was cosigned has another root.')
        : refusal(422, 'The checkpoint does not go on from the one that was cosigned last.')
    }
    await state.remember(origin, { size, root })
    const timestamp = Math.floor(now() / 1000)
    const cosignatures = state.cosigners.map((cosigner) => cosigner.cosign(checkpoint, timestamp)).join('')
    await state.publish(origin, `${text}\n${own.join('')}${cosignatures}`)
    return { status: 200, type: TEXT, body: cosignatures }
  }

  return {
    async addCheckpoint(body) {
      const read = readAddCheckpoint(body)
      const answered = (answer: Answer): Answer => {
        const { origin, size } = read?.checkpoint ?? {}
        onHandled?.({
          status: answer.status,
          origin,
          oldSize: read?.oldSize,
          size,
          why: answer.status === 200 || answer.type === SIZE_TYPE ? '' : answer.body.trim(),
        })
        return answer
      }
      if (read === undefined || read.checkpoint.signers.length > MAX_SIGNATURES)
        return answered(refusal(400, 'The body is not old size, proof and checkpoint.'))
      const { checkpoint, oldSize } = read
      const keys = logs().get(checkpoint.origin)
      if (keys === undefined) return answered(refusal(404, 'This witness does not follow that log.'))
      const own = ownLines(checkpoint, keys)
      if (own === undefined || own.length === 0)
        return answered(refusal(403, 'The log did not sign this checkpoint.'))
      if (oldSize > checkpoint.size)
        return answered(refusal(400, 'The old size is greater than that of the checkpoint.'))
      return answered(await inTurn(() => decide(read, body, own)))
    },

    async checkpoint(originHash) {
      const note = await state.published(originHash)
      return note === undefined
        ? refusal(404, 'Nothing was cosigned of that log.')
        : { status: 200, type: TEXT, body: note }
    },
  }
}
