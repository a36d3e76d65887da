/**
 * Payments: asked beforehand (`validate`), told afterwards (`sync`), listed, and what an operator does about late ones.
 * A card token may pay once per organisation; whoever reaches the ledger first wins.
 * @module
 */
import type { Caller } from '../../caller.ts'
import type { Clock } from '../../clock.ts'
import type { Core } from '../../core/index.ts'
import { fail } from '../../errors.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Metrics } from '../../metrics.ts'
import {
  MAX_SYNC_ITEMS,
  REFUSALS,
  type SyncAnswer,
  type SyncStatus,
  type ValidateAnswer,
  type ValidateRequest,
} from '../../protocol/sync.ts'
import type { Database } from '../../store/database.ts'
import type { Row } from '../../store/table.ts'
import type { AccountsService } from '../accounts/service.ts'
import type { SecurityService } from '../security/service.ts'
import type { TerminalsService } from '../terminals/service.ts'
import { type DecisionContext, decide, originOf } from './decision.ts'
import { createHeldPayments } from './held-payments.ts'
import { createJudge } from './judgement.ts'
import { createLatePayments } from './late-payments.ts'
import { type Channel, isWellFormed, type Judgement, type Outcome, type Presented } from './payment.ts'
import { createPaymentList } from './payment-list.ts'
import { createReader, unknownMembers } from './presented.ts'
import type { SyncTransactions } from './schemas.ts'
import { createTerminalClocks } from './terminal-clocks.ts'

interface Deps {
  readonly ledger: Pick<Ledger, 'append' | 'findClaim'>
  readonly database: Database
  readonly core: Pick<Core, 'verifyBatch'>
  readonly accounts: Pick<AccountsService, 'midstate' | 'merchantKeys' | 'defaultMerchant' | 'ownsMerchant'>
  readonly terminals: Pick<TerminalsService, 'policy' | 'report'>
  readonly security: Pick<SecurityService, 'alertRow'>
  readonly metrics: Pick<Metrics, 'nullifierCheckSeconds' | 'doubleSpends' | 'exportBytes'>
  readonly clock: Clock
}

const MS_PER_SECOND = 1000

const syncStatus = ({ status, repeated }: Outcome): SyncStatus =>
  status === 'accepted' ? (repeated ? 'duplicate' : 'synced') : status

const toVerdict = ([outcome]: readonly Outcome[]): ValidateAnswer => {
  if (!outcome) throw new Error('one payment has one outcome')
  const { transactionId, status, assurance, reason } = outcome
  return {
    valid: status === 'accepted',
    transactionId,
    doubleSpend: status === 'conflict',
    assurance,
    reason,
  }
}

/** @param items as they were sent, in the same order */
const toReport = (items: readonly unknown[], outcomes: readonly Outcome[]): SyncAnswer => {
  const warningsOf = (item: unknown) => {
    const warnings = unknownMembers(item)
    return warnings.length > 0 && { warnings }
  }
  const errors = outcomes.flatMap(({ transactionId, reason, status, isPutOff = false }, index) =>
    reason && status !== 'late'
      ? [{ index, transactionId, code: reason, message: REFUSALS[reason], retryable: isPutOff }]
      : [],
  )
  return {
    synced: outcomes.length - errors.length,
    failed: errors.length,
    errors,
    results: outcomes.map((outcome, index) => ({
      index,
      transactionId: outcome.transactionId,
      status: syncStatus(outcome),
      assurance: outcome.assurance,
      ...warningsOf(items[index]),
    })),
  }
}

export type PaymentsService = ReturnType<typeof createPayments>

