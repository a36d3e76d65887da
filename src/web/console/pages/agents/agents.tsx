/** Agents: programs that act for somebody, recognised by their keys. @module */
import { useState } from 'preact/hooks'
import type { Agent, AgentCreated, AgentList } from '../../../../domain/agents/enrol/schemas.ts'
import { mayChange, type PageProps } from '../../page.ts'
import { Confirm, FormDialog } from '../../parts/confirm.tsx'
import { Loaded, More, usePages } from '../../parts/loaded.tsx'
import { Main } from '../../parts/main.tsx'
import { ActButton, Table } from '../../parts/table.tsx'
import { number, State, Time, type Tone } from '../../parts/text.tsx'
import { ask } from '../../session.ts'
import { Devices } from './devices.tsx'
import { Badge, History } from './dialogs.tsx'
import { Register, Registered } from './register.tsx'

const PATH = '/console/api/agents'
const ROWS_PER_PAGE = 50

const STATES: Readonly<Record<Agent['status'], readonly [Tone, string]>> = {
  pending: ['warn', 'Has to sign'],
  active: ['good', 'Active'],
  suspended: ['warn', 'Suspended'],
  revoked: ['quiet', 'Revoked'],
  expired: ['quiet', 'Expired'],
}

const TRUST: Readonly<Record<Agent['trust_level'], readonly [Tone, string]>> = {
  registered: ['quiet', 'Registered'],
  key_verified: ['good', 'Key verified'],
  domain_verified: ['good', 'Domain verified'],
}

const words = (code: string): string => code.replaceAll('_', ' ')

const LimitsText = ({ limits }: Pick<Agent, 'limits'>) => {
  if (limits === null) return <span class="quiet">May spend nothing</span>
  const { currency, per_transaction, per_day, allowed_actions, allowed_payees, expires_at } = limits
  const amounts = [
    per_transaction !== undefined && `${number(per_transaction)} ${currency} at a time`,
    per_day !== undefined && `${number(per_day)} ${currency} a day`,
  ].filter((text) => text !== false)
  return (
    <>
      {amounts.length === 0 ? 'May spend nothing' : amounts.join(', ')}
      {allowed_actions !== undefined && <small>only to {allowed_actions.join(', ') || 'do nothing'}</small>}
      {allowed_payees !== undefined && <small>only with {allowed_payees.join(', ') || 'nobody'}</small>}
      {expires_at !== undefined && (
        <small>
          until <Time at={expires_at} />
        </small>
      )}
    </>
  )
}

const Key = ({ of: { kid, pq_kid, public_key } }: { readonly of: Agent }) => (
  <details>
    <summary>{public_key.crv}</summary>
    <small>
      Thumbprint <code class="address">{kid}</code>
      {pq_kid !== null && (
        <>
          <br />
          second key <code class="address">{pq_kid}</code>
        </>
      )}
    </small>
  </details>
)

/** Why an agent that never signed its challenge is trusted no higher. */
const NEVER_SIGNED = 'possession_not_shown'

/** When the agent came to its state. What ended by time was changed by nobody. */
const Since = ({ agent: { status, trust_reasons, changed_at, limits } }: { readonly agent: Agent }) => {
  if (status === 'expired' && trust_reasons.includes(NEVER_SIGNED))
    return <small>it did not sign within an hour</small>
  return (
    <small>
      since <Time at={(status === 'expired' && limits?.expires_at) || changed_at} />
    </small>
  )
}

type Kind = 'suspend' | 'resume' | 'revoke' | 'check-domain' | 'history' | 'badge'

interface Act {
  readonly kind: Kind
  readonly agent: Agent
}

const LABELS: Readonly<Record<Kind, string>> = {
  suspend: 'Suspend',
  resume: 'Resume',
  revoke: 'Revoke',
  'check-domain': 'Check domain',
  history: 'History',
  badge: 'Badge',
}

/** What can be done with an agent, by its state. @param changes whether by somebody who may change it, and not only look */
const actsOf = (
  { status, trust_level, key_directory_url, agent_card_url }: Agent,
  changes: boolean,
): readonly Kind[] => {
  if (!changes || status === 'revoked') return ['history']
  const hasDomain = key_directory_url !== null || agent_card_url !== null
  const check: readonly Kind[] = hasDomain && trust_level !== 'registered' ? ['check-domain'] : []
  if (status === 'active') return ['history', 'badge', ...check, 'suspend', 'revoke']
  if (status === 'suspended') return ['history', ...check, 'resume', 'revoke']
  return ['history', 'revoke']
}

