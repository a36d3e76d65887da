/** Wire shapes of devices. @module */
import Type, { type Static } from 'typebox'
import { NOT_BLANK } from '../../../json/patterns.ts'
import { askedId, DateTime, idOf, NextCursor, Nullable, orNull, pageLimit } from '../../../json/schemas.ts'
import { KeyId, keyInput, PrivateJwk } from '../keys/schemas.ts'

const MAX_NAME_CHARACTERS = 100
const MAX_DESCRIPTION_CHARACTERS = 1000

export const DeviceParams = Type.Object({ deviceId: askedId('dev') })

export const NewDevice = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: MAX_NAME_CHARACTERS, pattern: NOT_BLANK }),
    description: Nullable(Type.String({ minLength: 1, maxLength: MAX_DESCRIPTION_CHARACTERS })),
    ...keyInput,
  },
  { title: 'NewDevice' },
)
export type NewDevice = Static<typeof NewDevice>

const record = {
  device_id: idOf('dev'),
  name: Type.String(),
  description: orNull(Type.String()),
  status: Type.Enum(['active', 'revoked']),
  kid: KeyId,
  pq_kid: orNull(KeyId),
  created_at: DateTime,
  revoked_at: orNull(DateTime),
}

export const Device = Type.Object(record, { title: 'Device' })
export type Device = Static<typeof Device>

export const DeviceCreated = Type.Object(
  { ...record, private_key: orNull(PrivateJwk) },
  { title: 'DeviceCreated' },
)
export type DeviceCreated = Static<typeof DeviceCreated>

const MAX_PAGE_DEVICES = 1000

export const DevicesQuery = Type.Object({
  cursor: Type.Optional(askedId('dev', { description: '`nextCursor` of the previous page.' })),
  limit: pageLimit(MAX_PAGE_DEVICES, MAX_PAGE_DEVICES),
})
export type DevicesQuery = Static<typeof DevicesQuery>
export const DEFAULT_PAGE_DEVICES = MAX_PAGE_DEVICES

export const DeviceList = Type.Object(
  { devices: Type.Array(Device), nextCursor: NextCursor },
  { title: 'DeviceList' },
)
export type DeviceList = Static<typeof DeviceList>
