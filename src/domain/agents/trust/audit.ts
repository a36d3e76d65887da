/** What is on record about an agent, with the place of each entry in the log. @module */
import type { Caller } from '../../../caller.ts'
import { iso } from '../../../clock.ts'
import { fail } from '../../../errors.ts'
import { type Logs, named } from '../../../ledger/logs.ts'
import { fromMinorUnits } from '../../../protocol/payment-proof.ts'
import type { Database } from '../../../store/database.ts'
import type { AgentsService } from '../enrol/service.ts'
import { type AgentAuditPage, type AgentAuditQuery, DEFAULT_PAGE_ENTRIES } from './schemas-audit.ts'
import { EVENT_KINDS, findEvents, type LoggedEvent } from './store-events.ts'

interface Deps {
  readonly database: Database
  readonly logs: Pick<Logs, 'of'>
  readonly agents: Pick<AgentsService, 'find'>
}

/** Unix ms. */
const momentOf = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Date.parse(text)

const toEntry = (event: LoggedEvent, log: number): AgentAuditPage['entries'][number] => ({
  ...named(log),
  index: event.entry_index,
  leaf_hash: Buffer.from(event.leaf_hash).toString('hex'),
  at: iso(event.happened_at),
  kind: event.kind,
  outcome: event.outcome,
  reasons: [...event.reasons],
  authorisation_id: event.authorisation,
  action: event.action,
  amount:
    event.amount_minor === null || event.currency === null
      ? null
      : fromMinorUnits(event.amount_minor, event.currency),
  currency: event.currency,
})

export type AgentAudit = ReturnType<typeof createAgentAudit>

export const createAgentAudit = ({ database, logs, agents }: Deps) => ({
  /** A page of an agent's entries, the newest first. @throws AppError not_found */
  async list({ organisation }: Caller, query: AgentAuditQuery): Promise<AgentAuditPage> {
    const { agent_id: agent, actions: kinds = EVENT_KINDS, cursor, limit = DEFAULT_PAGE_ENTRIES } = query
    if ((await agents.find(organisation, agent)) === undefined) fail('not_found')
    const log = await logs.of(organisation)
    const events = await findEvents(database, {
      log,
      organisation,
      agent,
      kinds,
      since: momentOf(query.since),
      until: momentOf(query.until),
      before: cursor === undefined ? undefined : Number(cursor),
      limit: limit + 1,
    })
    const page = events.slice(0, limit)
    const last = page.at(-1)
    return {
      agent_id: agent,
      entries: page.map((event) => toEntry(event, log)),
      next_cursor: events.length > limit && last ? String(last.entry_index) : null,
    }
  },
})
