/** Proofs: made, recorded, checked, and spent once. @module */
import { type Caller, systemCaller } from '../../caller.ts'
import { findCircuit } from '../../circuits/catalogue.ts'
import { isCanonicalSignal } from '../../circuits/circuit.ts'
import { AppError, fail, type Misfit } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { requireUnchanged } from '../../json/read-only.ts'
import type { Tx } from '../../ledger/decision.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Logs } from '../../ledger/logs.ts'
import type { Metrics } from '../../metrics.ts'
import type { SecurityService } from '../security/service.ts'
import type { StatusesService } from '../status/service.ts'
import { adopt } from './adoption.ts'
import { readContext } from './binding.ts'
import { type CheckingDeps, createChecking, type Examined, keysOf, type ValidProof } from './checking.ts'
import { generatedV1 } from './made-json.ts'
import { createMaking, type MakingDeps } from './making.ts'
import type {
  AdoptedProof,
  CheckedProof,
  ForeignProof,
  GeneratedProof,
  MadeProof,
  PresentedProof,
  ProofAsk,
  UncommittedProof,
} from './proof.ts'
import { createProofList } from './proof-list.ts'
import { findRecorded, recordedId } from './recording.ts'
import { createRecords } from './records.ts'
import { AS_MADE, type ProofVerifyRequest, type SyncRequest, type SyncResult } from './schemas.ts'
import { signalOf } from './signals.ts'
import { type Refusal, refusalOf } from './spending/acceptance.ts'
import { createLateRevocations, type LateRevocations } from './spending/late-revocations.ts'
import {
  asRecorded,
  demandStanding,
  doubleSpend,
  logVerified,
  type Overtaken,
  overtaken,
  spend,
  type VerifiedProof,
} from './spending/spending.ts'
import type { Prepared, ReasonCode, Stated, Statement } from './statement.ts'
import { prepareRules } from './statements/rules.ts'
import * as store from './store.ts'
import { type CheckSyncItem, planSync, type SyncDeps } from './sync.ts'

export interface ProofsDeps
  extends Omit<MakingDeps, 'statement'>,
    Omit<CheckingDeps, 'findStatement' | 'statuses'> {
  readonly statuses: Pick<StatusesService, 'isSet' | 'areSet'>
  readonly logs: Pick<Logs, 'of'>
  readonly ledger: Pick<Ledger, 'append' | 'findClaim' | 'findClaims' | 'findCounter' | 'head'>
  readonly metrics: Pick<Metrics, 'doubleSpends'>
  readonly security: Pick<SecurityService, 'raise'>
  /** One for each circuit. */
  readonly statements: readonly Statement[]
  /** Checks inputs against a statement's schema, and brings them into that form; says what is wrong. */
  readonly checkInputs: (schema: Statement['inputs']) => (inputs: unknown) => Misfit | undefined
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

/** A YES that an organisation vouches for, or why it is none. */
export type VouchedProof =
  | { readonly refused: readonly ReasonCode[] }
  | {
      /** The organisation. */
      readonly issuer: string
      /** Canonical decimal. */
      readonly nullifier: string
      /** What the YES says, in the service's own words. */
      readonly sentence: string
      /** Whether it shows somebody whom the issuer has checked. */
      readonly isPerson: boolean
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
  elsewhere,
  reasonCodes,
}: Examined): CheckedProof => ({
  valid,
  verified,
  decision,
  digest,
  circuitId,
  proofId,
  context,
  ...(verified && elsewhere && { elsewhere }),
  reasonCodes,
})

/** Of a proof that is not accepted, whether it is verified or not. */
const refusedFor = (checked: CheckedProof, refusal: Refusal | undefined): CheckedProof =>
  refusal === undefined ? checked : { ...checked, reasonCodes: [...checked.reasonCodes, refusal] }

/** Says in a commit what keeps a proof from being verified that was so before. */
export type LateOf = (tx: Tx) => Overtaken | undefined

/** Whether it is verified, and known. */
export const isVerified = (examined: Examined): examined is VerifiedProof =>
  examined.valid && examined.verified && examined.proofId !== null

/** Whether at most a spending stands in the way, of which the ledger knows whether it was this request's own. */
const isSpendable = (checked: ValidProof): checked is VerifiedProof =>
  checked.proofId !== null && checked.reasonCodes.every((reason) => SPENT_REASON.test(reason))

/** Whether a proof is asked for that binds more than its statement. */
const isBoundToMore = ({ nonce, ttlSeconds, purpose, subject }: ProofAsk): boolean =>
  [nonce, ttlSeconds, purpose, subject].some((asked) => asked !== undefined)

const SPENT_REASON = /^(?:MEMBER_\d_)*DOUBLE_SPEND$/

