/** Terminals: their creation, what they may do offline, and the tokens they work with. @module */
import { type Caller, type Credential, keyBehind } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import { drawQrCode } from '../../http/qr-code.ts'
import { newId } from '../../ids.ts'
import { isTerminalToken, newSecret, newTerminalToken, secretDigest } from '../../keys/api-keys.ts'
import { hashPassword, SECRET_COST, verifyPassword } from '../../keys/passwords.ts'
import type { Sealing } from '../../keys/sealing.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import {
  type AmountLimit,
  DEFAULT_AMOUNT_LIMITS,
  type PaymentLimits,
  pickLimits,
} from '../../protocol/payment-limits.ts'
import { type Assurance, DEFAULT_MAX_OFFLINE_AGE_MS } from '../../protocol/sync.ts'
import { pairingAddress } from '../../protocol/terminal-pairing.ts'
import type { Database } from '../../store/database.ts'
import type { OpenRecent } from '../../store/recent.ts'
import type { AccountsService } from '../accounts/service.ts'
import type { SecurityService } from '../security/service.ts'
import { createTerminalProving, type Presenter, registration } from './proving.ts'
import {
  MAX_PAGE_TERMINALS,
  type NewTerminal,
  type Terminal,
  type TerminalCreated,
  type TerminalCredentials,
  type TerminalList,
  type TerminalsQuery,
  type TerminalToken,
  type Told,
} from './schemas.ts'
import * as store from './store.ts'

const TOKEN_VALID_MS = 12 * 3_600_000
const TOKEN_CACHE_MS = 1000
const MAX_CACHED_TOKENS = 20_000
/** How exactly it is known when a terminal that tells nothing was last seen; each time it costs a write. */
const SEEN_STEP_MS = 60_000
/** Wrong secrets of one terminal in 15 minutes. Whoever has a key of the merchant may try; one key locks no other out. */
const MAX_WRONG_BY_KEY = 10
/** From all keys together. */
const MAX_WRONG_SECRETS = 100
/** Rows of expired tokens are removed at most this often, when a terminal signs in. */
const SWEEP_PAUSE_MS = 3_600_000
const SWEEP_ROWS = 500

const TERMINAL_SCOPES: Caller['scopes'] = new Set(['merchant'])

/** What a terminal, or a merchant's own key, may do. Amounts are in major units of the payment's currency. */
export interface Policy {
  /** Greatest single offline payment; undefined: any. */
  readonly floorLimit?: number
  /** Greatest sum of payments that wait to be uploaded; undefined: any. */
  readonly storedSumLimit?: number
  /** Greatest age of an offline payment when it arrives. */
  readonly maxOfflineAgeMs: number
  readonly minAssurance: Exclude<Assurance, 'none'>
}

const amountOf = (limit: AmountLimit | undefined): number | undefined =>
  limit === 'none' ? undefined : limit

/** A new terminal's own limits: those asked for, and the default amounts where its merchant says none either. */
const limitsOfNew = (asked: PaymentLimits, merchant: PaymentLimits): PaymentLimits => {
  const { floorLimit, storedSumLimit } = DEFAULT_AMOUNT_LIMITS
  return pickLimits({
    ...(merchant.floorLimit === undefined && { floorLimit }),
    ...(merchant.storedSumLimit === undefined && { storedSumLimit }),
    ...asked,
  })
}

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'append' | 'transact'>
  readonly accounts: Pick<
    AccountsService,
    'keys' | 'midstate' | 'defaultMerchant' | 'ownsMerchant' | 'organisations'
  >
  readonly security: Pick<SecurityService, 'guardAttempts'>
  readonly clock: Clock
  readonly openRecent: OpenRecent
  readonly sealing: Pick<Sealing, 'mac'>
  /** Where devices reach the service. */
  readonly baseUrl: string
}

/** The caller behind a terminal's token. */
interface TerminalIdentity extends Pick<Caller, 'organisation' | 'scopes'> {
  readonly credential: Extract<Credential, { kind: 'terminal' }>
}

/** The one merchant a caller may act for; undefined: all of its organisation. */
const boundMerchant = ({ credential }: Caller): string | undefined =>
  'merchantId' in credential ? credential.merchantId : undefined

