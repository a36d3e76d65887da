/** API keys: made with the scopes that one chooses, replaced, revoked. @module */

import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { Key, KeyCreated, KeyList, KeyRotated } from '../../../domain/accounts/schemas.ts'
import type { PageProps, Scope } from '../page.ts'
import { Confirm, FormDialog } from '../parts/confirm.tsx'
import { allIn, Choices, Field, Form, Select, textIn } from '../parts/form.tsx'
import { Loaded, More, usePages } from '../parts/loaded.tsx'
import { Main } from '../parts/main.tsx'
import { Secrets, useUnkept } from '../parts/secret.tsx'
import { ActButton, Table } from '../parts/table.tsx'
import { State, Time, type Tone } from '../parts/text.tsx'
import { ask } from '../session.ts'

const MAX_LABEL_CHARACTERS = 100
const ROWS_PER_PAGE = 50

/** What a scope opens, for those who choose. */
const SCOPE_TEXTS: Readonly<Record<Scope, string>> = {
  verify: 'verify data, decide policies',
  pod: 'pods and their statistics',
  domain: 'bind domains to pods',
  proof: 'make, check and spend proofs',
  circuit: 'ask circuits',
  token: 'tokens and tickets',
  kyc: 'check identities',
  aml: 'screen against watch lists',
  consent: 'record and withdraw consents',
  audit: 'read the log and alerts',
  webhook: 'webhook endpoints',
  export: 'export evidence',
  merchant: 'take payments',
  agent: 'manage agents',
  metrics: 'read metrics',
  keys: 'make and revoke keys and terminals',
  'egress:private': 'reach private networks',
  admin: 'operate the service',
}

const OVERLAPS = [
  { value: '0', label: 'at once' },
  { value: '3600', label: 'after an hour' },
  { value: '86400', label: 'after a day' },
  { value: '604800', label: 'after a week' },
]

const STATES: Readonly<Record<Key['status'], readonly [Tone, string]>> = {
  active: ['good', 'Active'],
  expired: ['quiet', 'Expired'],
  revoked: ['quiet', 'Revoked'],
}

/** The service lets nobody replace a key with rights that they lack: they would win these. */
const mayReplace = ({ scopes }: Key, me: PageProps['me']): boolean =>
  scopes.every((scope) => me.scopes.includes(scope))

/** Administrators revoke any. */
const mayRevoke = (key: Key, me: PageProps['me']): boolean =>
  me.scopes.includes('admin') || mayReplace(key, me)

const nameOf = ({ label, keyId }: Pick<Key, 'label' | 'keyId'>): string => label.trim() || keyId

const CreateKey = ({
  scopes,
  created,
}: {
  readonly scopes: readonly Scope[]
  created(key: KeyCreated): void
}) => (
  <details class="box">
    <summary>Create a key</summary>
    <Form
      action="Create key"
      submit={async (values) => {
        const body = { label: textIn(values, 'label'), scopes: allIn(values, 'scopes') }
        created(await ask<KeyCreated>('POST', '/console/api/keys', { body }))
      }}
    >
      <Field
        name="label"
        label="Name"
        hint="What will use it, such as “web shop”: a key of its own for each program can be revoked alone."
        required
        maxLength={MAX_LABEL_CHARACTERS}
        autocomplete="off"
      />
      <Choices
        name="scopes"
        label="What it may do"
        hint="As little as the program needs."
        options={scopes.map((scope) => ({
          value: scope,
          label: scope,
          text: SCOPE_TEXTS[scope],
          checked: scope === 'verify',
        }))}
      />
    </Form>
  </details>
)

interface ActProps {
  readonly target: Key
  done(): Promise<void>
  close(): void
}

const Rotate = ({ target, done, close, rotated }: ActProps & { rotated(key: KeyRotated): void }) => (
  <FormDialog
    title={`Replace ${nameOf(target)}`}
    action="Replace key"
    close={close}
    submit={async (values, closeOwn) => {
      const body = { overlapSeconds: Number(textIn(values, 'overlapSeconds')) }
      const key = await ask<KeyRotated>('POST', `/console/api/keys/${target.keyId}/rotate`, { body })
      closeOwn()
      rotated(key)
      await done()
    }}
  >
    <p>
      A new key with the same rights takes its place. The old one works on for a while, so that programs can
      change over.
    </p>
    <Select name="overlapSeconds" label="The old key ends" options={OVERLAPS} value="3600" />
  </FormDialog>
)