interface ActProps {
  readonly act: Act
  done(): Promise<void>
  close(): void
}

const TEXTS: Readonly<Record<'suspend' | 'resume' | 'check-domain', string>> = {
  suspend: 'Nothing that it signs is accepted until you resume it, on every server at once.',
  resume: 'What it signs is accepted again.',
  'check-domain': 'Its domain is asked for its keys now, and the trust level set to what comes of it.',
}

const ActDialog = ({ act: { kind, agent }, done, close }: ActProps) => {
  const run = async (): Promise<void> => {
    await ask('POST', `${PATH}/${agent.agent_id}/${kind}`)
    await done()
  }
  if (kind === 'history') return <History agent={agent} close={close} />
  if (kind === 'badge') return <Badge agent={agent} close={close} />
  if (kind === 'revoke')
    return (
      <Confirm
        title={`Revoke ${agent.name}`}
        name={agent.name}
        action="Revoke agent"
        overtaken={done}
        close={close}
        run={run}
      >
        <p>
          Nothing that it signs is accepted any more, on every server at once and for good. Its key can never
          be registered again.
        </p>
      </Confirm>
    )
  return (
    <FormDialog
      title={`${LABELS[kind]}: ${agent.name}`}
      action={LABELS[kind]}
      overtaken={done}
      close={close}
      submit={run}
    >
      <p>{TEXTS[kind]}</p>
    </FormDialog>
  )
}

interface ListProps {
  readonly agents: readonly Agent[]
  readonly changes: boolean
  choose(act: Act): void
}

const List = ({ agents, changes, choose }: ListProps) => (
  <Table
    caption="Agents, the newest first"
    rows={agents}
    keyOf={({ agent_id }) => agent_id}
    empty={
      <p>
        There is no agent yet. Register one above, and others can tell what it signs from what anybody else
        does: <a href="/docs/agents">how it works</a>.
      </p>
    }
    columns={[
      {
        title: 'Name',
        cell: ({ name, agent_id, principal }) => (
          <>
            <strong>{name}</strong>
            <br />
            <code class="quiet">{agent_id}</code>
            {principal !== null && (
              <small>
                for {principal.type} {principal.reference}
              </small>
            )}
          </>
        ),
      },
      {
        title: 'State',
        cell: (agent) => (
          <>
            <State tone={STATES[agent.status][0]}>{STATES[agent.status][1]}</State>
            <Since agent={agent} />
          </>
        ),
      },
      {
        title: 'Trust',
        cell: ({ trust_level, trust_reasons }) => (
          <>
            <State tone={TRUST[trust_level][0]}>{TRUST[trust_level][1]}</State>
            {trust_reasons.length > 0 && <small>{trust_reasons.map(words).join(', ')}</small>}
          </>
        ),
      },
      { title: 'Key', cell: (agent) => <Key of={agent} /> },
      { title: 'May', cell: ({ limits }) => <LimitsText limits={limits} /> },
      {
        title: 'Actions',
        cell: (agent) => (
          <span class="row-actions">
            {actsOf(agent, changes).map((kind) => (
              <ActButton
                key={kind}
                danger={kind === 'revoke'}
                name={agent.name}
                act={() => choose({ kind, agent })}
              >
                {LABELS[kind]}
              </ActButton>
            ))}
          </span>
        ),
      },
    ]}
  />
)

export const Agents = ({ me }: PageProps) => {
  const reading = usePages<AgentList, Agent>(`${PATH}?limit=${ROWS_PER_PAGE}`, ({ agents }) => agents)
  const [made, setMade] = useState<AgentCreated | undefined>()
  const [act, choose] = useState<Act | undefined>()
  const changes = mayChange(me, 'agent')
  return (
    <Main
      title="Agents"
      lead="Programs that act for somebody. What they sign is recognised, and held to what they may do."
    >
      {made && (
        <Registered
          key={made.agent_id}
          agent={made}
          changed={reading.again}
          done={() => setMade(undefined)}
        />
      )}
      {/* A key or challenge is shown this once: another must not take its place. */}
      {changes && made === undefined && (
        <Register
          registered={(agent) => {
            setMade(agent)
            void reading.again()
          }}
        />
      )}
      <Loaded of={reading}>{(agents) => <List agents={agents} changes={changes} choose={choose} />}</Loaded>
      <More of={reading} />
      <Devices me={me} />
      {act && <ActDialog act={act} done={reading.again} close={() => choose(undefined)} />}
    </Main>
  )
}
