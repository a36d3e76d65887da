/** Makes proofs: from a prepared statement to a proof and what records it. @module */
import type { Caller } from '../../caller.ts'
import { findCircuit } from '../../circuits/catalogue.ts'
import type { Provable } from '../../circuits/circuit.ts'
import type { Proved } from '../../circuits/proving/groth16.ts'
import { type Prover, proveSignals } from '../../circuits/proving/prover.ts'
import { WitnessError } from '../../circuits/proving/witness.ts'
import type { Clock } from '../../clock.ts'
import { AppError, fail } from '../../errors.ts'
import { newId } from '../../ids.ts'
import type { Sealing } from '../../keys/sealing.ts'
import type { Entry, Tx } from '../../ledger/decision.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { proofDigest, zk1Bytes } from '../../protocol/zk1.ts'
import { defaultPurpose } from '../../rules/encode.ts'
import type { Row } from '../../store/table.ts'
import type { Allowance, UsageService } from '../usage/service.ts'
import {
  type Bound,
  contextOf,
  earliest,
  elementsOf,
  expiryOf,
  newNonce,
  newSalt,
  saltElement,
  toSeconds,
} from './binding.ts'
import type { MadeProof, ProofAsk, UncommittedProof } from './proof.ts'
import {
  alreadyRecorded,
  entryNames,
  findRecorded,
  type ProofRecording,
  proofRow,
  recordClaim,
} from './recording.ts'
import { commitmentOf, decisionOf, verdictOf } from './signals.ts'
import type { Prepared, ProofBinding, Stated, Statement } from './statement.ts'

export interface MakingDeps {
  readonly prover: Pick<Prover, 'prove'>
  readonly usage: Pick<UsageService, 'allowance' | 'meterRow'>
  readonly sealing: Pick<Sealing, 'mac'>
  readonly ledger: Pick<Ledger, 'findClaim'>
  readonly clock: Clock
  readonly baseUrl: string
  /** @throws AppError not_found */
  readonly statement: (circuitId: string) => Statement
}

/** What is recorded besides the proof. */
interface Circumstances {
  readonly caller: Caller
  readonly statement: Statement
  readonly bound: Bound
  readonly subject: readonly [kind: string, id: string] | undefined
  readonly allowance: Allowance | undefined
  readonly meter: Row
  /** What has one record only. */
  readonly once: string | undefined
}

const noWitness = (circuitId: string, cause: unknown): AppError =>
  new AppError('inputs_insufficient', {
    message: `The circuit ${circuitId} has no proof for these inputs.`,
    cause,
  })

/** @throws AppError inputs_insufficient where no witness exists, and what the statement itself throws */
const signalsOf = (circuitId: string, prepared: Prepared, binding: ProofBinding): Provable => {
  try {
    return prepared.signals(binding)
  } catch (error) {
    if (error instanceof RangeError) throw noWitness(circuitId, error)
    throw error
  }
}

const recordingOf = (circumstances: Circumstances, made: UncommittedProof): ProofRecording => {
  const { caller, statement, bound, subject, allowance, meter, once } = circumstances
  const { proofId, publicSignals, reason } = made
  const context = { statement: bound.statement, nonce: bound.nonce }
  const claim = once === undefined ? undefined : recordClaim(made.circuitId, once)
  const entry: Entry = {
    type: 'prove',
    ...entryNames(made),
    commitment: commitmentOf(statement, publicSignals),
    ...(subject && { subject }),
    data: { decision: verdictOf(made.decision), ...(reason && { reason }) },
  }
  const reserve = (tx: Tx): void => {
    const first = claim && tx.holder(...claim)
    // The holder is what is claimed with it below.
    if (first) throw alreadyRecorded(String(first.holder))
    allowance?.take(tx)
    if (claim) tx.claim(...claim, proofId)
  }
  const write = (tx: Tx, index: number): void => {
    tx.write(proofRow(caller, { ...made, context }, index))
    tx.write(meter)
  }
  return {
    entry,
    reserve,
    write,
    record(tx, as = entry) {
      reserve(tx)
      const place = tx.append(as)
      write(tx, place.index)
      return place
    },
  }
}

