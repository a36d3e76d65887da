/** Every change to the schema, oldest first. Names are kept in the database and never change. @module */
import type { Knex } from 'knex'
import { initialMigration } from './0001-initial/initial.ts'
import { statusesMigration } from './0002-statuses.ts'
import { holdersMigration } from './0003-holders.ts'
import { challengesMigration } from './0004-challenges.ts'
import { amlSubscriptionsMigration } from './0005-aml-subscriptions.ts'
import { watchListProblems } from './0006-watch-list-problems.ts'
import { sdJwtsMigration } from './0007-sd-jwts.ts'
import { searchIndexMigration } from './0008-search-index.ts'
import { rolesMigration } from './0009-roles.ts'
import { paymentListsMigration } from './0010-payment-lists.ts'
import { alertDecisionsMigration } from './0011-alert-decisions.ts'
import { invitationsMigration } from './0012-invitations.ts'
import { sessionDevicesMigration } from './0013-session-devices.ts'
import { lastToldMigration } from './0014-last-told.ts'
import { issuedListsMigration } from './0015-issued-lists.ts'
import { reviewsMigration } from './0016-reviews.ts'
import { totpMigration } from './0017-totp.ts'
import { identitiesMigration } from './0018-identities.ts'
import { organisationsListedMigration } from './0019-organisations-listed.ts'
import { allAlertsMigration } from './0020-all-alerts.ts'
import { dataKeysMigration } from './0021-data-keys.ts'
import { ledgerHomeMigration } from './0022-ledger-home.ts'
import { entryIndexesMigration } from './0023-entry-indexes.ts'
import { subjectsMigration } from './0024-subjects.ts'
import { consoleListsMigration } from './0025-console-lists.ts'
import { witnessesMigration } from './0026-witnesses.ts'
import { logsMigration } from './0027-logs.ts'
import { rotatedKeysMigration } from './0028-rotated-keys.ts'
import { keyEndsMigration } from './0029-key-ends.ts'
import { dropsInRowMigration } from './0030-drops-in-row.ts'
import { webhookToldMigration } from './0031-webhook-told.ts'
import { dueDeliveriesMigration } from './0032-due-deliveries.ts'
import { alertSeveritiesMigration } from './0033-alert-severities.ts'

interface Migration {
  readonly name: string
  /** Earlier migrations that it is the sum of: a database that has them all has it. */
  readonly replaces?: readonly string[]
  up(knex: Knex): Promise<void>
}

export const MIGRATIONS: readonly Migration[] = [
  initialMigration,
  statusesMigration,
  holdersMigration,
  challengesMigration,
  amlSubscriptionsMigration,
  watchListProblems,
  sdJwtsMigration,
  searchIndexMigration,
  rolesMigration,
  paymentListsMigration,
  alertDecisionsMigration,
  invitationsMigration,
  sessionDevicesMigration,
  lastToldMigration,
  issuedListsMigration,
  reviewsMigration,
  totpMigration,
  identitiesMigration,
  organisationsListedMigration,
  allAlertsMigration,
  dataKeysMigration,
  ledgerHomeMigration,
  entryIndexesMigration,
  subjectsMigration,
  consoleListsMigration,
  witnessesMigration,
  logsMigration,
  rotatedKeysMigration,
  keyEndsMigration,
  dropsInRowMigration,
  webhookToldMigration,
  dueDeliveriesMigration,
  alertSeveritiesMigration,
]