/** Whose turn proofs take that come without an account. No organisation has this id: whoever sends such a proof may name any in it. */
const VOUCHED = 'vouched-proofs'

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

  const recorded = createRecords({ ...deps, statement })

  const findMade = (caller: Caller, proofId: string): Promise<GeneratedProof | undefined> =>
    recorded(caller, proofId).catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'not_found') return undefined
      throw error
    })

  /** What may have become of what a proof shows while it was made. */
  const standingOf = async (caller: Caller, { prepared }: ProofAsk, made: UncommittedProof) => {
    const { circuitId, digest, publicSignals, decision } = made
    const found = statement(circuitId)
    const { revocableKeys } = keysOf(found, digest, publicSignals)
    const superseding = await found.superseding?.({ caller, publicSignals, statement: prepared.statement })
    return { decision, revocableKeys, superseding }
  }

  const noteDoubleSpend = ({ organisation }: Caller, digest: string): void => {
    metrics.doubleSpends.inc()
    security.raise({ organisation, type: 'double_spend', subject: digest })
  }

  /**
   * Looks once more at a proof: the last thing to wait for before a commit.
   * @returns for its decision: what keeps it from being verified by now, if it was, also where others revoked what it shows
   */
  const lastLook = async (examined: Examined): Promise<LateOf> => {
    if (!isVerified(examined)) return () => undefined
    const others = createLateRevocations(deps)
    others.watch(examined)
    await others.look()
    return (tx) => overtaken(tx, examined, others)
  }

  const consume = async <R>(
    caller: Caller,
    checked: VerifiedProof,
    present: (checked: CheckedProof) => R,
  ): Promise<R> => {
    const lateOf = await lastLook(checked)
    try {
      return await ledger.append(caller, (tx) => {
        const late = lateOf(tx)
        if (late?.reason === 'DOUBLE_SPEND') throw doubleSpend(checked.digest, late.at)
        if (late)
          return present({
            ...toChecked(checked),
            verified: false,
            reasonCodes: [late.reason],
            consumed: false,
          })
        logVerified(tx, checked)
        spend(tx, checked)
        return present({ ...toChecked(checked), consumed: true, consumedAt: tx.at })
      })
    } catch (error) {
      if (error instanceof AppError && error.code === 'double_spend') noteDoubleSpend(caller, checked.digest)
      throw error
    }
  }

  const verify = async <R>(
    caller: Caller,
    ask: VerifyAsk,
    present: (checked: CheckedProof) => R,
    owner: string | undefined,
  ): Promise<R> => {
    const examined = await checking.examine(caller, ask, owner)
    const refusal = ask.consume && examined.valid ? refusalOf(examined) : undefined
    const isUnexpected = examined.valid && examined.unexpected !== undefined
    const isToSpend = ask.consume && refusal === undefined && !isUnexpected
    if (isToSpend && examined.valid && examined.spentAt !== undefined) {
      noteDoubleSpend(caller, examined.digest)
      throw doubleSpend(examined.digest, examined.spentAt)
    }
    if (isToSpend && isVerified(examined)) return consume(caller, examined, present)
    const checked = {
      ...refusedFor(toChecked(examined), refusal),
      ...(ask.consume && { consumed: false }),
    }
    if (!isVerified(examined)) return present(checked)
    const lateOf = await lastLook(examined)
    return ledger.append(caller, (tx) => {
      const late = lateOf(tx)
      if (late) return present({ ...checked, verified: false, reasonCodes: [late.reason] })
      logVerified(tx, examined)
      return present(checked)
    })
  }

  /** Checks a proof that is not committed yet, as whoever presents it later will have it checked. */
  const checkMade = (caller: Caller, made: UncommittedProof): Promise<Examined> => {
    const { proofId, circuitId, proof, publicSignals, context, expiresAt } = made
    // A proof's context was made of a statement.
    const stored = { statement: context.statement as Stated, nonce: context.nonce }
    const foreign = { circuitId, proof, publicSignals, context: stored }
    return checking.examineForeign(caller, foreign, { proofId, expiresAt })
  }

  return {
    ...createProofList({ database, logs: deps.logs, baseUrl: deps.baseUrl, statements: offered }),

    /** What the service knows of a circuit. @throws AppError not_found */
    statement,

    /** Circuits with a statement. */
    circuitIds: (): string[] => [...statements.keys()],

    /**
     * From a caller's inputs to a statement that can be proved.
     * @throws AppError not_found for an unknown circuit; inputs_insufficient where something is missing,
     *   validation_failed, unknown_member (paths begin at the inputs), and what the circuit's statement throws
     */
    async prepare(caller: Caller, circuitId: string, inputs: unknown): Promise<Prepared> {
      const { statement: own, check } = known(circuitId)
      const misfit = check(inputs)
      if (misfit) {
        const { code, details } = misfit
        fail(MISSING_CODES.includes(details[0].code) ? 'inputs_insufficient' : code, {
          details: details.map((detail) => ({ ...detail, path: `/inputs${detail.path}` })),
        })
      }
      return own.prepare(caller, inputs, clock.now())
    },

    /** Decides and finds the circuit. @throws AppError validation_failed, tree_too_large, not_provable */
    prepareRules,

    /** Makes a proof without committing it: see its `recording`. @throws see `createMaking` */
    make: (caller: Caller, ask: ProofAsk): Promise<MadeProof> => make(caller, ask),

    checkMade,

    lastLook,

    /** Circuits whose proofs an organisation vouches for: the others say what whoever made the proof chose. */
    vouchedCircuits: (): string[] =>
      [...statements.values()].flatMap(({ statement: own }) => (own.vouched ? [own.circuit.id] : [])),

    /**
     * Checks a proof that is not known, and records nothing: against what it is said to be made for, of which `ctx` is
     * recomputed. What was spent or withdrawn is looked up at the organisation that vouches for it, whichever one `ctx` names.
     * @param asked.by whom the check is for @param asked.expiresAt Unix ms
     * @throws AppError not_found for a circuit whose proofs nobody vouches for
     */
    async checkVouched(
      foreign: ForeignProof & { readonly organisation: string },
      { by, expiresAt }: { readonly by: string } & Pick<MadeProof, 'expiresAt'>,
    ): Promise<VouchedProof> {
      const { circuitId, publicSignals, context } = foreign
      const { circuit, spends, vouched } = statement(circuitId)
      if (vouched === undefined || spends === undefined) return fail('not_found')
      const isReadable =
        publicSignals.length === circuit.publicNames.length && publicSignals.every(isCanonicalSignal)
      const shown = { publicSignals, statement: context.statement }
      const issuer = isReadable ? await vouched.issuer(shown) : undefined
      const caller = systemCaller(issuer ?? foreign.organisation, by)
      const stored = { proofId: newId('prf', clock.now()), expiresAt }
      const examined = await checking.examineForeign(caller, foreign, stored, VOUCHED)
      if (!isVerified(examined)) return { refused: examined.reasonCodes }
      const refusal = refusalOf(examined)
      if (refusal !== undefined) return { refused: [refusal] }
      if (issuer === undefined) return { refused: ['CREDENTIAL_UNKNOWN'] }
      // Each organisation has scopes of its own, so that somebody who may name any would act once for each.
      if (circuit.publicNames.includes('scope') && issuer !== foreign.organisation)
        return { refused: ['SCOPE_MISMATCH'] }
      return {
        issuer,
        nullifier: signalOf(circuit, publicSignals, spends) ?? '',
        sentence: vouched.sentence(shown),
        isPerson: vouched.isPerson(shown),
      }
    },

    /**
     * Makes a proof and records it: entry `prove`, and a free proof where there is no subscription. Of what has one record
     * only, a payment, the first is told again.
     * @param present the answer; it is what a repeated Idempotency-Key gets @throws as `make`; not_provable of what was revoked; unavailable
     */
    async generate<R>(caller: Caller, ask: ProofAsk, present: (proof: GeneratedProof) => R): Promise<R> {
      try {
        const { recording, ...made } = await make(caller, ask)
        const standing = await standingOf(caller, ask, made)
        return await ledger.append(caller, (tx) => {
          demandStanding(tx, standing)
          const place = recording.record(tx)
          return tx.withRoot((root, treeSize) => present({ ...made, receipt: { ...place, root, treeSize } }))
        })
      } catch (error) {
        const first = await recorded(caller, recordedId(error))
        // What was asked beside the statement is bound by the proof, so that another one's can't be handed out for it.
        if (isBoundToMore(ask)) throw error
        return present(first)
      }
    },

    /** A recorded proof as it was made. @throws AppError not_found */
    recorded,

    /** The same; undefined where there is none, or it isn't known what it is bound to. */
    findRecorded: findMade,

    /**
     * Reads a proof as `/v1` takes it, and holds what is said of it against what its making answered; of an unknown one
     * nothing is known.
     * @param sent fits its schema @throws AppError read_only; validation_failed for its context, see `readContext`
     */
    async presented(caller: Caller, sent: ProofVerifyRequest): Promise<PresentedProof> {
      const { proof_id: proofId, circuit_id: circuitId, proof, public_signals: publicSignals } = sent
      const { decision, digest, expect } = sent
      const context = readContext(sent.context)
      const isTold = proofId !== undefined && AS_MADE.some((name) => sent[name] !== undefined)
      const made = isTold ? await findMade(caller, proofId) : undefined
      if (made) requireUnchanged(sent, generatedV1(made), AS_MADE)
      return { proofId, circuitId, proof, publicSignals, decision, digest, context, expect }
    },

    /**
     * Checks a proof, and with `consume` spends it if it is verified and a YES. Only a verified proof leaves an entry, and is on record
     * from then on.
     * @param owner whose turn it takes to be verified; default: that of the caller's organisation
     * @throws AppError double_spend for `consume` of what was spent before; validation_failed for what can't be expected; unavailable
     */
    verify: <R>(
      caller: Caller,
      ask: VerifyAsk,
      present: (checked: CheckedProof) => R,
      owner?: string,
    ): Promise<R> =>
      verify(caller, ask, present, owner).catch((error: unknown) => {
        // Somebody else presented the very same at the same time.
        recordedId(error)
        return verify(caller, ask, present, owner)
      }),
    /** The error of a second use. @param at Unix ms of the first */
    doubleSpend,

    /** For proofs that are spent in one commit. */
    lateRevocations: (): LateRevocations => createLateRevocations(deps),

    /**
     * What spending a proof takes, for a caller that decides it with others. Second uses are the caller's to note. Its one
     * entry is `spend`; one that somebody else made is recorded before, by the entry `verify`.
     * @param others those of all in the commit, which the caller has look right before it
     * @returns what spends it, or what came of it already
     */
    async spending<R>(
      caller: Caller,
      presented: PresentedProof,
      { spent, twice, refused }: SpendAnswers<R>,
      others: LateRevocations,
    ): Promise<(tx: Tx) => R> {
      const examined = await checking.examine(caller, presented)
      const settled = (answer: R) => () => answer
      if (!examined.valid) return settled(refused(toChecked(examined)))
      const { digest, spentAt } = examined
      const refusal = refusalOf(examined)
      if (refusal !== undefined) return settled(refused(refusedFor(toChecked(examined), refusal)))
      if (!isSpendable(examined))
        return settled(
          spentAt === undefined || examined.unexpected
            ? refused(toChecked(examined))
            : twice(digest, spentAt),
        )
      others.watch(examined)
      return (tx) => {
        const known = asRecorded(tx, examined)
        const late = overtaken(tx, known, others)
        if (late?.reason === 'DOUBLE_SPEND') return twice(digest, late.at)
        if (late) return refused({ ...toChecked(examined), verified: false, reasonCodes: [late.reason] })
        if (known.adoption) logVerified(tx, known)
        spend(tx, known)
        return spent(digest, tx.at)
      }
    },

    /**
     * Takes in proofs that were kept elsewhere, all in one commit.
     * @throws AppError batch_too_large, unavailable
     */
    async sync(caller: Caller, request: SyncRequest): Promise<SyncResult> {
      const syncDeps: SyncDeps = {
        examine: checking.examine,
        check: deps.checkSyncItem,
        recordOf: findRecorded.bind(null, ledger),
        isOnRecord: async ({ organisation }, digest) =>
          (await store.findProofByDigest(database, organisation, [digest])) !== undefined,
        others: createLateRevocations(deps),
      }
      return ledger.append(caller, await planSync(syncDeps, caller, request, clock.now()))
    },

    /** Checks a stored proof of the caller's organisation again; nothing is recorded. @throws AppError not_found */
    async verifyStored(caller: Caller, proofId: string): Promise<Examined> {
      const { proof } = (await store.findProof(database, caller.organisation, proofId)) ?? fail('not_found')
      return checking.examine(caller, { proofId, proof })
    },

    /**
     * Checks a proof that was made elsewhere, whose context the service knows otherwise, and records it as known: entry
     * `verify`. Again, or where what it proves has its record: that one.
     * @throws AppError unavailable
     */
    async adopt<R>(caller: Caller, foreign: ForeignProof, present: (adopted: AdoptedProof) => R): Promise<R> {
      const at = clock.now()
      const proofId = newId('prf', at)
      const examined = await checking.examineForeign(caller, foreign, { proofId, expiresAt: null })
      if (!isVerified(examined)) return present({ ...toChecked(examined), proofId: null, recorded: null })
      const { statement: own, publicSignals, digest } = examined
      const once = (await own.recordedOnce?.(caller, publicSignals)) ?? digest
      const checked = toChecked(examined)
      try {
        return await ledger.append(caller, (tx) => {
          const place = adopt(tx, { caller, foreign, examined, at, usage, once })
          return tx.withRoot((root, treeSize) =>
            present({ ...checked, receipt: { ...place, root, treeSize }, recorded: examined }),
          )
        })
      } catch (error) {
        const first = await recorded(caller, recordedId(error))
        const now = toChecked(await checkMade(caller, first))
        return present({ ...now, recorded: now.verified ? first : null })
      }
    },
  }
}
