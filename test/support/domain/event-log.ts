/** An event log on a ledger of its own, and what it holds. */
import type { EventLog, EventLogDeps } from '../../../src/domain/event-log/event-log.ts'
import { createEventLog } from '../../../src/domain/event-log/event-log.ts'
import type { EventRow, RequestRow } from '../../../src/domain/event-log/rows.ts'
import { ONE_LOG } from '../../../src/ledger/logs.ts'
import type { TestLedger } from '../ledger.ts'

export const ORGANISATION = 'org_1'
/** Everything that any log of a test holds. */
export const EVER = { since: 0, until: Number.MAX_SAFE_INTEGER }

export type LogOptions = Pick<EventLogDeps, 'directory'> &
  Partial<Pick<EventLogDeps, 'logs' | 'maxBytes' | 'onLost' | 'logger'>>

export const openLog = (
  { ledger, database }: Pick<TestLedger, 'ledger' | 'database'>,
  options: LogOptions,
): Promise<EventLog> =>
  createEventLog({
    database,
    ledger,
    logs: ONE_LOG,
    maxBytes: 2 ** 24,
    logger: { warn: () => undefined },
    onLost: () => undefined,
    ...options,
  })

/** All rows of a window, with what is said of them. */
export const readAll = async (log: EventLog, organisation = ORGANISATION, window = EVER) => {
  const reading = await log.read(organisation, window)
  const rows: EventRow[] = []
  for await (const some of reading.rows()) rows.push(...some)
  const { watermark, gaps } = reading
  return { rows, watermark, gaps }
}

export const indexesOf = (rows: readonly EventRow[]): number[] =>
  rows.flatMap((row) => (row.type === 'merkle.leaf' ? [row.index] : []))

/** A request at a moment. @param requestId tells it from others */
export const requestAt = (at: number, requestId: string, organisation = ORGANISATION): RequestRow => ({
  type: 'request',
  at,
  organisation,
  requestId,
  method: 'GET',
  route: '/things/{thingId}',
  status: 200,
  durationMs: 1.5,
  actor: 'key',
  actorId: 'key_1',
  keyId: 'key_1',
  ip: '192.0.2.1',
})
