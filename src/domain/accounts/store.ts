/** Organisations, accounts, API keys and merchants. Columns `…_at` are Unix milliseconds. @module */
import type { Knex } from 'knex'
import type { Database } from '../../store/database.ts'
import { bytes, integer, json, type RowOf, table, text } from '../../store/table.ts'

export const organisations = table('organisations', {
  id: text().key(),
  name: text(),
  subscription: text(),
  rate_limit_per_minute: integer().null(),
  default_merchant: text(),
  created_at: integer(),
  /** Which log its entries are in, for ever. */
  log: integer(),
})

export type OrganisationRow = RowOf<typeof organisations>

export const accounts = table('accounts', {
  id: text().key(),
  organisation: text(),
  /** Lower case. */
  email: text(),
  password_hash: text(),
  role: text(),
  created_at: integer(),
  last_sign_in_at: integer().null(),
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

export type FreeProofGrantRow = RowOf<typeof freeProofGrants>

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
  /** To the minute; null also for what was last used before this was kept. */
  last_used_at: integer().null(),
})

export type ApiKeyRow = RowOf<typeof apiKeys>

/** Keys that were replaced and work on for a while: what is to be announced once they don't. */
export const keyEnds = table('key_ends', {
  key: text().key(),
  due_at: integer(),
  replaced_by: text(),
  /** The key that asked for it; null: none did. */
  asked_by: text().null(),
})

export type KeyEndRow = RowOf<typeof keyEnds>

export const findOrganisation = (knex: Knex, id: string): Promise<OrganisationRow | undefined> =>
  knex<OrganisationRow>('organisations').where({ id }).first()

/** What a list of organisations is narrowed to. */
export interface OrganisationFilter {
  readonly subscription?: string
  /** How the name begins, in whatever case. */
  readonly name?: string
  /** Id of the last organisation of the page before. */
  readonly before?: string
  readonly limit: number
}

/** As the indexes have it. */
const FOLDED_NAME = 'lower(name) COLLATE "C"'

/** A page of all organisations, the newest first; of those of a name in the order of their names, which an index has them in. */
export const findOrganisations = (
  { knex }: Database,
  { subscription, name, before, limit }: OrganisationFilter,
): Promise<OrganisationRow[]> => {
  const query = knex<OrganisationRow>('organisations').limit(limit)
  if (subscription !== undefined) query.where({ subscription })
  if (name === undefined) {
    query.orderBy('id', 'desc')
    return before === undefined ? query : query.where('id', '<', before)
  }
  query.whereRaw(`${FOLDED_NAME} LIKE lower(?)`, [`${name.replaceAll(/[\\%_]/g, '\\$&')}%`])
  query.orderByRaw(`${FOLDED_NAME}, id`)
  if (before === undefined) return query
  const last = `(SELECT ${FOLDED_NAME} FROM organisations WHERE id = ?)`
  return query.whereRaw(`(${FOLDED_NAME}, id) > (${last}, ?)`, [before, before])
}

/** How many accounts organisations have. @returns id → number; those without are left out */
export const countAccounts = async (
  { knex }: Database,
  organisations: readonly string[],
): Promise<ReadonlyMap<string, number>> => {
  const rows = await knex('accounts')
    .whereIn('organisation', [...organisations])
    .groupBy('organisation')
    .select<{ organisation: string; accounts: string | number }[]>(
      'organisation',
      knex.raw('count(*) AS accounts'),
    )
  return new Map(rows.map(({ organisation, accounts }) => [organisation, Number(accounts)]))
}

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

export const findAccountByEmail = (knex: Knex, email: string): Promise<AccountRow | undefined> =>
  knex<AccountRow>('accounts').where({ email }).first()

export const findAccount = (knex: Knex, id: string): Promise<AccountRow | undefined> =>
  knex<AccountRow>('accounts').where({ id }).first()

/** A page of an organisation's accounts, the newest first. @param page.before id of the last account of the page before */
export const findAccounts = (
  { knex }: Database,
  organisation: string,
  { before, limit }: { readonly before?: string; readonly limit: number },
): Promise<AccountRow[]> => {
  const query = knex<AccountRow>('accounts').where({ organisation }).orderBy('id', 'desc').limit(limit)
  return before === undefined ? query : query.where('id', '<', before)
}

/** Whether an organisation has a member of a role besides one of its accounts. */
export const hasOtherOfRole = async (
  trx: Knex,
  { id, organisation, role }: Pick<AccountRow, 'id' | 'organisation' | 'role'>,
): Promise<boolean> =>
  (await trx<AccountRow>('accounts').where({ organisation, role }).whereNot({ id }).first('id')) !== undefined

export const insertAccount = async (trx: Knex, row: AccountRow): Promise<void> => {
  await trx('accounts').insert(row)
}

