/** Security alerts: what happened, how often, what to do about it, and what was decided. @module */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { Alert, AlertPage, AlertStatus } from '../../../domain/security/schemas.ts'
import { mayChange, type PageProps } from '../page.ts'
import {
  ALERT_FILTERS,
  ALERT_STATES,
  ALERT_WORDS,
  AlertFilters,
  AlertSeen,
  AlertSeverity,
  AlertText,
  alertsAsked,
} from '../parts/alert.tsx'
import { FormDialog } from '../parts/confirm.tsx'
import { queryOf } from '../parts/filters.tsx'
import { Field, textIn } from '../parts/form.tsx'
import { Loaded, More, usePages } from '../parts/loaded.tsx'
import { Main } from '../parts/main.tsx'
import { ActButton, Table } from '../parts/table.tsx'
import { State, Time } from '../parts/text.tsx'
import { Who } from '../parts/who.tsx'
import { ask } from '../session.ts'

const MAX_REASON_CHARACTERS = 1000

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
      {decision.to !== 'open' && (
        <Field name="reason" label="Reason" rows={3} maxLength={MAX_REASON_CHARACTERS} />
      )}
    </FormDialog>
  )
}

const Standing = ({ alert, me }: { readonly alert: Alert } & PageProps) => {
  const { status, decision } = alert
  const [tone, word] = ALERT_STATES[status]
  return (
    <>
      <State tone={tone}>{word}</State>
      {decision !== null && status !== 'open' && (
        <small>
          <Time at={decision.decidedAt} /> by <Who account={decision.decidedBy} me={me} />
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
      { title: 'Seen', cell: (alert) => <AlertSeen of={alert} /> },
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
  const reading = usePages<AlertPage, Alert>(
    `/console/api/alerts${alertsAsked(query)}`,
    ({ alerts }) => alerts,
  )
  return (
    <Main title="Alerts" lead="What looks like an attack or a fault. The same alert is counted once a day.">
      <AlertFilters />
      <Loaded of={reading}>
        {(alerts) => (
          <List alerts={alerts} isNarrowed={queryOf(query, ALERT_FILTERS) !== ''} me={me} choose={setAct} />
        )}
      </Loaded>
      <More of={reading} />
      {act && <Decide act={act} done={reading.again} close={() => setAct(undefined)} />}
    </Main>
  )
}