export const createPayments = (deps: Deps) => {
  const { ledger, terminals, security, metrics, clock } = deps
  const reader = createReader(deps)
  const { judge } = createJudge(deps)
  const clocks = createTerminalClocks(deps)

  /** Rows about the terminal's clock that go with each payment. */
  const clockRows = async (
    caller: Caller,
    judgements: readonly Judgement[],
    now: number,
  ): Promise<Row[][]> => {
    const [kind, terminal] = originOf(caller)
    if (kind !== 'terminal') return judgements.map(() => [])
    const clock = await clocks.of(terminal)
    return judgements.map(({ payment, refusal }) => {
      if (!isWellFormed(payment) || refusal || payment.stampedAt === undefined) return []
      const { rolledBack, row } = clock.observe(payment.proof.nonce, payment.stampedAt)
      const alert = {
        organisation: caller.organisation,
        type: 'clock_rollback',
        subject: terminal,
        at: now,
      } as const
      return [...(row ? [row] : []), ...(rolledBack ? [security.alertRow(alert)] : [])]
    })
  }

  const timed = async <R>(work: () => Promise<R>): Promise<R> => {
    const started = performance.now()
    const result = await work()
    metrics.nullifierCheckSeconds.observe((performance.now() - started) / MS_PER_SECOND)
    return result
  }

  const count = (outcomes: readonly Outcome[]): void => {
    const conflicts = outcomes.filter(({ status, repeated }) => status === 'conflict' && !repeated).length
    if (conflicts > 0) metrics.doubleSpends.inc(conflicts)
  }

  const decideAll = async <A>(
    caller: Caller,
    channel: Channel,
    payments: readonly Presented[],
    now: number,
    answer: (outcomes: readonly Outcome[]) => A,
  ): Promise<A> => {
    const judgements = await judge(caller, channel, payments, now)
    const rows = await clockRows(caller, judgements, now)
    const context: DecisionContext = { caller, channel, now, alertRow: security.alertRow }
    const decisions = judgements.map((judgement, i) => decide(context, judgement, rows[i]))
    // Of the last run, which is the one that counts.
    let outcomes: readonly Outcome[] = []
    const result = await timed(() =>
      ledger.append(caller, (tx) => {
        outcomes = decisions.map((decision) => decision(tx))
        return answer(outcomes)
      }),
    ).catch((error: unknown) => {
      // Else a clock that went back would be taken for known, though nobody was told.
      clocks.forget(originOf(caller)[1])
      throw error
    })
    // Of the answer to an Idempotency-Key that is repeated nothing was decided now.
    if (!caller.idempotency?.replayed) count(outcomes)
    return result
  }

  return {
    /**
     * Decides whether a payment may be accepted now, and spends its nullifier if so.
     * The same transaction id and content from the same terminal or key get the first answer again.
     * @throws AppError pan_not_allowed, currency_invalid, amount_precision, validation_failed, forbidden, not_found,
     *   transaction_conflict, unauthorized for a terminal whose key is revoked
     */
    async validate(caller: Caller, input: ValidateRequest): Promise<ValidateAnswer> {
      if (caller.credential.kind === 'terminal' && caller.credential.keyRevoked) fail('unauthorized')
      const now = clock.now()
      const payment = await reader.one(caller, input, now)
      return decideAll(caller, 'validate', [payment], now, toVerdict)
    },

    /**
     * Books payments that were accepted offline, in order, in one commit. What is wrong with one item is told in
     * the answer and leaves the others alone; a repeated upload is harmless. Unknown members are warnings.
     * @throws AppError batch_too_large above 50 items, with nothing done
     */
    async sync(caller: Caller, { transactions, ...told }: SyncTransactions): Promise<SyncAnswer> {
      if (transactions.length > MAX_SYNC_ITEMS) {
        fail('batch_too_large', { message: `A batch can have at most ${MAX_SYNC_ITEMS} transactions.` })
      }
      const now = clock.now()
      const presented = await reader.many(caller, transactions, now)
      const answer = await (transactions.length === 0
        ? toReport([], [])
        : decideAll(caller, 'sync', presented, now, (outcomes) => toReport(transactions, outcomes)))
      // Of an answer to an Idempotency-Key that is repeated the told state is older than what was told since.
      if (!caller.idempotency?.replayed) await terminals.report(caller, told)
      return answer
    },

    ...createPaymentList(deps),
    ...createLatePayments(deps),
    ...createHeldPayments({ ...deps, reader }),
  }
}
