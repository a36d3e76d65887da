/**
 * Group commit of journal records: while one durable write runs, the records of later payments gather and then share
 * the next one.
 * @module
 */
import { firstFrame, nullifiersFrame, recordsFrame } from './frame.ts'
import type { Contents, JournalRecord } from './records.ts'
import { type OpenStorage, storageFailed } from './storage.ts'

/** What a platform supplies. Both calls resolve once the bytes are durable; neither runs beside another. */
export interface Medium {
  /** Adds one frame behind the others, wholly or not at all. */
  write(frame: Uint8Array): Promise<void>
  /** Replaces all frames, atomically. */
  replace(frames: readonly Uint8Array[]): Promise<void>
  close(): Promise<void>
}

interface Append {
  readonly records: readonly JournalRecord[]
  readonly apply: () => void
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

interface Rewrite {
  readonly capture: () => Contents
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** The frames of a fresh journal. The snapshot, where there is one, is always the second. */
export const framesOf = ({ nullifiers, records }: Contents): Uint8Array[] => {
  const own = records.filter(({ kind }) => kind === 'terminal')
  const others = records.filter(({ kind }) => kind !== 'terminal')
  const behind = nullifiers ? [nullifiersFrame(1, nullifiers)] : []
  if (others.length > 0) behind.push(recordsFrame(1 + behind.length, others))
  return [firstFrame(own, 1 + behind.length), ...behind]
}

/** @param nextSequence number of frames that the medium holds */
export const createDurableLog = (medium: Medium, contents: Contents, nextSequence: number): OpenStorage => {
  let sequence = nextSequence
  let appends: Append[] = []
  const rewrites: Rewrite[] = []
  let running: Promise<void> | undefined
  /** Why nothing more is written: memory lacks what is recorded, so that only a restart has all of it. */
  let broken: unknown

  const writeAppends = async (): Promise<void> => {
    const batch = appends
    appends = []
    try {
      if (broken) throw broken
      await medium.write(
        recordsFrame(
          sequence,
          batch.flatMap(({ records }) => records),
        ),
      )
      sequence++
    } catch (error) {
      for (const { reject } of batch) reject(storageFailed(error))
      return
    }
    for (const { apply, resolve } of batch) {
      try {
        apply()
      } catch (error) {
        broken = error
      }
      // It is recorded, whatever became of memory.
      resolve()
    }
  }

  const runRewrite = async ({ capture, resolve, reject }: Rewrite): Promise<void> => {
    try {
      if (broken) throw broken
      const frames = framesOf(capture())
      await medium.replace(frames)
      sequence = frames.length
      resolve()
    } catch (error) {
      reject(storageFailed(error))
    }
  }

  const run = async (): Promise<void> => {
    while (appends.length > 0 || rewrites.length > 0) {
      if (appends.length > 0) await writeAppends()
      const rewrite = rewrites.shift()
      if (rewrite) await runRewrite(rewrite)
    }
    running = undefined
  }

  return {
    contents,
    append: (records, apply) =>
      new Promise<void>((resolve, reject) => {
        appends.push({ records, apply, resolve, reject })
        running ??= run()
      }),
    rewrite: (capture) =>
      new Promise<void>((resolve, reject) => {
        rewrites.push({ capture, resolve, reject })
        running ??= run()
      }),
    close: async () => {
      await running
      await medium.close()
    },
  }
}
