/** Webhooks: every entry since the registration is delivered, or counted as dropped; nothing else is delivered. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Area, Context } from '../area.ts'
import type { Receiver } from '../receiver.ts'

interface Endpoint {
  readonly id: string
  readonly failureCount: number
  readonly backlog: number
}

export interface Registered {
  readonly id: string
  /** Of the session that registered it. */
  readonly headers: Readonly<Record<string, string>>
}

/** What a server that was killed had leased is due again a minute later, and may then be tried three times. */
const SETTLED_WITHIN_MS = 110_000
/** Nothing was delivered and nothing waits for so long: that was all. */
const QUIET_MS = 3_000
const LOOK_MS = 250

export const webhooks = (
  { model, ask, shop }: Context,
  receiver: Receiver,
  { id, headers }: Registered,
): Area => {
  /** As the service counts them. */
  let dropped = 0

  const look = async (): Promise<Endpoint> => {
    const operation = model.begin('webhooks', id)
    const { body } = await ask<{ webhooks: Endpoint[] }>(operation, 'GET', '/api/webhooks', {
      headers,
      answers: [200],
    })
    const found = body.webhooks.find((endpoint) => endpoint.id === id)
    if (found === undefined) throw new Error('the endpoint is gone')
    return found
  }

  return {
    name: 'webhooks',
    clients: 0,
    pauseMs: 0,
    step: async () => undefined,
    async settle() {
      const giveUpAt = performance.now() + SETTLED_WITHIN_MS
      let quietSince = performance.now()
      let before = -1
      while (performance.now() - quietSince < QUIET_MS && performance.now() < giveUpAt) {
        const { backlog, failureCount } = await look()
        const now = receiver.acknowledged.size + failureCount
        if (backlog > 0 || now !== before) quietSince = performance.now()
        before = now
        dropped = failureCount
        await pause(LOOK_MS)
      }
    },
    async check(database, isEnd) {
      const acknowledged = new Set(receiver.acknowledged)
      const { rows } = await database.query<{ idx: number }>(
        `SELECT idx FROM ledger_entries WHERE organisation = $1
          AND idx >= (SELECT announces_from FROM webhook_endpoints WHERE id = $2)`,
        [shop.organisationId, id],
      )
      const entries = new Set(rows.map(({ idx }) => idx))
      const unknown = [...acknowledged].filter((index) => !entries.has(index))
      if (unknown.length > 0)
        model.broken('webhooks', `delivered, and not in the log: ${unknown.slice(0, 5).join()}`)
      if (!isEnd) return
      const missing = [...entries].filter((index) => !acknowledged.has(index))
      model.happened(`${entries.size} entries, ${acknowledged.size} delivered, ${dropped} counted as dropped`)
      if (missing.length > dropped)
        model.broken(
          'webhooks',
          `${missing.length} of ${entries.size} entries were not delivered, and ${dropped} counted as dropped: ${missing.slice(0, 5).join()}`,
        )
    },
  }
}
