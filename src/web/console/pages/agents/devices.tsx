/** Devices: things with a key, such as scanners. @module */
import { useState } from 'preact/hooks'
import type { Device, DeviceCreated, DeviceList } from '../../../../domain/agents/devices/schemas.ts'
import { mayChange, type PageProps } from '../../page.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Field, Form, jsonIn, textIn } from '../../parts/form.tsx'
import { Loaded, More, usePages } from '../../parts/loaded.tsx'
import { Secrets } from '../../parts/secret.tsx'
import { ActButton, Table } from '../../parts/table.tsx'
import { State, Time } from '../../parts/text.tsx'
import { ask } from '../../session.ts'
import { PublicKeyField } from './register.tsx'

const PATH = '/console/api/devices'
const ROWS_PER_PAGE = 50
const MAX_NAME_CHARACTERS = 100

const Create = ({ created }: { created(device: DeviceCreated): void }) => (
  <details class="box">
    <summary>Register a device</summary>
    <Form
      action="Register device"
      submit={async (values) => {
        const body = { name: textIn(values, 'name'), public_key: jsonIn(values, 'public_key') }
        created(await ask<DeviceCreated>('POST', '/v1/devices', { body }))
      }}
    >
      <Field name="name" label="Name" required maxLength={MAX_NAME_CHARACTERS} autocomplete="off" />
      <PublicKeyField />
    </Form>
  </details>
)

interface ListProps {
  readonly devices: readonly Device[]
  readonly changes: boolean
  revoke(device: Device): void
}

const List = ({ devices, changes, revoke }: ListProps) => (
  <Table
    caption="Devices, the newest first"
    rows={devices}
    keyOf={({ device_id }) => device_id}
    empty={<p>There is no device yet. Register one to let it sign hybrid tokens with a key of its own.</p>}
    columns={[
      {
        title: 'Name',
        cell: ({ name, device_id }) => (
          <>
            <strong>{name}</strong>
            <br />
            <code class="quiet">{device_id}</code>
          </>
        ),
      },
      {
        title: 'State',
        cell: ({ status }) =>
          status === 'active' ? <State tone="good">Active</State> : <State tone="quiet">Revoked</State>,
      },
      { title: 'Key', cell: ({ kid }) => <code class="address">{kid}</code> },
      { title: 'Registered', cell: ({ created_at }) => <Time at={created_at} /> },
      {
        title: 'Actions',
        cell: (device) =>
          changes &&
          device.status === 'active' && (
            <ActButton danger name={device.name} act={() => revoke(device)}>
              Revoke
            </ActButton>
          ),
      },
    ]}
  />
)

export const Devices = ({ me }: PageProps) => {
  const reading = usePages<DeviceList, Device>(`${PATH}?limit=${ROWS_PER_PAGE}`, ({ devices }) => devices)
  const [made, setMade] = useState<DeviceCreated | undefined>()
  const [revoked, revoke] = useState<Device | undefined>()
  const changes = mayChange(me, 'agent')
  return (
    <section aria-labelledby="devices">
      <h2 id="devices">Devices</h2>
      {made?.private_key && (
        <Secrets
          title={`${made.name} was registered`}
          values={{ 'Private key': JSON.stringify(made.private_key), Device: made.device_id }}
          done={() => setMade(undefined)}
        />
      )}
      {/* A key is shown this once: another must not take its place. */}
      {changes && !made?.private_key && (
        <Create
          key={made?.device_id}
          created={(device) => {
            setMade(device)
            void reading.again()
          }}
        />
      )}
      <Loaded of={reading}>
        {(devices) => <List devices={devices} changes={changes} revoke={revoke} />}
      </Loaded>
      <More of={reading} />
      {revoked && (
        <Confirm
          title={`Revoke ${revoked.name}`}
          name={revoked.name}
          action="Revoke device"
          close={() => revoke(undefined)}
          run={async () => {
            await ask('DELETE', `${PATH}/${revoked.device_id}`)
            await reading.again()
          }}
        >
          <p>What it signs is not accepted any more, for good, and its key can’t be registered again.</p>
        </Confirm>
      )}
    </section>
  )
}
