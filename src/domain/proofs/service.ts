/** Proofs: made, recorded, checked, and spent once. @module */
import type { Caller } from '../../caller.ts'
import { findCircuit } from '../../circuits/catalogue.ts'
import { AppError, type ErrorDetail, fail } from '../../errors.ts'
import { newId } from '../../ids.ts'
import type { Item, Settled } from '../../ledger/item.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Metrics } from '../../metrics.ts'
import type { SecurityService } from '../security/service.ts'
import { adoptItem } from './adoption.ts'
import { type CheckingDeps, createChecking, type Examined, type ValidProof } from './checking.ts'
import { createMaking, type MakingDeps } from './making.ts'
import type {
  AdoptedProof,
  CheckedProof,
  ForeignProof,
  GeneratedProof,
  MadeProof,
  PresentedProof,
  ProofAsk,
} from './proof.ts'
import type { SyncRequest, SyncResult } from './schemas.ts'
import {
  consumeItems,
  doubleSpend,
  isRevoked,
  spendItem,
  type VerifiedProof,
  verifyItem,
} from './spending.ts'
import type { Prepared, Stated, Statement } from './statement.ts'
import { prepareRules } from './statements/rules.ts'
import * as store from './store.ts'
import { type CheckSyncItem, planSync } from './sync.ts'

export interface ProofsDeps extends Omit<MakingDeps, 'statement'>, Omit<CheckingDeps, 'findStatement'> {
  readonly ledger: Pick<Ledger, 'append' | 'appendAll' | 'findClaim'>
  readonly metrics: Pick<Metrics, 'doubleSpends'>
  readonly security: Pick<SecurityService, 'raise'>
  /** One for each circuit. */
  readonly statements: readonly Statement[]
  /** Checks inputs against a statement's schema, and brings them into that form; says what is wrong. */
  readonly checkInputs: (schema: Statement['inputs']) => (inputs: unknown) => ErrorDetail | undefined
  /** The same for one proof of an upload. */
  readonly checkSyncItem: CheckSyncItem
}

/** What `verify` is asked for. */
export interface VerifyAsk extends PresentedProof {
  /** Spends it, if it is verified. */
  readonly consume?: boolean
}

/** What comes of a proof that is spent together with other things. Times are Unix ms. */
export interface SpendAnswers<R> {
  readonly spent: (digest: string, at: number) => R
  /** It was spent before; may throw. */
  readonly twice: (digest: string, at: number) => R
  readonly refused: (checked: CheckedProof) => R
}

export type ProofsService = ReturnType<typeof createProofs>

/** Only what callers are told. */
export const toChecked = ({
  valid,
  verified,
  decision,
  digest,
  circuitId,
  proofId,
  context,
  reasonCodes,
}: Examined): CheckedProof => ({
  valid,
  verified,
  decision,
  digest,
  circuitId,
  proofId,
  context,
  reasonCodes,
})

const isVerified = (examined: Examined): examined is VerifiedProof =>
  examined.valid && examined.verified && examined.proofId !== null

/** Whether at most a spending stands in the way, of which the ledger knows whether it was this request's own. */
const isSpendable = (checked: ValidProof): checked is VerifiedProof =>
  checked.proofId !== null && checked.reasonCodes.every((reason) => reason === 'DOUBLE_SPEND')

const MISSING_CODES: readonly string[] = ['required', 'min_properties']

