/** Console sessions: signing in and out, and the tokens of both. @module */
import { createHmac } from 'node:crypto'
import { type Caller, DEFAULT_SCOPES, type Scope, systemCaller } from '../../caller.ts'
import type { Clock } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { newSecret, secretDigest } from '../../keys/api-keys.ts'
import { verifyPassword } from '../../keys/passwords.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Database } from '../../store/database.ts'
import type { OpenRecent } from '../../store/recent.ts'
import type { SecurityService } from '../security/service.ts'
import { DEFAULT_ORGANISATION } from './defaults.ts'
import { normaliseEmail } from './organisations.ts'
import type { SignIn } from './schemas.ts'
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
  readonly ledger: Pick<Ledger, 'append' | 'transact'>
  readonly security: Pick<SecurityService, 'guardAttempts'>
  readonly clock: Clock
  readonly openRecent: OpenRecent
  readonly cookie: CookieOptions
  addressBlock(ip: string): string
}

/** The CSRF token of a session: derived from what is kept of its cookie, so that it needs no storage of its own. */
export const csrfTokenOf = (digest: Uint8Array): string =>
  createHmac('sha256', digest).update('assay/csrf/1').digest('base64url')

export type Sessions = ReturnType<typeof createSessions>

export const createSessions = ({
  database,
  ledger,
  security,
  clock,
  openRecent,
  cookie,
  addressBlock,
}: Deps) => {
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

  const sweep = async (now: number): Promise<void> => {
    if (now - sweptAt < SWEEP_PAUSE_MS) return
    sweptAt = now
    await store.deleteExpiredSessions(database, now)
  }

  return {
    /**
     * Signs in. An unknown address and a wrong password can't be told apart, by the answer or by its time.
     * @param ip counted beside the address of the account: 10 failures in 15 minutes for each
     * @throws AppError invalid_credentials, rate_limited, unavailable
     */
    async open({ email, password }: SignIn, ip: string, requestId: string): Promise<OpenedSession> {
      const block = addressBlock(ip)
      const address = normaliseEmail(email)
      const account = await store.findAccountByEmail(database, address)
      const watched = [
        {
          bucket: `account:${secretDigest(address).toString('hex')}`,
          organisation: account?.organisation ?? DEFAULT_ORGANISATION,
          subject: account?.id ?? block,
        },
        { bucket: `sign-in:${block}`, organisation: DEFAULT_ORGANISATION, subject: block },
      ]
      const signedIn = await security.guardAttempts(watched, async () =>
        (await verifyPassword(password, account?.password_hash)) ? account : undefined,
      )
      if (signedIn === undefined) throw new AppError('invalid_credentials')
      const at = clock.now()
      await sweep(at)
      const token = newSecret()
      const digest = secretDigest(token)
      const session = store.sessions.row({
        id: newId('ses', at),
        digest,
        account: signedIn.id,
        organisation: signedIn.organisation,
        created_at: at,
        expires_at: at + SESSION_VALID_MS,
      })
      await ledger.append(
        { ...systemCaller(signedIn.organisation, 'sign-in'), requestId },
        {
          entry: { type: 'account', subject: ['account', signedIn.id], data: { event: 'session.opened' } },
          rows: () => [session],
          result: () => null,
        },
      )
      return { csrfToken: csrfTokenOf(digest), setCookie: setCookie(token, SESSION_VALID_MS / 1000) }
    },

    /** The session of a cookie, while it is valid. Ended sessions are noticed within a second everywhere. */
    async find(token: string): Promise<store.SessionRow | undefined> {
      const session = await byDigest.get(secretDigest(token).toString('hex'))
      return session !== undefined && session.expires_at > clock.now() ? session : undefined
    },

    /**
     * Signs the caller out.
     * @returns the Set-Cookie header that removes the cookie
     * @throws AppError forbidden when the caller has a key instead of a session
     */
    async end(caller: Caller): Promise<string> {
      const { credential } = caller
      if (credential.kind !== 'session') {
        throw new AppError('forbidden', { message: 'Only a session can be ended; revoke keys instead.' })
      }
      let digest: Uint8Array | undefined
      await ledger.transact(caller, async (trx) => {
        digest = await store.deleteSession(trx, credential.id)
        return {
          entry: {
            type: 'account',
            subject: ['account', credential.accountId],
            data: { event: 'session.ended' },
          },
          result: null,
        }
      })
      if (digest !== undefined) await byDigest.forget(Buffer.from(digest).toString('hex'))
      return setCookie('', 0)
    },
  }
}
