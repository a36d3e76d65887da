/** Routes of devices. @module */
import { route } from '../../../http/route.ts'
import { DeviceCreated, DeviceList, DeviceParams, DevicesQuery, NewDevice } from './schemas.ts'
import type { DevicesService } from './service.ts'

interface Services {
  readonly devices: DevicesService
}

const tag = 'Devices'
const scope = 'agent'

const createDevice = route({
  name: 'createDevice',
  method: 'POST',
  path: '/v1/devices',
  auth: 'console',
  scope,
  tag,
  summary: 'Create a device',
  description:
    'With a public key (Ed25519 or P-256, and optionally a second one, ML-DSA), or without one: then the service generates an Ed25519 key pair and shows `private_key` once. A key belongs permanently to one device or agent of an organisation; registering it again returns 409.',
  body: NewDevice,
  response: { 201: DeviceCreated },
  errors: ['key_registered'],
  example: { body: { name: 'Scanner at gate 4' } },
  handler: ({ caller, body }, { devices }: Services) => devices.create(caller, body),
})

const listDevices = route({
  name: 'listDevices',
  method: 'GET',
  path: '/console/api/devices',
  auth: 'console',
  scope,
  tag,
  summary: 'List devices',
  description: 'Newest first, including revoked devices.',
  query: DevicesQuery,
  response: { 200: DeviceList },
  errors: [],
  handler: ({ caller, query }, { devices }: Services) => devices.list(caller, query),
})

const revokeDevice = route({
  name: 'revokeDevice',
  method: 'DELETE',
  path: '/console/api/devices/{deviceId}',
  auth: 'console',
  scope,
  tag,
  summary: 'Revoke a device',
  description:
    'Permanent; takes effect on every server at once: signatures of its keys are no longer accepted. Revoking it again changes nothing.',
  params: DeviceParams,
  response: { 204: null },
  errors: ['not_found'],
  handler: ({ caller, params }, { devices }: Services) => devices.revoke(caller, params.deviceId),
})

export const deviceRoutes = [createDevice, listDevices, revokeDevice]
