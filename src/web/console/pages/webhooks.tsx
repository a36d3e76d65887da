/** Webhook endpoints: where events are sent to. @module */
import { useState } from 'preact/hooks'
import type {
  SecretRotated,
  Webhook,
  WebhookCreated,
  WebhookList,
  WebhookTested,
} from '../../../domain/webhooks/schemas.ts'
import { mayChange, type PageProps } from '../page.ts'
import { Confirm, FormDialog } from '../parts/confirm.tsx'
import { allIn, Choices, Field, Form, textIn } from '../parts/form.tsx'
import { Loaded, useReading } from '../parts/loaded.tsx'
import { Main } from '../parts/main.tsx'
import { Secrets, useUnkept } from '../parts/secret.tsx'
import { ActButton, Table } from '../parts/table.tsx'
import { number, State, Time } from '../parts/text.tsx'
import { ask, change } from '../session.ts'

const MAX_LABEL_CHARACTERS = 100
const MAX_URL_CHARACTERS = 2048

const EVENTS: Readonly<Record<Webhook['events'][number], string>> = {
  'proof.created': 'a proof was made',
  'proof.verified': 'something was verified',
  'proof.spent': 'a proof was spent',
  'merkle.leaf_appended': 'an entry was added to the log',
  'key.revoked': 'an API key was revoked',
}

const Fields = ({ of }: { readonly of?: Webhook }) => (
  <>
    <Field name="label" label="Name" required maxLength={MAX_LABEL_CHARACTERS} value={of?.label} />
    <Field
      name="url"
      type="url"
      label="Address"
      hint="https, and reachable from the service."
      required
      maxLength={MAX_URL_CHARACTERS}
      value={of?.url}
    />
    <Choices
      name="events"
      label="Events"
      options={Object.entries(EVENTS).map(([value, text]) => ({
        value,
        label: value,
        text,
        checked: of?.events.some((event) => event === value),
      }))}
    />
  </>
)

const bodyOf = (values: FormData) => ({
  label: textIn(values, 'label'),
  url: textIn(values, 'url'),
  events: allIn(values, 'events'),
})

/** What the form shows of an endpoint, its events in the form's order. */
const shownOf = ({ label, url, events }: Webhook) => ({
  label,
  url,
  events: Object.keys(EVENTS).filter((event) => events.some((one) => one === event)),
})

const Waiting = ({ of: { backlog } }: { readonly of: Webhook }) =>
  backlog > 0 && <small>{number(backlog)} events wait</small>

const Delivery = ({ of }: { readonly of: Webhook }) => {
  const { lastDeliveryAt, lastStatus, failureCount, failingSince } = of
  if (lastDeliveryAt === null)
    return (
      <>
        <span class="quiet">None yet</span>
        <Waiting of={of} />
      </>
    )
  const good = lastStatus !== null && lastStatus < 300
  return (
    <>
      <State tone={good ? 'good' : 'bad'}>
        {lastStatus === null ? 'No answer' : `Answered ${lastStatus}`}
      </State>
      <small>
        <Time at={lastDeliveryAt} />
      </small>
      {failingSince !== null && (
        <small>
          fails since <Time at={failingSince} />
        </small>
      )}
      {failureCount > 0 && <small>{number(failureCount)} events were given up</small>}
      <Waiting of={of} />
    </>
  )
}

const FAULTS: Readonly<Record<NonNullable<WebhookTested['reason']>, string>> = {
  status: 'It answered with another status than 200 to 299.',
  blocked: 'Its address may not be called.',
  unreachable: 'It has no name, takes no connection, or has no valid certificate.',
  timeout: 'It did not answer in time.',
  too_large: 'Its answer is too large.',
  undecodable: 'Its answer can’t be read.',
  redirect: 'It leads to another address, which is not followed.',
  cancelled: 'The service was stopped meanwhile.',
  error: 'The service failed.',
}

interface Tested {
  readonly label: string
  readonly result: WebhookTested
}

const TestResult = ({ of: { label, result } }: { readonly of: Tested }) => {
  const { delivered, status, reason, durationMs, deliveryId } = result
  return (
    <div class="notice" data-tone={delivered ? 'good' : 'bad'}>
      <p>
        <strong class="name">{label}</strong>:{' '}
        <State tone={delivered ? 'good' : 'bad'}>
          {delivered ? 'The test was delivered' : 'The test was not delivered'}
        </State>
      </p>
      <p>
        {reason !== null && `${FAULTS[reason]} `}
        {status !== null && `Answered ${status} after ${number(durationMs)} ms. `}
        <code>{deliveryId}</code>
      </p>
    </div>
  )
}

type Act = { readonly kind: 'test' | 'change' | 'pause' | 'rotate' | 'remove'; readonly target: Webhook }

interface ListProps {
  readonly webhooks: readonly Webhook[]
  readonly changes: boolean
  choose(act: Act): void
}

