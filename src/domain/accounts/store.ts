/** Organisations, accounts, sessions, API keys and merchants. Columns `…_at` are Unix milliseconds. @module */
import type { Knex } from 'knex'
import type { Database } from '../../store/database.ts'
import { bytes, integer, json, type RowOf, table, text } from '../../store/table.ts'

/** Keys, merchants or sessions that a list shows. */
const MAX_LISTED = 1000

export const sessions = table('sessions', {
  id: text().key(),
  /** SHA-256 of the cookie, 32 bytes. */
  digest: bytes(),
  account: text(),
  organisation: text(),
  created_at: integer(),
  expires_at: integer(),
})

export type SessionRow = RowOf<typeof sessions>

export const organisations = table('organisations', {
  id: text().key(),
  name: text(),
  subscription: text(),
  rate_limit_per_minute: integer().null(),
  default_merchant: text(),
  created_at: integer(),
})

export type OrganisationRow = RowOf<typeof organisations>

export const accounts = table('accounts', {
  id: text().key(),
  organisation: text(),
  /** Lower case. */
  email: text(),
  password_hash: text(),
  created_at: integer(),
})

export type AccountRow = RowOf<typeof accounts>

/** Proofs given away, once per account, and once per organisation for its agents. */
export const freeProofGrants = table('free_proof_grants', {
  /** `acc_…`; `org_…` for those that came with agents. */
  account: text().key(),
  organisation: text(),
  granted: integer(),
  created_at: integer(),
  expires_at: integer(),
})

export const merchants = table('merchants', {
  id: text().key(),
  organisation: text(),
  name: text(),
  limits: json<object>(),
  created_at: integer(),
})

export type MerchantRow = RowOf<typeof merchants>

export const apiKeys = table('api_keys', {
  id: text().key(),
  organisation: text(),
  /** SHA-256 of the key's text, 32 bytes. */
  digest: bytes(),
  /** HMAC midstate of the key's text, 64 bytes, sealed. */
  sealed_midstate: bytes(),
  hint: text(),
  label: text(),
  scopes: json<string[]>(),
  /** The one merchant it may act for; null: all of its organisation. */
  merchant: text().null(),
  /** The terminal it was made for; it is revoked with the terminal. */
  terminal: text().null(),
  created_at: integer(),
  expires_at: integer().null(),
  revoked_at: integer().null(),
})

export type ApiKeyRow = RowOf<typeof apiKeys>

export const findOrganisation = (knex: Knex, id: string): Promise<OrganisationRow | undefined> =>
  knex<OrganisationRow>('organisations').where({ id }).first()

type KeySummary = Pick<ApiKeyRow, 'id' | 'label' | 'revoked_at' | 'expires_at'>

/** Of whichever organisation. */
export const findKeySummaries = ({ knex }: Database, ids: readonly string[]): Promise<KeySummary[]> =>
  knex<ApiKeyRow>('api_keys')
    .whereIn('id', [...ids])
    .select('id', 'label', 'revoked_at', 'expires_at')
    .then((rows: KeySummary[]) => rows)

/** Applies a change and returns the changed organisation. */
export const updateOrganisation = async (
  trx: Knex,
  id: string,
  change: Partial<Pick<OrganisationRow, 'subscription' | 'rate_limit_per_minute'>>,
): Promise<OrganisationRow | undefined> => {
  const [row] = await trx<OrganisationRow>('organisations').where({ id }).update(change).returning('*')
  return row
}

export const findAccountByEmail = ({ knex }: Database, email: string): Promise<AccountRow | undefined> =>
  knex<AccountRow>('accounts').where({ email }).first()

export const findAccount = ({ knex }: Database, id: string): Promise<AccountRow | undefined> =>
  knex<AccountRow>('accounts').where({ id }).first()

export const findSession = ({ knex }: Database, digest: Uint8Array): Promise<SessionRow | undefined> =>
  knex<SessionRow>('sessions').where({ digest }).first()

export const findSessionById = ({ knex }: Database, id: string): Promise<SessionRow | undefined> =>
  knex<SessionRow>('sessions').where({ id }).first()

/** An account's sessions that are valid at a time, the newest first. */
export const findSessionsOfAccount = (
  { knex }: Database,
  account: string,
  now: number,
): Promise<SessionRow[]> =>
  knex<SessionRow>('sessions')
    .where({ account })
    .where('expires_at', '>', now)
    .orderBy('id', 'desc')
    .limit(MAX_LISTED)

