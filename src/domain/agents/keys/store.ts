/** Public keys of agents and devices. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../../store/database.ts'
import { integer, json, type RowOf, table, text } from '../../../store/table.ts'

export const registeredKeys = table('registered_keys', {
  organisation: text().key(),
  /** RFC 7638 thumbprint. */
  kid: text().key(),
  /** The required members of a public JWK, as RFC 7638 hashes them. */
  jwk: json<object>(),
  owner_type: text<'agent' | 'device'>(),
  owner_id: text(),
  created_at: integer(),
})

export type RegisteredKeyRow = RowOf<typeof registeredKeys>

/** An organisation's key, if its owner is in use. @param now Unix ms */
export const findKeyInUse = async (
  { knex }: Database,
  organisation: string,
  kid: string,
  now: number,
): Promise<RegisteredKeyRow | undefined> => {
  const { rows } = await knex.raw(
    `SELECT registered_keys.*
       FROM registered_keys
       LEFT JOIN agents ON owner_type = 'agent' AND agents.id = owner_id
       LEFT JOIN devices ON owner_type = 'device' AND devices.id = owner_id
      WHERE registered_keys.organisation = ? AND registered_keys.kid = ?
        AND (devices.status = 'active'
          OR (agents.status = 'active' AND (agents.expires_at IS NULL OR agents.expires_at > ?)))`,
    [organisation, kid, now],
  )
  return rows[0]
}