const List = ({ webhooks, changes, choose }: ListProps) => (
  <Table
    caption="Webhook endpoints"
    rows={webhooks}
    keyOf={({ id }) => id}
    empty={
      <p>
        There is no endpoint yet. Register one, and your program hears of events within a second instead of
        asking.
      </p>
    }
    columns={[
      {
        title: 'Endpoint',
        cell: ({ label, url, secret }) => (
          <>
            <strong>{label}</strong>
            <br />
            <span class="address">{url}</span>
            <small>
              secret <code>{secret}</code>
            </small>
          </>
        ),
      },
      {
        title: 'Events',
        cell: ({ events, scope }) => (
          <>
            <span class="words">{events.join(', ')}</span>
            {scope === 'key' && <small>of one API key only</small>}
          </>
        ),
      },
      {
        title: 'State',
        cell: ({ active, readable }) => (
          <>
            {active ? <State tone="good">Active</State> : <State tone="warn">Paused</State>}
            {!readable && (
              <>
                <State tone="bad">Can’t be read</State>
                <small>Its address or secret was sealed under a key that the service doesn’t have.</small>
                <small>Give it its address and a new secret, or remove it.</small>
              </>
            )}
          </>
        ),
      },
      { title: 'Last delivery', cell: (one) => <Delivery of={one} /> },
      {
        title: 'Actions',
        cell: (target) =>
          changes && (
            <span class="row-actions">
              <ActButton name={target.label} act={() => choose({ kind: 'test', target })}>
                Test
              </ActButton>
              <ActButton name={target.label} act={() => choose({ kind: 'change', target })}>
                Change
              </ActButton>
              <ActButton name={target.label} act={() => choose({ kind: 'pause', target })}>
                {target.active ? 'Pause' : 'Resume'}
              </ActButton>
              <ActButton name={target.label} act={() => choose({ kind: 'rotate', target })}>
                New secret
              </ActButton>
              <ActButton danger name={target.label} act={() => choose({ kind: 'remove', target })}>
                Remove
              </ActButton>
            </span>
          ),
      },
    ]}
  />
)

interface ActProps {
  readonly act: Act
  done(): Promise<void>
  rotated(secret: SecretRotated): void
  tested(result: Tested): void
  close(): void
}

interface TestProps {
  readonly target: Webhook
  tested(result: WebhookTested): Promise<void>
  close(): void
}

const TestDialog = ({ target: { id, label }, tested, close }: TestProps) => (
  <FormDialog
    title={`Test ${label}`}
    action="Send a test event"
    close={close}
    submit={async () => tested(await ask<WebhookTested>('POST', `/api/webhooks/${id}/test`))}
  >
    <p>
      One event, <code>webhook.test</code>, is sent there now, once, even while the endpoint is paused.
    </p>
  </FormDialog>
)

const ActDialog = ({ act: { kind, target }, done, rotated, tested, close }: ActProps) => {
  const path = `/api/webhooks/${target.id}`
  if (kind === 'test')
    return (
      <TestDialog
        target={target}
        tested={async (result) => {
          tested({ label: target.label, result })
          await done()
        }}
        close={close}
      />
    )
  if (kind === 'change')
    return (
      <FormDialog
        title={`Change ${target.label}`}
        action="Save"
        close={close}
        submit={async (values) => {
          await change(path, shownOf(target), bodyOf(values))
          await done()
        }}
      >
        <Fields of={target} />
      </FormDialog>
    )
  if (kind === 'pause')
    return (
      <FormDialog
        title={`${target.active ? 'Pause' : 'Resume'} ${target.label}`}
        action={target.active ? 'Pause' : 'Resume'}
        close={close}
        submit={async () => {
          await ask('PATCH', path, { body: { active: !target.active } })
          await done()
        }}
      >
        <p>
          {target.active
            ? 'Events in the meantime are never delivered, not even after it was resumed.'
            : 'Events from now on are delivered again.'}
        </p>
      </FormDialog>
    )
  if (kind === 'rotate')
    return (
      <FormDialog
        title={`A new secret for ${target.label}`}
        action="Replace secret"
        close={close}
        submit={async (_, closeOwn) => {
          const made = await ask<SecretRotated>('POST', `${path}/rotate-secret`)
          closeOwn()
          rotated(made)
          await done()
        }}
      >
        <p>
          The present secret signs nothing any more, from now on. Your program must know the new one first, or
          accept both.
        </p>
      </FormDialog>
    )
  return (
    <Confirm
      title={`Remove ${target.label}`}
      name={target.label}
      action="Remove endpoint"
      close={close}
      run={async () => {
        await ask('DELETE', path)
        await done()
      }}
    >
      <p>Nothing is sent there any more, and what waits to be delivered is dropped, for good.</p>
    </Confirm>
  )
}

export const Webhooks = ({ me }: PageProps) => {
  const reading = useReading<WebhookList>('/api/webhooks')
  const secrets = useUnkept<{ id: string; secret: string }>()
  /** The form begins anew after each. */
  const [registered, setRegistered] = useState(0)
  const [tested, setTested] = useState<Tested | undefined>()
  const [act, setAct] = useState<Act | undefined>()
  const changes = mayChange(me, 'webhook')
  return (
    <Main
      title="Webhooks"
      lead="Events are sent to your programs as they happen, each signed with the secret of its endpoint."
    >
      {secrets.unkept.map((made) => (
        <Secrets
          key={made.secret}
          title={`The secret of the endpoint ${made.id}`}
          values={{ Secret: made.secret }}
          done={() => secrets.drop(made)}
        />
      ))}
      {changes && (
        <details class="box" key={registered}>
          <summary>Register an endpoint</summary>
          <Form
            action="Register endpoint"
            submit={async (values) => {
              secrets.add(await ask<WebhookCreated>('POST', '/api/webhooks', { body: bodyOf(values) }))
              setRegistered((times) => times + 1)
              await reading.again()
            }}
          >
            <Fields />
          </Form>
        </details>
      )}
      <div role="status">{tested && <TestResult of={tested} />}</div>
      <Loaded of={reading}>
        {({ webhooks }) => <List webhooks={webhooks} changes={changes} choose={setAct} />}
      </Loaded>
      {act && (
        <ActDialog
          act={act}
          done={reading.again}
          rotated={secrets.add}
          tested={setTested}
          close={() => setAct(undefined)}
        />
      )}
    </Main>
  )
}
