/** Verification: data in; a decision that is signed, proven and in the ledger out. @module */
import type { Caller } from '../../caller.ts'
import { type Prover, proveSignals } from '../../circuits/proving/prover.ts'
import { type Clock, iso } from '../../clock.ts'
import { fail } from '../../errors.ts'
import { newId } from '../../ids.ts'
import type { Signers } from '../../keys/signers.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Logs } from '../../ledger/logs.ts'
import { encodeZk1, type SnarkProof, zk1Bytes } from '../../protocol/zk1.ts'
import type { Database } from '../../store/database.ts'
import type { Row } from '../../store/table.ts'
import type { proofRow } from '../proofs/recording.ts'
import type { revokedDigestClaim } from '../proofs/spending/spend-keys.ts'
import type { UsageCategory } from '../usage/schemas.ts'
import type { UsageService } from '../usage/service.ts'
import { appendBatch, type CheckRequest } from './batch.ts'
import { type Issue, issueResult } from './issue.ts'
import { createLookup } from './lookup.ts'
import { createResultList } from './result-list.ts'
import type {
  BatchRequest,
  BatchResult,
  VerificationInfo,
  VerificationResult,
  VerifyRequest,
} from './schemas.ts'
import { type ResultSigner, resultSigner } from './signed-result.ts'
import { type DataStatement, makeStatement } from './statement.ts'

/** A result that is about to be committed. */
export interface MadeResult {
  readonly verificationId: string
  /** Null where nothing was asked. */
  readonly decision: 'YES' | 'NO' | null
  /** Unix ms. */
  readonly at: number
}

/** What a result is made for. */
export interface VerifyPurpose {
  readonly category: UsageCategory
  /** Rows that are committed with the result or not at all, such as a pod's charge. Pure; may be asked twice. */
  readonly charge?: (made: MadeResult) => readonly Row[]
  /** A last look at what the purpose rests on, once the proof is made; may throw. */
  readonly beforeCommit?: () => Promise<void>
}

export interface VerificationDeps {
  readonly database: Database
  readonly logs: Pick<Logs, 'of'>
  readonly ledger: Pick<Ledger, 'append'>
  readonly signers: Pick<Signers, 'current'>
  readonly prover: Pick<Prover, 'prove'>
  readonly proofRow: typeof proofRow
  readonly revokedDigestClaim: typeof revokedDigestClaim
  readonly usage: Pick<UsageService, 'allowance' | 'meterRow'>
  readonly clock: Clock
  readonly baseUrl: string
  /** Whether witnesses cosign the checkpoints of log 0. */
  readonly hasWitnesses: boolean
  readonly engine: VerificationInfo['engine']
  /** Checks an item of a batch as the body of POST /verify. */
  readonly checkRequest: CheckRequest
}

/** A Groth16 proof as it is handed out. */
interface MadeProof {
  readonly proofId: string
  readonly made: SnarkProof
  readonly proof: string
  readonly bytes: number
}

export type VerificationService = ReturnType<typeof createVerification>

export const createVerification = (deps: VerificationDeps) => {
  const { ledger, signers, prover, proofRow, usage, clock, baseUrl, engine, checkRequest, hasWitnesses } =
    deps
  const signer = (): Promise<ResultSigner> => resultSigner(signers)

  const receiptFor = ({ include_receipt: isAsked }: NonNullable<VerifyRequest['options']>) =>
    isAsked ? { hasWitnesses } : undefined

  /** @throws AppError prover_overloaded */
  const prove = async ({ organisation }: Caller, statement: DataStatement): Promise<MadeProof> => {
    const { proof, publicSignals } = await proveSignals(
      prover,
      statement.circuitId,
      statement,
      'paying',
      organisation,
    )
    return {
      proofId: newId('prf', statement.at),
      made: proof,
      proof: encodeZk1(proof, publicSignals),
      bytes: zk1Bytes(publicSignals),
    }
  }

  const meter = (
    { organisation }: Caller,
    { at }: DataStatement,
    category: UsageCategory,
    proofBytes: number,
  ): Row => usage.meterRow({ organisation, at, category, proofs: proofBytes > 0 ? 1 : 0, proofBytes })

  return {
    ...createResultList(deps),
    ...createLookup({ ...deps, issuer: baseUrl }),

    /** The signer of results at this moment; get one per request. */
    signer,

    info: (): VerificationInfo => ({
      success: true,
      engine,
      status: 'operational',
      issuer: baseUrl,
      timestamp: iso(clock.now()),
    }),

    /**
     * Verifies data: decides, proves, signs and records, and takes a free result where there is no subscription. A
     * signed NO is a result as well; whatever can't be decided is an error and costs nothing.
     * @throws AppError validation_failed, tree_too_large, not_provable, subscription_inactive, free_allocation_used,
     *   prover_overloaded, unavailable
     */
    async verify(
      caller: Caller,
      { data, options = {} }: VerifyRequest,
      { category, charge, beforeCommit }: VerifyPurpose,
    ): Promise<VerificationResult> {
      const statement = makeStatement(caller, baseUrl, data, options, clock.now())
      const allowance = await usage.allowance(caller.organisation, charge !== undefined)
      if (allowance?.left === 0) fail(allowance.code)
      const { proof, proofId, made, bytes } = await prove(caller, statement)
      const { decision, at, expiresAt = null } = statement
      const recorded = { ...statement, proofId, proof: made, createdAt: at, expiresAt }
      const issue: Issue = {
        caller,
        issuer: baseUrl,
        statement,
        signer: await signer(),
        proofId,
        receipt: receiptFor(options),
        reserve: (tx) => allowance?.take(tx),
        write(tx, verificationId, index) {
          tx.write(proofRow(caller, recorded, index))
          tx.write(meter(caller, statement, category, bytes))
          for (const row of charge?.({ verificationId, decision, at }) ?? []) tx.write(row)
        },
      }
      await beforeCommit?.()
      return ledger.append(
        caller,
        issueResult(issue, (result) => ({ ...result, proof, proofId })),
      )
    },

    /**
     * Verifies up to 100 items, in order: each is decided, signed, recorded and paid for itself, none is proven.
     * @throws AppError batch_too_large; subscription_inactive, free_allocation_used or unavailable when no item could
     *   be paid; with an Idempotency-Key unavailable also when some were: what was committed is not done twice
     */
    async batch(caller: Caller, request: BatchRequest): Promise<BatchResult> {
      const at = clock.now()
      const allowance = await usage.allowance(caller.organisation)
      const reserve: Issue['reserve'] = (tx) => allowance?.take(tx)
      const issued = { caller, issuer: baseUrl, signer: await signer(), reserve }
      return appendBatch(ledger, caller, request, checkRequest, ({ data, options = {} }) => {
        const statement = makeStatement(caller, baseUrl, data, options, at)
        const write: Issue['write'] = (tx) => tx.write(meter(caller, statement, 'batch', 0))
        const issue: Issue = { ...issued, statement, receipt: receiptFor(options), write }
        return issueResult(issue, (result) => result)
      })
    },
  }
}
