/** Devices. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../../store/database.ts'
import { table } from '../../../store/table.ts'

export interface DeviceRow {
  id: string
  organisation: string
  name: string
  description: string | null
  status: 'active' | 'revoked'
  /** RFC 7638 thumbprint. */
  kid: string
  /** Of the second key, ML-DSA. */
  pq_kid: string | null
  created_at: number
  revoked_at: number | null
}

/** A row that is written again changes the status and nothing else. */
export const devices = table<DeviceRow>(
  'devices',
  ['id', 'organisation', 'name', 'description', 'status', 'kid', 'pq_kid', 'created_at', 'revoked_at'],
  { key: ['id'], columns: { status: 'last', revoked_at: 'last' } },
)

const MAX_LISTED = 1000

export const findDevice = ({ knex }: Database, id: string): Promise<DeviceRow | undefined> =>
  knex<DeviceRow>('devices').where({ id }).first()

/** An organisation's devices, the newest first. */
export const findDevices = ({ knex }: Database, organisation: string): Promise<DeviceRow[]> =>
  knex<DeviceRow>('devices').where({ organisation }).orderBy('id', 'desc').limit(MAX_LISTED)
