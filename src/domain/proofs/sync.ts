/**
 * Takes proofs that were kept elsewhere while the network was down: known ones are checked again, unknown ones are
 * recorded for what they are, valid and no more. Each is judged for itself.
 * @module
 */
import { setImmediate as turn } from 'node:timers/promises'
import pLimit from 'p-limit'
import type { Caller } from '../../caller.ts'
import { needsContext } from '../../circuits/proof-facts.ts'
import { detailOf, type ErrorDetail, fail, type Misfit } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { CLAIM_KINDS } from '../../ledger/claim-kinds.ts'
import type { Tx } from '../../ledger/decision.ts'
import type { Checking, Examined, ValidProof } from './checking.ts'
import type { PresentedProof } from './proof.ts'
import { entryNames, proofRow } from './recording.ts'
import { MAX_SYNC_PROOFS, type SyncItem, type SyncRequest, type SyncResult } from './schemas.ts'
import { commitmentOf, verdictOf } from './signals.ts'
import type { LateRevocations } from './spending/late-revocations.ts'
import { logVerified, overtaken, type VerifiedProof } from './spending/spending.ts'
import type { ReasonCode } from './statement.ts'

export type CheckSyncItem = (value: unknown) => Misfit | undefined

export interface SyncDeps {
  readonly examine: Checking['examine']
  /** Of an item's form. */
  readonly check: CheckSyncItem
  /** The id of the one record of what a proof is about, or undefined. */
  readonly recordOf: (caller: Caller, circuitId: string, once: string) => Promise<string | undefined>
  /** Whether the organisation has a proof of this digest. */
  readonly isOnRecord: (caller: Caller, digest: string) => Promise<boolean>
  /** Of this upload alone. */
  readonly others: LateRevocations
}

/** What became of one proof. */
type Outcome =
  | { readonly status: 'synced' | 'updated'; readonly proofId: string; readonly digest: string }
  | {
      readonly status: 'refused'
      readonly proofId: string | null
      readonly reasonCodes: readonly ReasonCode[]
      readonly message?: string
    }

/** What is to be done with one proof, or what came of it already. */
type Step = Outcome | ((tx: Tx) => Outcome)

const refused = ({ proofId, reasonCodes }: Pick<Examined, 'proofId' | 'reasonCodes'>): Outcome => ({
  status: 'refused',
  proofId,
  reasonCodes,
})

const malformed = ({ path, message }: ErrorDetail): Outcome => ({
  status: 'refused',
  proofId: null,
  reasonCodes: ['ITEM_MALFORMED'],
  message: `${path} ${message}`,
})

const isOnly = ({ reasonCodes }: Examined, code: ReasonCode): boolean =>
  reasonCodes.length === 1 && reasonCodes[0] === code

const updated = ({ digest }: ValidProof, proofId: string): Outcome => ({ status: 'updated', proofId, digest })

/** Records a proof of which only the signals are known, unless it is by now. @param at Unix ms */
const recordForeign = (
  caller: Caller,
  examined: ValidProof,
  at: number,
  claimedAt: string | undefined,
  once: string,
): Step => {
  const proofId = newId('prf', at)
  const { digest, statement, publicSignals, decision } = examined
  const recorded = { ...examined, proofId, context: null, createdAt: at, expiresAt: null }
  const isKnown = decision !== 1 || !needsContext(statement.circuit)
  return (tx) => {
    const first = tx.holder(CLAIM_KINDS.proofSynced, once)
    // The holder is the id that is claimed with it below.
    if (first) return updated(examined, String(first.holder))
    tx.claim(CLAIM_KINDS.proofSynced, once, proofId)
    const { index } = tx.append({
      type: 'prove',
      ...entryNames(recorded),
      commitment: commitmentOf(statement, publicSignals),
      data: {
        decision: verdictOf(isKnown ? decision : null),
        origin: 'sync',
        ...(claimedAt && { claimedAt }),
      },
    })
    tx.write(proofRow(caller, recorded, index))
    return { status: 'synced', proofId, digest }
  }
}

/** What is to be done with a valid proof that is unknown: what it proves may have its one record. */
const unknownStep = async (
  { recordOf }: SyncDeps,
  caller: Caller,
  examined: ValidProof,
  at: number,
  createdAt: string | undefined,
): Promise<Step> => {
  const { statement, circuitId, publicSignals, digest } = examined
  const once = await statement.recordedOnce?.(caller, publicSignals)
  const proofId = once === undefined ? undefined : await recordOf(caller, circuitId, once)
  return proofId === undefined
    ? recordForeign(caller, examined, at, createdAt, once ?? digest)
    : updated(examined, proofId)
}

