/** Builds what makes and verifies proofs, and the signed results that are proven. @module */
import { type Artifacts, loadArtifacts } from '../circuits/artifacts/artifacts.ts'
import { QUICK_TABLE_BYTES } from '../circuits/proving/groth16.ts'
import { createProver, type Prover } from '../circuits/proving/prover.ts'
import { createGiveWay, type GiveWay } from '../circuits/threads/give-way.ts'
import { createWorkerPool, type WorkerPool } from '../circuits/threads/worker-pool.ts'
import { createVerifier, type Verifier } from '../circuits/verifying/verifier-queue.ts'
import { type CircuitsService, createCircuits } from '../domain/circuits/service.ts'
import { DecisionRequest } from '../domain/policies/schemas-decisions.ts'
import { createPolicies, type PoliciesService } from '../domain/policies/service.ts'
import { proofRow } from '../domain/proofs/recording.ts'
import { revokedDigestClaim } from '../domain/proofs/spending/spend-keys.ts'
import { ENGINE } from '../domain/system/service.ts'
import { createUsage, type UsageService } from '../domain/usage/service.ts'
import { VerifyRequest } from '../domain/verification/schemas.ts'
import { createVerification, type VerificationService } from '../domain/verification/service.ts'
import { bodyCheck } from '../http/input/validation.ts'
import type { Closers, Foundations } from './foundations.ts'

export interface ProvingServices {
  readonly circuits: CircuitsService
  readonly workerPool: WorkerPool
  readonly giveWay: GiveWay
  readonly prover: Prover
  readonly verifier: Verifier
  readonly usage: UsageService
  readonly verification: VerificationService
  readonly policies: PoliciesService
}

let shipped: Artifacts | undefined
/** Read and checked once, for all servers of a process. */
const shippedArtifacts = (): Artifacts => {
  shipped ??= loadArtifacts()
  return shipped
}

/** @param closers receives what ends the services */
export const createProvingServices = (foundations: Foundations, closers: Closers): ProvingServices => {
  const { config, database, logs, ledger, signers, accounts, metrics, clock, openRecent, logger } =
    foundations
  const { baseUrl } = config
  const usage = createUsage({ database, accounts, clock, logger })
  const artifacts = config.circuitsDir ? loadArtifacts(config.circuitsDir) : shippedArtifacts()
  const tableBytes = config.proverTableMb * 2 ** 20
  const workerPool = createWorkerPool({
    threads: config.proverThreads,
    artifacts,
    // Above that, the others are made in the background.
    tableBytes: tableBytes < QUICK_TABLE_BYTES ? tableBytes : undefined,
    onFailure: (error) => logger.error({ err: error }, 'a thread for proofs failed'),
  })
  closers.push(() => workerPool.close())
  database.onMessage?.(workerPool.hear)
  const giveWay = createGiveWay({ threads: workerPool.threads })
  const prover = createProver({
    pool: workerPool,
    giveWay,
    tableBytes,
    onProved: metrics.observeProof,
    onFailure: (error) => logger.error({ err: error }, 'tables for proofs could not be made'),
  })
  closers.push(() => prover.close())
  metrics.readProverQueue(prover.waiting)
  const verifier = createVerifier({ pool: workerPool, artifacts, giveWay })
  closers.push(() => verifier.close())
  const circuits = createCircuits({ artifacts, baseUrl })
  const verification = createVerification({
    database,
    logs,
    ledger,
    signers,
    prover,
    proofRow,
    revokedDigestClaim,
    usage,
    clock,
    baseUrl,
    hasWitnesses: config.witnessPolicy !== undefined,
    engine: ENGINE,
    checkRequest: bodyCheck(VerifyRequest),
  })
  const policies = createPolicies({
    database,
    ledger,
    verification,
    usage,
    clock,
    openRecent,
    baseUrl,
    checkEvaluation: bodyCheck(DecisionRequest),
  })
  return { circuits, workerPool, giveWay, prover, verifier, usage, verification, policies }
}
