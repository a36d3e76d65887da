/** An alert as it is shown. @module */
import { iso } from '../../clock.ts'
import type { Alert, AlertType, Severity } from './schemas.ts'
import type { KnownAlert } from './store.ts'

const decisionOf = (row: KnownAlert): Alert['decision'] => {
  if (row.muted_at !== null && row.muted_by !== null)
    return { status: 'muted', reason: row.mute_reason, decidedAt: iso(row.muted_at), decidedBy: row.muted_by }
  if (row.decision === null || row.decided_at === null || row.decided_by === null) return null
  return {
    status: row.decision,
    reason: row.reason,
    decidedAt: iso(row.decided_at),
    decidedBy: row.decided_by,
  }
}

export const toAlert = (row: KnownAlert): Alert => ({
  id: row.id,
  type: row.type as AlertType,
  severity: row.severity as Severity,
  subject: row.subject,
  count: row.count,
  firstSeen: iso(row.first_seen),
  lastSeen: iso(row.last_seen),
  status: row.muted_from === null ? row.state : 'muted',
  decision: decisionOf(row),
})
