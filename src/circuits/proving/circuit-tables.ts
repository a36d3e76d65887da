/**
 * The tables that all threads prove with: made once, in the background, a slice of one thread's time after the other, for
 * the circuits that were used last. Each thread takes a copy into its own memory, which alone holds secrets; what is
 * shared are multiples of public points. Node only.
 * @module
 */
import type { CircuitId } from '../catalogue.ts'
import type { TablesAsked, WorkerPool } from '../threads/worker-pool.ts'
import { QUICK_TABLE_BYTES } from './groth16.ts'
import type { SharedTables } from './tables.ts'

/** Most memory for the tables of all circuits, those of every thread counted. */
const TOTAL_BYTES = 64 * 2 ** 20
/** A circuit gets tables when it was used so often: making them costs as much as ten proofs to a hundred. */
const WORTH_USES = 8
/** Nor are the tables of a circuit given up for another one's before so many proofs were made without them. */
const UNUSED_PROOFS = 100

export interface CircuitTables {
  /** What the threads prove with at present. */
  current(): SharedTables
  /** Says that a proof of this circuit was made. */
  used(circuitId: CircuitId): void
  /** Finishes the slice that is being made, and makes no other. */
  close(): Promise<void>
}

export interface CircuitTablesOptions {
  /** Makes the tables when it is their turn, one slice at a time. */
  readonly pool: WorkerPool
  /** Most memory for the tables of one circuit in one thread. */
  readonly bytesEach: number
  readonly totalBytes?: number
  /** Hears of tables that could not be made. */
  readonly onFailure?: (error: unknown) => void
}

/** How often circuits were used, and when last, in proofs. */
const createUses = () => {
  const uses = new Map<CircuitId, { count: number; last: number }>()
  let proofs = 0
  const lastOf = (id: CircuitId): number => uses.get(id)?.last ?? 0
  return {
    add(id: CircuitId): void {
      proofs += 1
      uses.set(id, { count: (uses.get(id)?.count ?? 0) + 1, last: proofs })
    },
    isWorth: (id: CircuitId): boolean => (uses.get(id)?.count ?? 0) >= WORTH_USES,
    /** Not worth it before so many more proofs. */
    postpone(id: CircuitId): void {
      uses.set(id, { count: WORTH_USES - UNUSED_PROOFS, last: lastOf(id) })
    },
    isUnused: (id: CircuitId): boolean => proofs - lastOf(id) >= UNUSED_PROOFS,
    lastOf,
  }
}

interface Making {
  readonly asked: TablesAsked
  /** Both are known when a thread has planned them. */
  bytes?: Uint8Array
  slices: number
  next: number
}

/** Close it before the pool. */
export const createCircuitTables = ({
  pool,
  bytesEach,
  totalBytes = TOTAL_BYTES,
  onFailure = () => undefined,
}: CircuitTablesOptions): CircuitTables => {
  // One copy is shared, and each thread has its own.
  const sharedBytes = Math.floor(totalBytes / (pool.threads + 1))
  const budgetBytes = Math.min(bytesEach, sharedBytes)
  /** Whether they are larger than what every thread makes for itself. */
  const isOfUse = budgetBytes > QUICK_TABLE_BYTES
  const uses = createUses()
  const kept = new Map<CircuitId, SharedTables[number]>()
  let current: SharedTables = []
  let making: Making | undefined
  let running: Promise<void> | undefined
  let closed = false
  let number = 0

  const keep = (change: () => void): void => {
    change()
    current = [...kept.values()]
  }

  /** Gives up the tables that were unused for longest until there is room. @returns whether there is */
  const makeRoom = (bytes: number): boolean => {
    const size = () => current.reduce((sum, { tables }) => sum + tables.bytes.length, bytes)
    const unused = [...kept.keys()].filter(uses.isUnused).toSorted((a, b) => uses.lastOf(a) - uses.lastOf(b))
    while (size() > sharedBytes) {
      const id = unused.shift()
      if (id === undefined) return false
      keep(() => kept.delete(id))
    }
    return true
  }

  const plan = async (made: Making): Promise<void> => {
    const { bytes, slices } = await pool.planTables(made.asked)
    if (!makeRoom(bytes)) {
      uses.postpone(made.asked.circuitId)
      making = undefined
      return
    }
    made.bytes = new Uint8Array(new SharedArrayBuffer(bytes))
    made.slices = slices
  }

  const step = async (made: Making): Promise<void> => {
    const { asked, bytes } = made
    if (bytes === undefined) return plan(made)
    await pool.fillTables(asked, made.next, bytes)
    made.next += 1
    if (made.next < made.slices) return
    making = undefined
    const { circuitId } = asked
    keep(() => kept.set(circuitId, { circuitId, number: ++number, tables: { budgetBytes, bytes } }))
  }

  const wake = pool.serve(() => {
    const made = making
    // A slice at a time: whatever else comes finds the other threads free.
    if (made === undefined || running !== undefined || closed) return undefined
    running = step(made)
      .catch((error: unknown) => {
        uses.postpone(made.asked.circuitId)
        making = undefined
        onFailure(error)
      })
      .finally(() => {
        running = undefined
      })
    return running
  })

  return {
    current: () => current,
    used(circuitId) {
      uses.add(circuitId)
      if (!isOfUse || making !== undefined || kept.has(circuitId) || !uses.isWorth(circuitId)) return
      making = { asked: { circuitId, budgetBytes }, slices: 0, next: 0 }
      wake()
    },
    async close() {
      closed = true
      await running
    },
  }
}