export const createMaking = (deps: MakingDeps) => {
  const { prover, usage, sealing, ledger, clock, baseUrl } = deps

  /** @throws AppError inputs_insufficient, prover_overloaded, unavailable */
  const prove = async (
    circuitId: string,
    provable: Provable,
    tier: ProofAsk['tier'] = 'paying',
    owner: string,
  ): Promise<Proved> => {
    const circuit = findCircuit(circuitId) ?? fail('not_found')
    return proveSignals(prover, circuit.id, provable, tier, owner).catch((error: unknown) => {
      throw error instanceof WitnessError ? noWitness(circuitId, error) : error
    })
  }

  /** A subject's id is an organisation's own affair: only this hash of it is bound. */
  const subjectHash = (organisation: string, subject: string): string =>
    Buffer.from(sealing.mac('proof-subject', Buffer.from(JSON.stringify([organisation, subject])))).toString(
      'hex',
    )

  /** The purpose is always named where a nullifier is scoped to it. */
  const purposeOf = ({ circuitId, prepared, purpose }: ProofAsk, { circuit }: Statement) =>
    purpose === undefined && circuit.publicNames.includes('scope')
      ? defaultPurpose(circuitId, prepared.statement)
      : purpose

  const statedOf = (
    organisation: string,
    { prepared, subject }: ProofAsk,
    purpose: string | undefined,
  ): Stated => ({
    ...prepared.statement,
    ...(purpose !== undefined && { purpose }),
    ...(subject !== undefined && { subject: subjectHash(organisation, subject) }),
  })

  /** What has one record only, if it has none yet. @throws AppError conflict, of which `recordedId` knows the record */
  const demandUnrecorded = async (
    caller: Caller,
    { circuit, recordedOnce }: Statement,
    publicSignals: readonly string[],
  ): Promise<string | undefined> => {
    const once = await recordedOnce?.(caller, publicSignals)
    const proofId = once === undefined ? undefined : await findRecorded(ledger, caller, circuit.id, once)
    if (proofId !== undefined) throw alreadyRecorded(proofId)
    return once
  }

  /**
   * Makes a proof; nothing is committed yet.
   * @throws AppError conflict for what has one record only; not_found, inputs_insufficient, not_provable; subscription_inactive, free_allocation_used;
   *   prover_overloaded, unavailable
   */
  return async (caller: Caller, ask: ProofAsk): Promise<MadeProof> => {
    const { organisation } = caller
    const { circuitId, prepared, category, nonce = newNonce(), ttlSeconds, salt = newSalt(), tier } = ask
    const at = clock.now()
    const statement = deps.statement(circuitId)
    const allowance = await usage.allowance(organisation)
    const expiresAt = earliest([expiryOf(at, ttlSeconds), prepared.expiresAt])
    const stated = statedOf(organisation, ask, purposeOf(ask, statement))
    const bound: Bound = { organisation, circuitId, statement: stated, nonce, expiresAt }
    const signals = signalsOf(circuitId, prepared, {
      ...elementsOf(baseUrl, bound),
      salt: saltElement(salt),
      now: BigInt(toSeconds(at)),
    })
    const once = await demandUnrecorded(caller, statement, signals.publicSignals)
    // What has its record already is told without a charge.
    if (allowance?.left === 0) fail(allowance.code)
    const { proof, publicSignals } = await prove(circuitId, signals, tier, organisation)
    const made = {
      proofId: newId('prf', at),
      circuitId,
      digest: proofDigest(circuitId, publicSignals),
      proof,
      publicSignals,
      decision: decisionOf(statement, publicSignals),
      ...(prepared.reason && { reason: prepared.reason }),
      context: contextOf(baseUrl, bound),
      createdAt: at,
      expiresAt,
    }
    const proofBytes = zk1Bytes(publicSignals)
    const meter = usage.meterRow({ organisation, at, category, proofs: 1, proofBytes })
    const subject = ask.subject === undefined ? prepared.subject : (['subject', ask.subject] as const)
    const circumstances = { caller, statement, bound, subject, allowance, meter, once }
    return { ...made, recording: recordingOf(circumstances, made) }
  }
}
