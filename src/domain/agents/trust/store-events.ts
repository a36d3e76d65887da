/** What became of agents, what they presented and wanted to do. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../../store/database.ts'
import { integer, json, type Row, type RowOf, table, text } from '../../../store/table.ts'
import type { Reason } from './reasons.ts'

const STEP_KINDS = ['enrol', 'activate', 'suspend', 'resume', 'revoke', 'check_domain'] as const
export const EVENT_KINDS = [...STEP_KINDS, 'verify', 'authorise'] as const
export type EventKind = (typeof EVENT_KINDS)[number]

export const agentEvents = table('agent_events', {
  agent: text().key(),
  /** Of its entry in the log. */
  entry_index: integer().key(),
  organisation: text(),
  kind: text<EventKind>(),
  outcome: text(),
  reasons: json<readonly Reason[]>(),
  authorisation: text().null(),
  action: text().null(),
  /** Minor units of `currency`. */
  amount_minor: integer().null(),
  currency: text().null(),
  happened_at: integer(),
})

type EventRow = RowOf<typeof agentEvents>

/** A step in the life of an agent. */
export interface AgentStep {
  readonly agent: string
  readonly organisation: string
  readonly kind: (typeof STEP_KINDS)[number]
  /** What the agent is then: its status, or of `check_domain` its trust level. */
  readonly outcome: string
}

/** The row of a step, beside its entry in the log. */
export const stepEvent = (
  step: AgentStep,
  { index, at }: { readonly index: number; readonly at: number },
): Row =>
  agentEvents.row({
    ...step,
    entry_index: index,
    reasons: [],
    authorisation: null,
    action: null,
    amount_minor: null,
    currency: null,
    happened_at: at,
  })

/** An event and the hash of its entry in the log. */
export type LoggedEvent = EventRow & { leaf_hash: Uint8Array }

export interface EventFilter {
  readonly organisation: string
  readonly agent: string
  readonly kinds: readonly EventKind[]
  /** Of the organisation. */
  readonly log: number
  /** Unix ms, inclusive. */
  readonly since?: number
  /** Unix ms, exclusive. */
  readonly until?: number
  /** Index of an entry, exclusive. */
  readonly before?: number
  readonly limit: number
}

/** Events of an agent, the newest first. */
export const findEvents = async ({ knex }: Database, filter: EventFilter): Promise<LoggedEvent[]> => {
  const { log, organisation, agent, kinds, since, until, before, limit } = filter
  const query = knex(agentEvents.name)
    .join('ledger_entries', 'ledger_entries.idx', 'agent_events.entry_index')
    .select<LoggedEvent[]>('agent_events.*', 'ledger_entries.leaf_hash')
    .where({ 'agent_events.organisation': organisation, agent, log })
    .whereIn('kind', [...kinds])
    .orderBy('entry_index', 'desc')
    .limit(limit)
  if (since !== undefined) query.where('happened_at', '>=', since)
  if (until !== undefined) query.where('happened_at', '<', until)
  if (before !== undefined) query.where('entry_index', '<', before)
  return await query
}
