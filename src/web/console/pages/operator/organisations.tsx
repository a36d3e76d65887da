/** For the operator: all organisations, their subscriptions and limits, and pods that wait to be let in. @module */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { OrganisationCreated, OrganisationPage } from '../../../../domain/accounts/schemas.ts'
import type { OwnPod } from '../../../../domain/pods/schemas.ts'
import type { PageProps } from '../../page.ts'
import { FormDialog } from '../../parts/confirm.tsx'
import { Filters, queryOf } from '../../parts/filters.tsx'
import { Field, Form, Select, textIn } from '../../parts/form.tsx'
import { Loaded, More, usePages } from '../../parts/loaded.tsx'
import { Main } from '../../parts/main.tsx'
import { Secrets } from '../../parts/secret.tsx'
import { ActButton, Table } from '../../parts/table.tsx'
import { number, State, Time } from '../../parts/text.tsx'
import { ask, change, lookAgain } from '../../session.ts'

const PATH = '/console/api/organisations'
const FILTERS = ['name', 'subscription'] as const
const MAX_NAME_CHARACTERS = 100
const MAX_RATE_LIMIT = 10_000_000

type Organisation = OrganisationPage['organisations'][number]

const SUBSCRIPTIONS = [
  { value: 'active', label: 'Active: results are charged to it' },
  { value: 'inactive', label: 'Inactive: free proofs only' },
]

const Create = ({ created }: { created(made: OrganisationCreated): void }) => (
  <details class="box">
    <summary>Create an organisation</summary>
    <Form
      action="Create organisation"
      submit={async (values) => {
        created(await ask<OrganisationCreated>('POST', PATH, { body: { name: textIn(values, 'name') } }))
      }}
    >
      <Field
        name="name"
        label="Name"
        hint="Its subscription is active from the start. Its API key invites its first owner."
        required
        maxLength={MAX_NAME_CHARACTERS}
      />
    </Form>
  </details>
)

const Made = ({ made, done }: { readonly made: OrganisationCreated; done(): void }) => (
  <Secrets
    title="The organisation was created"
    advice="Give the key to the organisation alone: it may do everything for it, and make further keys."
    values={{
      'API key': made.apiKey,
      Organisation: made.organisationId,
      'Default merchant': made.merchantId,
    }}
    done={done}
  />
)

interface ChangeProps {
  readonly organisation: Organisation
  done(): Promise<void>
  close(): void
}

const Change = ({ organisation, done, close }: ChangeProps) => {
  const { organisationId, name, subscription, rateLimitPerMinute } = organisation
  return (
    <FormDialog
      title={`Change ${name}`}
      action="Save"
      close={close}
      submit={async (values) => {
        const wanted = {
          subscription: textIn(values, 'subscription'),
          rateLimitPerMinute: Number(textIn(values, 'rateLimitPerMinute')),
        }
        await change(`${PATH}/${organisationId}`, { subscription, rateLimitPerMinute }, wanted)
        await done()
      }}
    >
      <Select name="subscription" label="Subscription" options={SUBSCRIPTIONS} value={subscription} />
      <Field
        name="rateLimitPerMinute"
        type="number"
        label="Requests a minute"
        hint="Of all its keys together. It holds on every server within seconds."
        required
        min={1}
        max={MAX_RATE_LIMIT}
        value={String(rateLimitPerMinute)}
      />
    </FormDialog>
  )
}

interface ListProps {
  readonly caption: string
  readonly organisations: readonly Organisation[]
  change(organisation: Organisation): void
}

const List = ({ caption, organisations, change }: ListProps) => (
  <Table
    caption={caption}
    rows={organisations}
    keyOf={({ organisationId }) => organisationId}
    empty={<p>No organisation is like this. Choose less in the filters above.</p>}
    columns={[
      {
        title: 'Name',
        cell: ({ name, organisationId }) => (
          <>
            <strong class="address">{name}</strong>
            <br />
            <code class="quiet">{organisationId}</code>
          </>
        ),
      },
      {
        title: 'Subscription',
        cell: ({ subscription }) =>
          subscription === 'active' ? (
            <State tone="good">Active</State>
          ) : (
            <State tone="quiet">Inactive</State>
          ),
      },
      { title: 'Requests a minute', cell: ({ rateLimitPerMinute }) => number(rateLimitPerMinute) },
      { title: 'Accounts', cell: ({ accounts }) => number(accounts) },
      { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
      {
        title: 'Actions',
        cell: (organisation) => (
          <ActButton name={organisation.name} act={() => change(organisation)}>
            Change
          </ActButton>
        ),
      },
    ]}
  />
)

const POD_STATES = [
  { value: 'ACTIVE', label: 'Active: it verifies' },
  { value: 'SUSPENDED', label: 'Suspended: it verifies nothing until it is active again' },
]

/** Pods of organisations without a subscription wait for the operator, who is told their id. */
const PodState = () => {
  const [changed, setChanged] = useState<OwnPod | undefined>()
  return (
    <section aria-labelledby="pod">
      <h2 id="pod">Activate or suspend a pod</h2>
      <p>Pods that are created without a subscription wait until you activate them.</p>
      <Form
        action="Change the pod"
        clears
        submit={async (values) => {
          const path = `/console/api/pods/${encodeURIComponent(textIn(values, 'podId').trim())}`
          setChanged(undefined)
          setChanged(await ask<OwnPod>('PATCH', path, { body: { status: textIn(values, 'status') } }))
        }}
      >
        <Field
          name="podId"
          label="Id of the pod"
          hint="Its owner finds it under Pods and domains."
          required
        />
        <Select name="status" label="State" options={POD_STATES} />
      </Form>
      <p role="status">{changed && `${changed.name} is ${changed.status.toLowerCase()} now.`}</p>
    </section>
  )
}

export const Organisations = ({ me }: PageProps) => {
  const { query } = useLocation()
  const reading = usePages<OrganisationPage, Organisation>(
    PATH + queryOf(query, FILTERS),
    ({ organisations }) => organisations,
  )
  const [made, setMade] = useState<OrganisationCreated | undefined>()
  const [changing, change] = useState<Organisation | undefined>()
  return (
    <Main
      title="Organisations"
      lead="All that use this service. What you change here is recorded in the log."
    >
      {made && <Made made={made} done={() => setMade(undefined)} />}
      {/* The key is shown this once: another must not take its place. */}
      {made === undefined && (
        <Create
          created={(one) => {
            setMade(one)
            void reading.again()
          }}
        />
      )}
      <Filters names={FILTERS}>
        <Field name="name" label="Name begins with" value={query.name} maxLength={MAX_NAME_CHARACTERS} />
        <Select
          name="subscription"
          label="Subscription"
          options={[
            { value: '', label: 'All' },
            { value: 'active', label: 'Active' },
            { value: 'inactive', label: 'Inactive' },
          ]}
          value={query.subscription}
        />
      </Filters>
      <Loaded of={reading}>
        {(organisations) => (
          <List
            caption={query.name ? 'Organisations by name' : 'Organisations, the newest first'}
            organisations={organisations}
            change={change}
          />
        )}
      </Loaded>
      <More of={reading} />
      <PodState />
      {changing && (
        <Change
          organisation={changing}
          done={async () => {
            await reading.again()
            if (changing.organisationId === me.organisationId) await lookAgain()
          }}
          close={() => change(undefined)}
        />
      )}
    </Main>
  )
}
