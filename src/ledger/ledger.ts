/**
 * The ledger: the one write path of the product. What was checked, created, spent or revoked is committed as an entry
 * of an append-only Merkle tree, in one transaction with the rows that are its effect.
 * @module
 */
import type { Knex } from 'knex'
import type { Caller, Idempotency } from '../caller.ts'
import { fail } from '../errors.ts'
import { createLane, type Lane } from '../store/lane.ts'
import { findAnswer } from './answers.ts'
import { beginStep, stepKey } from './attempts.ts'
import type { Claim, ClaimKind } from './claim-kinds.ts'
import { type CommitDeps, createCommitter } from './commit.ts'
import type { Decide, Held } from './decision.ts'
import { foresee } from './first-run.ts'
import { type Logs, ONE_LOG } from './logs.ts'
import { checkedTwice } from './purity.ts'
import { findClaims, findCounter } from './reads.ts'
import { type Change, isChange, type Queued, type Unit } from './unit.ts'

export type { Change } from './unit.ts'

export interface Ledger {
  /**
   * Commits what a decision writes, all of it or nothing, together with its neighbours of the moment; with 512
   * entries or more it has none.
   * @throws AppError as the decision throws it, `idempotency_key_reused`, `idempotency_in_flight`, or `unavailable` when the
   *   queue is full or the database can't be reached
   */
  append<R>(caller: Caller, decide: Decide<R>): Promise<R>
  /**
   * The slow door, for rare administrative changes, which take turns across all logs: runs `fn` in a transaction that holds the head's lock,
   * alone in its batch. Inside, use only `trx`: whatever else is awaited there holds up every other write to the log, and the ledger itself would
   * wait for ever. `fn` may run again when the connection breaks or another transaction is in the way.
   */
  transact<R>(caller: Caller, fn: (trx: Knex) => Promise<Change<R>>): Promise<R>
  /**
   * The answer that a request was given before, if it is stored still: to be asked before the request does any work.
   * @param step which of several commits of the request; default 0, the first
   * @throws AppError idempotency_key_reused
   */
  findAnswer(idempotency: Idempotency, step?: number): Promise<{ readonly answer: unknown } | undefined>
  /** Who holds a claim, outside of any commit: by the time it is used it may have been taken. */
  findClaim(organisation: string, kind: ClaimKind, key: string): Promise<Held | undefined>
  /** The same of several, in their order, as of one moment. */
  findClaims(organisation: string, claims: readonly Claim[]): Promise<(Held | undefined)[]>
  /** Where a counter stands, outside of any commit: a decision that rests on it looks again. 0: nothing was ever added. */
  findCounter(organisation: string, counter: string): Promise<number>
  /** Entries of a log so far, and the RFC 6962 root over them in lower-case hex. @param log default 0 */
  head(log?: number): Promise<{ size: number; root: string }>
  /** Calls `listener` after each commit of this server that added entries, with their log. @returns a function that ends it */
  onCommit(listener: (log: number) => void): () => void
  /** Refuses new work, then finishes what runs and what waits. */
  close(): Promise<void>
}

const RETRY_AFTER_SECONDS = 1

export interface LedgerDeps extends Omit<CommitDeps, 'log'> {
  /** Default: there is log 0 alone. */
  readonly logs?: Pick<Logs, 'of'>
  /** Items a batch may hold; default 512. One commits each by itself, for comparison. */
  readonly maxBatchItems?: number
  /** Run every decision twice, and fail those that are not pure; for tests. */
  readonly checkDecisions?: boolean
}

/**
 * A request's Idempotency-Key in the ledger: the first unit carries the key itself, further ones of the same request
 * a numbered one, so that a repeated request finds the answer of each of its steps. While a key is in use here, the
 * same request again is refused; on another server it waits for the head's lock and finds the answer.
 */
