/** API keys: making, showing, replacing and revoking them, and the HMAC states that check payment proofs. @module */
import type { Knex } from 'knex'
import { type Caller, DEFAULT_SCOPES, keyBehind, SCOPES, type Scope } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { AppError, fail } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { apiKeyHint, newApiKey, secretDigest } from '../../keys/api-keys.ts'
import type { Place, Sealing } from '../../keys/sealing.ts'
import type { Entry } from '../../ledger/decision.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Database } from '../../store/database.ts'
import type { OpenRecent } from '../../store/recent.ts'
import type { Row } from '../../store/table.ts'
import {
  type Key,
  type KeyCreated,
  type KeyList,
  type KeyRevoked,
  type KeyRotated,
  type KeyRotation,
  type KeysQuery,
  type LeakedKey,
  MAX_PAGE_KEYS,
  type NewKey,
} from './schemas.ts'
import * as store from './store.ts'

/** How long a key may go on working after it was revoked, on every server. */
export const KEY_CACHE_MS = 1000
const MAX_CACHED_KEYS = 10_000
/** How exactly the last use of a key is known; each time it costs a write. */
const USED_STEP_MS = 60_000
/** Keys of each group that a proof of unknown making is compared with. */
const MAX_CANDIDATE_KEYS = 64
const MIDSTATE_PURPOSE = 'hmac-midstate'

const midstatePlace = (keyId: string): Place => ({ table: 'api_keys', column: 'sealed_midstate', row: keyId })

/** A key as the check of a payment's MAC needs it. */
export interface MerchantKey {
  readonly keyId: string
  readonly organisation: string
  /** The one merchant it may act for; absent: all of its organisation. */
  readonly merchantId?: string
  /** The terminal it was made for; absent: none. */
  readonly terminalId?: string
  /** HMAC-SHA256 state after the padded key block, inner and outer, 64 bytes. */
  readonly midstate: Uint8Array
  /** Unix ms from which it no longer works, long ago where it was revoked; else it expires after a rotation. */
  readonly revokedAt?: number
}

/** Whose payments are to be checked. */
interface KeyUser {
  readonly organisation: string
  readonly merchantId?: string
  readonly terminalId?: string
}

interface Draft {
  readonly organisation: string
  readonly scopes: readonly Scope[]
  readonly label: string
  readonly merchantId?: string
  readonly terminalId?: string
  /** Unix ms. */
  readonly at: number
  /** Default: a new random key. */
  readonly text?: string
}

/** A key before it is written: its text is known only here. */
export interface KeyDraft {
  readonly keyId: string
  readonly apiKey: string
  readonly row: Row<store.ApiKeyRow>
}

/** Who asks, where a credential is optional. */
interface Asker {
  readonly caller: Caller | undefined
  readonly requestId: string
}

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'append' | 'transact'>
  readonly sealing: Sealing
  readonly clock: Clock
  readonly openRecent: OpenRecent
  /** @returns 64 bytes */
  hmacMidstate(key: string): Uint8Array
}

/** Before every time that a clock shows. */
const LONG_AGO = 0

/**
 * When a key stops to work, in Unix ms; undefined: never. One that was revoked has stopped by every clock: that of the server which
 * is asked may be behind that of the one which revoked it.
 */
export const endOfKey = (row: Pick<store.ApiKeyRow, 'revoked_at' | 'expires_at'>): number | undefined =>
  row.revoked_at === null ? (row.expires_at ?? undefined) : LONG_AGO

const isInUse = (row: Parameters<typeof endOfKey>[0], now: number): boolean =>
  (endOfKey(row) ?? Number.POSITIVE_INFINITY) > now

/** @param revokedBy the key that asked for it, whose own webhook endpoints hear of it, too */
export const revocation = (
  { id }: store.ApiKeyRow,
  revokedBy: string | null,
  data: Entry['data'],
): Entry => ({
  type: 'key.revoked',
  subject: ['key', id],
  keyId: id,
  data: { keyId: id, revokedBy: revokedBy ?? undefined, ...data },
})

/** What is no news of its own to webhook endpoints, but a leaf. Those of the key that asked for it hear of that, too. */
const event = (id: string, name: string, { credential }: Caller, data: Entry['data']): Entry => ({
  type: 'account',
  subject: ['key', id],
  keyId: id,
  data: { event: name, keyId: id, ...data, askedBy: keyBehind(credential) ?? undefined },
})