/** Replaces a password hash by another, unless it was replaced already. @returns whether it was */
export const replacePassword = async (
  trx: Knex,
  account: string,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<boolean> => {
  const accounts = trx<AccountRow>('accounts').where({ id: account, password_hash: from })
  return (await accounts.update({ password_hash: to })) > 0
}

/** Whether an account still has a password hash, which can't change before the transaction ends. */
export const hasPassword = async (
  trx: Knex,
  { id, password_hash }: Pick<AccountRow, 'id' | 'password_hash'>,
): Promise<boolean> => (await trx('accounts').where({ id, password_hash }).first('id')) !== undefined

export const insertSession = async (trx: Knex, row: SessionRow): Promise<void> => {
  await trx('sessions').insert(row)
}

/** Ends all sessions of an account but one. @returns the digests of their cookies */
export const deleteOtherSessions = async (
  trx: Knex,
  account: string,
  kept: string,
): Promise<readonly Uint8Array[]> => {
  const ended = await trx<SessionRow>('sessions').where({ account }).whereNot({ id: kept }).delete('digest')
  return ended.map(({ digest }) => digest)
}

/** @returns the digest of the session's cookie; undefined when it had ended already */
export const deleteSession = async (
  trx: Knex,
  session: Pick<SessionRow, 'id' | 'account'>,
): Promise<Uint8Array | undefined> => {
  const [row] = await trx<SessionRow>('sessions')
    .where({ ...session })
    .delete('digest')
  return row?.digest
}

export const deleteExpiredSessions = ({ knex }: Database, now: number): Promise<number> =>
  knex<SessionRow>('sessions').where('expires_at', '<=', now).delete()

export const findMerchants = ({ knex }: Database, organisation: string): Promise<MerchantRow[]> =>
  knex<MerchantRow>('merchants').where({ organisation }).orderBy('id').limit(MAX_LISTED)

export const findMerchant = ({ knex }: Database, id: string): Promise<MerchantRow | undefined> =>
  knex<MerchantRow>('merchants').where({ id }).first()

/** A key with what its use depends on. */
export type ApiKeyInUse = ApiKeyRow & Pick<OrganisationRow, 'rate_limit_per_minute'>

export const findKeyInUse = ({ knex }: Database, digest: Uint8Array): Promise<ApiKeyInUse | undefined> =>
  knex<ApiKeyRow>('api_keys')
    .join('organisations', 'organisations.id', 'api_keys.organisation')
    .where({ digest })
    .first<ApiKeyInUse>('api_keys.*', 'organisations.rate_limit_per_minute')

export const findKey = (knex: Knex, id: string): Promise<ApiKeyRow | undefined> =>
  knex<ApiKeyRow>('api_keys').where({ id }).first()

/** An organisation's keys, the newest first. */
export const findKeys = ({ knex }: Database, organisation: string): Promise<ApiKeyRow[]> =>
  knex<ApiKeyRow>('api_keys').where({ organisation }).orderBy('id', 'desc').limit(MAX_LISTED)

/** Keys, revoked ones included, that may have made payment proofs; the newest first. */
export const findKeysOfScope = (
  { knex }: Database,
  organisation: string,
  scope: string,
  limit: number,
): Promise<ApiKeyRow[]> =>
  knex<ApiKeyRow>('api_keys')
    .where({ organisation })
    .whereRaw('scopes @> ?::jsonb', [JSON.stringify([scope])])
    .orderBy('id', 'desc')
    .limit(limit)

/** A terminal's keys that work now or will until they expire. */
export const findLiveKeysOfTerminal = (trx: Knex, terminal: string): Promise<ApiKeyRow[]> =>
  trx<ApiKeyRow>('api_keys').where({ terminal }).whereNull('revoked_at')

export const updateKey = (
  trx: Knex,
  id: string,
  change: Partial<Pick<ApiKeyRow, 'expires_at' | 'revoked_at'>>,
): Promise<number> => trx<ApiKeyRow>('api_keys').where({ id }).update(change)

/** Inserts a key within a change of its own. Scopes are passed as text, as arrays would become SQL arrays. */
export const insertKey = async (trx: Knex, row: ApiKeyRow): Promise<void> => {
  await trx('api_keys').insert({ ...row, scopes: JSON.stringify(row.scopes) })
}

/** Whether an organisation has or had a key of that scope. */
export const hasKeyOfScope = async (knex: Knex, organisation: string, scope: string): Promise<boolean> => {
  const row = await knex('api_keys')
    .where({ organisation })
    .whereRaw('scopes @> ?::jsonb', [JSON.stringify([scope])])
    .first('id')
  return row !== undefined
}

export const findKeyByDigest = (knex: Knex, digest: Uint8Array): Promise<ApiKeyRow | undefined> =>
  knex<ApiKeyRow>('api_keys').where({ digest }).first()

/** Inserts an organisation with its default merchant, unless it exists. @returns whether it was new */
export const ensureOrganisation = async (
  trx: Knex,
  organisation: OrganisationRow,
  merchant: MerchantRow,
): Promise<boolean> => {
  const inserted = await trx('organisations').insert(organisation).onConflict('id').ignore().returning('id')
  if (inserted.length === 0) return false
  await trx('merchants').insert({ ...merchant, limits: JSON.stringify(merchant.limits) })
  return true
}
