/** Every change to the schema, oldest first. Names are kept in the database and never change. @module */
import type { Knex } from 'knex'
import { ledgerMigration } from './0001-ledger.ts'
import { accountsMigration } from './0002-accounts.ts'
import { paymentsMigration } from './0003-payments.ts'
import { logMigration } from './0004-log.ts'
import { verificationMigration } from './0005-verification.ts'
import { podsMigration } from './0006-pods.ts'
import { hermesMigration } from './0007-hermes.ts'
import { proofsMigration } from './0008-proofs.ts'
import { tokensMigration } from './0009-tokens.ts'
import { policiesMigration } from './0010-policies.ts'
import { terminalProvingMigration } from './0011-terminal-proving.ts'
import { issuerMigration } from './0012-issuer.ts'
import { auditMigration } from './0013-audit.ts'
import { chatMigration } from './0014-chat.ts'
import { webhooksMigration } from './0015-webhooks.ts'
import { hybridTokensMigration } from './0016-hybrid-tokens.ts'
import { ticketsMigration } from './0017-tickets.ts'
import { consentsMigration } from './0018-consents.ts'
import { agentsMigration } from './0019-agents.ts'
import { agentTrustMigration } from './0020-agent-trust.ts'
import { kycMigration } from './0021-kyc.ts'
import { amlMigration } from './0022-aml.ts'
import { attemptsMigration } from './0023-attempts.ts'
import { attestationsMigration } from './0024-attestations.ts'
import { vouchedProofsMigration } from './0025-vouched-proofs.ts'
import { askedMigration } from './0026-asked.ts'
import { revokedResultsMigration } from './0027-revoked-results.ts'
import { resultProofsMigration } from './0028-result-proofs.ts'
import { issuedNullifiersMigration } from './0029-issued-nullifiers.ts'

interface Migration {
  readonly name: string
  up(knex: Knex): Promise<void>
}

export const MIGRATIONS: readonly Migration[] = [
  ledgerMigration,
  accountsMigration,
  paymentsMigration,
  logMigration,
  verificationMigration,
  podsMigration,
  hermesMigration,
  proofsMigration,
  tokensMigration,
  policiesMigration,
  terminalProvingMigration,
  issuerMigration,
  auditMigration,
  chatMigration,
  webhooksMigration,
  hybridTokensMigration,
  ticketsMigration,
  consentsMigration,
  agentsMigration,
  agentTrustMigration,
  kycMigration,
  amlMigration,
  attemptsMigration,
  attestationsMigration,
  vouchedProofsMigration,
  askedMigration,
  revokedResultsMigration,
  resultProofsMigration,
  issuedNullifiersMigration,
]