/**
 * A terminal comes with a key of scope merchant, and nobody manages keys with more scopes than their own.
 * @throws AppError insufficient_scope
 */
const requireMerchant = ({ scopes }: Caller): void => {
  if (scopes.has('merchant')) return
  throw new AppError('insufficient_scope', {
    message: 'Managing terminals needs a credential with scope "merchant" beside "keys".',
  })
}

const toTerminal = (row: store.TerminalRow): Terminal => ({
  terminalId: row.id,
  label: row.label,
  merchantId: row.merchant,
  limits: row.limits,
  status: row.revoked_at === null ? 'active' : 'revoked',
  createdAt: iso(row.created_at),
  revokedAt: row.revoked_at === null ? null : iso(row.revoked_at),
  lastSeenAt: row.last_seen_at === null ? null : iso(row.last_seen_at),
  queued:
    row.queued_count === null || row.queued_sum === null
      ? null
      : { count: row.queued_count, sum: row.queued_sum },
  version: row.version,
  clockSkewMs: row.clock_skew_ms,
})

const reportOf = ({ queued, version, clock }: Told, now: number): store.TerminalReport => ({
  last_seen_at: now,
  ...(queued && { queued_count: queued.count, queued_sum: queued.sum }),
  ...(version !== undefined && { version }),
  ...(clock !== undefined && { clock_skew_ms: clock - now }),
})

export type TerminalsService = ReturnType<typeof createTerminals>

