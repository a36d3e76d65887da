/**
 * Credentials for wallets that were issued: their statuses, and of which check. The view `revoked_status_numbers` has those of persons
 * who were erased, and of checks that others have followed.
 * @module
 */
import { integer, table, text } from '../../../store/table.ts'

export const sdJwts = table('kyc_sd_jwts', {
  /** See src/protocol/status.ts. */
  status: integer().key(),
  organisation: text(),
  /** Pseudonym, as in kyc_subjects. */
  subject: text(),
  generation: integer(),
  /** Entry of the check that it says the findings of. */
  entry_index: integer(),
})
