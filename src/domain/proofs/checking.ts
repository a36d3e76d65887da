/**
 * Checks proofs: the pairing first, then everything that a pairing can't show. What is wrong comes back as reason codes;
 * an exception says only that it couldn't be told.
 * @module
 */
import { isDeepStrictEqual } from 'node:util'
import type { Caller } from '../../caller.ts'
import { CIRCUITS, findCircuit } from '../../circuits/catalogue.ts'
import { isCanonicalSignal } from '../../circuits/circuit.ts'
import { type AskedBefore, issuerAmong, presentationReasons } from '../../circuits/presentation.ts'
import { proofFacts } from '../../circuits/proof-facts.ts'
import type { Verifier } from '../../circuits/verifying/verifier-queue.ts'
import type { Clock } from '../../clock.ts'
import { newId } from '../../ids.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { decodeZk1, proofDigest, type SnarkProof } from '../../protocol/zk1.ts'
import { contextElement } from '../../rules/encode.ts'
import { type Facts, unexpected } from '../../rules/expectation.ts'
import type { Database } from '../../store/database.ts'
import type { StatusesService } from '../status/service.ts'
import { contextOf, endOf } from './binding.ts'
import type { OpenChallenges, StandingChallenge } from './challenges/challenge.ts'
import { createNativeChecks, DISCLOSED_STATUS, NONE } from './native-checks.ts'
import type { CheckedProof, ForeignProof, PresentedProof, SentContext } from './proof.ts'
import { decisionOf, signalOf } from './signals.ts'
import { asksNothing, isPolicyNo, POLICY_NO } from './spending/acceptance.ts'
import { isPolicyRefusal } from './spending/policy-refusal.ts'
import {
  findEnd,
  nullifierKey,
  type RevocableKey,
  type Spendable,
  type SpendKey,
} from './spending/spend-keys.ts'
import type { ProofRecord, ReasonCode, StatedMember, Statement, Superseding } from './statement.ts'
import * as store from './store.ts'

export interface CheckingDeps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'findClaims'>
  readonly verifier: Pick<Verifier, 'verify'>
  readonly statuses: Pick<StatusesService, 'isSet'>
  readonly clock: Clock
  readonly baseUrl: string
  /** Undefined where there is none. */
  readonly findStatement: (circuitId: string) => Statement | undefined
  readonly challenges: Pick<OpenChallenges, 'byNonce'>
}

/** What a proof whose pairing holds shows, and what became of it. */
export interface ShownProof extends CheckedProof, Spendable {
  readonly valid: true
  readonly digest: string
  readonly circuitId: string
  readonly statement: Statement
  readonly publicSignals: readonly string[]
  readonly revocableKeys: readonly RevocableKey[]
  /** Whether it can be spent: not where it, or a proof that it stands for, doesn't say who acts. */
  readonly isSpendable: boolean
  /** Unix ms: when it was spent before. */
  readonly spentAt: number | undefined
  /** What may take the place of what it shows, after it was looked at. */
  readonly superseding: Superseding | undefined
  /** Why it is not what was expected; absent where it is. */
  readonly unexpected?: readonly ReasonCode[]
  /** Unix ms: when it ends, where that is known. */
  readonly expiresAt: number | null
  /** What of it can be compared with what is expected. */
  readonly facts: () => Facts
  /** How it is recorded as it is first verified; absent where it is on record. */
  readonly adoption?: Adoption
  /** The proofs that it stands for, as they are now, in their order; fewer where one isn't known any more. Each may stand for others. */
  readonly members: readonly MemberProof[]
}

/** A proof whose pairing holds. */
export interface ValidProof extends ShownProof {
  readonly proof: SnarkProof
}

/** What is recorded of a proof that somebody else made. */
export interface Adoption extends Pick<ProofRecord, 'organisation' | 'context' | 'createdAt' | 'expiresAt'> {
  /** Which it answers. */
  readonly challenge: Pick<StandingChallenge, 'challengeId' | 'keyId'> | undefined
}

/** A proof that another one stands for: recorded, and therefore known. */
export type MemberProof = ShownProof & { readonly proofId: string }

export interface RefusedProof extends CheckedProof {
  readonly valid: false
  readonly verified: false
}

export type Examined = ValidProof | RefusedProof

/** Proofs that an aggregate may stand for, with those inside its members. */
export const MAX_INSIDE_PROOFS = 64
/** How many more proofs may be looked up. */
type Room = { left: number }

