/** Terminals: tills that take payments, online and offline. @module */

import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { Merchant } from '../../../domain/accounts/schemas.ts'
import type { Terminal, TerminalCreated, TerminalList } from '../../../domain/terminals/schemas.ts'
import { useMerchants } from '../all-merchants.ts'
import { mayChange, type PageProps } from '../page.ts'
import { Confirm } from '../parts/confirm.tsx'
import { Field, Form, Select, textIn } from '../parts/form.tsx'
import { LimitFields, LimitsText, limitsIn } from '../parts/limits.tsx'
import { Loaded, More, usePages } from '../parts/loaded.tsx'
import { Main } from '../parts/main.tsx'
import { QrCode, Secrets, useUnkept } from '../parts/secret.tsx'
import { ActButton, Table } from '../parts/table.tsx'
import { money, number, State, Time } from '../parts/text.tsx'
import { ask } from '../session.ts'

const MAX_LABEL_CHARACTERS = 100
const ROWS_PER_PAGE = 50
/** What a clock may be off: requests take their time, and clocks drift. Payments carry the time of their terminal. */
const MAX_SKEW_MS = 60_000
const MINUTE_MS = 60_000

type Merchants = readonly Merchant[]

interface CreateProps {
  readonly merchants: Merchants
  created(terminal: TerminalCreated): void
}

const CreateTerminal = ({ merchants, created }: CreateProps) => (
  <details class="box">
    <summary>Create a terminal</summary>
    <Form
      action="Create terminal"
      submit={async (values) => {
        const body = {
          label: textIn(values, 'label'),
          merchantId: textIn(values, 'merchantId'),
          limits: limitsIn(values),
        }
        created(await ask<TerminalCreated>('POST', '/console/api/terminals', { body }))
      }}
    >
      <Field
        name="label"
        label="Name"
        hint="Where it stands, such as “till 3”."
        required
        maxLength={MAX_LABEL_CHARACTERS}
      />
      <Select
        name="merchantId"
        label="Merchant"
        options={merchants.map(({ merchantId, name }) => ({ value: merchantId, label: name }))}
        value={merchants.find((one) => one.default)?.merchantId}
      />
      <LimitFields others="the merchant" />
    </Form>
  </details>
)

/** Quotes a word for a POSIX shell; ids and secrets have no quotes of their own. */
const configureCommand = ({ apiKey, merchantId, terminalId, terminalSecret }: TerminalCreated): string =>
  `npx assay terminal configure --url '${location.origin}' --api-key '${apiKey}' --merchant '${merchantId}' --terminal-id '${terminalId}' --terminal-secret '${terminalSecret}'`

const Made = ({ terminal, done }: { readonly terminal: TerminalCreated; done(): void }) => (
  <Secrets
    title={`The terminal ${terminal.terminalId} was created`}
    values={{
      'Terminal id': terminal.terminalId,
      'Terminal secret': terminal.terminalSecret,
      'API key': terminal.apiKey,
      'Command that sets up a till': configureCommand(terminal),
      'Pairing address': terminal.pairing.url,
    }}
    done={done}
  >
    <p>
      To make a phone or tablet the till, open <a href="/terminal">the till</a> on it and scan this. Whoever
      sees it can do the same.
    </p>
    <QrCode svg={terminal.pairing.qr} label="QR code that pairs a device" />
    <p>A program of your own needs the first three, and the merchant id {terminal.merchantId}.</p>
  </Secrets>
)

const clockText = (skewMs: number): string =>
  `Clock ${number(Math.round(Math.abs(skewMs) / MINUTE_MS))} min ${skewMs > 0 ? 'ahead' : 'behind'}`

const LastSeen = ({ terminal: { lastSeenAt, version, clockSkewMs } }: { readonly terminal: Terminal }) => {
  if (lastSeenAt === null) return <span class="quiet">Never</span>
  return (
    <>
      <Time at={lastSeenAt} />
      {version !== null && <small>version {version}</small>}
      {clockSkewMs !== null && Math.abs(clockSkewMs) > MAX_SKEW_MS && (
        <small>
          <State tone="warn">{clockText(clockSkewMs)}</State>
        </small>
      )}
    </>
  )
}

/** Only the terminal can know what waits on it: this is what it said. */
const Waiting = ({ queued }: Pick<Terminal, 'queued'>) => {
  if (queued === null) return <span class="quiet">Not told</span>
  const { count, sum } = queued
  return (
    <>
      {count === 0 ? 'Nothing' : `${number(count)} ${count === 1 ? 'payment' : 'payments'}`}
      {sum.map(({ amount, currency }) => (
        <small key={currency}>{money(amount, currency)}</small>
      ))}
      <small>as last told</small>
    </>
  )
}

