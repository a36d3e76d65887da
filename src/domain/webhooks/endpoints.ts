/**
 * Registering, showing, changing and removing endpoints. A session manages all of its organisation, and what it
 * registers hears of everything there; a key manages what it registered, which hears of what that key does.
 * @module
 */
import { type Caller, hasPrivateEgress } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { fail } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { changesOf, requireUnchanged } from '../../json/read-only.ts'
import type { Entry } from '../../ledger/decision.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Logs } from '../../ledger/logs.ts'
import type { AddressJudge } from '../../net/address.ts'
import type { Database } from '../../store/database.ts'
import { distinctEvents, readUrl } from './endpoint-input.ts'
import {
  AS_LISTED,
  MAX_COUNTED_BACKLOG,
  type NewWebhook,
  type SecretRotated,
  type Webhook,
  type WebhookChange,
  type WebhookCreated,
  type WebhookList,
} from './schemas.ts'
import { masked, newSecret, type SealedEndpoints } from './sealed-endpoint.ts'
import * as store from './store.ts'
import { countWaiting } from './store-deliveries.ts'

const MAX_ENDPOINTS = 100
/** Members of a change that are not the service's own. */
const CHANGEABLE = ['label', 'url', 'events', 'active'] as const

interface Deps {
  readonly database: Database
  readonly logs: Pick<Logs, 'of'>
  readonly ledger: Pick<Ledger, 'transact'>
  readonly sealed: SealedEndpoints
  readonly clock: Clock
  /** Judges of addresses: of public ones, and with those that the operator opened. */
  readonly judges: { readonly everywhere: AddressJudge; readonly allowListed: AddressJudge }
  /** Whether everybody's endpoints may be at what the operator opened. */
  readonly openToAll: boolean
  /** Those of some keys that no longer work. */
  endedKeys(keyIds: readonly string[]): Promise<readonly string[]>
  /** Called once a change is committed. */
  changed(id: string): Promise<void>
}

/** Whose endpoints a caller sees. */
export const ownerOf = ({ organisation, credential }: Caller): store.Owner =>
  credential.kind === 'key' ? { organisation, keyId: credential.keyId } : { organisation }

const entryOf = (id: string, event: string, data: Entry['data'] = {}): Entry => ({
  type: 'account',
  subject: ['webhook', id],
  data: { event: `webhook.${event}`, webhookId: id, ...data },
})

