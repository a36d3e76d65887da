/** Devices. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../../store/database.ts'
import { integer, type RowOf, table, text } from '../../../store/table.ts'

/** A row that is written again changes the status and nothing else. */
export const devices = table('devices', {
  id: text().key(),
  organisation: text(),
  name: text(),
  description: text().null(),
  status: text<'active' | 'revoked'>().merge('last'),
  /** RFC 7638 thumbprint. */
  kid: text(),
  /** Of the second key, ML-DSA. */
  pq_kid: text().null(),
  created_at: integer(),
  revoked_at: integer().null().merge('last'),
})

export type DeviceRow = RowOf<typeof devices>

export const findDevice = ({ knex }: Database, id: string): Promise<DeviceRow | undefined> =>
  knex<DeviceRow>('devices').where({ id }).first()

/** Some of an organisation's devices, the newest first. @param before the last one of the page before */
export const findDevices = (
  { knex }: Database,
  organisation: string,
  { before, limit }: { readonly before?: string; readonly limit: number },
): Promise<DeviceRow[]> => {
  const query = knex<DeviceRow>('devices').where({ organisation }).orderBy('id', 'desc').limit(limit)
  return before === undefined ? query : query.where('id', '<', before)
}
