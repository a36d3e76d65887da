/** Identities of other providers, and sign-ins on their way through one. Columns `…_at` are Unix milliseconds. @module */
import type { Knex } from 'knex'
import type { Database } from '../../../store/database.ts'
import { bytes, integer, type RowOf, table, text } from '../../../store/table.ts'

export const accountIdentities = table('account_identities', {
  issuer: text().key(),
  /** `sub` of the provider. */
  subject: text().key(),
  account: text(),
  created_at: integer(),
})

export type IdentityRow = RowOf<typeof accountIdentities>

export const oidcFlows = table('oidc_flows', {
  /** SHA-256 of the cookie, 32 bytes. */
  digest: bytes().key(),
  /** Where an identity is to be linked: to which account, by which of its sessions. */
  account: text().null(),
  session: text().null(),
  expires_at: integer(),
})

export type FlowRow = RowOf<typeof oidcFlows>

export const findIdentity = (
  knex: Knex,
  identity: Pick<IdentityRow, 'issuer' | 'subject'>,
): Promise<IdentityRow | undefined> =>
  knex<IdentityRow>('account_identities')
    .where({ ...identity })
    .first()

export const findIdentityOfAccount = (
  knex: Knex,
  identity: Pick<IdentityRow, 'issuer' | 'account'>,
): Promise<IdentityRow | undefined> =>
  knex<IdentityRow>('account_identities')
    .where({ ...identity })
    .first()

export const insertIdentity = async (trx: Knex, row: IdentityRow): Promise<void> => {
  await trx('account_identities').insert(row)
}

/** @returns whether there was one */
export const deleteIdentity = async (
  trx: Knex,
  identity: Pick<IdentityRow, 'issuer' | 'account'>,
): Promise<boolean> =>
  (await trx('account_identities')
    .where({ ...identity })
    .delete()) > 0

/** Unlinks an account from every provider. @returns from how many */
export const deleteIdentities = (trx: Knex, account: string): Promise<number> =>
  trx<IdentityRow>('account_identities').where({ account }).delete()

export const insertFlow = async (knex: Knex, row: FlowRow): Promise<void> => {
  await knex('oidc_flows').insert(row)
}

/** Ends a flow, of however many who ask for one of them. @returns it, while it is valid */
export const takeFlow = async (
  { knex }: Database,
  digest: Uint8Array,
  now: number,
): Promise<FlowRow | undefined> => {
  const [row] = await knex<FlowRow>('oidc_flows').where({ digest }).delete('*')
  return row !== undefined && row.expires_at > now ? row : undefined
}

export const deleteExpiredFlows = ({ knex }: Database, now: number): Promise<number> =>
  knex<FlowRow>('oidc_flows').where('expires_at', '<=', now).delete()
