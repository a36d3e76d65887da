/** Console sessions: opening, listing and ending them, and their tokens. @module */
import { createHmac } from 'node:crypto'
import { DEFAULT_SCOPES, type Scope, type SessionCaller, systemCaller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { newSecret, secretDigest } from '../../keys/api-keys.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Database } from '../../store/database.ts'
import type { OpenRecent } from '../../store/recent.ts'
import type { Passwords } from './passwords.ts'
import type { PasswordChange, SessionList, SignIn } from './schemas.ts'
import * as store from './store.ts'

const SESSION_VALID_MS = 12 * 3_600_000
const SESSION_CACHE_MS = 1000
const MAX_CACHED_SESSIONS = 10_000
/** Rows of ended sessions are removed at most this often, when somebody signs in. */
const SWEEP_PAUSE_MS = 3_600_000

/** What an account may do in its organisation: everything but reach private networks and administer the service. */
export const SESSION_SCOPES: ReadonlySet<Scope> = new Set([...DEFAULT_SCOPES, 'keys'])

/** A session, just opened. */
export interface OpenedSession {
  readonly csrfToken: string
  /** Value of the Set-Cookie header (RFC 6265). */
  readonly setCookie: string
}

export interface CookieOptions {
  readonly name: string
  /** Whether browsers may send it over HTTPS only. */
  readonly secure: boolean
}

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'transact'>
  readonly clock: Clock
  readonly openRecent: OpenRecent
  readonly cookie: CookieOptions
  readonly passwords: Passwords
}

/** The CSRF token of a session: derived from what is kept of its cookie, so that it needs no storage of its own. */
export const csrfTokenOf = (digest: Uint8Array): string =>
  createHmac('sha256', digest).update('assay/csrf/1').digest('base64url')

export type Sessions = ReturnType<typeof createSessions>

export const createSessions = ({ database, ledger, clock, openRecent, cookie, passwords }: Deps) => {
  let sweptAt = 0
  const setCookie = (value: string, maxAgeSeconds: number): string =>
    `${cookie.name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${cookie.secure ? '; Secure' : ''}`
  const byDigest = openRecent({
    name: 'session',
    ttlMs: SESSION_CACHE_MS,
    maxEntries: MAX_CACHED_SESSIONS,
    shared: true,
    load: (digest) => store.findSession(database, Buffer.from(digest, 'hex')),
  })

  /** Called once their end is committed: earlier, another look-up could remember them again. */
  const forget = async (digests: readonly Uint8Array[]): Promise<void> => {
    await Promise.all(digests.map((digest) => byDigest.forget(Buffer.from(digest).toString('hex'))))
  }

  const sweep = async (now: number): Promise<void> => {
    if (now - sweptAt < SWEEP_PAUSE_MS) return
    sweptAt = now
    await store.deleteExpiredSessions(database, now)
  }

  return {
    /**
     * Signs in.
     * @param ip client address, which wrong passwords are counted by
     * @throws AppError invalid_credentials, rate_limited, unavailable
     */
    async open(credentials: SignIn, ip: string, requestId: string): Promise<OpenedSession> {
      const account = await passwords.check(credentials, ip)
      const at = clock.now()
      await sweep(at)
      const token = newSecret()
      const digest = secretDigest(token)
      const session: store.SessionRow = {
        id: newId('ses', at),
        digest,
        account: account.id,
        organisation: account.organisation,
        created_at: at,
        expires_at: at + SESSION_VALID_MS,
      }
      await ledger.transact({ ...systemCaller(account.organisation, 'sign-in'), requestId }, async (trx) => {
        // A password that was changed since it was checked opens no session that the change should have ended.
        if (!(await store.hasPassword(trx, account))) throw new AppError('invalid_credentials')
        await store.insertSession(trx, session)
        const data = { event: 'session.opened' }
        return { entry: { type: 'account', subject: ['account', account.id], data }, result: null }
      })
      return { csrfToken: csrfTokenOf(digest), setCookie: setCookie(token, SESSION_VALID_MS / 1000) }
    },

    /** The session of a cookie, while it is valid. Ended sessions are noticed within a second everywhere. */
    async find(token: string): Promise<store.SessionRow | undefined> {
      const session = await byDigest.get(secretDigest(token).toString('hex'))
      return session !== undefined && session.expires_at > clock.now() ? session : undefined
    },

    /** The valid sessions of the caller's account, the newest first. */
    async list({ credential }: SessionCaller): Promise<SessionList> {
      const rows = await store.findSessionsOfAccount(database, credential.accountId, clock.now())
      return {
        sessions: rows.map(({ id, created_at, expires_at }) => ({
          sessionId: id,
          createdAt: iso(created_at),
          expiresAt: iso(expires_at),
          current: id === credential.id,
        })),
      }
    },

    /**
     * Ends a session of the caller's account: everywhere at once, or within a second where Redis can't tell it.
     * @returns whether there was one
     */
    async end(caller: SessionCaller, sessionId: string): Promise<boolean> {
      const { accountId } = caller.credential
      let digest: Uint8Array | undefined
      await ledger.transact(caller, async (trx) => {
        digest = await store.deleteSession(trx, { id: sessionId, account: accountId })
        if (digest === undefined) return { result: null }
        const data = { event: 'session.ended' }
        return { entry: { type: 'account', subject: ['account', accountId], data }, result: null }
      })
      if (digest !== undefined) await forget([digest])
      return digest !== undefined
    },

    /** Changes the password of the caller's account, and ends its other sessions. @throws as `passwords.change` */
    async changePassword(caller: SessionCaller, change: PasswordChange, ip: string): Promise<void> {
      await forget(await passwords.change(caller, change, ip))
    },

    /** The Set-Cookie header that removes the cookie. */
    removeCookie: setCookie('', 0),
  }
}