export const updateAccount = async (
  trx: Knex,
  id: string,
  change: Partial<Pick<AccountRow, 'role' | 'last_sign_in_at'>>,
): Promise<void> => {
  await trx<AccountRow>('accounts').where({ id }).update(change)
}

export const deleteAccount = async (trx: Knex, id: string): Promise<void> => {
  await trx<AccountRow>('accounts').where({ id }).delete()
}

export const insertFreeProofGrant = async (trx: Knex, row: FreeProofGrantRow): Promise<void> => {
  await trx('free_proof_grants').insert(row)
}

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

/** What a list of merchants is narrowed to. */
export interface MerchantFilter {
  readonly organisation: string
  /** The only one that is asked for. */
  readonly id?: string
  /** Id of the last merchant of the page before. */
  readonly after?: string
  readonly limit: number
}

/** A page of an organisation's merchants, the oldest first. */
export const findMerchants = (
  { knex }: Database,
  { organisation, id, after, limit }: MerchantFilter,
): Promise<MerchantRow[]> => {
  const query = knex<MerchantRow>('merchants').where({ organisation }).orderBy('id').limit(limit)
  if (id !== undefined) query.where({ id })
  return after === undefined ? query : query.where('id', '>', after)
}

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

/** What a list of keys is narrowed to. */
export interface KeyFilter {
  readonly organisation: string
  /** Absent: whatever became of them. */
  readonly status?: 'active' | 'expired' | 'revoked'
  /** Unix ms, by which keys have expired or not. */
  readonly now: number
  /** Id of the last key of the page before. */
  readonly before?: string
  readonly limit: number
}

/** A page of an organisation's keys, the newest first. */
export const findKeys = (
  { knex }: Database,
  { organisation, status, now, before, limit }: KeyFilter,
): Promise<ApiKeyRow[]> => {
  const query = knex<ApiKeyRow>('api_keys').where({ organisation }).orderBy('id', 'desc').limit(limit)
  if (status === 'revoked') query.whereNotNull('revoked_at')
  if (status === 'active' || status === 'expired') query.whereNull('revoked_at')
  if (status === 'active') query.whereRaw('(expires_at IS NULL OR expires_at > ?)', [now])
  if (status === 'expired') query.where('expires_at', '<=', now)
  return before === undefined ? query : query.where('id', '<', before)
}

/** Keys of an organisation, or only those of one of its merchants or terminals; `terminal` null: of none. */
export type KeyGroup = Pick<ApiKeyRow, 'organisation'> & Partial<Pick<ApiKeyRow, 'merchant' | 'terminal'>>

/** Keys, revoked ones included, that may have made payment proofs; the newest first. */
export const findKeysOfScope = (
  { knex }: Database,
  group: KeyGroup,
  scope: string,
  limit: number,
): Promise<ApiKeyRow[]> =>
  knex<ApiKeyRow>('api_keys')
    .where(group)
    .whereRaw('scopes @> ?::jsonb', [JSON.stringify([scope])])
    .orderBy('id', 'desc')
    .limit(limit)

/** A terminal's keys that work now, the oldest first. @param now Unix ms */
export const findLiveKeysOfTerminal = (trx: Knex, terminal: string, now: number): Promise<ApiKeyRow[]> =>
  trx<ApiKeyRow>('api_keys')
    .where({ terminal })
    .whereNull('revoked_at')
    .whereRaw('(expires_at IS NULL OR expires_at > ?)', [now])
    .orderBy('id')

export const updateKey = (
  trx: Knex,
  id: string,
  change: Partial<Pick<ApiKeyRow, 'expires_at' | 'revoked_at'>>,
): Promise<number> => trx<ApiKeyRow>('api_keys').where({ id }).update(change)

export const insertKeyEnd = async (trx: Knex, row: KeyEndRow): Promise<void> => {
  await trx('key_ends').insert(row)
}

/** Takes out what is to be announced of a key, so that nobody else does. */
export const takeKeyEnd = async (trx: Knex, key: string): Promise<KeyEndRow | undefined> => {
  const [row] = await trx<KeyEndRow>('key_ends').where({ key }).delete().returning('*')
  return row
}

/** Keys whose end is to be announced by now, the first to end first, but for some ids. */
export const findEndedKeys = (
  { knex }: Database,
  {
    now,
    except,
    limit,
  }: { readonly now: number; readonly except: readonly string[]; readonly limit: number },
): Promise<Pick<ApiKeyRow, 'id' | 'organisation'>[]> =>
  knex('key_ends')
    .join('api_keys', 'api_keys.id', 'key_ends.key')
    .where('due_at', '<=', now)
    .whereNotIn('key_ends.key', [...except])
    .orderBy('due_at')
    .limit(limit)
    .select('api_keys.id', 'api_keys.organisation')

/** Says that a key was used. */
export const touchKey = async ({ knex }: Database, id: string, now: number): Promise<void> => {
  await knex<ApiKeyRow>('api_keys').where({ id }).update({ last_used_at: now })
}

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
