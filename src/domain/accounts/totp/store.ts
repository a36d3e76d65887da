/** Second factors of accounts. Columns `…_at` are Unix milliseconds. @module */
import type { Knex } from 'knex'
import { bytes, integer, type RowOf, table, text } from '../../../store/table.ts'

export const accountTotp = table('account_totp', {
  account: text().key(),
  /** What one-time codes are made of, 20 bytes, sealed. */
  sealed_secret: bytes(),
  created_at: integer(),
  /** Null: it only waits to be confirmed. */
  confirmed_at: integer().null(),
  /** Time step (RFC 6238 §4.2) of the last code that was used. */
  last_step: integer().null(),
})

export type TotpRow = RowOf<typeof accountTotp>

export const recoveryCodes = table('recovery_codes', {
  account: text().key(),
  /** SHA-256 of the code without separators, 32 bytes. */
  digest: bytes().key(),
})

export const findTotp = (knex: Knex, account: string): Promise<TotpRow | undefined> =>
  knex<TotpRow>('account_totp').where({ account }).first()

/** In the place of one that was never confirmed. */
export const replaceTotp = async (trx: Knex, row: TotpRow): Promise<void> => {
  await trx<TotpRow>('account_totp').where({ account: row.account }).delete()
  await trx('account_totp').insert(row)
}

export const updateTotp = async (
  trx: Knex,
  account: string,
  change: Partial<Pick<TotpRow, 'confirmed_at' | 'last_step'>>,
): Promise<void> => {
  await trx<TotpRow>('account_totp').where({ account }).update(change)
}

/** Deletes what an account never confirmed. */
export const deletePendingTotp = async (trx: Knex, account: string): Promise<void> => {
  await trx<TotpRow>('account_totp').where({ account, confirmed_at: null }).delete()
}

/** With its recovery codes. */
export const deleteTotp = async (trx: Knex, account: string): Promise<void> => {
  await trx<TotpRow>('account_totp').where({ account }).delete()
  await trx('recovery_codes').where({ account }).delete()
}

export const countRecoveryCodes = async (knex: Knex, account: string): Promise<number> => {
  const row = await knex('recovery_codes').where({ account }).count<{ count: string | number }>().first()
  return Number(row?.count)
}

export const replaceRecoveryCodes = async (
  trx: Knex,
  account: string,
  digests: readonly Uint8Array[],
): Promise<void> => {
  await trx('recovery_codes').where({ account }).delete()
  await trx('recovery_codes').insert(digests.map((digest) => ({ account, digest })))
}

/** Uses one up. @returns whether there was one */
export const deleteRecoveryCode = async (trx: Knex, code: RowOf<typeof recoveryCodes>): Promise<boolean> =>
  (await trx('recovery_codes')
    .where({ ...code })
    .delete()) > 0
