/** Public keys of agents and devices. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../../store/database.ts'
import { table } from '../../../store/table.ts'

export interface RegisteredKeyRow {
  organisation: string
  /** RFC 7638 thumbprint. */
  kid: string
  /** The required members of a public JWK, as RFC 7638 hashes them. */
  jwk: object
  owner_type: 'agent' | 'device'
  owner_id: string
  created_at: number
}

export const registeredKeys = table<RegisteredKeyRow>('registered_keys', [
  'organisation',
  'kid',
  'jwk',
  'owner_type',
  'owner_id',
  'created_at',
])

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
