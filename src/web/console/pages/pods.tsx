/** Pods: verification under a key and a domain of its own. @module */
import { useState } from 'preact/hooks'
import type { OwnPod, OwnPodList, PodCreated, PodStatsAnswer } from '../../../domain/pods/schemas.ts'
import { mayChange, type PageProps } from '../page.ts'
import { FormDialog } from '../parts/confirm.tsx'
import { BindDomain, CheckDomain, Domains } from '../parts/domain.tsx'
import { Field, Form, jsonTextIn, textIn, withTexts } from '../parts/form.tsx'
import { Loaded, More, usePages, useReading } from '../parts/loaded.tsx'
import { Main } from '../parts/main.tsx'
import { Secrets, useUnkept } from '../parts/secret.tsx'
import { ActButton, Table } from '../parts/table.tsx'
import { number, State, type Tone } from '../parts/text.tsx'
import { ask } from '../session.ts'

const MAX_NAME_CHARACTERS = 100
/** Each asks for its statistics, too. */
const ROWS_PER_PAGE = 50

/** A domain that is looked at again. */
interface Asked {
  readonly domain: string
  readonly podId: string
}

const STATES: Readonly<Record<OwnPod['status'], readonly [Tone, string]>> = {
  PENDING: ['warn', 'Waits for the operator'],
  ACTIVE: ['good', 'Active'],
  SUSPENDED: ['warn', 'Suspended'],
  ARCHIVED: ['quiet', 'Archived'],
}

const Rules = ({ value }: { readonly value?: string }) => (
  <Field
    name="rules"
    label="Rules"
    rows={6}
    value={value}
    hint={
      <>
        What the data of a verification must fulfil, as a JSON array such as{' '}
        <code>{'[{ "field": "age", "op": "gte", "value": 18 }]'}</code>. Without any, nothing is decided: each
        verification attests what was submitted, and when.
      </>
    }
  />
)

const CreatePod = ({ created }: { created(pod: PodCreated): void }) => (
  <details class="box">
    <summary>Create a pod</summary>
    <Form
      action="Create pod"
      submit={async (values) => {
        const charge = textIn(values, 'chargePerVerification')
        const body = {
          name: textIn(values, 'name'),
          chargePerVerification: charge === '' ? undefined : Number(charge),
        }
        const json = withTexts(body, { rules: jsonTextIn(values, 'rules') })
        created(await ask<PodCreated>('POST', '/console/api/pods', { json }))
      }}
    >
      <Field
        name="name"
        label="Name"
        hint="What it verifies, such as “age check”."
        required
        maxLength={MAX_NAME_CHARACTERS}
      />
      <Rules />
      <Field
        name="chargePerVerification"
        type="number"
        label="Charge per verification"
        hint="0.35 if left empty, which is the least."
        min={0.35}
        max={10_000}
        step="0.01"
      />
    </Form>
  </details>
)

const ChangePod = ({ pod, done, close }: { pod: OwnPod; done(): Promise<void>; close(): void }) => (
  <FormDialog
    title={`Change ${pod.name}`}
    action="Save"
    close={close}
    submit={async (values) => {
      // What nobody touched is not sent, so that it stays what others made of it meanwhile. Rules and logic are replaced together.
      const text = textIn(values, 'rules').trim()
      const rules = text === rulesText(pod) ? undefined : (jsonTextIn(values, 'rules') ?? '[]')
      const typed = textIn(values, 'name')
      const name = typed === pod.name ? undefined : typed
      if (name !== undefined || rules !== undefined)
        await ask('PATCH', `/console/api/pods/${pod.podId}`, { json: withTexts({ name }, { rules }) })
      await done()
    }}
  >
    <Field name="name" label="Name" required maxLength={MAX_NAME_CHARACTERS} value={pod.name} />
    {pod.logic !== null && (
      <p class="hint">This pod has logic beside its rules; other rules take its place.</p>
    )}
    <Rules value={rulesText(pod)} />
  </FormDialog>
)

const rulesText = ({ rules }: OwnPod): string => (rules === null ? '' : JSON.stringify(rules, null, 2))