export const createProofs = (deps: ProofsDeps) => {
  const { database, ledger, metrics, security, usage, clock } = deps
  const offered = deps.statements.filter(({ circuit }) => findCircuit(circuit.id) !== undefined)
  const statements = new Map(
    offered.map((statement) => [
      statement.circuit.id as string,
      { statement, check: deps.checkInputs(statement.inputs) },
    ]),
  )
  const known = (circuitId: string) =>
    statements.get(circuitId) ?? fail('not_found', { message: `There is no circuit ${circuitId}.` })
  const statement = (circuitId: string): Statement => known(circuitId).statement
  const make = createMaking({ ...deps, statement })
  const checking = createChecking({
    ...deps,
    findStatement: (circuitId) => statements.get(circuitId)?.statement,
  })

  const noteDoubleSpend = ({ organisation }: Caller, digest: string): void => {
    metrics.doubleSpends.inc()
    security.raise({ organisation, type: 'double_spend', subject: digest })
  }

  const consume = async <R>(
    caller: Caller,
    checked: VerifiedProof,
    present: (checked: CheckedProof) => R,
  ): Promise<R> => {
    try {
      return await ledger.appendAll(caller, consumeItems(caller, checked), ([, consumedAt]) =>
        present({ ...toChecked(checked), consumedAt }),
      )
    } catch (error) {
      if (isRevoked(error))
        return present({ ...toChecked(checked), verified: false, reasonCodes: ['NULLIFIER_REVOKED'] })
      if (error instanceof AppError && error.code === 'double_spend') noteDoubleSpend(caller, checked.digest)
      throw error
    }
  }

  const check = async (
    caller: Caller,
    foreign: ForeignProof,
    stored: Pick<MadeProof, 'proofId' | 'expiresAt'>,
  ): Promise<CheckedProof> => toChecked(await checking.examineForeign(caller, foreign, stored))

  return {
    /** What the service knows of a circuit. @throws AppError not_found */
    statement,

    /** Circuits with a statement. */
    circuitIds: (): string[] => [...statements.keys()],

    /**
     * From a caller's inputs to a statement that can be proved.
     * @throws AppError not_found for an unknown circuit; inputs_insufficient where something is missing,
     *   validation_failed (paths begin at the inputs), and what the circuit's statement throws
     */
    async prepare(caller: Caller, circuitId: string, inputs: unknown): Promise<Prepared> {
      const { statement: own, check } = known(circuitId)
      const detail = check(inputs)
      if (detail)
        fail(MISSING_CODES.includes(detail.code) ? 'inputs_insufficient' : 'validation_failed', {
          details: [{ ...detail, path: `/inputs${detail.path}` }],
        })
      return own.prepare(caller, inputs, clock.now())
    },

    /** Decides and finds the circuit. @throws AppError validation_failed, tree_too_large, not_provable */
    prepareRules,

    /** Makes a proof without committing it: append its `item`. @throws see `createMaking` */
    make: (caller: Caller, ask: ProofAsk): Promise<MadeProof> => make(caller, ask),

    /** Checks a proof that is not committed yet, as whoever presents it later will have it checked. */
    checkMade(caller: Caller, made: Omit<MadeProof, 'item'>): Promise<CheckedProof> {
      const { proofId, circuitId, proof, publicSignals, context, expiresAt } = made
      // A proof's context was made of a statement.
      const stored = { statement: context.statement as Stated, nonce: context.nonce }
      return check(caller, { circuitId, proof, publicSignals, context: stored }, { proofId, expiresAt })
    },

    /**
     * Checks a proof that is not known, and records nothing: against what it is said to be made for, of which `ctx` is
     * recomputed. @param expiresAt Unix ms
     */
    checkForeign: (
      caller: Caller,
      foreign: ForeignProof,
      { expiresAt }: Pick<MadeProof, 'expiresAt'>,
    ): Promise<CheckedProof> => check(caller, foreign, { proofId: newId('prf', clock.now()), expiresAt }),

    /**
     * Makes a proof and records it: entry `prove`, and a free proof where there is no subscription.
     * @param present the answer; it is what a repeated Idempotency-Key gets @throws as `make`; unavailable
     */
    async generate<R>(caller: Caller, ask: ProofAsk, present: (proof: GeneratedProof) => R): Promise<R> {
      const { item } = await make(caller, ask)
      return ledger.append(caller, {
        ...item,
        result: (receipt, taken) => present(item.result(receipt, taken)),
      })
    },

    /**
     * Checks a proof, and with `consume` spends it if it is verified. Only a verified proof leaves an entry.
     * @throws AppError double_spend for `consume` of what was spent before; unavailable
     */
    async verify<R>(caller: Caller, ask: VerifyAsk, present: (checked: CheckedProof) => R): Promise<R> {
      const examined = await checking.examine(caller, ask)
      if (ask.consume && examined.valid && examined.spentAt !== undefined) {
        noteDoubleSpend(caller, examined.digest)
        throw doubleSpend(examined.digest, examined.spentAt)
      }
      if (!isVerified(examined)) return present(toChecked(examined))
      if (ask.consume) return consume(caller, examined, present)
      const checked = toChecked(examined)
      return ledger.append(
        caller,
        verifyItem(
          caller,
          examined,
          () => present(checked),
          (reason) => present({ ...checked, verified: false, reasonCodes: [reason] }),
        ),
      )
    },

    /** The error of a second use. @param at Unix ms of the first */
    doubleSpend,

    /**
     * What spending a proof asks of the ledger, for a caller that commits it with others; or what came of it already.
     * Nothing is written, and second uses are the caller's to note. Its one entry is `spend`.
     */
    async spending<R>(
      caller: Caller,
      presented: PresentedProof,
      { spent, twice, refused }: SpendAnswers<R>,
    ): Promise<Item<R> | Settled<R>> {
      const examined = await checking.examine(caller, presented)
      if (!examined.valid) return { settled: refused(toChecked(examined)) }
      const { digest, spentAt } = examined
      if (!isSpendable(examined))
        return { settled: spentAt === undefined ? refused(toChecked(examined)) : twice(digest, spentAt) }
      return spendItem(caller, examined, {
        spent: (at) => spent(digest, at),
        overtaken: (reason, at) =>
          reason === 'DOUBLE_SPEND'
            ? twice(digest, at)
            : refused({ ...toChecked(examined), verified: false, reasonCodes: [reason] }),
      })
    },

    /**
     * Takes in proofs that were kept elsewhere, all in one commit.
     * @throws AppError batch_too_large, unavailable
     */
    async sync(caller: Caller, request: SyncRequest): Promise<SyncResult> {
      const { items, answer } = await planSync(
        checking.examine,
        caller,
        request,
        clock.now(),
        deps.checkSyncItem,
      )
      return ledger.appendAll(caller, items, answer)
    },

    /** Checks a stored proof of the caller's organisation again; nothing is recorded. @throws AppError not_found */
    async verifyStored(caller: Caller, proofId: string): Promise<CheckedProof> {
      const { proof } = (await store.findProof(database, caller.organisation, proofId)) ?? fail('not_found')
      return toChecked(await checking.examine(caller, { proofId, proof }))
    },

    /**
     * Checks a proof that was made elsewhere, whose context the service knows otherwise, and records it as known: entry
     * `verify`. Again: the first answer, by digest.
     * @throws AppError unavailable
     */
    async adopt<R>(caller: Caller, foreign: ForeignProof, present: (adopted: AdoptedProof) => R): Promise<R> {
      const at = clock.now()
      const proofId = newId('prf', at)
      const examined = await checking.examineForeign(caller, foreign, { proofId, expiresAt: null })
      if (!isVerified(examined)) return present({ ...toChecked(examined), proofId: null, createdAt: null })
      return ledger.append(
        caller,
        adoptItem({ caller, foreign, examined, at, usage, checked: toChecked(examined) }, present),
      )
    },
  }
}
