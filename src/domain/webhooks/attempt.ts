/** One attempt to deliver: a signed POST whose status line decides. @module */
import type { Clock } from '../../clock.ts'
import { EgressError } from '../../net/egress-error.ts'
import type { SafeFetch } from '../../net/safe-fetch.ts'
import { signWebhook } from '../../protocol/webhook/webhook.ts'
import type { TEST_EVENT, WebhookEvent } from './events.ts'
import type { OpenedEndpoint } from './sealed-endpoint.ts'
import type { LeasedDelivery } from './store-deliveries.ts'

/** For look-up, connection and status line together. */
export const ATTEMPT_TIMEOUT_MS = 8_000
/** Of an answer's body, which nobody reads; with more, its connection is not used again. */
const IGNORED_BODY_BYTES = 16 * 1024

/** How an attempt ended, in the words of the metric. */
export type AttemptResult = 'delivered' | 'status' | EgressError['kind'] | 'cancelled' | 'error'

export interface Attempt {
  readonly outcome: AttemptResult
  /** Unix ms at which it began. */
  readonly at: number
  readonly status?: number
  /** Why there was no answer, where that is our own fault. */
  readonly cause?: unknown
}

/** What an attempt sends. */
interface Sent extends Pick<LeasedDelivery, 'id' | 'body'> {
  readonly event: WebhookEvent | typeof TEST_EVENT
}

interface Deps {
  readonly safeFetch: SafeFetch
  readonly clock: Clock
  /** Whether every endpoint may reach what the operator opened. */
  readonly openToAll: boolean
}

const notOpen = (): Error =>
  new Error(
    'The URL or the secret of the endpoint does not open: altered, or sealed under another MASTER_KEY.',
  )

export type MakeAttempt = ReturnType<typeof createAttempt>

/** @returns a function that never throws: whatever goes wrong is a failed attempt */
export const createAttempt =
  ({ safeFetch, clock, openToAll }: Deps) =>
  async (
    { id: deliveryId, event, body }: Sent,
    { url, secret, private_egress }: Pick<OpenedEndpoint, 'url' | 'secret' | 'private_egress'>,
    signal: AbortSignal,
  ): Promise<Attempt> => {
    const at = clock.now()
    if (url === undefined || secret === undefined) return { outcome: 'error', at, cause: notOpen() }
    try {
      const timestamp = Math.floor(at / 1000)
      const { status } = await safeFetch(url, {
        method: 'POST',
        headers: signWebhook({ deliveryId, event, timestamp, rawBody: body, secret }),
        body,
        maxBytes: IGNORED_BODY_BYTES,
        ignoreBody: true,
        deadlineMs: ATTEMPT_TIMEOUT_MS,
        redirects: 0,
        allowListed: private_egress || openToAll,
        tier: 'webhooks',
        signal,
      })
      return { outcome: status >= 200 && status < 300 ? 'delivered' : 'status', at, status }
    } catch (error) {
      if (signal.aborted) return { outcome: 'cancelled', at }
      if (error instanceof EgressError) return { outcome: error.kind, at, status: error.status }
      return { outcome: 'error', at, cause: error }
    }
  }
