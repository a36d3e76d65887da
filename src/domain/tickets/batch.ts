/** Tickets and proofs that are handed in together: each judged for itself, all used up in one commit. @module */
import { setImmediate as turn } from 'node:timers/promises'
import type { Caller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { AppError, detailOf, type ErrorDetail, fail, type Misfit } from '../../errors.ts'
import { requireUnchanged } from '../../json/read-only.ts'
import type { Sealing } from '../../keys/sealing.ts'
import type { Signers } from '../../keys/signers.ts'
import { CLAIM_KINDS } from '../../ledger/claim-kinds.ts'
import type { Tx } from '../../ledger/decision.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Metrics } from '../../metrics.ts'
import { isObject } from '../../protocol/json-object.ts'
import { type Expectation, type Facts, unexpected } from '../../rules/expectation.ts'
import type { Database } from '../../store/database.ts'
import type { CheckedProof } from '../proofs/proof.ts'
import type { ProofVerifyRequest } from '../proofs/schemas.ts'
import type { ProofsService } from '../proofs/service.ts'
import type { LateRevocations } from '../proofs/spending/late-revocations.ts'
import type { SecurityService } from '../security/service.ts'
import { isSigned, ticketDigest } from './payload.ts'
import {
  AS_ISSUED,
  type BatchOutcome,
  type BatchOutcomes,
  MAX_BATCH_PROOFS,
  type ProofsBatch,
  type TicketIssued,
} from './schemas.ts'
import { type KeptTicket, openTicket, ticketSubject } from './sealed-ticket.ts'
import * as store from './store.ts'
import { ticketStatus } from './ticket-list.ts'

export interface BatchDeps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'append'>
  readonly signers: Pick<Signers, 'publicKey'>
  readonly sealing: Sealing
  readonly clock: Clock
  readonly proofs: Pick<ProofsService, 'presented' | 'spending' | 'lateRevocations' | 'doubleSpend'>
  readonly metrics: Pick<Metrics, 'doubleSpends'>
  readonly security: Pick<SecurityService, 'raise'>
  /** Checks a proof as the body of POST /v1/proofs/verify is checked, and brings it into that form. */
  readonly checkProof: (value: unknown) => Misfit | undefined
  /** Checks an object that holds the text of a ticket. */
  readonly checkTicket: (value: unknown) => Misfit | undefined
  /** What issuing a ticket answered, but for its text. */
  readonly issuedFields: (ticket: store.KnownTicket) => Omit<TicketIssued, 'qr_payload'>
}

type Outcome = Omit<BatchOutcome, 'index'>
/** What is to be done with one of a batch, or what came of it already. */
type Step = Outcome | ((tx: Tx) => Outcome)

/** What a second use of a digest comes to; may throw. @param at Unix ms of the first */
type Twice = (digest: string, at: number, decision: Outcome['decision']) => Outcome

/** Kind of the claim that a used ticket leaves. */
const SPENT = CLAIM_KINDS.ticketSpent
/** Reasons for which a proof is not invalid, only too old or not ours. */
const EXPIRED = 'EXPIRED'
const EXPIRED_REASONS: readonly string[] = [EXPIRED, 'NOW_OUT_OF_RANGE']
/** What is spent, or was, is a YES. */
const YES = 1
/** Reasons for which a proof is a fact, but opens nothing. */
const REFUSAL = /^(?:DECISION_NO|NO_QUESTION|(?:MEMBER_\d_)*POLICY_NO)$/
const UNKNOWN_REASONS: readonly string[] = ['PROOF_UNKNOWN', 'CONTEXT_UNKNOWN']

/** Of a proof that is not to be spent: here everything is. */
const KEPT: ErrorDetail = {
  path: '/consume',
  code: 'const',
  message: 'must be true: accepted items are always spent here',
}

const settle = (
  status: BatchOutcome['status'],
  digest: string | null,
  more: Partial<Outcome> = {},
): Outcome => ({ digest, status, decision: null, consumed: false, ...more })

