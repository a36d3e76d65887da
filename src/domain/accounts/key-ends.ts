/** Announces the ends of replaced keys as they come. @module */
import { systemCaller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { commitDue, type Due, watchDue } from '../../ledger/due.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Database, StoreLogger } from '../../store/database.ts'
import { revocation } from './keys.ts'
import { type ApiKeyRow, findEndedKeys, findKey, takeKeyEnd } from './store.ts'

const LOOK_PAUSE_MS = 1_000
/** Ends that are announced at one look. */
const MAX_ENDS = 100

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'transact'>
  readonly clock: Clock
}

const endsOf = ({ database, ledger, clock }: Deps): Due<Pick<ApiKeyRow, 'id' | 'organisation'>> => ({
  find: (except) => findEndedKeys(database, { now: clock.now(), except, limit: MAX_ENDS }),
  commit: ({ id, organisation }) =>
    ledger.transact(systemCaller(organisation, 'key-end'), async (trx) => {
      const row = await findKey(trx, id)
      const due = await takeKeyEnd(trx, id)
      // Another server was first, or one of an earlier version has revoked it, which announced that.
      if (row === undefined || due === undefined || row.revoked_at !== null) return { result: null }
      const data = { replacedBy: due.replaced_by, effectiveAt: iso(due.due_at) }
      return { entry: revocation(row, due.asked_by, data), result: null }
    }),
})

/** Announces the ends that have come and that nobody has announced. @returns why that failed which did, by the key's id */
export const announceKeyEnds = (deps: Deps) => commitDue(endsOf(deps))

export const watchKeyEnds = (deps: Deps & { readonly logger: StoreLogger }) =>
  watchDue(endsOf(deps), {
    lookMs: LOOK_PAUSE_MS,
    logger: deps.logger,
    failed: 'ends of replaced keys were not announced',
  })
