/** What somebody decides on an alert: that it is known, done with, or not to be shown. @module */
import type { Caller } from '../../caller.ts'
import type { Clock } from '../../clock.ts'
import { fail } from '../../errors.ts'
import { requireUnchanged } from '../../json/read-only.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { toAlert } from './alert.ts'
import { type Alert, type AlertChange, type AlertStatus, AS_LISTED } from './schemas.ts'
import * as store from './store.ts'

interface Deps {
  readonly ledger: Pick<Ledger, 'transact'>
  readonly clock: Clock
}

/** Who decides, as alerts show it. */
const deciderOf = ({ credential }: Caller): string =>
  credential.kind === 'session' ? credential.accountId : credential.id

/** Members of the organisation, and keys that may administer it: who only reads alerts, silences none. */
const requireOperator = ({ credential, scopes }: Caller): void => {
  if (credential.kind !== 'session' && !scopes.has('keys') && !scopes.has('admin'))
    fail('insufficient_scope', {
      message: 'Deciding on an alert needs a session or a key with scope "keys".',
    })
}

const NO_DECISION: store.AlertDecision = {
  decision: null,
  decided_count: null,
  decided_at: null,
  decided_by: null,
  reason: null,
}

/** An open alert has no decision, so that nothing would keep the reason. */
const requireKept = ({ status, reason }: AlertChange): void => {
  if (status !== 'open' || reason === undefined) return
  const message = 'must be left out with status `open`, which keeps no decision'
  fail('validation_failed', { details: [{ path: '/reason', code: 'not_applicable', message }] })
}

export const createAlertDecisions = ({ ledger, clock }: Deps) => ({
  /**
   * Gives an alert another status. Nothing happens where it has that status already and no reason is given.
   * @throws AppError not_found, insufficient_scope; read_only for a member that only the service sets; validation_failed
   *   for a reason to open it again
   */
  async decide(caller: Caller, id: string, change: AlertChange): Promise<Alert> {
    requireOperator(caller)
    requireKept(change)
    const { status, reason, ...sent } = change
    const { organisation } = caller
    return ledger.transact(caller, async (trx) => {
      const row = (await store.findAlert(trx, organisation, id)) ?? fail('not_found')
      const before = toAlert(row)
      requireUnchanged(sent, before, AS_LISTED)
      if (status === before.status && reason === undefined) return { result: before }

      const at = clock.now()
      const by = deciderOf(caller)
      if (status === 'muted') {
        const { type, subject, day } = row
        const mute = { organisation, type, subject, day, muted_at: at, muted_by: by, reason: reason ?? null }
        await store.insertMute(trx, mute)
      } else {
        if (before.status === 'muted') await store.deleteMute(trx, row, { at, by })
        const decided = { decided_count: row.count, decided_at: at, decided_by: by, reason: reason ?? null }
        await store.updateAlert(trx, id, status === 'open' ? NO_DECISION : { decision: status, ...decided })
      }
      const after = (await store.findAlert(trx, organisation, id)) ?? fail('not_found')
      const event = `alert.${status}` satisfies `alert.${AlertStatus}`
      return {
        entry: { type: 'gate', subject: ['alert', id], data: { event, alertId: id, alert: row.type } },
        result: toAlert(after),
      }
    })
  },
})