type Read = { readonly proof: SnarkProof; readonly publicSignals: readonly string[] }

/** Where the signals are not those of the stored context. */
const UNBOUND: readonly ReasonCode[] = ['SIGNALS_MISMATCH', 'CONTEXT_MISMATCH', 'CHALLENGE_MISMATCH']

const refuse = (
  reason: ReasonCode,
  { circuitId = null, proofId = null }: { circuitId?: string | null; proofId?: string | null } = {},
): RefusedProof => ({
  valid: false,
  verified: false,
  decision: null,
  digest: null,
  circuitId,
  proofId,
  context: null,
  reasonCodes: [reason],
})

/** What a known proof is bound to. */
const knownContext = (aud: string, record: ProofRecord | undefined, reasonCodes: readonly ReasonCode[]) => {
  if (!record?.context || reasonCodes.some((reason) => UNBOUND.includes(reason))) return null
  return contextOf(aud, { ...record, ...record.context })
}

/** Whatever was sent as proof; that it is one is for the verifier to say. */
const readPresented = ({
  proof,
  publicSignals,
}: Pick<PresentedProof, 'proof' | 'publicSignals'>): Read | { readonly fault: ReasonCode } => {
  if (typeof proof !== 'string') return { proof: proof as SnarkProof, publicSignals: publicSignals ?? [] }
  const read = decodeZk1(proof)
  if (read === undefined) return { fault: 'PROOF_MALFORMED' }
  const isTold = publicSignals !== undefined && !isDeepStrictEqual(publicSignals, read.publicSignals)
  return isTold ? { fault: 'SIGNALS_MISMATCH' } : read
}

const toRecord = (row: store.ProofRow): ProofRecord => ({
  proofId: row.id,
  organisation: row.organisation,
  circuitId: row.circuit_id,
  digest: row.digest,
  publicSignals: row.public_signals,
  context: row.context,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
})

/** Why a proof does not count because one that it stands for doesn't: which one, from 0, and what is wrong with that. */
export const memberReason = (index: number, reason: ReasonCode): ReasonCode =>
  // A number has no lower case.
  `MEMBER_${index}_${reason}` as ReasonCode

/** These proofs, each followed by all that it stands for. */
export const inside = <P extends ShownProof>(proofs: readonly P[]): readonly (P | MemberProof)[] =>
  proofs.flatMap((proof) => [proof, ...inside(proof.members)])

/** Whether each of these, and of what they stand for, counts once: no two are the same or spend one nullifier. */
export const areDistinct = (proofs: readonly ShownProof[]): boolean => {
  const keys = inside(proofs).flatMap(({ spendKeys }) => spendKeys.map((key) => key.join()))
  return new Set(keys).size === keys.length
}

/** What of a proof can be spent and revoked. */
export const keysOf = (
  { circuit, spends, status: demanded }: Statement,
  digest: string,
  signals: readonly string[],
): Pick<ValidProof, 'spendKeys' | 'revocableKeys' | 'isSpendable'> => {
  const value = spends === undefined ? undefined : signalOf(circuit, signals, spends)
  const status = demanded && signalOf(circuit, signals, DISCLOSED_STATUS)
  const isSpendable = value !== NONE
  const spendKeys: SpendKey[] = [
    ['digest', digest],
    ...(value !== undefined && isSpendable ? [nullifierKey(circuit.id, value)] : []),
  ]
  const isShown = status !== undefined && status !== NONE
  return {
    spendKeys,
    revocableKeys: [...spendKeys, ...(isShown ? [['status', status] as const] : [])],
    isSpendable,
  }
}

/** A proof beside which another decision or digest is told is not the one that somebody means. */
const heldAgainst = (examined: Examined, { decision, digest, context }: PresentedProof): Examined => {
  if (!examined.valid) return examined
  const faults: ReasonCode[] = []
  const ctx = signalOf(examined.statement.circuit, examined.publicSignals, 'ctx')
  const isUntold = examined.reasonCodes.some((reason) => UNBOUND.includes(reason))
  if (context !== undefined && !isUntold && String(contextElement(context)) !== ctx)
    faults.push('CONTEXT_MISMATCH')
  const shown = examined.decision ?? decisionOf(examined.statement, examined.publicSignals)
  const isOther = decision !== undefined && decision !== shown
  if (isOther) faults.push('DECISION_MISMATCH')
  if (digest !== undefined && digest !== examined.digest) faults.push('DIGEST_MISMATCH')
  if (faults.length === 0) return examined
  return { ...examined, verified: false, reasonCodes: [...examined.reasonCodes, ...faults] }
}

