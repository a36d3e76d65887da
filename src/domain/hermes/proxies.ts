/** Proxy routes: making, showing and deleting the routes that hermes answers at. @module */
import { randomInt } from 'node:crypto'
import { type Caller, type Credential, hasPrivateEgress, systemCaller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { AppError, fail } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { isRouteToken, newAskToken, newManageToken, secretDigest } from '../../keys/api-keys.ts'
import type { Sealing } from '../../keys/sealing.ts'
import { CLAIM_KINDS } from '../../ledger/claim-kinds.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Database } from '../../store/database.ts'
import type { OpenRecent } from '../../store/recent.ts'
import type { NewProxy, ProxyCreated, ProxyDeleted, ProxyList, ProxyRoute } from './schemas-proxies.ts'
import * as store from './store.ts'
import { type IsOwnHost, originOf, readDestination } from './target.ts'
import { bindingKeyOf } from './verdict.ts'

const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const SLUG_DIGITS = 12
/** How long a deleted route may go on answering where nobody was told. */
const ROUTE_CACHE_MS = 1000
const MAX_CACHED_ROUTES = 10_000
const SEAL_PURPOSE = 'hermes-route'

const TOKEN_SCOPES: Caller['scopes'] = new Set(['verify'])

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'append'>
  readonly sealing: Sealing
  readonly clock: Clock
  readonly openRecent: OpenRecent
  readonly baseUrl: string
  /** URLs of this service itself, which are no targets. */
  readonly isOwnHost: IsOwnHost
  /** The organisation in whose ledger the routes of strangers stand. */
  readonly openOrganisation: string
}

/** Who calls, where a credential is optional. */
export interface Asker {
  readonly caller: Caller | undefined
  readonly requestId: string
}

/** The caller behind a route's token. */
interface RouteIdentity extends Pick<Caller, 'organisation' | 'scopes'> {
  /** Whether the route belongs to the organisation, and not to whoever has its manage token. */
  readonly owned: boolean
  readonly credential: Extract<Credential, { kind: 'route' }>
}

/** A route with its secrets open. */
export interface OpenedRoute {
  readonly row: store.KnownRoute
  readonly destination: string
  readonly bindingKey: Uint8Array
}

type Column = 'destination' | 'binding_key'

const newSlug = (): string =>
  Array.from({ length: SLUG_DIGITS }, () => BASE58[randomInt(BASE58.length)]).join('')

/** Whether the caller has a credential of the organisation that made the route. */
export const isOwner = (caller: Caller | undefined, row: store.KnownRoute): boolean =>
  row.owned && caller?.organisation === row.organisation && caller.credential.kind !== 'route'

/** The caller, where routes that it makes belong to its organisation: tokens of routes own nothing. */
const ownerAmong = (caller: Caller | undefined): Caller | undefined =>
  caller?.credential.kind === 'route' ? undefined : caller

/** Whether the caller has a token of this route. */
export const hasToken = (caller: Caller | undefined, row: store.KnownRoute): boolean =>
  caller?.credential.kind === 'route' && caller.credential.routeId === row.id

/** Whether the caller made the route, as far as a credential can show it. */
const isCreator = (caller: Caller | undefined, row: store.KnownRoute): boolean =>
  isOwner(caller, row) ||
  (hasToken(caller, row) && caller?.credential.kind === 'route' && caller.credential.right === 'manage')

/**
 * Who acts in the ledger of the route's organisation: its own callers as themselves, strangers as the service. An
 * Idempotency-Key stays theirs.
 */
export const actorFor = ({ caller, requestId }: Asker, organisation: string): Caller =>
  caller?.organisation === organisation
    ? caller
    : { ...systemCaller(organisation, 'hermes'), requestId, idempotency: caller?.idempotency }

const statsOf = ({ yes, no, errors, latency_ms, last_used_at }: store.CountedRoute): ProxyRoute['stats'] => {
  const total = (yes ?? 0) + (no ?? 0) + (errors ?? 0)
  return {
    total,
    yes: yes ?? 0,
    no: no ?? 0,
    errors: errors ?? 0,
    lastUsedAt: last_used_at === null ? null : iso(last_used_at),
    avgLatencyMs: total === 0 ? null : Math.round((latency_ms ?? 0) / total),
  }
}

export type ProxiesService = ReturnType<typeof createProxies>

