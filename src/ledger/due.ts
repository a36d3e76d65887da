/**
 * Changes that nobody asks for: rows say what is due, and each gets a commit of its own, which takes it from what is due. Every server
 * looks, and the first to come commits: whatever becomes of one, nothing is lost, and nothing is done twice.
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { StoreLogger } from '../store/database.ts'

/** After a look that failed; and what failed by itself is passed over for so long. */
const BACK_OFF_MS = 10_000

export interface Due<R extends { readonly id: string }> {
  /** What is due now, a bounded number of rows, without those of some ids. */
  find(except: readonly string[]): Promise<readonly R[]>
  /** Commits it, unless another server was first. */
  commit(row: R): Promise<unknown>
}

interface Look {
  readonly except?: readonly string[]
  /** Whether nothing further is to be begun. */
  readonly isOver?: () => boolean
}

/**
 * Commits what is due, one after the other. What can't be committed keeps nothing else waiting.
 * @returns why that failed which did, by id
 * @throws what `find` throws
 */
export const commitDue = async <R extends { readonly id: string }>(
  { find, commit }: Due<R>,
  { except = [], isOver = () => false }: Look = {},
): Promise<ReadonlyMap<string, unknown>> => {
  const failures = new Map<string, unknown>()
  for (const row of await find(except)) {
    if (isOver()) break
    await commit(row).catch((error: unknown) => failures.set(row.id, error))
  }
  return failures
}

interface Watching {
  /** How long after a look the next one comes. */
  readonly lookMs: number
  readonly logger: Pick<StoreLogger, 'warn'>
  /** What the log says of failures. */
  readonly failed: string
}

/** Looks what is due again and again, and commits it. */
export const watchDue = <R extends { readonly id: string }>(
  due: Due<R>,
  { lookMs, logger, failed }: Watching,
) => {
  /** Ids of what failed lately, and until when it is passed over, by `performance.now()`. */
  const passedOver = new Map<string, number>()
  let isClosed = false
  let isWoken = false
  let nap = new AbortController()

  const look = async (): Promise<void> => {
    const now = performance.now()
    for (const [id, until] of passedOver) if (until <= now) passedOver.delete(id)
    const except = [...passedOver.keys()]
    const failures = await commitDue(due, { except, isOver: () => isClosed })
    for (const id of failures.keys()) passedOver.set(id, performance.now() + BACK_OFF_MS)
    const [error] = failures.values()
    if (failures.size > 0) logger.warn({ err: error, count: failures.size }, failed)
  }

  const sleep = async (ms: number): Promise<void> => {
    if (isClosed) return
    nap = new AbortController()
    await pause(ms, undefined, { signal: nap.signal, ref: false }).catch(() => undefined)
  }

  const run = async (): Promise<void> => {
    while (!isClosed) {
      isWoken = false
      try {
        await look()
        if (!isWoken) await sleep(lookMs)
      } catch (error) {
        logger.warn({ err: error }, failed)
        await sleep(BACK_OFF_MS)
      }
    }
  }
  const running = run()

  return {
    /** Has it look at once. */
    wake(): void {
      isWoken = true
      nap.abort()
    },
    /** Ends after the commit that is being made. */
    async close(): Promise<void> {
      isClosed = true
      nap.abort()
      await running
    },
  }
}
