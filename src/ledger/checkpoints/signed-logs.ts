/** The logs as they are read and signed: the tree and the checkpoints of each, by its number. @module */
import { fail } from '../../errors.ts'
import type { Head, Log } from '../tree/log.ts'
import type { Heads, LoggedHead } from './heads.ts'
import type { WitnessedCheckpoints } from './witnessing.ts'

/** How often all is signed while more comes. */
const MAX_ROUNDS = 4

export interface SignedLog {
  readonly number: number
  /** First line of its checkpoints. */
  readonly origin: string
  readonly tree: Log
  readonly checkpoints: WitnessedCheckpoints
}

/** That a head stands in log 0. */
export interface HeadInclusion {
  /** Canonical JSON of the entry, byte for byte what was hashed. */
  readonly entry: string
  /** Of the entry in log 0. */
  readonly index: number
  /** Entries of log 0 that `checkpoint` is over. */
  readonly treeSize: number
  /** Audit path, lower-case hex. */
  readonly hashes: readonly string[]
  /** Of log 0, with cosignatures where there is a policy. */
  readonly checkpoint: string
}

/** A checkpoint with what it takes to find its tree in log 0. */
export interface Covering extends Head {
  readonly note: string
  /** Absent for log 0, and for an empty log. */
  readonly head?: HeadInclusion
}

export interface SignedLogs {
  /** @throws AppError not_found for a log that there is not */
  at(log: number): SignedLog
  /** A checkpoint that covers all that is committed now, for whoever checks it offline. @throws AppError not_found, log_inconsistent */
  covering(log: number): Promise<Covering>
  /**
   * The newest head of a log other than 0, or the first one that covers an entry, as it stands in log 0.
   * @throws AppError not_found where there is none; log_inconsistent
   */
  headOf(log: number, index: number | undefined): Promise<HeadInclusion>
  /**
   * Signs all that is committed, of each log, with the heads of the others in log 0: until nothing came meanwhile, or a few times.
   * @throws AppError log_inconsistent, or whatever the database answers
   */
  signAll(): Promise<void>
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

export const createSignedLogs = (
  count: () => number,
  open: (log: number) => SignedLog,
  heads: Pick<Heads, 'covering' | 'newest' | 'latest'>,
): SignedLogs => {
  const opened = new Map<number, SignedLog>()
  const at = (log: number): SignedLog => {
    if (!(log >= 0 && log < count())) return fail('not_found')
    const known = opened.get(log) ?? open(log)
    opened.set(log, known)
    return known
  }

  const inclusionOf = async (
    { entry, entryIndex: index }: LoggedHead,
    { size, note }: Head & { readonly note: string },
  ): Promise<HeadInclusion> => {
    const hashes = await at(0).tree.inclusion(index, size)
    return { entry, index, treeSize: size, hashes: hashes.map(hex), checkpoint: note }
  }

  return {
    at,

    async covering(log) {
      if (log === 0) return at(0).checkpoints.covering()
      at(log)
      const { checkpoint, head } = await heads.latest(log)
      if (head === undefined) return checkpoint
      return { ...checkpoint, head: await inclusionOf(head, await at(0).checkpoints.covering()) }
    },

    async headOf(log, index) {
      if (log === 0) return fail('not_found')
      at(log)
      const head =
        (await (index === undefined ? heads.newest(log) : heads.covering(log, index))) ?? fail('not_found')
      const { checkpoints } = at(0)
      const published = await checkpoints.published()
      // One that witnesses have cosigned where it covers the head already.
      return inclusionOf(head, published.size > head.entryIndex ? published : await checkpoints.latest())
    },

    async signAll() {
      let before: number | undefined
      for (let round = 0; round < MAX_ROUNDS; round++) {
        const others = Array.from({ length: count() - 1 }, (_, index) => heads.latest(index + 1))
        // One that is inconsistent keeps none of the others from being signed.
        await Promise.allSettled(others)
        const { size } = await at(0).checkpoints.latest()
        if (size === before) return
        before = size
      }
    },
  }
}
