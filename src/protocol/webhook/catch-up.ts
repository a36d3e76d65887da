/**
 * What a receiver missed, read from the log by `GET /api/events`: for one that was down longer than deliveries are attempted.
 * @module
 */
import type { WebhookDelivery } from './signature.ts'

export interface CatchUpOptions {
  /** Of the service, as `https://assay.example`. */
  readonly url: string
  /** An API key with the scope `webhook`. */
  readonly key: string
  /** The cursor of the last event that you have; without it, from `since`, or the beginning. */
  readonly after?: string
  /** A time (RFC 3339). */
  readonly since?: string
  /** An endpoint, `whk_…`: what it is subscribed to, under the ids of its deliveries. */
  readonly webhook?: string
  /** Only these events. */
  readonly types?: readonly string[]
}

export interface MissedEvent {
  /** Keep it: it is the `after` of the next call. */
  readonly cursor: string
  /** Index of the entry that announces it, in the log of the service. */
  readonly leafIndex: number
  /** As the body of a delivery. */
  readonly event: WebhookDelivery
}

interface Page {
  readonly events: readonly MissedEvent[]
  readonly nextCursor: string | null
}

const PAGE_EVENTS = '1000'

const ask = async ({ url, key }: CatchUpOptions, query: URLSearchParams): Promise<Page> => {
  const answer = await fetch(new URL(`/api/events?${query}`, url), {
    headers: { Authorization: `Bearer ${key}` },
    redirect: 'error',
  })
  if (!answer.ok) throw new Error(`GET /api/events answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as Page
}

/**
 * All events behind a place, to the end of the log, in its order.
 * @throws Error when the service can't be reached or refuses; go on after the last cursor that you have
 */
export async function* catchUp(options: CatchUpOptions): AsyncGenerator<MissedEvent, void, void> {
  const { webhook, types, since } = options
  for (let after = options.after ?? null, isLast = false; !isLast; ) {
    const query = new URLSearchParams({
      limit: PAGE_EVENTS,
      ...(after === null ? since !== undefined && { since } : { after }),
      ...(webhook !== undefined && { webhook }),
      ...(types !== undefined && { types: types.join(',') }),
    })
    const { events, nextCursor } = await ask(options, query)
    yield* events
    after = nextCursor
    isLast = nextCursor === null
  }
}
