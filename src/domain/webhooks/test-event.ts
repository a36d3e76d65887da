/** A test of an endpoint: one delivery, made at once, whose result whoever asks for it is told. @module */
import { randomBytes } from 'node:crypto'
import type { Caller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { fail } from '../../errors.ts'
import type { Database } from '../../store/database.ts'
import { createOneAtATime } from '../../store/limits.ts'
import type { MakeAttempt } from './attempt.ts'
import { ownerOf } from './endpoints.ts'
import { TEST_EVENT } from './events.ts'
import type { WebhookTested } from './schemas.ts'
import type { SealedEndpoints } from './sealed-endpoint.ts'
import { findOwned } from './store.ts'
import { settleResults } from './store-deliveries.ts'

const DELIVERY_ID_BYTES = 12
const RETRY_AFTER_SECONDS = 1

interface Deps {
  readonly database: Database
  readonly sealed: SealedEndpoints
  readonly clock: Clock
  readonly attempt: MakeAttempt
  /** Ends when the service closes. */
  readonly ending: AbortSignal
  /** The endpoint delivers again after it dropped ten events in a row, and its owner is to be told. */
  turned(): void
}

export const createTestEvents = ({ database, sealed, clock, attempt, ending, turned }: Deps) => {
  const begin = createOneAtATime()

  return {
    /** Delivers a test event once. @throws AppError not_found; rate_limited while another test of the endpoint runs */
    async test(caller: Caller, id: string): Promise<WebhookTested> {
      const row = (await findOwned(database.knex, ownerOf(caller), id)) ?? fail('not_found')
      const end =
        begin(id) ??
        fail('rate_limited', {
          message: 'Another test of this endpoint is still under way.',
          retryAfter: RETRY_AFTER_SECONDS,
        })
      try {
        const deliveryId = `dlv_${randomBytes(DELIVERY_ID_BYTES).toString('hex')}`
        const created_at = iso(clock.now())
        const data = { webhook_id: id }
        const body = JSON.stringify({ delivery_id: deliveryId, event: TEST_EVENT, created_at, data })
        const begun = performance.now()
        const { outcome, at, status } = await attempt(
          { id: deliveryId, event: TEST_EVENT, body },
          sealed.open(row),
          ending,
        )
        const durationMs = Math.round(performance.now() - begun)
        const delivered = outcome === 'delivered'
        const result = { id: deliveryId, endpoint: id, attempts: 0, at, status }
        // There is no delivery of this id: only what the list shows of the endpoint changes.
        const { hasUntold } = await settleResults(database, [
          { ...result, end: delivered ? 'delivered' : 'failed' },
        ])
        if (hasUntold) turned()
        return {
          id,
          deliveryId,
          event: TEST_EVENT,
          delivered,
          status: status ?? null,
          reason: delivered ? null : outcome,
          sentAt: iso(at),
          durationMs,
        }
      } finally {
        end()
      }
    },
  }
}
