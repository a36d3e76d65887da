/** Console sessions: opening, listing and ending them, and their tokens. @module */
import { createHmac } from 'node:crypto'
import type { Knex } from 'knex'
import { type SessionCaller, systemCaller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { AppError, fail } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { newSecret, secretDigest } from '../../keys/api-keys.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Database } from '../../store/database.ts'
import type { OpenRecent } from '../../store/recent.ts'
import { deviceOf } from './device.ts'
import type { Passwords } from './passwords.ts'
import type { PasswordChange, SessionList, SignIn } from './schemas.ts'
import * as store from './store.ts'
import * as sessionStore from './store-sessions.ts'
import type { SecondFactor } from './totp/second-factor.ts'

const SESSION_VALID_MS = 12 * 3_600_000
const SESSION_CACHE_MS = 1000
/** How exactly the last use of a session is known; each time it costs a write. */
const SEEN_STEP_MS = 60_000
const MAX_CACHED_SESSIONS = 10_000
/** Rows of ended sessions are removed at most this often, when somebody signs in. */
const SWEEP_PAUSE_MS = 3_600_000

/** Who signs in, and what with. */
export interface Visitor {
  /** Client address, which wrong passwords are counted by; it is not kept. */
  readonly ip: string
  readonly userAgent?: string
  readonly requestId: string
}

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
  readonly secondFactor: Pick<SecondFactor, 'isOn' | 'pass' | 'guard'>
}

/** The CSRF token of a session: derived from what is kept of its cookie, so that it needs no storage of its own. */
export const csrfTokenOf = (digest: Uint8Array): string =>
  createHmac('sha256', digest).update('assay/csrf/1').digest('base64url')

export type Sessions = ReturnType<typeof createSessions>

