/** Tickets and proofs that are handed in together: each judged for itself, all used up in one commit. @module */
import { setImmediate as turn } from 'node:timers/promises'
import type { Caller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { AppError, type ErrorDetail, fail } from '../../errors.ts'
import type { Sealing } from '../../keys/sealing.ts'
import type { Signers } from '../../keys/signers.ts'
import type { Item, Settled } from '../../ledger/item.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Metrics } from '../../metrics.ts'
import type { Database } from '../../store/database.ts'
import type { CheckedProof } from '../proofs/proof.ts'
import type { ProofVerifyRequest } from '../proofs/schemas.ts'
import type { ProofsService } from '../proofs/service.ts'
import type { SecurityService } from '../security/service.ts'
import { isSigned, ticketDigest } from './payload.ts'
import { type BatchOutcome, type BatchOutcomes, MAX_BATCH_PROOFS, type ProofsBatch } from './schemas.ts'
import { openTicket, ticketSubject } from './sealed-ticket.ts'
import * as store from './store.ts'

export interface BatchDeps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'appendAll'>
  readonly signers: Pick<Signers, 'publicKey'>
  readonly sealing: Sealing
  readonly clock: Clock
  readonly proofs: Pick<ProofsService, 'spending' | 'doubleSpend'>
  readonly metrics: Pick<Metrics, 'doubleSpends'>
  readonly security: Pick<SecurityService, 'raise'>
  /** Checks a proof as the body of POST /v1/proofs/verify is checked, and brings it into that form. */
  readonly checkProof: (value: unknown) => ErrorDetail | undefined
}

type Outcome = Omit<BatchOutcome, 'index'>
/** What is to be done with one of a batch: nothing, or this. */
type Step = Settled<Outcome> | Item<Outcome>

/** Kind of the claim that a used ticket leaves. */
const SPENT = 'ticket.spent'
/** Reasons for which a proof is not invalid, only too old or not ours. */
const EXPIRED = 'EXPIRED'
const EXPIRED_REASONS: readonly string[] = [EXPIRED, 'NOW_OUT_OF_RANGE']
const UNKNOWN_REASONS: readonly string[] = ['PROOF_UNKNOWN', 'CONTEXT_UNKNOWN']

const settle = (
  status: BatchOutcome['status'],
  digest: string | null,
  more: Partial<Outcome> = {},
): Settled<Outcome> => ({ settled: { digest, status, consumed: false, ...more } })

const spentOutcome = (digest: string, at: number): Outcome => ({
  digest,
  status: 'spent',
  consumed: true,
  consumed_at: iso(at),
})

const refusedOutcome = ({ digest, reasonCodes }: CheckedProof): Outcome => {
  const only = (known: readonly string[]) => reasonCodes.every((reason) => known.includes(reason))
  const isExpired = reasonCodes.includes(EXPIRED) && only(EXPIRED_REASONS)
  const status = only(UNKNOWN_REASONS) ? 'unknown' : isExpired ? 'expired' : 'invalid'
  return { digest, status, consumed: false, reason_codes: [...reasonCodes] }
}

/** The text of a ticket, if it is meant as one. */
const ticketText = (item: unknown): string | undefined => {
  if (typeof item === 'string') return item
  const text = typeof item === 'object' && item !== null && 'qr_payload' in item ? item.qr_payload : undefined
  return typeof text === 'string' ? text : undefined
}

export const createBatch = (deps: BatchDeps) => {
  const { database, ledger, signers, sealing, clock, proofs, metrics, security, checkProof } = deps

  /** @param twice what a second use of a digest comes to; may throw */
  const ticketStep = async (
    caller: Caller,
    text: string,
    twice: (digest: string, at: number) => Outcome,
  ): Promise<Step> => {
    if (!(await isSigned(signers, text))) return settle('invalid', null)
    const bytes = ticketDigest(text)
    const digest = bytes.toString('hex')
    const row = await store.findTicketByDigest(database, caller.organisation, bytes)
    if (row === undefined) return settle('unknown', digest)
    const names = { ticket_id: row.id }
    if (row.expires_at <= clock.now()) return settle('expired', digest, names)
    const kept = openTicket(sealing, row.id, row.sealed)
    const accepted = { ...names, ...(kept.claims && { claims: kept.claims }) }
    if (!row.single_use) return settle('spent', digest, accepted)
    return {
      claims: [{ kind: SPENT, key: digest, code: 'double_spend' }],
      entry: {
        type: 'spend',
        ...ticketSubject(kept),
        digest,
        data: { event: SPENT },
        ...(row.circuit_id !== null && { circuitId: row.circuit_id }),
        ...('keyId' in caller.credential && { keyId: caller.credential.keyId }),
      },
      rows: ({ index, at }) => [
        store.ticketSpends.row({
          ticket: row.id,
          organisation: row.organisation,
          entry_index: index,
          spent_at: at,
        }),
      ],
      result: ({ at }) => ({ ...spentOutcome(digest, at), ...accepted }),
      lost: ({ at }) => ({ settled: { ...twice(digest, at), ...names } }),
    }
  }

  const proofStep = (
    caller: Caller,
    item: unknown,
    twice: (digest: string, at: number) => Outcome,
  ): Promise<Step> | Step => {
    const detail = checkProof(item)
    if (detail) return settle('invalid', null, { message: `${detail.path} ${detail.message}`.trim() })
    // The check has just said that it is one.
    const { proof_id, circuit_id, proof, public_signals } = item as ProofVerifyRequest
    const presented = { proofId: proof_id, circuitId: circuit_id, proof, publicSignals: public_signals }
    return proofs.spending(caller, presented, { spent: spentOutcome, twice, refused: refusedOutcome })
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
        fail('batch_too_large', { message: `A batch holds at most ${MAX_BATCH_PROOFS} proofs.` })
      if (!caller.scopes.has('proof') && items.some((item) => ticketText(item) === undefined))
        fail('insufficient_scope', { message: 'Proofs need a credential with scope "proof".' })
      const isAlone = items.length === 1
      const twice = (digest: string, at: number): Outcome => {
        if (isAlone) throw proofs.doubleSpend(digest, at)
        return { digest, status: 'DOUBLE_SPEND', consumed: false, consumed_at: iso(at) }
      }
      try {
        const steps: Step[] = []
        for (const [index, item] of items.entries()) {
          if (index > 0) await turn()
          const text = ticketText(item)
          steps.push(
            text === undefined ? await proofStep(caller, item, twice) : await ticketStep(caller, text, twice),
          )
        }
        const answer = await ledger.appendAll(
          caller,
          steps.filter((step) => 'entry' in step),
          (results: Outcome[]) => summarise(steps, results),
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

/** @param results of those steps that were appended, in order */
const summarise = (steps: readonly Step[], results: readonly Outcome[]): BatchOutcomes => {
  const rest = results.values()
  const outcomes = steps.map((step, index) => {
    const outcome = 'settled' in step ? step.settled : (rest.next().value ?? fail('internal'))
    return { index, ...outcome }
  })
  const accepted = outcomes.filter(({ status }) => status === 'spent').length
  return { accepted, rejected: outcomes.length - accepted, results: outcomes }
}