export const createChecking = (deps: CheckingDeps) => {
  const { database, ledger, verifier, clock, baseUrl, findStatement, challenges } = deps
  const faultsOf = createNativeChecks(deps)

  /** By its id; without one by the digest that its signals have under the circuit, or any circuit that it fits. */
  const findRecord = async (
    { organisation }: Caller,
    { proofId, circuitId }: PresentedProof,
    publicSignals: readonly string[],
  ): Promise<ProofRecord | undefined> => {
    if (proofId !== undefined) {
      const row = await store.findProof(database, organisation, proofId)
      return row && toRecord(row)
    }
    if (!publicSignals.every(isCanonicalSignal)) return undefined
    const fitting = CIRCUITS.filter(({ publicNames }) => publicNames.length === publicSignals.length)
    const ids = circuitId === undefined ? fitting.map(({ id }) => id) : [circuitId]
    const digests = ids.map((id) => proofDigest(id, publicSignals))
    const row = await store.findProofByDigest(database, organisation, digests)
    return row && toRecord(row)
  }

  /** What has become of a member. That its pairing holds was seen before it was attested; so was its `now`. */
  const lookUp = async (
    caller: Caller,
    { digest, decision }: StatedMember,
    room: Room,
  ): Promise<{ readonly member?: MemberProof; readonly faults: readonly ReasonCode[] }> => {
    if (room.left-- <= 0) return { faults: ['TOO_MANY_MEMBERS'] }
    const row = await store.findProofByDigest(database, caller.organisation, [digest])
    const statement = row && findStatement(row.circuit_id)
    if (!row || !statement) return { faults: ['PROOF_UNKNOWN'] }
    // Of a version of its circuit that was replaced, whose signals have other names.
    if (row.public_signals.length !== statement.circuit.publicNames.length)
      return { faults: ['SIGNAL_COUNT'] }
    const weighed = await weigh(caller, row.public_signals, statement, toRecord(row), undefined, room)
    const member = { ...weighed, proofId: row.id }
    const faults = weighed.reasonCodes.filter((reason) => reason !== 'NOW_OUT_OF_RANGE')
    if (weighed.decision === null) faults.push('NO_QUESTION')
    else if (weighed.decision !== decision && !faults.some(isPolicyNo)) faults.push('DECISION_MISMATCH')
    if (weighed.decision === 1 && (await statement.isOver?.(row.public_signals, clock.now())))
      faults.push('CREDENTIAL_EXPIRED')
    return { member, faults }
  }

  /** The members of a proof that is what its record says. */
  const lookUpMembers = async (caller: Caller, stated: readonly StatedMember[], room: Room) => {
    const found = await Promise.all(stated.map((member) => lookUp(caller, member, room)))
    const members = found.flatMap(({ member }) => member ?? [])
    return {
      members,
      faults: [
        ...found.flatMap(({ faults }, index) => faults.map((fault) => memberReason(index, fault))),
        ...(areDistinct(members) ? [] : (['MEMBERS_NOT_DISTINCT'] as const)),
      ],
    }
  }

  /** What a proof whose pairing holds shows, with what else is wrong with it. */
  const weigh = async (
    caller: Caller,
    publicSignals: readonly string[],
    statement: Statement,
    record: ProofRecord | undefined,
    circuitAsked: string | undefined,
    room: Room = { left: MAX_INSIDE_PROOFS },
  ): Promise<ShownProof> => {
    const circuitId = statement.circuit.id
    const digest = proofDigest(circuitId, publicSignals)
    const issuer = record?.context?.elsewhere?.issuer
    const elsewhere = issuer == null ? undefined : issuerAmong({ circuitId, publicSignals }, [issuer])
    const isOthers = statement.issuerSpends && elsewhere?.issuer !== caller.organisation
    const keys = {
      ...keysOf(statement, digest, publicSignals),
      otherSpender: isOthers ? elsewhere?.issuer : undefined,
    }
    const { spentAt, isRevoked } = await findEnd(ledger, caller.organisation, { digest, ...keys })
    const shown = decisionOf(statement, publicSignals)
    const stated = record?.context?.statement
    const reasonCodes: ReasonCode[] = []
    if (record === undefined) reasonCodes.push('PROOF_UNKNOWN')
    else {
      if (circuitAsked !== undefined && circuitAsked !== circuitId) reasonCodes.push('CIRCUIT_MISMATCH')
      if (record.digest !== digest) reasonCodes.push('SIGNALS_MISMATCH')
      else reasonCodes.push(...(await faultsOf(caller, statement, record, publicSignals)))
    }
    if (record && stated && shown === 1 && (await isPolicyRefusal(database, statement, record, stated)))
      reasonCodes.push(POLICY_NO)
    const { members, faults } = await lookUpMembers(
      caller,
      (stated && statement.members?.(stated)) ?? [],
      room,
    )
    reasonCodes.push(...faults)
    if (isRevoked) reasonCodes.push('RESULT_REVOKED')
    if (spentAt !== undefined) reasonCodes.push('DOUBLE_SPEND')
    const superseding =
      stated && (await statement.superseding?.({ caller, publicSignals, statement: stated }))
    const decided = reasonCodes.some(isPolicyNo) ? 0 : shown
    const decision = stated && asksNothing(stated) ? null : decided
    const context = knownContext(baseUrl, record, reasonCodes)
    const { createdAt, context: stored } = record ?? {}
    return {
      valid: true,
      verified: reasonCodes.length === 0,
      decision,
      digest,
      circuitId,
      proofId: record?.proofId ?? null,
      context,
      ...(elsewhere && { elsewhere }),
      reasonCodes,
      facts: () => ({
        ...proofFacts({ publicSignals, circuitId, context, purpose: stored?.purpose, createdAt }),
        decision,
      }),
      statement,
      publicSignals,
      ...keys,
      isSpendable: keys.isSpendable && members.every(({ isSpendable }) => isSpendable),
      spentAt,
      superseding,
      expiresAt: record?.expiresAt ?? null,
      members,
    }
  }

  /** The pairing, under the key of this circuit. */
  const pair = async (
    caller: Caller,
    read: Read,
    circuitId: string,
    record: ProofRecord | undefined,
    circuitAsked = circuitId,
    owner = caller.organisation,
  ): Promise<Examined> => {
    const verdict = await verifier.verify(circuitId, read.proof, read.publicSignals, owner)
    const names = { circuitId: findCircuit(circuitId)?.id, proofId: record?.proofId }
    if (!verdict.valid) return refuse(verdict.reason, names)
    const statement = findStatement(circuitId)
    if (statement === undefined) return refuse('CIRCUIT_UNKNOWN', names)
    const weighed = await weigh(caller, read.publicSignals, statement, record, circuitAsked)
    return { ...weighed, proof: read.proof }
  }

  /** What differs from what is expected is not verified. @throws AppError validation_failed for what can't apply */
  const expected = (examined: Examined, expect: PresentedProof['expect']): Examined => {
    if (!examined.valid || expect === undefined) return examined
    const differing = unexpected(expect, examined.facts(), clock.now())
    if (differing.length === 0) return examined
    return {
      ...examined,
      verified: false,
      reasonCodes: [...examined.reasonCodes, ...differing],
      unexpected: differing,
    }
  }

  /** What a proof that somebody else made is held against, and the challenge of the caller's that it is said to answer. */
  const askedBefore = async (
    { organisation }: Caller,
    { nonce }: SentContext,
    { expect }: PresentedProof,
  ): Promise<{ readonly asked: AskedBefore; readonly challenge: StandingChallenge | undefined }> => {
    const challenge = await challenges.byNonce(organisation, nonce)
    const accepted = expect?.issuers ?? challenge?.issuers ?? [organisation]
    const issuers = challenge ? challenge.issuers.filter((id) => accepted.includes(id)) : accepted
    return { asked: { organisation, issuers, challenge: challenge?.context, expect }, challenge }
  }

  /** Holds a proof that somebody else made against what was asked before. @throws as `expected` */
  const judged = (
    examined: Examined,
    context: SentContext,
    { asked, challenge }: Awaited<ReturnType<typeof askedBefore>>,
  ): Examined => {
    if (!examined.valid) return examined
    const { circuitId, publicSignals } = examined
    const differing: ReasonCode[] = presentationReasons(
      { circuitId, publicSignals, context },
      asked,
      clock.now(),
    )
    const isOther = differing.includes('CHALLENGE_MISMATCH')
    if (!isOther && challenge?.isAnswered) differing.push('CHALLENGE_ANSWERED')
    if (differing.length === 0) return examined
    // Of what answers something else, nothing more can be said.
    const reasonCodes = isOther ? differing : [...new Set([...examined.reasonCodes, ...differing])]
    const told = isOther ? { context: null } : {}
    return { ...examined, ...told, verified: false, reasonCodes, unexpected: differing }
  }

  /** Checks a proof that is not on record by the context that it comes with. */
  const examinePresented = async (
    caller: Caller,
    read: Read,
    presented: PresentedProof,
    context: SentContext,
    owner: string | undefined,
  ): Promise<Examined> => {
    const { circuit: circuitId, aud, org, statement, nonce, exp } = context
    const { publicSignals } = read
    if (!publicSignals.every(isCanonicalSignal)) return refuse('SIGNAL_NOT_CANONICAL', { circuitId })
    const before = await askedBefore(caller, context, presented)
    const { challenge, asked } = before
    const createdAt = clock.now()
    const { issuer = null } = issuerAmong({ circuitId, publicSignals }, asked.issuers) ?? {}
    const stored = {
      organisation: caller.organisation,
      context: { statement, nonce, elsewhere: { aud, org, issuer } },
      createdAt,
      expiresAt: endOf(exp),
    }
    const proofId = challenge?.proofId ?? newId('prf', createdAt)
    const record = {
      ...stored,
      proofId,
      circuitId,
      digest: proofDigest(circuitId, publicSignals),
      publicSignals,
    }
    const examined = await pair(caller, read, circuitId, record, presented.circuitId, owner)
    return judged(
      examined.valid ? { ...examined, adoption: { ...stored, challenge } } : examined,
      context,
      before,
    )
  }

  return {
    /**
     * Checks what somebody presents. A proof that is not on record is checked by the context that comes with it, if one does; one
     * that was recorded so is held against what was asked whenever it isn't the caller who names it.
     * @param owner whose turn it takes to be verified; default: that of the caller's organisation
     * @throws whatever the database answers; AppError validation_failed for what can't be expected; never for what the proof is
     */
    async examine(caller: Caller, presented: PresentedProof, owner?: string): Promise<Examined> {
      const read = readPresented(presented)
      if ('fault' in read) return refuse(read.fault)
      const { context, proofId, circuitId: circuitAsked, expect } = presented
      const named = await findRecord(caller, presented, read.publicSignals)
      // Beside a context the id may be that of another organisation, whose answer is presented whole.
      const isUnnamed = named === undefined && proofId !== undefined && context !== undefined
      const record = isUnnamed
        ? await findRecord(caller, { ...presented, proofId: undefined }, read.publicSignals)
        : named
      if (context !== undefined && !record?.context)
        return heldAgainst(await examinePresented(caller, read, presented, context, owner), presented)
      const circuitId = record?.circuitId ?? circuitAsked
      if (circuitId === undefined) return refuse(proofId === undefined ? 'CIRCUIT_UNKNOWN' : 'PROOF_UNKNOWN')
      const examined = await pair(caller, read, circuitId, record, circuitAsked, owner)
      if (record?.context?.elsewhere === undefined || record.proofId === proofId)
        return heldAgainst(expected(examined, expect), presented)
      const shown = context ?? contextOf(baseUrl, { ...record, ...record.context })
      return heldAgainst(judged(examined, shown, await askedBefore(caller, shown, presented)), presented)
    },

    /**
     * Checks a proof that is not stored as if it were, with this context. @param as how it would be stored
     * @param owner whose turn it takes to be verified; default: that of the caller's organisation
     */
    async examineForeign(
      caller: Caller,
      foreign: ForeignProof,
      { proofId, expiresAt }: Pick<ProofRecord, 'proofId' | 'expiresAt'>,
      owner?: string,
    ): Promise<Examined> {
      const { circuitId, context } = foreign
      const read = readPresented(foreign)
      if ('fault' in read) return refuse(read.fault, { circuitId })
      const { publicSignals } = read
      if (!publicSignals.every(isCanonicalSignal)) return refuse('SIGNAL_NOT_CANONICAL', { circuitId })
      const { organisation = caller.organisation } = foreign
      const digest = proofDigest(circuitId, publicSignals)
      const stored = { proofId, organisation, circuitId, digest, publicSignals, context, expiresAt }
      const record = { ...stored, createdAt: foreign.createdAt ?? clock.now() }
      return expected(await pair(caller, read, circuitId, record, circuitId, owner), foreign.expect)
    },
  }
}

export type Checking = ReturnType<typeof createChecking>