export const createEndpoints = (deps: Deps) => {
  const { database, logs, ledger, sealed, clock, judges, openToAll, endedKeys, changed } = deps

  const judgeFor = (caller: Caller): AddressJudge =>
    hasPrivateEgress(caller) || openToAll ? judges.allowListed : judges.everywhere

  const shown = (row: store.NewEndpoint, url: string) => ({
    id: row.id,
    label: row.label,
    url,
    events: row.events,
    active: row.active,
    scope: row.key_id === null ? ('account' as const) : ('key' as const),
    createdAt: iso(row.created_at),
  })

  /** @param waiting deliveries */
  const toWebhook = (row: store.EndpointRow, waiting: number): Webhook => {
    const { url, secret } = sealed.open(row)
    return {
      ...shown(row, url ?? ''),
      secret: masked(secret),
      readable: url !== undefined && secret !== undefined,
      lastDeliveryAt: row.last_delivery_at === null ? null : iso(row.last_delivery_at),
      lastStatus: row.last_status,
      failureCount: row.failure_count,
      failingSince: row.failing_since === null ? null : iso(row.failing_since),
      backlog: waiting,
    }
  }

  /** @throws as {@link readUrl} */
  const columnsOf = (caller: Caller, id: string, { label, events, active, url }: WebhookChange) => ({
    ...(label !== undefined && { label: label.trim() }),
    ...(events !== undefined && { events: distinctEvents(events) }),
    ...(active !== undefined && { active }),
    ...(url !== undefined && {
      sealed_url: sealed.sealUrl(id, readUrl(url, judgeFor(caller))),
      private_egress: hasPrivateEgress(caller),
    }),
  })

  return {
    /** The oldest first. */
    async list(caller: Caller): Promise<WebhookList> {
      const rows = await store.findEndpoints(database, ownerOf(caller))
      const ids = rows.map(({ id }) => id)
      const waiting = await countWaiting(database, ids, MAX_COUNTED_BACKLOG)
      const webhooks = rows.map((row) => toWebhook(row, waiting.get(row.id) ?? 0))
      return { webhooks, count: webhooks.length }
    },

    /**
     * Registers an endpoint; entries from the next one on are announced to it.
     * @throws AppError invalid_url, url_not_https, url_blocked;
     *   limit_reached beyond 100 of an organisation, not counting those of keys that no longer work
     */
    async create(caller: Caller, input: NewWebhook): Promise<WebhookCreated> {
      const url = readUrl(input.url, judgeFor(caller))
      const at = clock.now()
      const id = newId('whk', at)
      const secret = newSecret()
      const { organisation, keyId = null } = ownerOf(caller)
      const row = {
        id,
        organisation,
        key_id: keyId,
        label: input.label.trim(),
        sealed_url: sealed.sealUrl(id, url),
        sealed_secret: sealed.sealSecret(id, secret),
        events: distinctEvents(input.events),
        active: true,
        private_egress: hasPrivateEgress(caller),
        created_at: at,
      }
      // Keys that have ended never work again, so this may be asked beforehand.
      const ended = await endedKeys(await store.findKeyIds(database, organisation))
      const gone: string[] = []
      // A change rather than an append, since the number of endpoints has to hold until the commit.
      const log = await logs.of(caller.organisation)
      const made = await ledger.transact(caller, async (trx) => {
        // It may run again: what an attempt removed that came to nothing is there still.
        gone.length = 0
        if ((await store.countEndpoints(trx, organisation)) >= MAX_ENDPOINTS) {
          const removed = await store.deleteOldestOf(trx, organisation, ended)
          gone.push(removed ?? fail('limit_reached', { extras: { limit: MAX_ENDPOINTS } }))
        }
        const complete = { ...row, announces_from: await store.indexAfterChange(trx, log) }
        await store.insertEndpoint(trx, complete)
        const entry = entryOf(id, 'created', gone.length > 0 ? { removed: gone } : {})
        return { entry, result: { ...shown(complete, url), secret } }
      })
      for (const other of [id, ...gone]) await changed(other)
      return made
    },

    /**
     * Changes an endpoint. Paused, it gets nothing, and what happened meanwhile is not told later either.
     * The endpoint as it was listed may come back whole.
     * @throws AppError not_found, read_only, and as `create` for what is changed
     */
    async change(caller: Caller, id: string, input: WebhookChange): Promise<Webhook> {
      // Read beforehand: the embedded database has one connection, which the change holds.
      const waiting = (await countWaiting(database, [id], MAX_COUNTED_BACKLOG)).get(id) ?? 0
      const log = await logs.of(caller.organisation)
      const answer = await ledger.transact(caller, async (trx) => {
        const before = (await store.findOwned(trx, ownerOf(caller), id)) ?? fail('not_found')
        const current = toWebhook(before, waiting)
        requireUnchanged(input, current, AS_LISTED)
        const changes = changesOf(input, current)
        const names = CHANGEABLE.filter((name) => changes[name] !== undefined)
        if (names.length === 0) return { result: current }
        const change = columnsOf(caller, id, changes)
        const toggles = change.active !== undefined && change.active !== before.active
        const row = await store.updateEndpoint(trx, id, {
          ...change,
          ...(toggles && { announces_from: await store.indexAfterChange(trx, log) }),
        })
        const event = !toggles ? 'changed' : row.active ? 'resumed' : 'paused'
        return { entry: entryOf(id, event, { changed: names }), result: toWebhook(row, waiting) }
      })
      await changed(id)
      return answer
    },

    /** Removes an endpoint, and with it what still waits for it. @throws AppError not_found */
    async remove(caller: Caller, id: string): Promise<void> {
      await ledger.transact(caller, async (trx) => {
        if ((await store.findOwned(trx, ownerOf(caller), id)) === undefined) fail('not_found')
        await store.deleteEndpoint(trx, id)
        return { entry: entryOf(id, 'deleted'), result: null }
      })
      await changed(id)
    },

    /** A new secret; every attempt from now on is signed with it, also of deliveries begun before. @throws AppError not_found */
    async rotate(caller: Caller, id: string): Promise<SecretRotated> {
      const secret = newSecret()
      const rotatedAt = iso(clock.now())
      const answer = await ledger.transact(caller, async (trx) => {
        if ((await store.findOwned(trx, ownerOf(caller), id)) === undefined) fail('not_found')
        await store.updateEndpoint(trx, id, { sealed_secret: sealed.sealSecret(id, secret) })
        return { entry: entryOf(id, 'secret_rotated'), result: { id, secret, rotatedAt } }
      })
      await changed(id)
      return answer
    },
  }
}