const Revoke = ({ target, me, done, close }: ActProps & PageProps) => (
  <Confirm
    title={`Revoke ${nameOf(target)}`}
    name={nameOf(target)}
    action="Revoke key"
    close={close}
    run={async () => {
      await ask('DELETE', `/console/api/keys/${target.keyId}`)
      await done()
    }}
  >
    <p>
      Programs that use this key are refused from now on, for good.
      {mayReplace(target, me) && ' To change over without a gap, replace it instead.'}
    </p>
  </Confirm>
)

type Act = { readonly kind: 'rotate' | 'revoke'; readonly target: Key }

interface TableProps extends PageProps {
  readonly keys: readonly Key[]
  readonly withEnded: boolean
  choose(act: Act): void
}

const KeyTable = ({ keys, withEnded, me, choose }: TableProps) => (
  <Table
    caption="API keys"
    rows={keys}
    keyOf={({ keyId }) => keyId}
    empty={
      <p>
        {withEnded ? 'There is no key yet.' : 'No key is active.'} Create one above: programs need it to call
        the service.
      </p>
    }
    columns={[
      {
        title: 'Name',
        cell: (key) => (
          <>
            <strong>{nameOf(key)}</strong>
            <br />
            <code class="quiet">{key.hint === '' ? key.keyId : `${key.hint}…`}</code>
          </>
        ),
      },
      { title: 'May do', cell: ({ scopes }) => <span class="words">{scopes.join(', ')}</span> },
      { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
      {
        title: 'Last used',
        cell: ({ lastUsedAt }) =>
          lastUsedAt === null ? <span class="quiet">Never</span> : <Time at={lastUsedAt} />,
      },
      {
        title: 'State',
        cell: ({ status, expiresAt }) => (
          <>
            <State tone={STATES[status][0]}>{STATES[status][1]}</State>
            {status === 'active' && expiresAt !== null && (
              <small>
                until <Time at={expiresAt} />
              </small>
            )}
          </>
        ),
      },
      {
        title: 'Actions',
        cell: (key) =>
          key.status === 'active' && (
            <span class="row-actions">
              {key.expiresAt === null && mayReplace(key, me) && (
                <ActButton name={nameOf(key)} act={() => choose({ kind: 'rotate', target: key })}>
                  Replace
                </ActButton>
              )}
              {mayRevoke(key, me) && (
                <ActButton danger name={nameOf(key)} act={() => choose({ kind: 'revoke', target: key })}>
                  Revoke
                </ActButton>
              )}
            </span>
          ),
      },
    ]}
  />
)

export const Keys = ({ me }: PageProps) => {
  const made = useUnkept<KeyCreated>()
  /** The form begins anew after each. */
  const [created, setCreated] = useState(0)
  const [act, setAct] = useState<Act | undefined>()
  const { query } = useLocation()
  const withEnded = query.show === 'all'
  const reading = usePages<KeyList, Key>(
    `/console/api/keys?limit=${ROWS_PER_PAGE}${withEnded ? '' : '&status=active'}`,
    ({ keys }) => keys,
  )
  const close = (): void => setAct(undefined)
  return (
    <Main title="API keys" lead="Programs call the service with a key. Who has its text has its rights.">
      {made.unkept.map((key) => (
        <Secrets
          key={key.keyId}
          title={`The key ${nameOf(key)} (${key.keyId})`}
          values={{ 'API key': key.apiKey }}
          done={() => made.drop(key)}
        />
      ))}
      <CreateKey
        key={created}
        scopes={me.scopes}
        created={(key) => {
          setCreated((times) => times + 1)
          made.add(key)
          void reading.again()
        }}
      />
      <Loaded of={reading}>
        {(keys) => (
          <>
            <p class="filters">
              <a href="/console/keys" aria-current={withEnded ? undefined : 'true'}>
                Active
              </a>
              <a href="/console/keys?show=all" aria-current={withEnded ? 'true' : undefined}>
                All, with ended ones
              </a>
            </p>
            <KeyTable keys={keys} withEnded={withEnded} me={me} choose={setAct} />
            <More of={reading} />
          </>
        )}
      </Loaded>
      {act?.kind === 'rotate' && (
        <Rotate target={act.target} done={reading.again} close={close} rotated={made.add} />
      )}
      {act?.kind === 'revoke' && <Revoke target={act.target} me={me} done={reading.again} close={close} />}
    </Main>
  )
}
