/**
 * Threads that help another one with a proof while they have nothing else to do: what the one that makes it sends, and
 * how it hears of their sums. Node only.
 * @module
 */
import { MessageChannel, type MessagePort, parentPort } from 'node:worker_threads'
import type { CircuitId } from '../catalogue.ts'
import type { Helpers } from '../proving/proving-core.ts'
import type { SharedTables } from '../proving/tables.ts'
import type { TakenSums } from '../proving/taken-sums.ts'

/** One thread's question for the help of another one, with a copy of the scalars that nobody else has. */
export interface HelpAsked {
  readonly circuitId: CircuitId
  readonly tables: SharedTables
  /** Secret: whoever holds them overwrites them. */
  readonly scalars: Uint8Array<ArrayBuffer>
  readonly taken: TakenSums
  /** Takes the sums. When it closes, no more will come. */
  readonly port: MessagePort
}

/** A sum that was made, as a projective point. */
interface MadeSum {
  readonly number: number
  readonly point: Uint8Array<ArrayBuffer>
}

/** Sends sums to the thread that asked for them. */
export const sendSum =
  (port: MessagePort) =>
  (number: number, point: Uint8Array<ArrayBuffer>): void => {
    port.postMessage({ number, point } satisfies MadeSum, [point.buffer])
  }

/** Asks so many other threads for help with one proof. Close it when the proof is made. */
export const askHelpers = (
  count: number,
  circuitId: CircuitId,
  tables: SharedTables,
): Helpers & { close(): void } => {
  const sums = new Map<number, Uint8Array>()
  const ports = new Set<MessagePort>()
  let hear = (): void => undefined
  return {
    ask(copyScalars, taken) {
      for (let i = 0; i < count; i++) {
        const { port1, port2 } = new MessageChannel()
        ports.add(port1)
        port1.on('message', ({ number, point }: MadeSum) => {
          sums.set(number, point)
          hear()
        })
        // Also when the thread at the other end dies, or nobody takes the question.
        port1.on('close', () => {
          ports.delete(port1)
          hear()
        })
        const asked: HelpAsked = { circuitId, tables, scalars: copyScalars(), taken, port: port2 }
        parentPort?.postMessage(asked, [asked.scalars.buffer, port2])
      }
    },
    async sum(number) {
      while (!sums.has(number) && ports.size > 0)
        await new Promise<void>((resolve) => {
          hear = resolve
        })
      return sums.get(number)
    },
    close() {
      for (const port of ports) port.close()
      // Of a proof that was given up nobody has taken them.
      for (const point of sums.values()) point.fill(0)
    },
  }
}
