/**
 * Two servers whose round trips to the database are put into every order there is. A server reads under the head's lock, so
 * whoever locks second waits for the other's commit: each order must come to what one of the two orders of commits comes to.
 */
import { expect } from 'chai'
import { AppError } from '../../src/errors.ts'
import { CLAIM_KINDS } from '../../src/ledger/claim-kinds.ts'
import type { Decide } from '../../src/ledger/decision.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import type { Session } from '../../src/store/session.ts'
import { callerOf, expectWholeLog, ledgerOn } from '../support/ledger.ts'
import { ReferenceLedger } from '../support/reference/ledger.ts'
import { createPostgresDatabase, onPostgres } from '../support/servers/database.ts'
import type { ScratchDatabase } from '../support/servers/scratch-database.ts'

const KIND = CLAIM_KINDS.ticketSpent
const GIVE_UP_MS = 1_000
/** Locks and reads; writes and commits, or rolls back. */
const TRIPS = 2

/** A server whose round trips wait until they are let go, one by one. */
interface SteppedServer {
  readonly ledger: Ledger
  /** Lets the next round trip go; resolves when its statements are answered. */
  step(): Promise<void>
  /** Lets all others go. */
  run(): void
}

/** Statements that are sent in one turn are one round trip. */
const steppedServer = async (database: Database): Promise<SteppedServer> => {
  let isFree = true
  /** Round trips that wait, and steps that wait for one. */
  const trips: ((answered: () => void) => void)[] = []
  const steps: ((go: (answered: () => void) => void) => void)[] = []
  const meet = (): void => {
    while (trips[0] && (isFree || steps[0])) {
      const go = trips.shift()
      const step = steps.shift()
      if (go && step) step(go)
      else go?.(() => undefined)
    }
  }
  const gated = (session: Session): Session => {
    let trip: Promise<() => void> | undefined
    return {
      query: async (text, values, name) => {
        if (trip === undefined) {
          trip = new Promise((resolve) => {
            trips.push(resolve)
            meet()
          })
          queueMicrotask(() => {
            trip = undefined
          })
        }
        const answered = await trip
        return session.query(text, values, name).finally(answered) as ReturnType<
          typeof session.query
        > as never
      },
      transaction: (fn) => session.transaction(fn),
      release: (destroy) => session.release(destroy),
    }
  }
  const ledger = await ledgerOn({ ...database, session: async () => gated(await database.session()) })
  isFree = false
  return {
    ledger,
    step: () =>
      new Promise((resolve) => {
        steps.push((go) => go(resolve))
        meet()
      }),
    run() {
      isFree = true
      meet()
    },
  }
}

/** All orders of the round trips of two servers, such as `AABB`. */
const ordersOf = (a: number, b: number): string[] => {
  if (a === 0 || b === 0) return ['A'.repeat(a) + 'B'.repeat(b)]
  const [first, second] = [ordersOf(a - 1, b), ordersOf(a, b - 1)]
  return [...first.map((rest) => `A${rest}`), ...second.map((rest) => `B${rest}`)]
}

const codeOf = (error: unknown): string => (error instanceof AppError ? error.code : String(error))

const outcomeOf = (work: () => unknown): unknown => {
  try {
    return work()
  } catch (error) {
    return codeOf(error)
  }
}

/** Resolves when a connection waits for another's lock. */
const untilBlocked = async ({ knex }: Database): Promise<void> => {
  const giveUpAt = performance.now() + GIVE_UP_MS
  while (performance.now() < giveUpAt) {
    const { rows } = await knex.raw(
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    )
    if (rows.length > 0) return
  }
}

const sizeOf = async ({ knex }: Database): Promise<number> => (await knex('ledger_head').first('size')).size

const entry = { type: 'payment', data: {} } as const

const claims =
  (...keys: string[]): Decide<unknown> =>
  (tx) => {
    const held = keys.map((key) => tx.holder(KIND, key)).find((one) => one !== undefined)
    if (held) return { heldBy: held.holder }
    for (const key of keys) tx.claim(KIND, key, keys.join())
    return { index: tx.append(entry).index }
  }
const claimsOr =
  (key: string, other: string): Decide<unknown> =>
  (tx) =>
    claims(tx.holder(KIND, key) ? other : key)(tx)
const adds =
  (amount: number): Decide<unknown> =>
  (tx) => {
    if (tx.counter('purse') + amount > 3) return { left: 3 - tx.counter('purse') }
    const value = tx.add('purse', amount)
    return { value, index: tx.append(entry).index }
  }
const throws: Decide<unknown> = (tx) => {
  if (!tx.holder(KIND, 'a')) tx.claim(KIND, 'a')
  throw new AppError('conflict')
}

/** What each server is asked to decide in one batch. */
const CASES: Record<string, [Decide<unknown>[], Decide<unknown>[]]> = {
  'one key': [[claims('a')], [claims('a')]],
  'keys that overlap': [
    [claims('a', 'b'), claims('c')],
    [claims('b'), claims('c', 'd')],
  ],
  'a key that a branch names': [[claims('a')], [claimsOr('a', 'b'), claimsOr('a', 'c')]],
  'a counter': [[adds(2), adds(1)], [adds(2)]],
  'a throw beside a claim': [[throws, claims('a')], [claims('a')]],
}

onPostgres.describe('two servers, in every order of their round trips', () => {
  let fresh: ScratchDatabase
  let database: Database
  let run = 0
  before(async () => {
    fresh = await createPostgresDatabase()
    database = await openDatabase({ databaseUrl: fresh.url, dataDir: 'memory' })
  })
  after(async () => {
    await expectWholeLog(database)
    await database.close()
    await fresh.drop()
  })

  /** In the order in which the servers lock the head, which is that of their first steps. */
  const expected = (first: Decide<unknown>[], second: Decide<unknown>[], size: number): unknown[][] => {
    const model = new ReferenceLedger(0, size)
    return [first, second].map((batch) => batch.map((decide) => outcomeOf(() => model.append(decide))))
  }

  for (const [name, [ofA, ofB]] of Object.entries(CASES))
    for (const order of ordersOf(TRIPS, TRIPS))
      it(`${name}, ${order}`, async () => {
        const caller = callerOf(`org_${run++}`)
        const [a, b] = [await steppedServer(database), await steppedServer(database)]
        const size = await sizeOf(database)
        const [inA, inB] = [[a, ofA] as const, [b, ofB] as const].map(([{ ledger }, batch]) =>
          Promise.all(batch.map((decide) => ledger.append(caller, decide).catch(codeOf))),
        )
        const begun = new Set<string>()
        for (const letter of order) {
          const answered = (letter === 'A' ? a : b).step()
          // The second one waits for the lock that the first one holds.
          if (begun.size === 1 && !begun.has(letter)) await Promise.race([answered, untilBlocked(database)])
          else if (begun.size < 2) await answered
          begun.add(letter)
        }
        a.run()
        b.run()
        const outcomes = [await inA, await inB]
        const isAFirst = order.startsWith('A')
        const model = isAFirst ? expected(ofA, ofB, size) : expected(ofB, ofA, size).reverse()
        expect(outcomes).to.deep.equal(model)
        await Promise.all([a.ledger.close(), b.ledger.close()])
      })
})
