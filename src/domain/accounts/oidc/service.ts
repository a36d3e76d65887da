/**
 * Signing in with an identity provider. An account is found by issuer and subject alone, which its owner linked while
 * signed in: nobody has proven that the e-mail address of an account is theirs, so none ever finds one.
 * @module
 */
import { createHmac } from 'node:crypto'
import type { SessionCaller } from '../../../caller.ts'
import { type Clock, iso } from '../../../clock.ts'
import { AppError, fail } from '../../../errors.ts'
import { newSecret, secretDigest } from '../../../keys/api-keys.ts'
import type { Ledger } from '../../../ledger/ledger.ts'
import type { Database } from '../../../store/database.ts'
import type { SecurityService } from '../../security/service.ts'
import type { Passwords } from '../passwords.ts'
import type { CookieOptions, OpenedSession, Sessions, Visitor } from '../sessions.ts'
import { findAccount } from '../store.ts'
import { findSessionById } from '../store-sessions.ts'
import type { SecondFactor } from '../totp/second-factor.ts'
import {
  type Binding,
  createProvider,
  type Identity,
  type Provider,
  type ProviderSettings,
} from './provider.ts'
import type { FlowStarted, Link, NewLink } from './schemas.ts'
import * as store from './store.ts'

/** Where the provider sends browsers back to, below BASE_URL. */
const REDIRECT_PATH = '/console/oidc'
const COOKIE = 'assay_oidc'
/** Nothing else needs the cookie. */
const COOKIE_PATH = '/console/api/oidc'
const FLOW_VALID_MS = 10 * 60_000
const SWEEP_PAUSE_MS = 60_000
const FLOWS_PER_WINDOW = 60
const FLOW_WINDOW_SECONDS = 900
const TOKEN = /^[0-9A-Za-z]{43}$/

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'transact'>
  readonly clock: Clock
  readonly security: Pick<SecurityService, 'limitAddress'>
  readonly passwords: Pick<Passwords, 'confirm'>
  readonly secondFactor: Pick<SecondFactor, 'isOn' | 'pass' | 'guard'>
  readonly sessions: Pick<Sessions, 'openBy'>
  readonly cookie: Pick<CookieOptions, 'secure'>
  readonly baseUrl: string
  /** Undefined: there is no provider. */
  readonly oidc: ProviderSettings | undefined
  addressBlock(ip: string): string
}

/** A sign-in on its way, with the cookie that binds it to a browser. */
export interface Started extends FlowStarted {
  readonly setCookie: string
}

/** All of them follow from the cookie, of which only a digest is kept. */
const bindingOf = (token: string): Binding => {
  const derived = (purpose: string) =>
    createHmac('sha256', token).update(`assay/oidc/1/${purpose}`).digest('base64url')
  return { state: derived('state'), nonce: derived('nonce'), verifier: derived('verifier') }
}

/** The value of the cookie in a Cookie header (RFC 6265 §4.2.1). */
const tokenIn = (header: string | undefined): string =>
  header
    ?.split(/; */)
    .find((pair) => pair.startsWith(`${COOKIE}=`))
    ?.slice(COOKIE.length + 1) ?? ''

export type Oidc = ReturnType<typeof createOidc>

