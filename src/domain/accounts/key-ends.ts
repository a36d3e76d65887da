/**
 * Announces the ends of replaced keys as they come. Every server looks, and the first to come announces: whatever becomes of one, no end
 * is lost, and none is announced twice.
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises'
import { systemCaller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Database, StoreLogger } from '../../store/database.ts'
import { revocation } from './keys.ts'
import { findEndedKeys, findKey, takeKeyEnd } from './store.ts'

const LOOK_PAUSE_MS = 1_000
/** After the database failed. */
const BACK_OFF_MS = 10_000
/** Ends that are announced at one look. */
const MAX_ENDS = 100

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'transact'>
  readonly clock: Clock
}

/**
 * Announces the ends that have come and that nobody has announced. One that can't be announced keeps no other waiting.
 * @param isOver whether no further ones are to be begun
 * @throws what kept the last of those from being announced that were not
 */
export const announceKeyEnds = async (
  { database, ledger, clock }: Deps,
  isOver = () => false,
): Promise<void> => {
  let failure: { readonly error: unknown } | undefined
  for (const { id, organisation } of await findEndedKeys(database, clock.now(), MAX_ENDS)) {
    if (isOver()) break
    const announced = ledger.transact(systemCaller(organisation, 'key-end'), async (trx) => {
      const row = await findKey(trx, id)
      const due = await takeKeyEnd(trx, id)
      // Another server was first, or one of an earlier version has revoked it, which announced that.
      if (row === undefined || due === undefined || row.revoked_at !== null) return { result: null }
      const data = { replacedBy: due.replaced_by, effectiveAt: iso(due.due_at) }
      return { entry: revocation(row, due.asked_by, data), result: null }
    })
    await announced.catch((error: unknown) => {
      failure = { error }
    })
  }
  if (failure) throw failure.error
}

export const watchKeyEnds = (deps: Deps & { readonly logger: StoreLogger }) => {
  const ending = new AbortController()
  const { signal } = ending
  const look = async (): Promise<number> => {
    try {
      await announceKeyEnds(deps, () => signal.aborted)
      return LOOK_PAUSE_MS
    } catch (error) {
      if (!signal.aborted) deps.logger.warn({ err: error }, 'ends of replaced keys were not announced')
      return BACK_OFF_MS
    }
  }
  const run = async (): Promise<void> => {
    while (!signal.aborted)
      await pause(await look(), undefined, { signal, ref: false }).catch(() => undefined)
  }
  const running = run()
  return {
    /** Ends after the announcements that are being made. */
    async close(): Promise<void> {
      ending.abort()
      await running
    },
  }
}
