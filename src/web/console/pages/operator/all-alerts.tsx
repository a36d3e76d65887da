/** For the operator: security alerts of all organisations. Each decides on its own; the operator looks. @module */
import { useLocation } from 'preact-iso'
import type { AllAlertsPage } from '../../../../domain/security/schemas.ts'
import {
  ALERT_FILTERS,
  ALERT_STATES,
  AlertFilters,
  AlertSeen,
  AlertSeverity,
  AlertText,
  alertsAsked,
} from '../../parts/alert.tsx'
import { queryOf } from '../../parts/filters.tsx'
import { Loaded, More, usePages } from '../../parts/loaded.tsx'
import { Main } from '../../parts/main.tsx'
import { Table } from '../../parts/table.tsx'
import { State } from '../../parts/text.tsx'

type Alert = AllAlertsPage['alerts'][number]

export const AllAlerts = () => {
  const { query } = useLocation()
  const reading = usePages<AllAlertsPage, Alert>(
    `/console/api/all-alerts${alertsAsked(query)}`,
    ({ alerts }) => alerts,
  )
  return (
    <Main
      title="Alerts of all"
      lead={
        <>
          What looks like an attack or a fault, anywhere. Each organisation decides on its own;{' '}
          <a href="/console/alerts">decide on those of yours</a>.
        </>
      }
    >
      <AlertFilters />
      <Loaded of={reading}>
        {(alerts) => (
          <Table
            caption="Security alerts of all organisations, the newest first"
            rows={alerts}
            keyOf={({ id }) => id}
            empty={
              <p>
                {queryOf(query, ALERT_FILTERS) === '' ? 'Nothing needs a look.' : 'No alert is like this.'}
              </p>
            }
            columns={[
              { title: 'Severity', cell: ({ severity }) => <AlertSeverity severity={severity} /> },
              { title: 'What happened', cell: (alert) => <AlertText alert={alert} /> },
              { title: 'Seen', cell: (alert) => <AlertSeen of={alert} /> },
              {
                title: 'State',
                cell: ({ status }) => <State tone={ALERT_STATES[status][0]}>{ALERT_STATES[status][1]}</State>,
              },
              {
                title: 'Organisation',
                cell: ({ organisationId }) => <code class="address">{organisationId}</code>,
              },
            ]}
          />
        )}
      </Loaded>
      <More of={reading} />
    </Main>
  )
}
