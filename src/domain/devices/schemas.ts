/** Wire shapes of devices. @module */
import Type, { type Static } from 'typebox'
import { NOT_BLANK } from '../../patterns.ts'
import { Nullable } from '../../schema-marks.ts'
import { KeyId, keyInput, PrivateJwk } from '../registered-keys/schemas.ts'

const MAX_NAME_CHARACTERS = 100
const MAX_DESCRIPTION_CHARACTERS = 1000

const DateTime = Type.String({ format: 'date-time' })
const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()])

export const DeviceParams = Type.Object({ deviceId: Type.String({ pattern: '^dev_[0-9a-z]{26}$' }) })

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
  device_id: Type.String({ description: '`dev_…`' }),
  name: Type.String(),
  description: nullable(Type.String()),
  status: Type.Enum(['active', 'revoked']),
  kid: KeyId,
  pq_kid: nullable(KeyId),
  created_at: DateTime,
  revoked_at: nullable(DateTime),
}

export const Device = Type.Object(record, { title: 'Device' })
export type Device = Static<typeof Device>

export const DeviceCreated = Type.Object(
  { ...record, private_key: nullable(PrivateJwk) },
  { title: 'DeviceCreated' },
)
export type DeviceCreated = Static<typeof DeviceCreated>

export const DeviceList = Type.Object({ devices: Type.Array(Device) }, { title: 'DeviceList' })
export type DeviceList = Static<typeof DeviceList>