/** A proof whose id is nobody's may be known all the same: then it is what it would be without the id. */
const examineItem = async (
  { examine, isOnRecord }: SyncDeps,
  caller: Caller,
  presented: PresentedProof,
): Promise<Examined> => {
  const examined = await examine(caller, presented)
  const withoutId = () => examine(caller, { ...presented, proofId: undefined })
  if (presented.proofId === undefined || examined.proofId !== null) return examined
  if (examined.valid) return (await isOnRecord(caller, examined.digest)) ? withoutId() : examined
  if (!isOnly(examined, 'PROOF_UNKNOWN')) return examined
  // Without a circuit, only its record tells which one it is of.
  const found = await withoutId()
  return isOnly(found, 'CIRCUIT_UNKNOWN') ? examined : found
}

const stepOf = async (
  deps: SyncDeps,
  caller: Caller,
  examined: Examined,
  at: number,
  createdAt: string | undefined,
): Promise<Step> => {
  const { proofId } = examined
  if (!examined.valid) return refused(examined)
  if (proofId === null)
    return isOnly(examined, 'PROOF_UNKNOWN')
      ? unknownStep(deps, caller, examined, at, createdAt)
      : refused(examined)
  if (isOnly(examined, 'CONTEXT_UNKNOWN')) return updated(examined, proofId)
  if (!examined.verified) return refused(examined)
  const verified: VerifiedProof = { ...examined, proofId }
  const { others } = deps
  others.watch(verified)
  return (tx) => {
    const late = overtaken(tx, verified, others)
    if (late) return refused({ proofId, reasonCodes: [late.reason] })
    logVerified(tx, verified)
    return updated(examined, proofId)
  }
}

const summarise = (outcomes: readonly Outcome[]): SyncResult => {
  const kept: SyncResult['proofs'] = []
  const errors: SyncResult['errors'] = []
  outcomes.forEach((outcome, index) => {
    if (outcome.status === 'refused') {
      const { proofId, reasonCodes, message } = outcome
      errors.push({ index, proofId, reasonCodes: [...reasonCodes], ...(message && { message }) })
    } else kept.push({ index, ...outcome })
  })
  const count = (status: 'synced' | 'updated') => kept.filter((proof) => proof.status === status).length
  return { synced: count('synced'), updated: count('updated'), proofs: kept, errors }
}

/** Proofs of an upload that are judged at a time, so that they are verified together, and others have room beside them. */
export const JUDGED_AT_ONCE = 8

/** @returns waits for a turn of the event loop that no other call gets */
const createTurns = () => {
  let last: Promise<unknown> = Promise.resolve()
  return (): Promise<unknown> => {
    last = last.then(() => turn())
    return last
  }
}

/**
 * Judges the proofs of an upload, each for itself.
 * @param at Unix ms
 * @returns what decides them all
 * @throws AppError batch_too_large
 */
export const planSync = async (
  deps: SyncDeps,
  caller: Caller,
  { proofs }: SyncRequest,
  at: number,
): Promise<(tx: Tx) => SyncResult> => {
  const { check, others } = deps
  const nextTurn = createTurns()
  const limited = pLimit(JUDGED_AT_ONCE)
  if (proofs.length > MAX_SYNC_PROOFS)
    fail('batch_too_large', { message: `An upload can have at most ${MAX_SYNC_PROOFS} proofs.` })
  const judge = async (proof: unknown): Promise<Step> => {
    // Reading a text takes a while.
    await nextTurn()
    const misfit = check(proof)
    if (misfit) return malformed(misfit.details[0])
    // The check has just said that it is one.
    const { publicInputs, createdAt, ...presented } = proof as SyncItem
    try {
      const examined = await examineItem(deps, caller, { ...presented, publicSignals: publicInputs })
      return await stepOf(deps, caller, examined, at, createdAt)
    } catch (error) {
      // Something is expected of it that can't apply.
      return malformed(detailOf(error))
    }
  }
  const steps = await limited.map(proofs, judge).finally(() => limited.clearQueue())
  await others.look()
  return (tx) => summarise(steps.map((step) => (typeof step === 'function' ? step(tx) : step)))
}