export const createProxies = (deps: Deps) => {
  const { database, ledger, sealing, clock, openRecent, baseUrl, isOwnHost, openOrganisation } = deps
  const remembered = { ttlMs: ROUTE_CACHE_MS, maxEntries: MAX_CACHED_ROUTES }
  const bySlug = openRecent({
    ...remembered,
    name: 'hermes-route',
    load: (slug) => store.findBySlug(database, slug),
  })
  const byToken = openRecent({
    ...remembered,
    name: 'hermes-token',
    load: (digest) => store.findByToken(database, Buffer.from(digest, 'hex')),
  })

  const place = (id: string, column: Column) => ({ table: 'hermes_routes', column, row: id })
  const seal = (id: string, column: Column, secret: Uint8Array) =>
    sealing.seal(SEAL_PURPOSE, place(id, column), secret)
  const open = (row: store.KnownRoute, column: Column): Buffer =>
    Buffer.from(sealing.open(SEAL_PURPOSE, place(row.id, column), row[column]))

  const urlOf = (slug: string): string => `${baseUrl}/hermes/${slug}`

  const toProxy = (caller: Caller | undefined, row: store.CountedRoute): ProxyRoute => {
    const destination = open(row, 'destination').toString()
    const apiUrl = urlOf(row.slug)
    return {
      success: true,
      id: row.id,
      slug: row.slug,
      sourceUrl: apiUrl,
      destinationUrl: isCreator(caller, row) ? destination : originOf(destination),
      apiUrl,
      createdAt: iso(row.created_at),
      requireToken: row.ask_digest !== null,
      status: row.deleted_at === null ? 'active' : 'deleted',
      deletedAt: row.deleted_at === null ? null : iso(row.deleted_at),
      stats: statsOf(row),
    }
  }

  return {
    /**
     * Makes a route. With an API key it belongs to the key's organisation, otherwise to whoever has its manage token.
     * @throws AppError validation_failed
     */
    async create(asker: Asker, input: NewProxy): Promise<ProxyCreated> {
      const { caller } = asker
      const owner = ownerAmong(caller)
      const organisation = owner?.organisation ?? openOrganisation
      const { userId, requireToken = false } = input
      const destination = await readDestination(input.destinationUrl, isOwnHost)
      const at = clock.now()
      const id = newId('prx', at)
      const slug = newSlug()
      const token = requireToken ? newAskToken() : undefined
      const manageToken = newManageToken()
      const row = store.hermesRoutes.row({
        id,
        slug,
        organisation,
        owned: owner !== undefined,
        user_id: userId,
        destination: seal(id, 'destination', Buffer.from(destination)),
        binding_key: seal(id, 'binding_key', bindingKeyOf(manageToken)),
        ask_digest: token === undefined ? null : secretDigest(token),
        manage_digest: secretDigest(manageToken),
        private_egress: owner !== undefined && hasPrivateEgress(owner),
        created_at: at,
      })
      const apiUrl = urlOf(slug)
      const data = { event: 'route.created', routeId: id, requireToken, owned: owner !== undefined }
      return ledger.append(actorFor(asker, organisation), (tx) => {
        tx.append({ type: 'account', subject: ['route', id], data })
        tx.write(row)
        return {
          success: true as const,
          id,
          slug,
          sourceUrl: apiUrl,
          destinationUrl: destination,
          apiUrl,
          createdAt: iso(at),
          requireToken,
          ...(token !== undefined && { token }),
          manageToken,
        }
      })
    },

    /**
     * A user's routes: those made without a key, and those of the caller's organisation. Who didn't make one sees where
     * its target is, but not the rest of its URL.
     */
    async list({ caller }: Asker, userId: string): Promise<ProxyList> {
      const owner = ownerAmong(caller)
      const rows = await store.findRoutes(database, userId, owner?.organisation)
      const routes = rows.map((row) => toProxy(caller, row))
      return { success: true, count: routes.length, routes }
    },

    /** @throws AppError not_found */
    async find({ caller }: Asker, id: string): Promise<ProxyRoute> {
      return toProxy(caller, (await store.findRoute(database, id)) ?? fail('not_found'))
    },

    /**
     * Deletes a route for good; what it answered stays. Takes the user id that it was made with, and for one that was
     * made with a credential also that organisation's, or the manage token.
     * @throws AppError not_found, already_deleted
     */
    async remove(asker: Asker, id: string, userId: string): Promise<ProxyDeleted> {
      const row = await store.findRoute(database, id)
      const isAllowed = row?.user_id === userId && (!row.owned || isCreator(asker.caller, row))
      if (row === undefined || !isAllowed) return fail('not_found')
      const { organisation, slug } = row
      const deleted = await ledger.append(actorFor(asker, organisation), (tx): ProxyDeleted => {
        if (tx.holder(CLAIM_KINDS.routeDeleted, id)) fail('already_deleted')
        tx.claim(CLAIM_KINDS.routeDeleted, id)
        const event = { event: 'route.deleted', routeId: id }
        const { index: entry_index } = tx.append({ type: 'account', subject: ['route', id], data: event })
        tx.write(store.hermesDeletions.row({ route: id, organisation, entry_index, deleted_at: tx.at }))
        return { success: true, id, status: 'deleted', deletedAt: iso(tx.at) }
      })
      const digests = [row.manage_digest, row.ask_digest].filter((digest) => digest !== null)
      await Promise.all([
        bySlug.forget(slug),
        ...digests.map((digest) => byToken.forget(Buffer.from(digest).toString('hex'))),
      ])
      return deleted
    },

    /** The route that answers at a slug. @throws AppError not_found, route_deleted */
    async open(slug: string): Promise<OpenedRoute> {
      const row = (await bySlug.get(slug)) ?? fail('not_found')
      if (row.deleted_at !== null) fail('route_deleted')
      return { row, destination: open(row, 'destination').toString(), bindingKey: open(row, 'binding_key') }
    },

    /** The caller behind a route's token. @throws AppError unauthorized */
    async authenticate(token: string): Promise<RouteIdentity> {
      const digest = isRouteToken(token) ? secretDigest(token) : undefined
      const row = digest && (await byToken.get(digest.toString('hex')))
      if (row === undefined || digest === undefined) throw new AppError('unauthorized')
      const right = digest.equals(row.manage_digest) ? 'manage' : 'ask'
      return {
        organisation: row.organisation,
        // What a deleted one is still asked is not counted by its organisation, which has no other way to end a token.
        owned: row.owned && row.deleted_at === null,
        credential: { kind: 'route', id: row.id, routeId: row.id, right },
        scopes: TOKEN_SCOPES,
      }
    },
  }
}
