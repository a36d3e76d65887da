/** Organisations, accounts, sessions, API keys and merchants, as one service. @module */
import type { Caller, Scope } from '../../caller.ts'
import { SCOPES } from '../../caller.ts'
import type { Clock } from '../../clock.ts'
import type { Cost } from '../../keys/passwords.ts'
import type { Sealing } from '../../keys/sealing.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Logs } from '../../ledger/logs.ts'
import type { Database } from '../../store/database.ts'
import type { OpenRecent } from '../../store/recent.ts'
import type { SecurityService } from '../security/service.ts'
import { createAuthentication } from './authentication.ts'
import { createDefaults } from './defaults.ts'
import { createKeys } from './keys.ts'
import type { ProviderSettings } from './oidc/provider.ts'
import { createOidc } from './oidc/service.ts'
import { createOrganisations } from './organisations.ts'
import { createPasswords } from './passwords.ts'
import type { AccountCreated, Me, NewAccount } from './schemas.ts'
import { type CookieOptions, createSessions, csrfTokenOf } from './sessions.ts'
import * as store from './store.ts'
import { findSessionById } from './store-sessions.ts'
import { createInvitations } from './team/invitations.ts'
import { createMembers } from './team/members.ts'
import type { Acceptance, Member } from './team/schemas.ts'
import { createSecondFactor } from './totp/second-factor.ts'
import { createTotp } from './totp/service.ts'

const SIGN_UPS_PER_WINDOW = 20
const SIGN_UP_WINDOW_SECONDS = 3600

export interface AccountsDeps {
  readonly database: Database
  readonly logs: Pick<Logs, 'forNew'>
  readonly ledger: Pick<Ledger, 'append' | 'transact'>
  readonly sealing: Sealing
  readonly security: Pick<SecurityService, 'guardAttempts' | 'limitAddress'>
  readonly clock: Clock
  /** Of hashes of new passwords. */
  readonly passwordCost: Cost
  readonly openRecent: OpenRecent
  /** HMAC-SHA256 state after the key block, 64 bytes. */
  hmacMidstate(key: string): Uint8Array
  readonly rateLimitPerMinute: number
  readonly adminApiKey?: string
  /** What limits count of a client address: an IPv6 site holds a whole network. */
  addressBlock(ip: string): string
  /** The console's session cookie. */
  readonly cookie: CookieOptions
  /** Origin of the service. */
  readonly baseUrl: string
  readonly oidc: ProviderSettings | undefined
}

export type AccountsService = ReturnType<typeof createAccounts>

export const createAccounts = (deps: AccountsDeps) => {
  const { database, security, clock, adminApiKey } = deps
  const keys = createKeys(deps)
  const organisations = createOrganisations({ ...deps, keys })
  const passwords = createPasswords(deps)
  const secondFactor = createSecondFactor(deps)
  const sessions = createSessions({ ...deps, passwords, secondFactor })
  const invitations = createInvitations(deps)
  const authenticate = createAuthentication({ keys, sessions, organisations, clock, adminApiKey })

  /** New accounts, however they come to be. @throws AppError rate_limited */
  const limitSignUps = (ip: string): Promise<void> =>
    security.limitAddress('sign-up', deps.addressBlock(ip), SIGN_UPS_PER_WINDOW, SIGN_UP_WINDOW_SECONDS)

  return {
    keys,
    organisations,
    sessions,
    members: createMembers({ ...deps, sessions }),
    invitations,
    oidc: createOidc({ ...deps, passwords, secondFactor, sessions }),
    totp: createTotp({
      ...deps,
      passwords,
      secondFactor,
      issuer: `Assay ${new URL(deps.baseUrl).hostname}`,
      forget: sessions.forget,
    }),
    authenticate,
    ensureDefaults: createDefaults({ ...deps, keys }),

    midstate: keys.midstate,
    merchantKeys: keys.merchantKeys,
    defaultMerchant: organisations.defaultMerchant,
    ownsMerchant: organisations.ownsMerchant,

    /** Opens an account. At most 20 an hour and client address. @throws AppError email_taken, rate_limited */
    async signUp(input: NewAccount, ip: string, requestId: string): Promise<AccountCreated> {
      await limitSignUps(ip)
      return organisations.signUp(input, requestId)
    },

    /** Opens the account of an invitation; counted with sign-ups. @throws AppError as `invitations.accept`; rate_limited */
    async acceptInvitation(acceptance: Acceptance, ip: string, requestId: string): Promise<Member> {
      await limitSignUps(ip)
      return invitations.accept(acceptance, requestId)
    },

    /** Who the caller is. Pages that were reloaded get their session's CSRF token again. */
    async me(caller: Caller): Promise<Me> {
      const { credential, organisation: id } = caller
      const organisation = await organisations.find(id)
      const bound = credential.kind === 'key' ? credential.merchantId : undefined
      const isSession = credential.kind === 'session'
      const account = isSession ? await store.findAccount(database.knex, credential.accountId) : undefined
      const session = isSession ? await findSessionById(database.knex, credential.id) : undefined
      return {
        organisationId: id,
        organisation: organisation.name,
        merchantId: bound ?? organisation.merchantId,
        scopes: SCOPES.filter((scope: Scope) => caller.scopes.has(scope)),
        subscription: organisation.subscription,
        rateLimitPerMinute: organisation.rateLimitPerMinute,
        accountId: account?.id,
        email: account?.email,
        role: credential.kind === 'session' ? credential.role : undefined,
        csrfToken: session && csrfTokenOf(session.digest),
      }
    },
  }
}
