/**
 * Gives out statuses: each once, whichever process asks, at indexes that tell nothing of the order in which they were given.
 * A sequence of the database counts; list n holds the n-th 2^17 of them, in an order that only this service knows.
 * @module
 */
import type { Sealing } from '../../keys/sealing.ts'
import { STATUS_LIST_ENTRIES, statusNumber } from '../../protocol/status.ts'
import type { Database } from '../../store/database.ts'
import { lastBlock, takeBlock } from './store.ts'

/** So many are taken of the sequence at once; what is left of them when a process ends stays free. */
const BLOCK = 64
const MAC_PURPOSE = 'status-index'
/** As many as FF1 has (NIST SP 800-38G §5.1), whose network this is, over 8 and 9 bits and with HMAC-SHA-256. */
const ROUNDS = 10
const [LEFT_BITS, RIGHT_BITS] = [8, 9] as const

/** A permutation of 0 … 2^17 − 1 of each list's own. @param count the entry's place in the order of its list */
export const shuffledIndex = (sealing: Pick<Sealing, 'mac'>, list: number, count: number): number => {
  let [left, right] = [count >> RIGHT_BITS, count & ((1 << RIGHT_BITS) - 1)]
  for (let round = 0; round < ROUNDS; round++) {
    const bits = round % 2 === 0 ? LEFT_BITS : RIGHT_BITS
    const mac = sealing.mac(MAC_PURPOSE, Buffer.from(JSON.stringify([list, round, right])))
    const mixed = left ^ (((mac[0] ?? 0) << 8) | (mac[1] ?? 0))
    ;[left, right] = [right, mixed & ((1 << bits) - 1)]
  }
  return (left << RIGHT_BITS) | right
}

const listOf = (count: number): number => Math.floor(count / STATUS_LIST_ENTRIES)

export const createStatusNumbers = (database: Database, sealing: Pick<Sealing, 'mac'>) => {
  let [next, end] = [0, 0]
  let taking: Promise<void> | undefined

  const take = async (): Promise<void> => {
    const block = await takeBlock(database)
    ;[next, end] = [block * BLOCK, (block + 1) * BLOCK]
  }

  return {
    /** A status that nobody has. */
    async reserve(): Promise<number> {
      while (next === end) {
        taking ??= take().finally(() => {
          taking = undefined
        })
        await taking
      }
      const count = next++
      const list = listOf(count)
      return statusNumber({ list, index: shuffledIndex(sealing, list, count % STATUS_LIST_ENTRIES) })
    },

    /** The list of which statuses are given out now; it and all before it are there. */
    newestList: async (): Promise<number> => listOf(((await lastBlock(database)) + 1) * BLOCK - 1),
  }
}
