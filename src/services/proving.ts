/** Builds what makes and verifies proofs, and the signed results that are proven. @module */
import { createProver, type Prover } from '../circuits/proving/prover.ts'
import { createGiveWay, type GiveWay } from '../circuits/threads/give-way.ts'
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
  readonly giveWay: GiveWay
  readonly prover: Prover
  readonly verifier: Verifier
  readonly usage: UsageService
  readonly verification: VerificationService
  readonly policies: PoliciesService
}

/** @param closers receives what ends the services */
export const createProvingServices = (foundations: Foundations, closers: Closers): ProvingServices => {
  const { config, database, logs, ledger, signers, accounts, metrics, clock, openRecent, logger } =
    foundations
  const { artifacts, workerPool, tableBytes } = foundations
  const { baseUrl } = config
  const usage = createUsage({ database, accounts, clock, logger })
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
  return { circuits, giveWay, prover, verifier, usage, verification, policies }
}
