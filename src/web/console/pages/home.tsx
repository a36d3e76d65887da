/** How things stand: what was used, how the service is, what needs a look, and what to do first. @module */
import type { ComponentChildren } from 'preact'
import type { Me } from '../../../domain/accounts/schemas.ts'
import type { AlertPage } from '../../../domain/security/schemas.ts'
import type { Health } from '../../../domain/system/schemas.ts'
import type { Usage } from '../../../domain/usage/schemas.ts'
import type { PageProps } from '../page.ts'
import { AlertSeverity, AlertText } from '../parts/alert.tsx'
import { FirstSteps } from '../parts/first-steps.tsx'
import { Loaded, useReading } from '../parts/loaded.tsx'
import { Main } from '../parts/main.tsx'
import { Table } from '../parts/table.tsx'
import { number, State, Time, type Tone } from '../parts/text.tsx'
import { UsageByDay } from '../usage/usage-days.tsx'

const ALERTS_SHOWN = 5

const HEALTH_WORDS: Readonly<Record<Health['status'], readonly [Tone, string]>> = {
  healthy: ['good', 'All is well'],
  degraded: ['warn', 'Works, with less than usual'],
  unhealthy: ['bad', 'Not well'],
}

const Figure = ({
  title,
  children,
  text,
}: {
  title: string
  children: ComponentChildren
  text?: ComponentChildren
}) => (
  <li>
    <h3>{title}</h3>
    <p class="figure">{children}</p>
    {text !== undefined && <p class="quiet">{text}</p>}
  </li>
)

const FreeProofs = ({ free, me }: { readonly free: Usage['free']; readonly me: Me }) => {
  if (me.subscription === 'active')
    return (
      <Figure title="Subscription" text="Results are charged to it.">
        Active
      </Figure>
    )
  if (free === null)
    return (
      <Figure title="Free proofs" text="Ask the operator for a subscription.">
        None left
      </Figure>
    )
  return (
    <Figure
      title="Free proofs left"
      text={
        <>
          valid until <Time at={free.expiresAt} />
        </>
      }
    >
      {number(free.remaining)} <small>of {number(free.granted)}</small>
    </Figure>
  )
}

const Figures = ({ usage, me }: { readonly usage: Usage; readonly me: Me }) => {
  const health = useReading<Health>('/health')
  const [tone, word] = HEALTH_WORDS[health.value?.status ?? 'healthy']
  return (
    <ul class="cards figures">
      <FreeProofs free={usage.free} me={me} />
      <Figure title="Results today" text="in this UTC day">
        {number(usage.proofCounts.today)}
      </Figure>
      <Figure title="Results this month" text={`${number(usage.proofCounts.total)} since the beginning`}>
        {number(usage.proofCounts.month)}
      </Figure>
      <Figure title="Service" text={health.value && `version ${health.value.version}`}>
        {health.value ? <State tone={tone}>{word}</State> : (health.problem ?? 'Asking…')}
      </Figure>
    </ul>
  )
}

const ByCategory = ({ usage }: { readonly usage: Usage }) => {
  const categories = Object.entries(usage.byCategory).sort(([, one], [, other]) => other - one)
  const most = categories[0]?.[1] ?? 0
  return (
    <Table
      caption="Results by what they were made for"
      rows={categories}
      keyOf={([category]) => category}
      empty={<p>Nothing yet. Your first verification will be counted here.</p>}
      columns={[
        { title: 'Made for', cell: ([category]) => category },
        { title: 'Results', cell: ([, results]) => number(results) },
        {
          title: 'Share',
          cell: ([category, results]) => (
            <meter aria-label={`Share of ${category}`} max={most} value={results} />
          ),
        },
      ]}
    />
  )
}

const Alerts = () => {
  const alerts = useReading<AlertPage>(`/console/api/alerts?status=open&limit=${ALERTS_SHOWN}`)
  return (
    <Loaded of={alerts}>
      {(page) => (
        <>
          <Table
            caption="Security alerts"
            rows={page.alerts}
            keyOf={({ id }) => id}
            empty={<p>Nothing needs a look.</p>}
            columns={[
              { title: 'Severity', cell: ({ severity }) => <AlertSeverity severity={severity} /> },
              { title: 'What happened', cell: (alert) => <AlertText alert={alert} /> },
              { title: 'Last seen', cell: ({ lastSeen }) => <Time at={lastSeen} /> },
            ]}
          />
          {page.alerts.length > 0 && (
            <p>
              <a href="/console/alerts">Decide them</a>
            </p>
          )}
        </>
      )}
    </Loaded>
  )
}

export const Home = ({ me }: PageProps) => {
  const usage = useReading<Usage>('/api/usage')
  return (
    <Main title="Home">
      <Loaded of={usage}>
        {(value) => (
          <>
            <h2 class="unseen">At a glance</h2>
            <Figures usage={value} me={me} />
            <FirstSteps me={me} />
            <section aria-labelledby="alerts">
              <h2 id="alerts">Open alerts</h2>
              <Alerts />
            </section>
            <section aria-labelledby="usage">
              <h2 id="usage">What was used</h2>
              <UsageByDay />
              <h3>Since the beginning</h3>
              <ByCategory usage={value} />
            </section>
          </>
        )}
      </Loaded>
    </Main>
  )
}