export const createOidc = (deps: Deps) => {
  const { database, ledger, clock, security, passwords, secondFactor, sessions, cookie, oidc } = deps
  const known =
    oidc && createProvider(oidc, { redirectUri: deps.baseUrl + REDIRECT_PATH, now: () => clock.now() })
  const provider = (): Provider => known ?? fail('sign_in_not_configured')
  const name = oidc?.name ?? null
  let sweptAt = 0

  const setCookie = (value: string, maxAgeSeconds: number): string =>
    `${COOKIE}=${value}; Path=${COOKIE_PATH}; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${cookie.secure ? '; Secure' : ''}`

  const sweep = async (now: number): Promise<void> => {
    if (now - sweptAt < SWEEP_PAUSE_MS) return
    sweptAt = now
    await store.deleteExpiredFlows(database, now)
  }

  /** A flow that isn't kept yet. */
  const draft = async (link: Pick<store.FlowRow, 'account' | 'session'>) => {
    const at = clock.now()
    await sweep(at)
    const token = newSecret()
    const url = await provider().authorizationUrl(bindingOf(token))
    const row: store.FlowRow = { digest: secretDigest(token), ...link, expires_at: at + FLOW_VALID_MS }
    return { row, started: { url, setCookie: setCookie(token, FLOW_VALID_MS / 1000) } }
  }

  /** Who came back to the browser that began. Each flow ends here, whatever comes of it. */
  const finish = async (
    query: string,
    cookieHeader: string | undefined,
    fits: (flow: store.FlowRow) => boolean,
  ): Promise<Identity> => {
    const token = tokenIn(cookieHeader)
    const flow = TOKEN.test(token)
      ? await store.takeFlow(database, secretDigest(token), clock.now())
      : undefined
    if (flow === undefined || !fits(flow)) return fail('sign_in_expired')
    const binding = bindingOf(token)
    if (new URLSearchParams(query).get('state') !== binding.state) return fail('sign_in_expired')
    return provider().identify(query, binding)
  }

  return {
    name,

    /** At most 60 in 15 minutes from one address. @throws AppError sign_in_not_configured, identity_provider_failed, rate_limited */
    async start(ip: string): Promise<Started> {
      provider()
      await security.limitAddress('oidc', deps.addressBlock(ip), FLOWS_PER_WINDOW, FLOW_WINDOW_SECONDS)
      const { row, started } = await draft({ account: null, session: null })
      await store.insertFlow(database.knex, row)
      return started
    },

    /** Signs in. @throws AppError sign_in_expired, sign_in_refused, identity_provider_failed, identity_unknown */
    async signIn(query: string, cookieHeader: string | undefined, visitor: Visitor): Promise<OpenedSession> {
      const identity = await finish(query, cookieHeader, ({ account }) => account === null)
      const linked = await store.findIdentity(database.knex, identity)
      const account = linked && (await findAccount(database.knex, linked.account))
      if (account === undefined) return fail('identity_unknown')
      return sessions.openBy(account, visitor, async (trx) => {
        // It may have been unlinked meanwhile.
        if ((await store.findIdentity(trx, identity))?.account !== account.id) fail('identity_unknown')
        return { by: 'identity' }
      })
    },

    async link({ credential }: SessionCaller): Promise<Link> {
      const identity = oidc && { issuer: oidc.issuer, account: credential.accountId }
      const row = identity && (await store.findIdentityOfAccount(database.knex, identity))
      return { name, linkedAt: row === undefined ? null : iso(row.created_at) }
    },

    /**
     * Begins to link an identity to the caller's account, with what signing in takes.
     * @throws AppError sign_in_not_configured, identity_provider_failed; as sign-in; conflict where one is linked
     */
    async startLink(caller: SessionCaller, { password, code }: NewLink, ip: string): Promise<Started> {
      const { issuer } = provider()
      const account = await passwords.confirm(caller, password, ip)
      const { row, started } = await draft({ account: account.id, session: caller.credential.id })
      const at = clock.now()
      // Never answered from what was kept under an Idempotency-Key: no cookie is kept, and another session can't finish this one's flow.
      const unrepeated = { ...caller, idempotency: undefined }
      const begin = () =>
        ledger.transact<FlowStarted>(unrepeated, async (trx) => {
          const factor = await secondFactor.pass(trx, account.id, code, at)
          if (await store.findIdentityOfAccount(trx, { issuer, account: account.id })) {
            throw new AppError('conflict', { message: 'An identity is linked already. Unlink it first.' })
          }
          await store.insertFlow(trx, row)
          const data = { event: 'identity.link_started', issuer, factor }
          return {
            entry: { type: 'account', subject: ['account', account.id], data },
            result: { url: started.url },
          }
        })
      if (!(await secondFactor.isOn(account.id))) await begin()
      else if (code === undefined) fail('totp_required')
      else await secondFactor.guard(account, ip, begin)
      return started
    },

    /** Links who came back. @throws as `signIn`; unauthorized once the session has ended; conflict where the identity is another account's */
    async confirmLink(caller: SessionCaller, query: string, cookieHeader: string | undefined): Promise<Link> {
      const { accountId, id: session } = caller.credential
      const identity = await finish(
        query,
        cookieHeader,
        (flow) => flow.account === accountId && flow.session === session,
      )
      const at = clock.now()
      return ledger.transact<Link>(caller, async (trx) => {
        // The provider took its time: a changed password may have ended the session, and unlinks nothing that comes later.
        if (!(await findSessionById(trx, session))) fail('unauthorized')
        const taken = await store.findIdentity(trx, identity)
        const own = await store.findIdentityOfAccount(trx, { issuer: identity.issuer, account: accountId })
        if (taken !== undefined || own !== undefined) {
          throw new AppError('conflict', {
            message: 'This identity, or another one of this account, is linked already.',
          })
        }
        await store.insertIdentity(trx, { ...identity, account: accountId, created_at: at })
        const data = { event: 'identity.linked', issuer: identity.issuer }
        return {
          entry: { type: 'account', subject: ['account', accountId], data },
          result: { name, linkedAt: iso(at) },
        }
      })
    },

    /** @throws AppError not_found */
    async unlink(caller: SessionCaller): Promise<void> {
      const { accountId } = caller.credential
      const issuer = oidc?.issuer ?? fail('not_found')
      await ledger.transact(caller, async (trx) => {
        if (!(await store.deleteIdentity(trx, { issuer, account: accountId }))) fail('not_found')
        const data = { event: 'identity.unlinked', issuer }
        return { entry: { type: 'account', subject: ['account', accountId], data }, result: null }
      })
    },
  }
}
