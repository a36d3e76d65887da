/** Asks a witness to cosign a checkpoint: the client of `add-checkpoint` (C2SP tlog-witness). @module */
import { isNoteSigned } from '../../keys/note-signatures.ts'
import { readSize, SIZE_TYPE, writeAddCheckpoint } from '../../protocol/checkpoint/add-checkpoint.ts'
import {
  type NoteSignature,
  readNote,
  signaturesBy,
  timestampedSignature,
  type VerifierKey,
} from '../../protocol/checkpoint/note.ts'
import { signatureLine } from '../../protocol/checkpoint/signed-note.ts'
import type { WitnessPolicy } from '../../protocol/checkpoint/witness-policy.ts'
import type { Log } from '../tree/log.ts'
import type { Checkpoint } from './checkpoint.ts'

/** The first answer may name the size to begin with, and another client may be faster once, or have shown it what is newer. */
const MAX_ATTEMPTS = 3
/** How far ahead the clock of a witness may be. */
const MAX_AHEAD_SECONDS = 300

/** Whom one URL of a policy belongs to. */
export interface WitnessSite {
  /** Its first name in the policy. */
  readonly name: string
  readonly url: string
  readonly keys: readonly VerifierKey[]
}

/** The witnesses of a policy that can be asked; several keys of one URL are asked for at once. */
export const sitesOf = ({ witnesses }: WitnessPolicy): readonly WitnessSite[] => {
  const sites = new Map<string, WitnessSite>()
  for (const { name, url, keys } of witnesses)
    if (url !== undefined) {
      const site = sites.get(url) ?? { name, url, keys: [] }
      sites.set(url, { ...site, keys: [...site.keys, ...keys] })
    }
  return [...sites.values()]
}

/**
 * Sends a body to a witness.
 * @throws Error where there is no answer
 */
export type PostToWitness = (
  url: string,
  body: string,
  signal: AbortSignal,
) => Promise<{ readonly status: number; readonly type: string; readonly body: string }>

/**
 * - `cosigned`: with the lines of keys that the policy names, and what they cosigned
 * - `unreachable`: it gave no answer
 * - `failed`: it answered something that is no cosignature of a key that the policy names
 * - `ahead`: it has cosigned a larger tree than this log has
 * - `refused`: it says that the tree does not go on from the one that it cosigned last, or has another root at the same size
 */
export type Asked =
  | { readonly outcome: 'cosigned'; readonly checkpoint: Checkpoint; readonly lines: string }
  | { readonly outcome: 'unreachable' | 'failed' | 'ahead' | 'refused'; readonly detail: string }

interface Request {
  readonly site: WitnessSite
  /** As the log signed it. */
  readonly checkpoint: Checkpoint
  /** The log as it is now, which may have grown since, and been shown to the witness by somebody else. */
  readonly latest: () => Promise<Checkpoint>
  /** That the witness has confirmed, as far as it is known. */
  readonly oldSize: number
  readonly log: Pick<Log, 'consistency'>
  readonly post: PostToWitness
  /** Unix ms. */
  readonly now: number
  readonly signal: AbortSignal
}

/** Lines of an answer that hold, one for each key. */
const heldLines = ({ site, now }: Request, checkpoint: Checkpoint, body: string): string => {
  const note = readNote(checkpoint.note + body)
  if (note === undefined) return ''
  const isTimely = ({ time }: NoteSignature): boolean =>
    time !== undefined && time > 0 && time <= now / 1000 + MAX_AHEAD_SECONDS
  return site.keys
    .filter(({ name }) => name !== note.origin)
    .flatMap((key) => {
      const held = signaturesBy(note, key).find((one) => isTimely(one) && isNoteSigned(one))
      return held ? [signatureLine(key, timestampedSignature(held.time ?? 0, held.signature))] : []
    })
    .join('')
}

/** Asks until the witness has cosigned or says why not. Never throws for what the witness does. @throws what `latest` throws */
export const askWitness = async (request: Request): Promise<Asked> => {
  const { site, latest, log, post, signal } = request
  let { checkpoint, oldSize } = request
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const { size, note } = checkpoint
    const proof = oldSize === size ? [] : await log.consistency(oldSize, size)
    let answer: Awaited<ReturnType<PostToWitness>>
    try {
      answer = await post(`${site.url}/add-checkpoint`, writeAddCheckpoint({ oldSize, proof, note }), signal)
    } catch (error) {
      return { outcome: 'unreachable', detail: error instanceof Error ? error.message : String(error) }
    }
    const { status, type, body } = answer
    if (status === 200) {
      const lines = heldLines(request, checkpoint, body)
      return lines === ''
        ? { outcome: 'failed', detail: 'No line of its answer is a cosignature of a key of the policy.' }
        : { outcome: 'cosigned', checkpoint, lines }
    }
    if (status === 422) return { outcome: 'refused', detail: 'The tree does not go on from what it saw.' }
    const named = status === 409 && type.startsWith(SIZE_TYPE) ? readSize(body) : undefined
    // Of the size that it was asked to begin at, only the root can be another one.
    if (status === 409 && oldSize === size && (named ?? size) === size)
      return { outcome: 'refused', detail: `It has seen another tree of ${size} entries.` }
    if (named === undefined) return { outcome: 'failed', detail: `It answered ${status}.` }
    if (named > size) checkpoint = await latest()
    if (named > checkpoint.size) return { outcome: 'ahead', detail: `It has cosigned ${named} entries.` }
    oldSize = named
  }
  return { outcome: 'failed', detail: 'Others asked it at the same time.' }
}