const settleMisfit = ({ path, message }: ErrorDetail, digest: string | null = null): Outcome =>
  settle('invalid', digest, { message: `${path} ${message}`.trim() })

const spentOutcome = (digest: string, at: number, decision: Outcome['decision']): Outcome => ({
  digest,
  status: 'spent',
  decision,
  consumed: true,
  consumed_at: iso(at),
})

/** What else is wrong with a proof says more than that it is a NO. */
const refusedStatus = (reasonCodes: readonly string[]): BatchOutcome['status'] => {
  const faults = reasonCodes.filter((reason) => !REFUSAL.test(reason))
  if (faults.length === 0) return 'refused'
  const only = (known: readonly string[]) => faults.every((reason) => known.includes(reason))
  if (only(UNKNOWN_REASONS)) return 'unknown'
  return faults.includes(EXPIRED) && only(EXPIRED_REASONS) ? 'expired' : 'invalid'
}

const refusedOutcome = ({ digest, decision, reasonCodes }: CheckedProof): Outcome => ({
  digest,
  status: refusedStatus(reasonCodes),
  decision,
  consumed: false,
  reason_codes: [...reasonCodes],
})

/** What of a ticket can be compared with what is expected. @param now Unix ms */
const ticketFacts = (row: store.KnownTicket, { claims }: KeptTicket, now: number): Facts => ({
  circuit_id: row.circuit_id,
  issuers: [row.organisation],
  statement: claims ?? {},
  status: ticketStatus(row, now),
  max_age_seconds: row.issued_at,
})

/** The text of a ticket, if it is meant as one; empty where something else stands in its place, which the check of its form names. */
const ticketText = (item: unknown): string | undefined => {
  if (typeof item === 'string') return item
  const text = isObject(item) ? item.qr_payload : undefined
  return text === undefined || typeof text === 'string' ? text : ''
}

/** What is no object is neither a ticket nor a proof: it is that item's fault, whatever the caller may do. */
const isProof = (item: unknown): boolean => isObject(item) && ticketText(item) === undefined