const createIdempotency = () => {
  const inFlight = new Set<string>()
  return async <R>(caller: Caller, run: (claim: Unit['idempotency']) => Promise<R>): Promise<R> => {
    const { idempotency } = caller
    if (idempotency === undefined) return run(undefined)
    const step = beginStep(idempotency)
    const { organisation, requestHash } = idempotency
    const key = stepKey(idempotency.key, step)
    const flight = `${organisation}/${key}`
    if (inFlight.has(flight)) fail('idempotency_in_flight')
    inFlight.add(flight)
    try {
      return await run({ organisation, key, requestHash })
    } finally {
      inFlight.delete(flight)
    }
  }
}

/** A lane for each log, made when it is first written to: one whose head is locked holds up no other. */
const createLanes = (deps: Omit<CommitDeps, 'log'> & Pick<LedgerDeps, 'maxBatchItems'>) => {
  const lanes = new Map<number, Lane<Queued, unknown>>()
  let isClosed = false
  const open = (log: number): Lane<Queued, unknown> => {
    const committer = createCommitter({ ...deps, log })
    return createLane<Queued, unknown>({
      maxBatchItems: deps.maxBatchItems,
      commit(queued) {
        const [first] = queued
        return first && isChange(first)
          ? committer.change(first)
          : committer.batch(queued.filter((unit): unit is Queued & Unit => !isChange(unit)))
      },
    })
  }
  return {
    async submit(log: number, unit: Queued): Promise<unknown> {
      if (isClosed) fail('unavailable', { retryAfter: RETRY_AFTER_SECONDS })
      const lane = lanes.get(log) ?? open(log)
      lanes.set(log, lane)
      return lane.submit(unit)
    },
    async close(): Promise<void> {
      isClosed = true
      await Promise.all([...lanes.values()].map((lane) => lane.close()))
    },
  }
}

export const createLedger = async (deps: LedgerDeps): Promise<Ledger> => {
  const { database, pseudonyms } = deps
  // Made now rather than in the first batch, which would hold up everything behind it.
  await pseudonyms.epoch()
  const listeners = new Set<(log: number) => void>()
  const onBatch: LedgerDeps['onBatch'] = (batch) => {
    deps.onBatch?.(batch)
    for (const listener of listeners) listener(batch.log)
  }
  const { logs = ONE_LOG } = deps
  const idempotent = createIdempotency()
  const lanes = createLanes({ ...deps, onBatch })
  /** Queues a unit in the lane of its caller's log: at once, where that is known. */
  const submit = <R>(unit: Queued): Promise<R> => {
    const log = logs.of(unit.caller.organisation)
    const queued =
      typeof log === 'number' ? lanes.submit(log, unit) : log.then((found) => lanes.submit(found, unit))
    // A lane resolves with what its unit decided.
    return queued as Promise<R>
  }

  return {
    async append<R>(caller: Caller, decide: Decide<R>): Promise<R> {
      const decision = deps.checkDecisions ? checkedTwice(decide) : decide
      const foreseen = foresee(caller.organisation, decision, deps.clock.now())
      if ('answer' in foreseen) return foreseen.answer
      // The answer is this decision's, or what the same request got from the same code before.
      return idempotent(caller, (idempotency) =>
        submit<R>({ caller, idempotency, decide: decision, ...foreseen }),
      )
    },
    transact: <R>(caller: Caller, change: (trx: Knex) => Promise<Change<R>>) =>
      idempotent(caller, (idempotency) =>
        submit<R>({ caller, idempotency, change, weight: 1, exclusive: true }),
      ),
    findAnswer: (idempotency, step = 0) => findAnswer(deps, idempotency, step),
    async findClaim(organisation, kind, key) {
      const [held] = await findClaims(database, organisation, [[kind, key]])
      return held
    },
    findClaims: (organisation, claims) => findClaims(database, organisation, claims),
    findCounter: (organisation, counter) => findCounter(database, organisation, counter),
    async head(log = 0) {
      const row = await database
        .knex<{ log: number; size: number; root: Uint8Array }>('ledger_head')
        .where({ log })
        .first('size', 'root')
      if (row === undefined) throw new Error('The ledger has no head: the schema is incomplete.')
      return { size: row.size, root: Buffer.from(row.root).toString('hex') }
    },
    onCommit(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: () => lanes.close(),
  }
}
