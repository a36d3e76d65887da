/** Writes down how attempts ended, those of a moment in one query. @module */
import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '../../store/database.ts'
import { type Result, settleResults } from './store-deliveries.ts'

const MAX_BATCH_RESULTS = 512
/** How long results wait for others: a query for each would cost more than the deliveries. */
const GATHER_MS = 20
const BACK_OFF_MS = 500

interface Deps {
  readonly database: Database
  readonly logger: { warn(details: object, message: string): void }
  /** Called where an endpoint began to fail, or delivers again, and its owner is to be told. Must not throw. */
  turned(): void
}

export interface Results {
  /** Resolves once it is written. @returns whether it ended the delivery, which another server may have done before */
  settle(result: Result): Promise<boolean>
  /** Gives up what can't be written: its deliveries will be made again. */
  close(): void
}

interface Waiting {
  readonly result: Result
  resolve(ended: boolean): void
}

export const createResults = ({ database, logger, turned }: Deps): Results => {
  const waiting: Waiting[] = []
  let running = false
  let closed = false

  const write = async (batch: readonly Waiting[]): Promise<void> => {
    for (;;) {
      try {
        const { ended, hasUntold } = await settleResults(
          database,
          batch.map(({ result }) => result),
        )
        for (const { result, resolve } of batch) resolve(ended.has(result.id))
        if (hasUntold) turned()
        return
      } catch (error) {
        logger.warn({ err: error }, 'results of webhook deliveries are not written yet')
        if (closed) break
        await pause(BACK_OFF_MS, undefined, { ref: false })
      }
    }
    for (const { resolve } of batch) resolve(false)
  }

  const run = async (): Promise<void> => {
    running = true
    while (waiting.length > 0) {
      if (!closed && waiting.length < MAX_BATCH_RESULTS) await pause(GATHER_MS)
      await write(waiting.splice(0, MAX_BATCH_RESULTS))
    }
    running = false
  }

  return {
    settle: (result) =>
      new Promise((resolve) => {
        waiting.push({ result, resolve })
        if (!running) void run()
      }),
    close() {
      closed = true
    },
  }
}
