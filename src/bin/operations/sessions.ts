/** What `assay doctor` says of the sessions of PostgreSQL: whether a pooler hands them out, and time-outs that would cut off a server's work. @module */
import type { Database } from '../../store/database.ts'
import { SESSION_TIMEOUTS_MS } from '../../store/postgres.ts'

/** PostgreSQL before 17 knows no transaction_timeout. */
const LOOKED_AT = [...Object.keys(SESSION_TIMEOUTS_MS), 'idle_session_timeout', 'transaction_timeout']

interface Timeout {
  readonly name: string
  /** In ms; 0 for none. */
  readonly ms: number
}

const alter = ({ name }: Timeout, ms: number): string => `ALTER ROLE … SET ${name} = '${ms}ms'`

/** Of time-outs that servers don't set themselves. @returns what each of them does, with what to do */
export const timeoutFaults = (timeouts: readonly Timeout[], isPooled: boolean): readonly string[] =>
  timeouts
    .filter(({ ms }) => ms > 0)
    .flatMap((timeout) => {
      const { name, ms } = timeout
      if (name === 'idle_session_timeout')
        // A pooler connects anew by itself.
        return isPooled
          ? []
          : [
              `${name} ends sessions that had nothing to do for ${ms} ms, and who asks next waits for another (${alter(timeout, 0)})`,
            ]
      const needed =
        name === 'transaction_timeout'
          ? SESSION_TIMEOUTS_MS.statement_timeout
          : isPooled
            ? SESSION_TIMEOUTS_MS[name as keyof typeof SESSION_TIMEOUTS_MS]
            : 0
      return ms < needed
        ? [`${name} is ${ms} ms and cuts off what servers give ${needed} ms to (${alter(timeout, needed)})`]
        : []
    })

export const examineSessions = async ({
  query,
  isPooled = false,
}: Database): Promise<readonly ['ok' | 'warning', string]> => {
  const { rows } = await query<Timeout>(
    'SELECT name, setting::int AS ms FROM pg_settings WHERE name = ANY ($1) ORDER BY name',
    [LOOKED_AT],
  )
  const faults = timeoutFaults(rows, isPooled)
  const how = isPooled ? 'a connection pooler hands them out' : 'PostgreSQL hands them out itself'
  if (faults.length > 0) return ['warning', `${how}; ${faults.join('; ')}`]
  const told = isPooled
    ? ` with the time-outs that servers need (${rows.flatMap(({ name, ms }) => (ms > 0 ? [`${name} ${ms} ms`] : [])).join(', ')})`
    : ', and no time-out of its own gets in the way'
  return ['ok', how + told]
}
