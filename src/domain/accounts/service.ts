/** Organisations, accounts, sessions, API keys and merchants, as one service. @module */
import type { Caller, Scope } from '../../caller.ts'
import { SCOPES } from '../../caller.ts'
import type { Clock } from '../../clock.ts'
import type { Sealing } from '../../keys/sealing.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Database } from '../../store/database.ts'
import type { OpenRecent } from '../../store/recent.ts'
import type { SecurityService } from '../security/service.ts'
import { createAuthentication } from './authentication.ts'
import { createDefaults } from './defaults.ts'
import { createKeys } from './keys.ts'
import { createOrganisations } from './organisations.ts'
import { createPasswords } from './passwords.ts'
import type { AccountCreated, Me, NewAccount } from './schemas.ts'
import { type CookieOptions, createSessions, csrfTokenOf } from './sessions.ts'
import * as store from './store.ts'

const SIGN_UPS_PER_WINDOW = 20
const SIGN_UP_WINDOW_SECONDS = 3600

export interface AccountsDeps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'append' | 'transact'>
  readonly sealing: Sealing
  readonly security: Pick<SecurityService, 'guardAttempts' | 'limitAddress'>
  readonly clock: Clock
  readonly openRecent: OpenRecent
  /** HMAC-SHA256 state after the key block, 64 bytes. */
  hmacMidstate(key: string): Uint8Array
  readonly rateLimitPerMinute: number
  readonly adminApiKey?: string
  /** What limits count of a client address: an IPv6 site holds a whole network. */
  addressBlock(ip: string): string
  /** The console's session cookie. */
  readonly cookie: CookieOptions
}

export type AccountsService = ReturnType<typeof createAccounts>

export const createAccounts = (deps: AccountsDeps) => {
  const { database, security, clock, adminApiKey } = deps
  const keys = createKeys(deps)
  const organisations = createOrganisations({ ...deps, keys })
  const sessions = createSessions({ ...deps, passwords: createPasswords(deps) })
  const authenticate = createAuthentication({ keys, sessions, organisations, clock, adminApiKey })

  return {
    keys,
    organisations,
    sessions,
    authenticate,
    ensureDefaults: createDefaults({ ...deps, keys }),

    midstate: keys.midstate,
    merchantKeys: keys.merchantKeys,
    defaultMerchant: organisations.defaultMerchant,
    ownsMerchant: organisations.ownsMerchant,

    /** Opens an account. At most 20 an hour and client address. @throws AppError email_taken, rate_limited */
    async signUp(input: NewAccount, ip: string, requestId: string): Promise<AccountCreated> {
      await security.limitAddress(
        'sign-up',
        deps.addressBlock(ip),
        SIGN_UPS_PER_WINDOW,
        SIGN_UP_WINDOW_SECONDS,
      )
      return organisations.signUp(input, requestId)
    },

    /** Who the caller is. Pages that were reloaded get their session's CSRF token again. */
    async me(caller: Caller): Promise<Me> {
      const { credential, organisation: id } = caller
      const organisation = await organisations.find(id)
      const bound = credential.kind === 'key' ? credential.merchantId : undefined
      const isSession = credential.kind === 'session'
      const account = isSession ? await store.findAccount(database, credential.accountId) : undefined
      const session = isSession ? await store.findSessionById(database, credential.id) : undefined
      return {
        organisationId: id,
        organisation: organisation.name,
        merchantId: bound ?? organisation.merchantId,
        scopes: SCOPES.filter((scope: Scope) => caller.scopes.has(scope)),
        subscription: organisation.subscription,
        rateLimitPerMinute: organisation.rateLimitPerMinute,
        email: account?.email,
        csrfToken: session && csrfTokenOf(session.digest),
      }
    },
  }
}
