/** The rows of a reading as far as a limit goes. @module */
import type { Reading } from '../event-log/event-log.ts'
import type { EventRow } from '../event-log/rows.ts'
import type { Ending } from './formats/siem.ts'

/**
 * Hands out rows up to a limit.
 * @returns what was handed out, once all was asked for
 */
export async function* limited(
  reading: Pick<Reading, 'rows'>,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<readonly EventRow[], Ending> {
  let rows = 0
  for await (const some of reading.rows()) {
    const fitting = some.slice(0, limit - rows)
    rows += fitting.length
    if (fitting.length > 0) yield fitting
    if (fitting.length < some.length) return { rows, cut: true }
  }
  return { rows, cut: false }
}