export const createBatch = (deps: BatchDeps) => {
  const { database, ledger, signers, sealing, clock, proofs, metrics, security } = deps
  const { checkProof, checkTicket, issuedFields } = deps

  /** @param item the text, or an object that holds it @param twice see {@link Twice} */
  const ticketStep = async (caller: Caller, item: unknown, text: string, twice: Twice): Promise<Step> => {
    const sent = isObject(item) ? item : {}
    const misfit = isObject(item) ? checkTicket(item) : undefined
    if (misfit) return settleMisfit(misfit.details[0])
    if (!(await isSigned(signers, text))) return settle('invalid', null)
    const bytes = ticketDigest(text)
    const digest = bytes.toString('hex')
    const row = await store.findTicketByDigest(database, caller.organisation, bytes)
    if (row === undefined) return settle('unknown', digest)
    const now = clock.now()
    const kept = openTicket(sealing, row.id, row.sealed)
    let differing: readonly string[]
    try {
      requireUnchanged(sent, issuedFields(row), AS_ISSUED)
      // The check above has just said that it is one.
      differing = unexpected(sent.expect as Expectation | undefined, ticketFacts(row, kept, now), now)
    } catch (error) {
      return settleMisfit(detailOf(error), digest)
    }
    const names = { ticket_id: row.id }
    const revoked = settle('invalid', digest, { ...names, reason_codes: ['TICKET_REVOKED'] })
    if (row.revoked_at !== null) return revoked
    if (row.expires_at <= now) return settle('expired', digest, names)
    if (differing.length > 0) return settle('invalid', digest, { ...names, reason_codes: [...differing] })
    const accepted = { ...names, ...(kept.claims && { claims: kept.claims }) }
    return (tx) => {
      if (tx.holder(CLAIM_KINDS.ticketRevoked, digest)) return revoked
      if (!row.single_use) return settle('spent', digest, accepted)
      const first = tx.holder(SPENT, digest)
      if (first) return { ...twice(digest, first.at, null), ...names }
      tx.claim(SPENT, digest)
      const { index } = tx.append({
        type: 'spend',
        ...ticketSubject(kept),
        digest,
        data: { event: SPENT },
        ...(row.circuit_id !== null && { circuitId: row.circuit_id }),
      })
      tx.write(
        store.ticketSpends.row({
          ticket: row.id,
          organisation: row.organisation,
          entry_index: index,
          spent_at: tx.at,
        }),
      )
      return { ...spentOutcome(digest, tx.at, null), ...accepted }
    }
  }

  /** @param others looks right before the commit */
  const proofStep = async (
    caller: Caller,
    item: unknown,
    twice: Twice,
    others: LateRevocations,
  ): Promise<Step> => {
    const misfit = checkProof(item)
    if (misfit) return settleMisfit(misfit.details[0])
    // The check has just said that it is one.
    const sent = item as ProofVerifyRequest
    if (sent.consume === false) return settleMisfit(KEPT)
    try {
      const presented = await proofs.presented(caller, sent)
      const answers = {
        spent: (digest: string, at: number) => spentOutcome(digest, at, YES),
        twice: (digest: string, at: number) => twice(digest, at, YES),
        refused: refusedOutcome,
      }
      return await proofs.spending(caller, presented, answers, others)
    } catch (error) {
      // Something is expected of it that can't apply, or said of it that its making did not answer.
      return settleMisfit(detailOf(error))
    }
  }

  const noteDoubleSpend = ({ organisation }: Caller, digest: string): void => {
    metrics.doubleSpends.inc()
    security.raise({ organisation, type: 'double_spend', subject: digest })
  }

  return {
    /**
     * Uses up what is handed in. One that is handed in alone, and was used up before, is an error.
     * @throws AppError batch_too_large; insufficient_scope for proofs; double_spend
     */
    async handIn(caller: Caller, { proofs: items }: ProofsBatch): Promise<BatchOutcomes> {
      if (items.length > MAX_BATCH_PROOFS)
        fail('batch_too_large', { message: `A batch can have at most ${MAX_BATCH_PROOFS} proofs.` })
      if (!caller.scopes.has('proof') && items.some(isProof))
        fail('insufficient_scope', { message: 'Proofs require a credential with scope "proof".' })
      const isAlone = items.length === 1
      const twice: Twice = (digest, at, decision) => {
        if (isAlone) throw proofs.doubleSpend(digest, at)
        return { digest, status: 'DOUBLE_SPEND', decision, consumed: false, consumed_at: iso(at) }
      }
      try {
        const steps: Step[] = []
        const others = proofs.lateRevocations()
        for (const [index, item] of items.entries()) {
          if (index > 0) await turn()
          const text = ticketText(item)
          steps.push(
            text === undefined
              ? await proofStep(caller, item, twice, others)
              : await ticketStep(caller, item, text, twice),
          )
        }
        await others.look()
        const answer = await ledger.append(caller, (tx) =>
          summarise(steps.map((step) => (typeof step === 'function' ? step(tx) : step))),
        )
        for (const { digest, status } of answer.results)
          if (status === 'DOUBLE_SPEND') noteDoubleSpend(caller, digest ?? '')
        return answer
      } catch (error) {
        if (error instanceof AppError && error.code === 'double_spend')
          noteDoubleSpend(caller, String(error.extras?.digest))
        throw error
      }
    },
  }
}

const summarise = (results: readonly Outcome[]): BatchOutcomes => {
  const outcomes = results.map((outcome, index) => ({ index, ...outcome }))
  const accepted = outcomes.filter(({ status }) => status === 'spent').length
  return { accepted, rejected: outcomes.length - accepted, results: outcomes }
}
