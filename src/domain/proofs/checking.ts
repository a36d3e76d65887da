/**
 * Checks proofs: the pairing first, then everything that a pairing can't show. What is wrong comes back as reason codes;
 * an exception says only that it couldn't be told.
 * @module
 */
import { isDeepStrictEqual } from 'node:util'
import type { Caller } from '../../caller.ts'
import { CIRCUITS, findCircuit } from '../../circuits/catalogue.ts'
import { isCanonicalSignal } from '../../circuits/circuit.ts'
import type { Verifier } from '../../circuits/verifier.ts'
import type { Clock } from '../../clock.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { decodeZk1, proofDigest, type SnarkProof } from '../../protocol/zk1.ts'
import type { Database } from '../../store/database.ts'
import { contextOf } from './binding.ts'
import { createNativeChecks } from './native-checks.ts'
import type { CheckedProof, ForeignProof, PresentedProof } from './proof.ts'
import { decisionOf, signalOf } from './signals.ts'
import { findSpentAt, nullifierKey, type SpendKey } from './spend-keys.ts'
import type { ProofRecord, ReasonCode, Statement } from './statement.ts'
import * as store from './store.ts'

export interface CheckingDeps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'findClaim'>
  readonly verifier: Pick<Verifier, 'verify'>
  readonly clock: Clock
  readonly baseUrl: string
  /** Undefined where there is none. */
  readonly findStatement: (circuitId: string) => Statement | undefined
}

/** A proof whose pairing holds. */
export interface ValidProof extends CheckedProof {
  readonly valid: true
  readonly decision: 0 | 1
  readonly digest: string
  readonly circuitId: string
  readonly statement: Statement
  readonly proof: SnarkProof
  readonly publicSignals: readonly string[]
  readonly spendKeys: readonly SpendKey[]
  /** Unix ms: when it was spent before. */
  readonly spentAt: number | undefined
}

export interface RefusedProof extends CheckedProof {
  readonly valid: false
  readonly verified: false
}

export type Examined = ValidProof | RefusedProof

type Read = { readonly proof: SnarkProof; readonly publicSignals: readonly string[] }

/** Where the signals are not those of the stored context. */
const UNBOUND: readonly ReasonCode[] = ['SIGNALS_MISMATCH', 'CONTEXT_MISMATCH']

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
const readPresented = ({ proof, publicSignals }: PresentedProof): Read | { readonly fault: ReasonCode } => {
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

const spendKeysOf = (
  { circuit, nullifier }: Statement,
  digest: string,
  signals: readonly string[],
): SpendKey[] => {
  const value = nullifier === undefined ? undefined : signalOf(circuit, signals, nullifier)
  return [['digest', digest], ...(value === undefined ? [] : [nullifierKey(circuit.id, value)])]
}

export const createChecking = (deps: CheckingDeps) => {
  const { database, ledger, verifier, clock, baseUrl, findStatement } = deps
  const faultsOf = createNativeChecks({ database, clock, baseUrl })

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

  /** A proof whose pairing holds, with what else is wrong with it. */
  const weigh = async (
    caller: Caller,
    read: Read,
    statement: Statement,
    record: ProofRecord | undefined,
    circuitAsked: string | undefined,
  ): Promise<ValidProof> => {
    const { publicSignals } = read
    const circuitId = statement.circuit.id
    const digest = proofDigest(circuitId, publicSignals)
    const spendKeys = spendKeysOf(statement, digest, publicSignals)
    const spentAt = await findSpentAt(ledger, caller.organisation, spendKeys)
    const reasonCodes: ReasonCode[] = []
    if (record === undefined) reasonCodes.push('PROOF_UNKNOWN')
    else {
      if (circuitAsked !== undefined && circuitAsked !== circuitId) reasonCodes.push('CIRCUIT_MISMATCH')
      if (record.digest !== digest) reasonCodes.push('SIGNALS_MISMATCH')
      else reasonCodes.push(...(await faultsOf(caller, statement, record, publicSignals)))
    }
    if (spentAt !== undefined) reasonCodes.push('DOUBLE_SPEND')
    return {
      ...read,
      valid: true,
      verified: reasonCodes.length === 0,
      decision: decisionOf(statement, publicSignals),
      digest,
      circuitId,
      proofId: record?.proofId ?? null,
      context: knownContext(baseUrl, record, reasonCodes),
      reasonCodes,
      statement,
      spendKeys,
      spentAt,
    }
  }

  /** The pairing, under the key of this circuit. */
  const pair = async (
    caller: Caller,
    read: Read,
    circuitId: string,
    record: ProofRecord | undefined,
    circuitAsked = circuitId,
  ): Promise<Examined> => {
    const verdict = await verifier.verify(circuitId, read.proof, read.publicSignals)
    const names = { circuitId: findCircuit(circuitId)?.id, proofId: record?.proofId }
    if (!verdict.valid) return refuse(verdict.reason, names)
    const statement = findStatement(circuitId)
    return statement === undefined
      ? refuse('CIRCUIT_UNKNOWN', names)
      : weigh(caller, read, statement, record, circuitAsked)
  }

  return {
    /** Checks what somebody presents. @throws whatever the database answers; never for what the proof is */
    async examine(caller: Caller, presented: PresentedProof): Promise<Examined> {
      const read = readPresented(presented)
      if ('fault' in read) return refuse(read.fault)
      const record = await findRecord(caller, presented, read.publicSignals)
      const circuitId = record?.circuitId ?? presented.circuitId
      if (circuitId === undefined)
        return refuse(presented.proofId === undefined ? 'CIRCUIT_UNKNOWN' : 'PROOF_UNKNOWN')
      return pair(caller, read, circuitId, record, presented.circuitId)
    },

    /** Checks a proof that is not stored as if it were, with this context. @param as how it would be stored */
    async examineForeign(
      caller: Caller,
      foreign: ForeignProof,
      { proofId, expiresAt }: Pick<ProofRecord, 'proofId' | 'expiresAt'>,
    ): Promise<Examined> {
      const { circuitId, context } = foreign
      const read = readPresented(foreign)
      if ('fault' in read) return refuse(read.fault, { circuitId })
      const { publicSignals } = read
      if (!publicSignals.every(isCanonicalSignal)) return refuse('SIGNAL_NOT_CANONICAL', { circuitId })
      const { organisation } = caller
      const digest = proofDigest(circuitId, publicSignals)
      const stored = { proofId, organisation, circuitId, digest, publicSignals, context, expiresAt }
      return pair(caller, read, circuitId, { ...stored, createdAt: clock.now() })
    },
  }
}

export type Checking = ReturnType<typeof createChecking>