export const createSessions = ({
  database,
  ledger,
  clock,
  openRecent,
  cookie,
  passwords,
  secondFactor,
}: Deps) => {
  let sweptAt = 0
  const setCookie = (value: string, maxAgeSeconds: number): string =>
    `${cookie.name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${cookie.secure ? '; Secure' : ''}`
  const byDigest = openRecent({
    // Another name than before roles, so that a server of an earlier version shares none that lacks one.
    name: 'session-with-role',
    ttlMs: SESSION_CACHE_MS,
    maxEntries: MAX_CACHED_SESSIONS,
    shared: true,
    async load(digest) {
      const session = await sessionStore.findSession(database, Buffer.from(digest, 'hex'))
      const now = clock.now()
      if (session !== undefined && now - (session.last_seen_at ?? 0) >= SEEN_STEP_MS) {
        // A session works as well while the database takes no writes.
        await sessionStore.touchSession(database, session.id, now).catch(() => undefined)
      }
      return session
    },
  })

  /** Called once their end is committed: earlier, another look-up could remember them again. */
  const forget = async (digests: readonly Uint8Array[]): Promise<void> => {
    await Promise.all(digests.map((digest) => byDigest.forget(Buffer.from(digest).toString('hex'))))
  }

  const sweep = async (now: number): Promise<void> => {
    if (now - sweptAt < SWEEP_PAUSE_MS) return
    sweptAt = now
    await sessionStore.deleteExpiredSessions(database, now)
  }

  /** Opens a session. @param prove shows within the change that the account may be opened still, and says how */
  const openBy = async (
    account: store.AccountRow,
    { userAgent, requestId }: Visitor,
    prove: (trx: Knex, at: number) => Promise<Readonly<Record<string, string>>>,
  ): Promise<OpenedSession> => {
    const at = clock.now()
    await sweep(at)
    const token = newSecret()
    const digest = secretDigest(token)
    const session: sessionStore.SessionRow = {
      id: newId('ses', at),
      digest,
      account: account.id,
      organisation: account.organisation,
      created_at: at,
      expires_at: at + SESSION_VALID_MS,
      device: deviceOf(userAgent),
      last_seen_at: at,
    }
    await ledger.transact({ ...systemCaller(account.organisation, 'sign-in'), requestId }, async (trx) => {
      const proven = await prove(trx, at)
      await sessionStore.insertSession(trx, session)
      await store.updateAccount(trx, account.id, { last_sign_in_at: at })
      const data = { event: 'session.opened', ...proven }
      return { entry: { type: 'account', subject: ['account', account.id], data }, result: null }
    })
    return { csrfToken: csrfTokenOf(digest), setCookie: setCookie(token, SESSION_VALID_MS / 1000) }
  }

  /** @throws AppError invalid_credentials, totp_required, totp_invalid */
  const openByPassword = (
    account: store.AccountRow,
    code: string | undefined,
    visitor: Visitor,
  ): Promise<OpenedSession> =>
    openBy(account, visitor, async (trx, at): Promise<Readonly<Record<string, string>>> => {
      // A password that was changed since it was checked opens no session that the change should have ended.
      if (!(await store.hasPassword(trx, account))) throw new AppError('invalid_credentials')
      const factor = await secondFactor.pass(trx, account.id, code, at)
      return factor === 'none' ? {} : { factor }
    })

  return {
    openBy,

    /**
     * Signs in, with a code where the account needs one.
     * @throws AppError invalid_credentials, rate_limited, unavailable; once the password was right totp_required, totp_invalid
     */
    async open(credentials: SignIn, visitor: Visitor): Promise<OpenedSession> {
      const account = await passwords.check(credentials, visitor.ip)
      if (!(await secondFactor.isOn(account.id))) return openByPassword(account, undefined, visitor)
      const code = credentials.code ?? fail('totp_required')
      return secondFactor.guard(account, visitor.ip, () => openByPassword(account, code, visitor))
    },

    /** The session of a cookie, while it is valid. Ended sessions are noticed within a second everywhere. */
    async find(token: string): Promise<sessionStore.SessionInUse | undefined> {
      const session = await byDigest.get(secretDigest(token).toString('hex'))
      return session !== undefined && session.expires_at > clock.now() ? session : undefined
    },

    /** The valid sessions of the caller's account, the newest first. */
    async list({ credential }: SessionCaller): Promise<SessionList> {
      const rows = await sessionStore.findSessionsOfAccount(database, credential.accountId, clock.now())
      return {
        sessions: rows.map(({ id, created_at, expires_at, device, last_seen_at }) => ({
          sessionId: id,
          createdAt: iso(created_at),
          expiresAt: iso(expires_at),
          lastSeenAt: last_seen_at === null ? null : iso(last_seen_at),
          device,
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
        digest = await sessionStore.deleteSession(trx, { id: sessionId, account: accountId })
        if (digest === undefined) return { result: null }
        const data = { event: 'session.ended' }
        return { entry: { type: 'account', subject: ['account', accountId], data }, result: null }
      })
      if (digest !== undefined) await forget([digest])
      return digest !== undefined
    },

    /** Ends all sessions of the caller's account but this one. */
    async endOthers(caller: SessionCaller): Promise<void> {
      const { accountId, id } = caller.credential
      let ended: readonly Uint8Array[] = []
      await ledger.transact(caller, async (trx) => {
        ended = await sessionStore.deleteSessions(trx, accountId, id)
        if (ended.length === 0) return { result: null }
        const data = { event: 'session.ended', sessionsEnded: ended.length }
        return { entry: { type: 'account', subject: ['account', accountId], data }, result: null }
      })
      await forget(ended)
    },

    /** Changes the password of the caller's account, and ends its other sessions. @throws as `passwords.change` */
    async changePassword(caller: SessionCaller, change: PasswordChange, ip: string): Promise<void> {
      await forget(await passwords.change(caller, change, ip))
    },

    /** Has an account's sessions looked up anew, once a change of its role is committed. */
    async refresh(accountId: string): Promise<void> {
      const rows = await sessionStore.findSessionsOfAccount(database, accountId, clock.now())
      await forget(rows.map(({ digest }) => digest))
    },

    /** Has sessions refused from now on, once their end is committed. */
    forget,

    /** The Set-Cookie header that removes the cookie. */
    removeCookie: setCookie('', 0),
  }
}
