/** Builds the services of proofs, of what each circuit's proof says, and of what is built on them. @module */

import { createMembership } from '../domain/audit/membership.ts'
import { type AuditProofs, createAuditProofs } from '../domain/audit/zkp.ts'
import type { ConsentService } from '../domain/consent/service.ts'
import type { HybridTokensService } from '../domain/hybrid-tokens/service.ts'
import type { KycService } from '../domain/kyc/service.ts'
import type { PaymentsService } from '../domain/payments/service.ts'
import { findDomainOfOrganisation } from '../domain/pods/store.ts'
import {
  type ChallengesService,
  createChallenges,
  createOpenChallenges,
} from '../domain/proofs/challenges/service.ts'
import { type CircuitQuestions, createCircuitQuestions } from '../domain/proofs/circuit-questions.ts'
import { ProofVerifyRequest, SyncItem } from '../domain/proofs/schemas.ts'
import { createProofs, type ProofsService } from '../domain/proofs/service.ts'
import { createIssuerLookup } from '../domain/proofs/spending/nullifiers.ts'
import { prepareMember } from '../domain/proofs/statements/audit_proof.ts'
import { createStatements } from '../domain/proofs/statements/index.ts'
import type { TerminalsService } from '../domain/terminals/service.ts'
import { PresentedTicket } from '../domain/tickets/schemas.ts'
import { createTickets, type TicketsService } from '../domain/tickets/service.ts'
import type { TokensService } from '../domain/tokens/service.ts'
import {
  createPolicyVerification,
  type PolicyVerificationService,
} from '../domain/verification/policy-verification.ts'
import { bodyCheck } from '../http/input/validation.ts'
import { createCheckpointReader } from '../ledger/checkpoints/checkpoint-reading.ts'
import type { PoseidonLogs } from '../ledger/tree/shards.ts'
import type { Foundations } from './foundations.ts'
import type { ProvingServices } from './proving.ts'

export interface ProofServices {
  readonly proofs: ProofsService
  readonly challenges: ChallengesService
  readonly circuitQuestions: CircuitQuestions
  readonly policyVerification: PolicyVerificationService
  readonly tickets: TicketsService
  readonly auditProofs: AuditProofs
}

/** What they are built on. */
export interface ProofFoundations extends Foundations, ProvingServices {
  readonly payments: PaymentsService
  readonly terminals: TerminalsService
  readonly tokens: TokensService
  readonly kyc: KycService
  readonly consents: ConsentService
  readonly hybridTokens: HybridTokensService
  readonly poseidonLogs: PoseidonLogs
}

const buildChallenges = (foundations: ProofFoundations, proofs: ProofsService): ChallengesService => {
  const { config, database, accounts } = foundations
  return createChallenges({
    ...foundations,
    proofs,
    checkInputs: bodyCheck,
    async asker(organisation) {
      const [{ name }, domain] = await Promise.all([
        accounts.organisations.find(organisation),
        findDomainOfOrganisation(database, organisation),
      ])
      return { name, domain: domain ?? null }
    },
    baseUrl: config.baseUrl,
  })
}

export const createProofServices = (foundations: ProofFoundations): ProofServices => {
  const { config, database, logs, ledger, signers, sealing, signedLogs, metrics, security, clock, statuses } =
    foundations
  const { prover, verifier, usage, verification, policies, payments, poseidonLogs } = foundations
  const { baseUrl } = config
  const membership = createMembership({ database, logs, poseidonLogs })
  const proofs: ProofsService = createProofs({
    database,
    logs,
    ledger,
    prover,
    verifier,
    usage,
    sealing,
    metrics,
    security,
    statuses,
    clock,
    baseUrl,
    challenges: createOpenChallenges(database),
    statements: createStatements({
      ...foundations,
      membership,
      issuerOf: createIssuerLookup(database),
      verifyStored: (caller, proofId) => proofs.verifyStored(caller, proofId),
    }),
    checkInputs: bodyCheck,
    checkSyncItem: bodyCheck(SyncItem),
  })
  const challenges = buildChallenges(foundations, proofs)
  const tickets = createTickets({
    database,
    ledger,
    signers,
    sealing,
    clock,
    subjects: foundations.subjects,
    baseUrl,
    proofs,
    metrics,
    security,
    checkProof: bodyCheck(ProofVerifyRequest),
    checkTicket: bodyCheck(PresentedTicket),
  })
  const auditProofs = createAuditProofs({
    database,
    logs,
    ledger,
    signedLogs,
    checkpointReader: (origin) => createCheckpointReader(origin, signers),
    membership,
    proofs,
    prepareMember,
    verifier,
    clock,
    baseUrl,
  })
  const circuitQuestions = createCircuitQuestions({ proofs, payments, ledger, clock })
  const policyVerification = createPolicyVerification({ verification, policies, proofs, baseUrl })
  return { proofs, challenges, circuitQuestions, policyVerification, tickets, auditProofs }
}