/** What becomes of what waits on a terminal that is revoked. */
const Stranded = ({ queued }: Pick<Terminal, 'queued'>) => {
  const { count, sum } = queued ?? { count: 0, sum: [] }
  return (
    <p>
      {count > 0 && (
        <strong>
          {[`As last told, ${number(count)} ${count === 1 ? 'payment waits' : 'payments wait'} on it`]
            .concat(sum.map(({ amount, currency }) => money(amount, currency)))
            .join(', ')}
          .{' '}
        </strong>
      )}
      What it has taken offline and not uploaded can’t be uploaded afterwards. Unless it was lost or stolen,
      let it upload first.
    </p>
  )
}

interface ListProps {
  readonly terminals: readonly Terminal[]
  readonly merchants: Merchants
  readonly changes: boolean
  readonly withRevoked: boolean
  revoke(terminal: Terminal): void
}

const List = ({ terminals, merchants, changes, withRevoked, revoke }: ListProps) => (
  <Table
    caption="Terminals"
    rows={terminals}
    keyOf={({ terminalId }) => terminalId}
    empty={
      <p>
        {withRevoked ? 'There is no terminal yet.' : 'No terminal is active.'}
        {changes && ' Create one, and pair a device with it: it can take payments at once.'}
      </p>
    }
    columns={[
      {
        title: 'Name',
        cell: ({ label, terminalId }) => (
          <>
            <strong>{label}</strong>
            <br />
            <code class="quiet">{terminalId}</code>
          </>
        ),
      },
      {
        title: 'Merchant',
        cell: ({ merchantId }) => merchants.find((one) => one.merchantId === merchantId)?.name ?? merchantId,
      },
      { title: 'Limits', cell: ({ limits }) => <LimitsText limits={limits} /> },
      { title: 'Last seen', cell: (terminal) => <LastSeen terminal={terminal} /> },
      { title: 'Waits on it', cell: ({ queued }) => <Waiting queued={queued} /> },
      {
        title: 'State',
        cell: ({ status, createdAt, revokedAt }) => (
          <>
            {status === 'active' ? <State tone="good">Active</State> : <State tone="quiet">Revoked</State>}
            <small>
              {revokedAt === null ? 'since ' : ''}
              <Time at={revokedAt ?? createdAt} />
            </small>
          </>
        ),
      },
      {
        title: 'Actions',
        cell: (one) =>
          changes &&
          one.status === 'active' && (
            <ActButton danger name={one.label} act={() => revoke(one)}>
              Revoke
            </ActButton>
          ),
      },
    ]}
  />
)

export const Terminals = ({ me }: PageProps) => {
  const merchantsReading = useMerchants()
  const made = useUnkept<TerminalCreated>()
  const [revoked, setRevoked] = useState<Terminal | undefined>()
  const withRevoked = useLocation().query.show === 'all'
  const reading = usePages<TerminalList, Terminal>(
    `/console/api/terminals?limit=${ROWS_PER_PAGE}${withRevoked ? '' : '&status=active'}`,
    ({ terminals }) => terminals,
  )
  const changes = mayChange(me, 'keys')
  return (
    <Main title="Terminals" lead="Tills that take payments, and go on taking them while the network is down.">
      {made.unkept.map((terminal) => (
        <Made key={terminal.terminalId} terminal={terminal} done={() => made.drop(terminal)} />
      ))}
      <Loaded of={merchantsReading}>
        {(merchants) => (
          <>
            {changes && (
              <CreateTerminal
                key={made.count}
                merchants={merchants}
                created={(terminal) => {
                  made.add(terminal)
                  void reading.again()
                }}
              />
            )}
            <Loaded of={reading}>
              {(terminals) => (
                <>
                  <p class="filters">
                    <a href="/console/terminals" aria-current={withRevoked ? undefined : 'true'}>
                      Active
                    </a>
                    <a href="/console/terminals?show=all" aria-current={withRevoked ? 'true' : undefined}>
                      All, with revoked ones
                    </a>
                  </p>
                  <List
                    terminals={terminals}
                    merchants={merchants}
                    changes={changes}
                    withRevoked={withRevoked}
                    revoke={setRevoked}
                  />
                  <More of={reading} />
                </>
              )}
            </Loaded>
          </>
        )}
      </Loaded>
      {revoked && (
        <Confirm
          title={`Revoke ${revoked.label}`}
          name={revoked.label}
          action="Revoke terminal"
          close={() => setRevoked(undefined)}
          run={async () => {
            await ask('DELETE', `/console/api/terminals/${revoked.terminalId}`)
            await reading.again()
          }}
        >
          <p>The till can take no more payments, for good, and its API key is revoked as well.</p>
          <Stranded queued={revoked.queued} />
        </Confirm>
      )}
    </Main>
  )
}
