/** From credentials to callers: API keys and console sessions. @module */
import { timingSafeEqual } from 'node:crypto'
import type { Caller, Scope } from '../../caller.ts'
import type { Clock } from '../../clock.ts'
import { AppError, fail } from '../../errors.ts'
import { isApiKey, secretDigest } from '../../keys/api-keys.ts'
import { endOfKey, type Keys } from './keys.ts'
import type { Organisations } from './organisations.ts'
import { isRole, rightsOf } from './roles.ts'
import { csrfTokenOf, type Sessions } from './sessions.ts'

const CHOSEN_KEY_PATTERN = /^[!-~]{16,128}$/
const SESSION_TOKEN_PATTERN = /^[0-9A-Za-z]{43}$/
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** Whom a credential stands for, and the organisation's own rate limit where it has one. */
export interface Admission {
  readonly caller: Omit<Caller, 'requestId' | 'idempotency'>
  /** Requests per minute. */
  readonly limitPerMinute?: number
}

/** What a browser presents. */
interface SessionCredentials {
  readonly cookie?: string
  readonly csrf?: string
}

interface Deps {
  readonly keys: Keys
  readonly sessions: Sessions
  readonly organisations: Pick<Organisations, 'find'>
  readonly clock: Clock
  /** ADMIN_API_KEY: it may look like a generated key without being one. */
  readonly adminApiKey?: string
}

/** Equality of two texts of any length, in a time that tells nothing of their contents. */
const sameText = (a: string, b: string): boolean => timingSafeEqual(secretDigest(a), secretDigest(b))

export const createAuthentication = ({ keys, sessions, organisations, clock, adminApiKey }: Deps) => {
  const admissions = new WeakMap<object, Admission>()

  /** Generated keys carry a checksum; keys that an operator chose don't, but nobody else's key looks generated. */
  const couldBeKey = (text: string): boolean =>
    text.startsWith('ak_live_')
      ? isApiKey(text) || (adminApiKey !== undefined && sameText(text, adminApiKey))
      : CHOSEN_KEY_PATTERN.test(text)

  /** @throws AppError unauthorized for anything but a key that works now */
  const key = async (text: string): Promise<Admission> => {
    if (!couldBeKey(text)) throw new AppError('unauthorized')
    const row = await keys.inUse(text)
    const end = row && endOfKey(row)
    if (row === undefined || (end !== undefined && end <= clock.now())) throw new AppError('unauthorized')
    let admission = admissions.get(row)
    if (admission === undefined) {
      admission = {
        caller: {
          organisation: row.organisation,
          credential: { kind: 'key', id: row.id, keyId: row.id, merchantId: row.merchant ?? undefined },
          scopes: new Set(row.scopes as Scope[]),
        },
        limitPerMinute: row.rate_limit_per_minute ?? undefined,
      }
      admissions.set(row, admission)
    }
    return admission
  }

  return {
    key,

    /**
     * The session of a cookie: with its CSRF token when the request writes. The role of its account decides its scopes.
     * @param method upper case
     * @throws AppError unauthorized, csrf_required, insufficient_scope for a role that nothing is known of
     */
    async session({ cookie, csrf }: SessionCredentials, method: string): Promise<Admission> {
      if (cookie === undefined || !SESSION_TOKEN_PATTERN.test(cookie)) throw new AppError('unauthorized')
      const session = await sessions.find(cookie)
      if (session === undefined) throw new AppError('unauthorized')
      const { role } = session
      const isRead = SAFE_METHODS.has(method)
      if (!isRead && !(csrf !== undefined && sameText(csrf, csrfTokenOf(session.digest)))) {
        throw new AppError('csrf_required')
      }
      if (!isRole(role)) {
        return fail('insufficient_scope', {
          message: 'The role of this account is not known to this version of the service.',
        })
      }
      const rights = rightsOf(role, session.organisation)
      return {
        caller: {
          organisation: session.organisation,
          credential: { kind: 'session', id: session.id, accountId: session.account, role },
          scopes: isRead ? rights.reads : rights.writes,
        },
        limitPerMinute: (await organisations.find(session.organisation)).rateLimitPerMinute,
      }
    },
  }
}
