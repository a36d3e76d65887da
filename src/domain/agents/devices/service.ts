/** Devices of an organisation: created with their keys, revoked. @module */
import type { Caller } from '../../../caller.ts'
import { type Clock, iso } from '../../../clock.ts'
import { fail } from '../../../errors.ts'
import { newId } from '../../../ids.ts'
import { CLAIM_KINDS } from '../../../ledger/claim-kinds.ts'
import type { Ledger } from '../../../ledger/ledger.ts'
import type { Database } from '../../../store/database.ts'
import type { RegisteredKeysService } from '../keys/service.ts'
import {
  DEFAULT_PAGE_DEVICES,
  type Device,
  type DeviceCreated,
  type DeviceList,
  type DevicesQuery,
  type NewDevice,
} from './schemas.ts'
import * as store from './store.ts'

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'append'>
  readonly clock: Clock
  readonly registeredKeys: Pick<RegisteredKeysService, 'read' | 'demandFree' | 'register'>
}

const toDevice = (row: store.DeviceRow): Device => ({
  device_id: row.id,
  name: row.name,
  description: row.description,
  status: row.status,
  kid: row.kid,
  pq_kid: row.pq_kid,
  created_at: iso(row.created_at),
  revoked_at: row.revoked_at === null ? null : iso(row.revoked_at),
})

export type DevicesService = ReturnType<typeof createDevices>

export const createDevices = ({ database, ledger, clock, registeredKeys }: Deps) => ({
  /**
   * Creates a device with its keys. Without a public key a pair is made, whose private part only this answer holds.
   * @throws AppError validation_failed, key_registered
   */
  async create(caller: Caller, input: NewDevice): Promise<DeviceCreated> {
    const { key, pqKey, privateKey = null } = await registeredKeys.read(input)
    const at = clock.now()
    const keys = pqKey === undefined ? [key] : [key, pqKey]
    const row: store.DeviceRow = {
      id: newId('dev', at),
      organisation: caller.organisation,
      name: input.name,
      description: input.description ?? null,
      status: 'active',
      kid: key.kid,
      pq_kid: pqKey?.kid ?? null,
      created_at: at,
      revoked_at: null,
    }
    return ledger.append(caller, (tx) => {
      registeredKeys.demandFree(tx, keys)
      registeredKeys.register(tx, row.organisation, { type: 'device', id: row.id }, keys, at)
      tx.append({
        type: 'account',
        subject: ['device', row.id],
        data: { event: 'device.created', deviceId: row.id, kid: row.kid },
      })
      tx.write(store.devices.row(row))
      return { ...toDevice(row), private_key: privateKey }
    })
  },

  /** A page of the devices of the caller's organisation, the newest first. */
  async list(
    { organisation }: Caller,
    { cursor, limit = DEFAULT_PAGE_DEVICES }: DevicesQuery,
  ): Promise<DeviceList> {
    const rows = await store.findDevices(database, organisation, { before: cursor, limit: limit + 1 })
    const shown = rows.slice(0, limit)
    return {
      devices: shown.map(toDevice),
      nextCursor: rows.length > limit ? (shown.at(-1)?.id ?? null) : null,
    }
  },

  /**
   * Revokes a device for good, at once and everywhere; its keys are never registered again. Again: nothing happens.
   * @throws AppError not_found
   */
  async revoke(caller: Caller, deviceId: string): Promise<void> {
    const row = await store.findDevice(database, deviceId)
    if (row?.organisation !== caller.organisation) return fail('not_found')
    await ledger.append(caller, (tx) => {
      if (tx.holder(CLAIM_KINDS.deviceRevoked, deviceId)) return null
      tx.claim(CLAIM_KINDS.deviceRevoked, deviceId)
      tx.append({
        type: 'revoke',
        subject: ['device', deviceId],
        data: { event: 'device.revoked', deviceId, kid: row.kid },
      })
      tx.write(store.devices.row({ ...row, status: 'revoked', revoked_at: tx.at }))
      return null
    })
  },
})
