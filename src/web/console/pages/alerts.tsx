/** Security alerts: what happened, how often, what to do about it, and what was decided. @module */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { Alert, AlertPage, AlertStatus } from '../../../domain/security/schemas.ts'
import { mayChange, type PageProps } from '../page.ts'
import { ALERT_WORDS, AlertSeverity, AlertText } from '../parts/alert.tsx'
import { FormDialog } from '../parts/confirm.tsx'
import { Filters, queryOf } from '../parts/filters.tsx'
import { Field, Select, textIn } from '../parts/form.tsx'
import { Loaded, More, usePages } from '../parts/loaded.tsx'
import { Main } from '../parts/main.tsx'
import { ActButton, Table } from '../parts/table.tsx'
import { State, Time, type Tone } from '../parts/text.tsx'
import { ask } from '../session.ts'

const FILTERS = ['status', 'severity', 'since'] as const
const MAX_REASON_CHARACTERS = 1000

const SEVERITIES = [
  { value: '', label: 'All' },
  { value: 'critical', label: 'Critical' },
  { value: 'high', label: 'High' },
  { value: 'medium', label: 'Medium' },
  { value: 'low', label: 'Low' },
]

const STATUSES: Readonly<Record<AlertStatus, readonly [tone: Tone, word: string]>> = {
  open: ['warn', 'Open'],
  acknowledged: ['quiet', 'Acknowledged'],
  resolved: ['good', 'Resolved'],
  muted: ['quiet', 'Muted'],
}

/** Not a status of the route: it asks for none. */
const ALL = 'all'

const STATUS_OPTIONS = [
  { value: '', label: 'Open' },
  { value: 'acknowledged', label: 'Acknowledged' },
  { value: 'resolved', label: 'Resolved' },
  { value: 'muted', label: 'Muted' },
  { value: ALL, label: 'All' },
]

/** The route wants a time; people choose a day. What needs a look is shown unless somebody asks for more. */
const asked = (query: Readonly<Record<string, string>>): string => {
  const since = query.since ? `${query.since}T00:00:00Z` : ''
  const status = query.status === ALL ? '' : query.status || 'open'
  return queryOf({ ...query, since, status }, FILTERS)
}

interface Decision {
  readonly to: AlertStatus
  /** What the button says. */
  readonly action: string
  /** What it means. */
  readonly text: string
}

const ACKNOWLEDGE: Decision = {
  to: 'acknowledged',
  action: 'Acknowledge',
  text: 'Somebody has seen it and takes care. It is counted on, and shown among the acknowledged ones.',
}
const RESOLVE: Decision = {
  to: 'resolved',
  action: 'Resolve',
  text: 'It is dealt with. If it happens again, it is open again.',
}
const MUTE: Decision = {
  to: 'muted',
  action: 'Mute',
  text: 'Alerts of this kind about this subject are not shown any more, on later days either, until somebody reopens one.',
}
const REOPEN: Decision = {
  to: 'open',
  action: 'Reopen',
  text: 'The decision is taken back.',
}

/** What can be decided on an alert, by what it is. */
const DECISIONS: Readonly<Record<AlertStatus, readonly Decision[]>> = {
  open: [ACKNOWLEDGE, RESOLVE, MUTE],
  acknowledged: [RESOLVE, MUTE, REOPEN],
  resolved: [REOPEN],
  muted: [REOPEN],
}

interface Act {
  readonly alert: Alert
  readonly decision: Decision
}

const Decide = ({ act, done, close }: { readonly act: Act; done(): Promise<void>; close(): void }) => {
  const { alert, decision } = act
  return (
    <FormDialog
      title={decision.action}
      action={decision.action}
      close={close}
      submit={async (values) => {
        const reason = textIn(values, 'reason').trim() || undefined
        await ask('PATCH', `/console/api/alerts/${alert.id}`, { body: { status: decision.to, reason } })
        await done()
      }}
    >
      <p>
        <AlertText alert={alert} />
      </p>
      <p>{decision.text}</p>
      <Field name="reason" label="Reason" rows={3} maxLength={MAX_REASON_CHARACTERS} />
    </FormDialog>
  )
}

const Standing = ({ alert, me }: { readonly alert: Alert } & PageProps) => {
  const { status, decision } = alert
  const [tone, word] = STATUSES[status]
  return (
    <>
      <State tone={tone}>{word}</State>
      {decision !== null && status !== 'open' && (
        <small>
          <Time at={decision.decidedAt} /> by{' '}
          {decision.decidedBy === me.accountId ? 'you' : decision.decidedBy}
          {decision.reason !== null && (
            <>
              <br />
              {decision.reason}
            </>
          )}
        </small>
      )}
    </>
  )
}

const Seen = ({ of: { firstSeen, lastSeen } }: { readonly of: Alert }) => (
  <>
    <Time at={lastSeen} />
    {firstSeen !== lastSeen && (
      <small>
        first <Time at={firstSeen} />
      </small>
    )}
  </>
)

interface ListProps extends PageProps {
  readonly alerts: readonly Alert[]
  readonly isNarrowed: boolean
  choose(act: Act): void
}

const List = ({ alerts, isNarrowed, me, choose }: ListProps) => (
  <Table
    caption="Security alerts, the newest first"
    rows={alerts}
    keyOf={({ id }) => id}
    empty={<p>{isNarrowed ? 'No alert is like this.' : 'Nothing needs a look.'}</p>}
    columns={[
      { title: 'Severity', cell: ({ severity }) => <AlertSeverity severity={severity} /> },
      {
        title: 'What happened',
        cell: (alert) => (
          <>
            <AlertText alert={alert} />
            <small>{ALERT_WORDS[alert.type][1]}</small>
          </>
        ),
      },
      { title: 'Seen', cell: (alert) => <Seen of={alert} /> },
      { title: 'State', cell: (alert) => <Standing alert={alert} me={me} /> },
      {
        title: 'Actions',
        cell: (alert) =>
          mayChange(me, 'audit') && (
            <span class="row-actions">
              {DECISIONS[alert.status].map((decision) => (
                <ActButton
                  key={decision.to}
                  name={`${ALERT_WORDS[alert.type][0]}, ${alert.subject}`}
                  act={() => choose({ alert, decision })}
                >
                  {decision.action}
                </ActButton>
              ))}
            </span>
          ),
      },
    ]}
  />
)

export const Alerts = ({ me }: PageProps) => {
  const { query } = useLocation()
  const [act, setAct] = useState<Act | undefined>()
  const reading = usePages<AlertPage, Alert>(`/console/api/alerts${asked(query)}`, ({ alerts }) => alerts)
  return (
    <Main title="Alerts" lead="What looks like an attack or a fault. The same alert is counted once a day.">
      <Filters names={FILTERS}>
        <Select name="status" label="State" options={STATUS_OPTIONS} value={query.status ?? ''} />
        <Select name="severity" label="Severity" options={SEVERITIES} value={query.severity} />
        <Field name="since" type="date" label="Seen since" value={query.since} />
      </Filters>
      <Loaded of={reading}>
        {(alerts) => (
          <List alerts={alerts} isNarrowed={queryOf(query, FILTERS) !== ''} me={me} choose={setAct} />
        )}
      </Loaded>
      <More of={reading} />
      {act && <Decide act={act} done={reading.again} close={() => setAct(undefined)} />}
    </Main>
  )
}