const policyText = (rules: OwnPod['rules'], logic: OwnPod['logic']): string => {
  if (rules === null && logic === null) return 'No rules: decides nothing'
  const count = rules?.length ?? 0
  return `${count} ${count === 1 ? 'rule' : 'rules'}${logic === null ? '' : ' and logic'}`
}

const Statistics = ({ pod }: { readonly pod: OwnPod }) => (
  <Loaded of={useReading<PodStatsAnswer>(`/pod/${pod.podId}/stats`)}>
    {({ stats }) => (
      <>
        {number(stats.totalVerifications)} verifications
        <small>
          {number(stats.todayVerifications)} today, {stats.successRate} without a NO, {stats.weeklyCharges}{' '}
          {stats.currency} this week
        </small>
      </>
    )}
  </Loaded>
)

interface ListProps {
  readonly pods: readonly OwnPod[]
  readonly changes: boolean
  /** Whether domains may be bound, too. */
  readonly binds: boolean
  change(pod: OwnPod): void
  check(asked: Asked): void
}

const List = ({ pods, changes, binds, change, check }: ListProps) => (
  <Table
    caption="Pods"
    rows={pods}
    keyOf={({ podId }) => podId}
    empty={
      <p>
        There is no pod yet. With one you let others verify under rules of yours, with a key that opens
        nothing else of your organisation.
      </p>
    }
    columns={[
      {
        title: 'Name',
        cell: ({ name, podId }) => (
          <>
            <strong>{name}</strong>
            <br />
            <code class="quiet">{podId}</code>
          </>
        ),
      },
      {
        title: 'State',
        cell: ({ status }) => <State tone={STATES[status][0]}>{STATES[status][1]}</State>,
      },
      {
        title: 'Decides by',
        cell: ({ rules, logic, chargePerVerification, currency }) => (
          <>
            {policyText(rules, logic)}
            <small>
              {chargePerVerification} {currency} each
            </small>
          </>
        ),
      },
      {
        title: 'Domains',
        cell: (pod) => (
          <Domains
            pod={pod}
            check={
              binds && pod.status !== 'ARCHIVED' ? (domain) => check({ domain, podId: pod.podId }) : undefined
            }
          />
        ),
      },
      { title: 'Use', cell: (pod) => <Statistics pod={pod} /> },
      {
        title: 'Actions',
        cell: (pod) =>
          changes &&
          pod.status !== 'ARCHIVED' && (
            <ActButton name={pod.name} act={() => change(pod)}>
              Change
            </ActButton>
          ),
      },
    ]}
  />
)

export const Pods = ({ me }: PageProps) => {
  const path = `/console/api/pods?limit=${ROWS_PER_PAGE}`
  const reading = usePages<OwnPodList, OwnPod>(path, ({ pods }) => pods)
  const made = useUnkept<PodCreated>()
  const [changing, setChanging] = useState<OwnPod | undefined>()
  const [asked, check] = useState<Asked | undefined>()
  const changes = mayChange(me, 'pod')
  const binds = mayChange(me, 'domain')
  return (
    <Main
      title="Pods and domains"
      lead="A pod verifies under rules of yours, with a key of its own, and under your own domain."
    >
      {made.unkept.map((pod) => (
        <Secrets
          key={pod.podId}
          title={`The pod ${pod.podId} was created`}
          values={{ 'Key of the pod': pod.podKey, Address: `${location.origin}/pod/${pod.podId}/verify` }}
          done={() => made.drop(pod)}
        />
      ))}
      {changes && (
        <CreatePod
          key={made.count}
          created={(pod) => {
            made.add(pod)
            void reading.again()
          }}
        />
      )}
      <Loaded of={reading}>
        {(pods) => (
          <>
            <List pods={pods} changes={changes} binds={binds} change={setChanging} check={check} />
            <More of={reading} />
            {pods.length > 0 && binds && (
              <BindDomain pods={pods} goesOn={reading.more !== undefined} bound={reading.again} />
            )}
          </>
        )}
      </Loaded>
      {asked && (
        <CheckDomain
          {...asked}
          close={() => {
            check(undefined)
            void reading.again()
          }}
        />
      )}
      {changing && <ChangePod pod={changing} done={reading.again} close={() => setChanging(undefined)} />}
    </Main>
  )
}