export const createTerminals = (deps: Deps) => {
  const { database, ledger, accounts, security, clock, openRecent, baseUrl } = deps
  let sweepAfter = 0
  const remembered = { ttlMs: TOKEN_CACHE_MS, maxEntries: MAX_CACHED_TOKENS }
  const byDigest = openRecent({
    ...remembered,
    name: 'terminal-token',
    async load(digest) {
      const row = await store.findTokenInUse(database, Buffer.from(digest, 'hex'))
      const now = clock.now()
      const isSeen = row !== undefined && row.revoked_at === null && row.expires_at > now
      if (isSeen && now - (row.last_seen_at ?? 0) >= SEEN_STEP_MS) {
        // A terminal works as well while the database takes no writes.
        await store.updateReport(database, row.terminal, { last_seen_at: now }).catch(() => undefined)
      }
      return row
    },
  })
  const byId = openRecent({
    ...remembered,
    name: 'terminal',
    load: (id) => store.findTerminal(database.knex, id),
  })

  /** The terminal that presents, with its token or with a key that was made for it; undefined: none does. */
  const terminalOf = async ({ origin }: Presenter): Promise<string | undefined> =>
    origin.startsWith('ter_') ? origin : (await accounts.midstate(origin)).terminalId

  /** The merchant's own limits hold where the terminal has none. */
  const policy = async (presenter: Presenter): Promise<Policy> => {
    const terminalId = await terminalOf(presenter)
    const limits: PaymentLimits = {
      ...(await accounts.organisations.merchantLimits(presenter.merchant)),
      ...(terminalId === undefined ? {} : (await byId.get(terminalId))?.limits),
    }
    return {
      floorLimit: amountOf(limits.floorLimit),
      storedSumLimit: amountOf(limits.storedSumLimit),
      maxOfflineAgeMs: limits.maxOfflineAgeMs ?? DEFAULT_MAX_OFFLINE_AGE_MS,
      minAssurance: limits.minAssurance ?? 'structural',
    }
  }

  /** The merchant of a new terminal. @throws AppError validation_failed when the caller has no such merchant */
  const merchantFor = async (caller: Caller, asked: string | undefined): Promise<string> => {
    if (asked === undefined) return accounts.defaultMerchant(caller.organisation)
    if (await accounts.ownsMerchant(caller.organisation, asked)) return asked
    throw new AppError('validation_failed', {
      details: [{ path: '/merchantId', code: 'unknown', message: 'The organisation has no such merchant.' }],
    })
  }

  const sweep = async (now: number): Promise<void> => {
    if (now < sweepAfter) return
    sweepAfter = now + SWEEP_PAUSE_MS
    const swept = await store.deleteExpiredTokens(database, now, SWEEP_ROWS)
    // There are more.
    if (swept === SWEEP_ROWS) sweepAfter = now
  }

  return {
    policy,

    ...createTerminalProving(deps),

    /** A page of the terminals that the caller may act for, the newest first. */
    async list(
      caller: Caller,
      { status, cursor, limit = MAX_PAGE_TERMINALS }: TerminalsQuery,
    ): Promise<TerminalList> {
      const { organisation } = caller
      const merchant = boundMerchant(caller)
      const asked = { organisation, merchant, status, before: cursor, limit: limit + 1 }
      const rows = await store.findTerminals(database, asked)
      const shown = rows.slice(0, limit)
      return {
        terminals: shown.map(toTerminal),
        nextCursor: rows.length > limit ? (shown.at(-1)?.id ?? null) : null,
      }
    },

    /**
     * Creates a terminal with a secret and a key of its own, both shown once. The key may do nothing but take
     * payments of this merchant, so that a stolen till gives little away.
     * @throws AppError insufficient_scope; validation_failed for an unknown merchant
     */
    async create(caller: Caller, { label, merchantId, limits = {} }: NewTerminal): Promise<TerminalCreated> {
      requireMerchant(caller)
      const merchant = await merchantFor(caller, merchantId)
      const ownLimits = limitsOfNew(limits, await accounts.organisations.merchantLimits(merchant))
      const terminalSecret = newSecret()
      const secretHash = await hashPassword(terminalSecret, SECRET_COST)
      const at = clock.now()
      const { organisation } = caller
      const terminalId = newId('ter', at)
      const key = accounts.keys.draft({
        organisation,
        scopes: ['merchant'],
        label,
        merchantId: merchant,
        terminalId,
        at,
      })
      const terminal = store.terminals.row({
        id: terminalId,
        organisation,
        merchant,
        label,
        secret_hash: secretHash,
        limits: ownLimits,
        created_at: at,
        revoked_at: null,
        proving_commitment: registration(terminalSecret),
        last_seen_at: null,
        queued_count: null,
        queued_sum: null,
        version: null,
        clock_skew_ms: null,
      })
      const url = pairingAddress(baseUrl, {
        terminalId,
        terminalSecret,
        apiKey: key.apiKey,
        merchantId: merchant,
        label,
      })
      const pairing = { url, qr: String(await drawQrCode(url, 'svg')) }
      return ledger.append(caller, (tx) => {
        tx.append({
          type: 'account',
          subject: ['terminal', terminalId],
          keyId: key.keyId,
          data: {
            event: 'terminal.created',
            terminalId,
            merchantId: merchant,
            keyId: key.keyId,
            askedBy: keyBehind(caller.credential) ?? undefined,
          },
        })
        tx.write(terminal)
        tx.write(key.row)
        return {
          terminalId,
          terminalSecret,
          merchantId: merchant,
          apiKey: key.apiKey,
          keyId: key.keyId,
          limits: ownLimits,
          pairing,
        }
      })
    },

    /**
     * Ends a terminal, its tokens and the keys made for it; everywhere at once, or within a second where Redis can't
     * tell it. Again: nothing happens.
     * @throws AppError not_found, insufficient_scope
     */
    async revoke(caller: Caller, terminalId: string): Promise<void> {
      requireMerchant(caller)
      let forgetKeys = async (): Promise<void> => undefined
      await ledger.transact(caller, async (trx) => {
        const row = await store.findTerminal(trx, terminalId)
        if (row === undefined || row.organisation !== caller.organisation) throw new AppError('not_found')
        if (row.revoked_at !== null) return { result: null }
        const at = clock.now()
        await store.revokeTerminal(trx, terminalId, at)
        const keys = await accounts.keys.revokeOfTerminal(trx, caller, terminalId, at)
        forgetKeys = keys.committed
        const ended = {
          type: 'account',
          subject: ['terminal', terminalId],
          data: { event: 'terminal.revoked', terminalId },
        } as const
        return { entry: [ended, ...keys.entries], result: null }
      })
      await Promise.all([forgetKeys(), byDigest.clear(), byId.forget(terminalId)])
    },

    /**
     * Exchanges a terminal's id and secret for a token that is bound to the caller's key. An unknown terminal, one
     * of another merchant, a revoked one and a wrong secret can't be told apart, by the answer or by its time.
     * @throws AppError invalid_credentials; rate_limited after 10 failures in 15 minutes with the caller's key, or
     *   100 with any; unavailable
     */
    async authenticate(caller: Caller, credentials: TerminalCredentials): Promise<TerminalToken> {
      const { organisation, credential } = caller
      if (credential.kind !== 'key') throw new AppError('insufficient_scope')
      const { terminalId, terminalSecret, ...told } = credentials
      const bucket = `terminal:${organisation}:${terminalId}`
      const owner = { organisation, subject: terminalId }
      const budgets = [
        { bucket: `${bucket}/${credential.keyId}`, limit: MAX_WRONG_BY_KEY, ...owner },
        { bucket, limit: MAX_WRONG_SECRETS, ...owner },
      ]
      const terminal = await security.guardAttempts(budgets, async () => {
        const row = await store.findTerminal(database.knex, terminalId)
        const usable =
          row?.organisation === organisation &&
          row.revoked_at === null &&
          (credential.merchantId ?? row.merchant) === row.merchant
        const hash = usable ? row.secret_hash : undefined
        return (await verifyPassword(terminalSecret, hash, SECRET_COST)) ? row : undefined
      })
      if (terminal === undefined) throw new AppError('invalid_credentials')
      if (terminal.proving_commitment === null)
        await store.setCommitment(database, terminalId, registration(terminalSecret))
      const config = await policy({ merchant: terminal.merchant, origin: terminalId })
      const at = clock.now()
      await store.updateReport(database, terminalId, reportOf(told, at))
      await sweep(at)
      const token = newTerminalToken()
      const row = store.terminalTokens.row({
        id: newId('mtk', at),
        digest: secretDigest(token),
        terminal: terminalId,
        api_key: credential.keyId,
        created_at: at,
        expires_at: at + TOKEN_VALID_MS,
      })
      return ledger.append(caller, (tx) => {
        tx.append({
          type: 'account',
          subject: ['terminal', terminalId],
          data: { event: 'terminal.authenticated', terminalId },
        })
        tx.write(row)
        return {
          token,
          expiresAt: iso(at + TOKEN_VALID_MS),
          terminalId,
          merchantId: terminal.merchant,
          organisationId: organisation,
          config: {
            floorLimit: config.floorLimit ?? null,
            storedSumLimit: config.storedSumLimit ?? null,
            maxOfflineAgeMs: config.maxOfflineAgeMs,
            minAssurance: config.minAssurance,
          },
        }
      })
    },

    /** Keeps what a terminal told of itself beside something else, which does not fail if this does. */
    async report({ credential }: Caller, told: Told): Promise<void> {
      if (credential.kind !== 'terminal' || Object.keys(told).length === 0) return
      const report = reportOf(told, clock.now())
      await store.updateReport(database, credential.terminalId, report).catch(() => undefined)
    },

    /**
     * The caller behind a terminal token. Once the key it is bound to is revoked, `keyRevoked` says so: only the
     * upload of queued payments may still go on, to be accepted by an operator.
     * @throws AppError unauthorized for anything but a token that is valid now
     */
    async authenticateToken(token: string): Promise<TerminalIdentity> {
      if (!isTerminalToken(token)) throw new AppError('unauthorized')
      const row = await byDigest.get(secretDigest(token).toString('hex'))
      const now = clock.now()
      if (row === undefined || row.revoked_at !== null || row.expires_at <= now) {
        throw new AppError('unauthorized')
      }
      const { revokedAt } = await accounts.midstate(row.api_key)
      return {
        organisation: row.organisation,
        credential: {
          kind: 'terminal',
          id: row.id,
          terminalId: row.terminal,
          merchantId: row.merchant,
          keyId: row.api_key,
          keyRevoked: revokedAt !== undefined && revokedAt <= now,
        },
        scopes: TERMINAL_SCOPES,
      }
    },
  }
}