/** @throws AppError insufficient_scope naming what the caller lacks */
const requireOwn = (caller: Caller, scopes: readonly string[]): void => {
  const lacking = scopes.filter((scope) => !caller.scopes.has(scope as Scope))
  if (lacking.length > 0) {
    throw new AppError('insufficient_scope', {
      message: `A credential can't manage a key with scopes that it does not have: ${lacking.join(', ')}.`,
    })
  }
}

/**
 * Where to look for the key behind a payment, the likeliest first: the terminal's own that were replaced, its merchant's, those that
 * are no terminal's, and all. In a large organisation the newest of all are those of other terminals.
 */
const groupsOf = ({ organisation, merchantId, terminalId }: KeyUser): store.KeyGroup[] => [
  ...(terminalId === undefined ? [] : [{ organisation, terminal: terminalId }]),
  ...(merchantId === undefined ? [] : [{ organisation, merchant: merchantId }]),
  { organisation, terminal: null },
  { organisation },
]

export type Keys = ReturnType<typeof createKeys>

export const createKeys = ({ database, ledger, sealing, clock, openRecent, hmacMidstate }: Deps) => {
  const draft = ({ organisation, scopes, label, merchantId, terminalId, at, text }: Draft): KeyDraft => {
    const apiKey = text ?? newApiKey()
    const keyId = newId('key', at)
    const row = store.apiKeys.row({
      id: keyId,
      organisation,
      digest: secretDigest(apiKey),
      sealed_midstate: sealing.seal(MIDSTATE_PURPOSE, midstatePlace(keyId), hmacMidstate(apiKey)),
      hint: apiKeyHint(apiKey),
      label,
      scopes: SCOPES.filter((scope) => scopes.includes(scope)),
      merchant: merchantId ?? null,
      terminal: terminalId ?? null,
      created_at: at,
      expires_at: null,
      revoked_at: null,
      last_used_at: null,
    })
    return { keyId, apiKey, row }
  }

  const toMerchantKey = (row: store.ApiKeyRow): MerchantKey => ({
    keyId: row.id,
    organisation: row.organisation,
    merchantId: row.merchant ?? undefined,
    terminalId: row.terminal ?? undefined,
    midstate: sealing.open(MIDSTATE_PURPOSE, midstatePlace(row.id), row.sealed_midstate),
    revokedAt: endOfKey(row),
  })

  const remembered = { ttlMs: KEY_CACHE_MS, maxEntries: MAX_CACHED_KEYS, shared: true }
  const byDigest = openRecent({
    ...remembered,
    name: 'key-by-digest',
    async load(digest) {
      const row = await store.findKeyInUse(database, Buffer.from(digest, 'hex'))
      const now = clock.now()
      if (row !== undefined && isInUse(row, now) && now - (row.last_used_at ?? 0) >= USED_STEP_MS) {
        // A key works as well while the database takes no writes.
        await store.touchKey(database, row.id, now).catch(() => undefined)
      }
      return row
    },
  })
  const byId = openRecent({
    ...remembered,
    name: 'key-by-id',
    load: async (id) => toMerchantKey((await store.findKey(database.knex, id)) ?? fail('not_found')),
  })
  const candidates = openRecent({
    ...remembered,
    name: 'merchant-keys',
    load: async (group): Promise<readonly MerchantKey[]> => {
      const rows = await store.findKeysOfScope(database, JSON.parse(group), 'merchant', MAX_CANDIDATE_KEYS)
      return rows.map(toMerchantKey)
    },
  })

  /** Called once a change is committed: earlier, another look-up could remember the old state again. */
  const forget = async (rows: readonly store.ApiKeyRow[]): Promise<void> => {
    await Promise.all(
      rows.flatMap((row) => [
        byDigest.forget(Buffer.from(row.digest).toString('hex')),
        byId.forget(row.id),
        ...groupsOf({
          organisation: row.organisation,
          merchantId: row.merchant ?? undefined,
          terminalId: row.terminal ?? undefined,
        }).map((group) => candidates.forget(JSON.stringify(group))),
      ]),
    )
  }

  const toKey = (row: store.ApiKeyRow): Key => {
    return {
      keyId: row.id,
      label: row.label,
      hint: row.hint,
      scopes: row.scopes as Scope[],
      merchantId: row.merchant,
      terminalId: row.terminal,
      status: row.revoked_at !== null ? 'revoked' : isInUse(row, clock.now()) ? 'active' : 'expired',
      createdAt: iso(row.created_at),
      expiresAt: row.expires_at === null ? null : iso(row.expires_at),
      revokedAt: row.revoked_at === null ? null : iso(row.revoked_at),
      lastUsedAt: row.last_used_at === null ? null : iso(row.last_used_at),
    }
  }

  const created = ({ keyId, apiKey, row }: KeyDraft): KeyCreated => ({
    keyId,
    apiKey,
    label: row.values.label,
    scopes: row.values.scopes as Scope[],
    createdAt: iso(row.values.created_at),
  })

  /**
   * Revokes a key that was not, within a change.
   * @returns the entry of it: of a replaced key the end may have been announced already, and is no news any more
   */
  const end = async (
    trx: Knex,
    row: store.ApiKeyRow,
    {
      at,
      caller,
      data = {},
    }: { readonly at: number; readonly caller: Caller; readonly data?: Entry['data'] },
  ): Promise<Entry> => {
    await store.updateKey(trx, row.id, { revoked_at: at })
    const due = await store.takeKeyEnd(trx, row.id)
    return row.expires_at === null || due !== undefined
      ? revocation(row, keyBehind(caller.credential), data)
      : event(row.id, 'key.revoked', caller, data)
  }

  /** A key of the caller's organisation. Called within a change. */
  const own = async (trx: Knex, caller: Caller, keyId: string) => {
    const row = await store.findKey(trx, keyId)
    if (row === undefined || row.organisation !== caller.organisation) throw new AppError('not_found')
    return row
  }

  /** The key, if the caller may change it. Called within a change. */
  const changeable = async (trx: Knex, caller: Caller, keyId: string) => {
    const row = await own(trx, caller, keyId)
    requireOwn(caller, row.scopes)
    return row
  }

  /** @param find called within the change */
  const revokeFound = async (caller: Caller, find: (trx: Knex) => Promise<store.ApiKeyRow>) => {
    const changed: store.ApiKeyRow[] = []
    const answer = await ledger.transact<KeyRevoked>(caller, async (trx) => {
      const row = await find(trx)
      const revokedAt = row.revoked_at ?? clock.now()
      const result = { keyId: row.id, revokedAt: iso(revokedAt) }
      if (row.revoked_at !== null) return { result }
      changed.push(row)
      return { entry: await end(trx, row, { at: revokedAt, caller }), result }
    })
    await forget(changed)
    return answer
  }

  return {
    draft,

    /** The stored key of a text, remembered for a second; undefined where there is none. */
    inUse: (text: string) => byDigest.get(secretDigest(text).toString('hex')),

    /** The HMAC state of a key, revoked or not. @throws AppError not_found */
    midstate: (keyId: string): Promise<MerchantKey> => byId.get(keyId),

    /** Keys that may have made a payment proof, the likeliest first, revoked and replaced ones included: the newest 64 of each group. */
    async merchantKeys(user: KeyUser): Promise<readonly MerchantKey[]> {
      const groups = await Promise.all(groupsOf(user).map((group) => candidates.get(JSON.stringify(group))))
      return [...new Map(groups.flat().map((key) => [key.keyId, key])).values()]
    },

    /** Labels by id; none for an id that no key has. */
    async labels(keyIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
      const rows = await store.findKeySummaries(database, keyIds)
      return new Map(rows.map(({ id, label }) => [id, label]))
    },

    /** Those of some keys that no longer work, and never will again. */
    async ended(keyIds: readonly string[]): Promise<string[]> {
      const now = clock.now()
      const rows = await store.findKeySummaries(database, keyIds)
      return rows.filter((row) => !isInUse(row, now)).map(({ id }) => id)
    },

    /** A page of the keys of the caller's organisation, the newest first. */
    async list(
      { organisation }: Caller,
      { status, cursor, limit = MAX_PAGE_KEYS }: KeysQuery,
    ): Promise<KeyList> {
      const asked = { organisation, status, now: clock.now(), before: cursor, limit: limit + 1 }
      const rows = await store.findKeys(database, asked)
      const shown = rows.slice(0, limit)
      return {
        keys: shown.map(toKey),
        nextCursor: rows.length > limit ? (shown.at(-1)?.id ?? null) : null,
      }
    },

    /** @throws AppError insufficient_scope when more is asked for than the caller has */
    async create(caller: Caller, { label = '', scopes }: NewKey): Promise<KeyCreated> {
      const granted = scopes ?? DEFAULT_SCOPES.filter((scope) => caller.scopes.has(scope))
      requireOwn(caller, granted)
      const key = draft({ organisation: caller.organisation, scopes: granted, label, at: clock.now() })
      return ledger.append(caller, (tx) => {
        tx.append(event(key.keyId, 'key.created', caller, { scopes: [...granted] }))
        tx.write(key.row)
        return created(key)
      })
    },

    /**
     * Replaces a key by a new one with the same rights. The old one works on for `overlapSeconds`; that it was revoked is announced then.
     * @throws AppError not_found, insufficient_scope; conflict when the key was replaced before, or no longer works
     */
    async rotate(caller: Caller, keyId: string, { overlapSeconds = 0 }: KeyRotation): Promise<KeyRotated> {
      const at = clock.now()
      const changed: store.ApiKeyRow[] = []
      const answer = await ledger.transact(caller, async (trx) => {
        const old = await changeable(trx, caller, keyId)
        // Only a replacement lets a key expire; a key that could be replaced again would have several successors.
        if (endOfKey(old) !== undefined) {
          throw new AppError('conflict', { message: 'The key was already replaced or revoked.' })
        }
        const until = at + overlapSeconds * 1000
        const next = draft({
          organisation: old.organisation,
          scopes: old.scopes as Scope[],
          label: old.label,
          merchantId: old.merchant ?? undefined,
          terminalId: old.terminal ?? undefined,
          at,
        })
        await store.insertKey(trx, next.row.values)
        changed.push(old)
        const result = { ...created(next), replaces: old.id, replacedUntil: iso(until) }
        const data = { replacedBy: next.keyId, effectiveAt: iso(until) }
        if (overlapSeconds === 0) {
          return { entry: await end(trx, old, { at, caller, data }), result }
        }
        await store.updateKey(trx, old.id, { expires_at: until })
        await store.insertKeyEnd(trx, {
          key: old.id,
          due_at: until,
          replaced_by: next.keyId,
          asked_by: keyBehind(caller.credential),
        })
        return { entry: event(old.id, 'key.replaced', caller, data), result }
      })
      await forget(changed)
      return answer
    },

    /**
     * Revokes a key for good; everywhere at once, or within a second where Redis can't tell it. Again: nothing happens. It wins
     * nobody a right, so that administrators revoke any key of their organisation: they may any that leaked.
     * @throws AppError not_found, insufficient_scope
     */
    async revoke(caller: Caller, keyId: string): Promise<void> {
      const find = caller.scopes.has('admin') ? own : changeable
      await revokeFound(caller, (trx) => find(trx, caller, keyId))
    },

    /**
     * Revokes a key that leaked, whosever it is: for those who have its text, and for administrators, who may name its
     * id as well. It is recorded, and announced, in the organisation of the key. Again: nothing happens.
     * @throws AppError not_found
     */
    async revokeLeaked({ caller, requestId }: Asker, { key: text }: LeakedKey): Promise<KeyRevoked> {
      const isAdministrator = caller?.scopes.has('admin') === true
      const byText = await store.findKeyByDigest(database.knex, secretDigest(text))
      const found = byText ?? (isAdministrator ? await store.findKey(database.knex, text) : undefined)
      if (found === undefined) return fail('not_found')
      const { id, organisation } = found
      const holder: Caller = {
        organisation,
        credential: { kind: 'key', id, keyId: id },
        scopes: new Set(),
        requestId,
        idempotency: caller?.idempotency,
      }
      const actor = isAdministrator ? { ...caller, organisation } : holder
      return revokeFound(actor, async (trx) => (await store.findKey(trx, id)) ?? fail('not_found'))
    },

    /**
     * Revokes the keys made for a terminal that still work, within the change that ends the terminal.
     * @returns the entries to commit with it, one of each key, and what to call once the change is committed
     */
    async revokeOfTerminal(trx: Knex, caller: Caller, terminalId: string, at: number) {
      const rows = await store.findLiveKeysOfTerminal(trx, terminalId, at)
      const entries: Entry[] = []
      for (const row of rows) entries.push(await end(trx, row, { at, caller, data: { terminalId } }))
      return {
        entries,
        committed: () => forget(rows),
      }
    },
  }
}
