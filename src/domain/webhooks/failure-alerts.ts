/**
 * Alerts about endpoints that fail, and that deliver again. Whether it is told stands beside each endpoint and changes with the alert in
 * one commit: a server or a connection that breaks after the results were written loses none, and no other server raises it as well.
 * @module
 */
import { systemCaller } from '../../caller.ts'
import type { Clock } from '../../clock.ts'
import { commitDue, type Due, watchDue } from '../../ledger/due.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Database, StoreLogger } from '../../store/database.ts'
import type { SecurityService } from '../security/service.ts'
import { type EndpointRow, findUntold, markTold } from './store.ts'

/** How soon is told what a server left that ended in between. */
const LOOK_PAUSE_MS = 60_000
/** Alerts that are raised at one look. */
const MAX_ALERTS = 500

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'transact'>
  readonly security: Pick<SecurityService, 'alertRow'>
  readonly clock: Clock
}

const alertsOf = ({
  database,
  ledger,
  security,
  clock,
}: Deps): Due<Pick<EndpointRow, 'id' | 'organisation'>> => ({
  find: (except) => findUntold(database, except, MAX_ALERTS),
  commit: ({ id, organisation }) =>
    ledger.transact(systemCaller(organisation, 'security'), async (trx) => {
      const fails = await markTold(trx, id)
      // Another server was first, or it is over already, or the endpoint is gone.
      if (fails === undefined) return { result: null }
      const type = fails ? 'webhook_failing' : 'webhook_recovered'
      const alert = security.alertRow({ organisation, type, subject: id, at: clock.now() })
      return { entry: { type: 'gate', data: { alert: type, count: 1 } }, rows: [alert], result: null }
    }),
})

/** Raises the alerts that nobody has raised. @returns why that failed which did, by the endpoint's id */
export const raiseFailureAlerts = (deps: Deps) => commitDue(alertsOf(deps))

export const watchFailures = (deps: Deps & { readonly logger: Pick<StoreLogger, 'warn'> }) =>
  watchDue(alertsOf(deps), {
    lookMs: LOOK_PAUSE_MS,
    logger: deps.logger,
    failed: 'alerts of webhook endpoints were not raised',
  })
