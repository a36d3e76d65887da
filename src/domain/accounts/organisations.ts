/** Organisations, their accounts and merchants, and what exists from the first start on. @module */
import { type Caller, DEFAULT_SCOPES, type Scope, systemCaller } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { fail } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { changesOf, requireUnchanged } from '../../json/read-only.ts'
import { type Cost, hashPassword } from '../../keys/passwords.ts'
import { CLAIM_KINDS, type Claim } from '../../ledger/claim-kinds.ts'
import type { Entry } from '../../ledger/decision.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Logs } from '../../ledger/logs.ts'
import { type PaymentLimits, pickLimits } from '../../protocol/payment-limits.ts'
import type { Database } from '../../store/database.ts'
import type { OpenRecent } from '../../store/recent.ts'
import type { Row } from '../../store/table.ts'
import { DEFAULT_MERCHANT_NAME, DEFAULT_ORGANISATION } from './defaults.ts'
import type { Keys } from './keys.ts'
import {
  type AccountCreated,
  FIXED_OF_ORGANISATION,
  MAX_PAGE_MERCHANTS,
  type MerchantCreated,
  type MerchantList,
  type MerchantsQuery,
  type NewAccount,
  type NewMerchant,
  type NewOrganisation,
  type Organisation,
  type OrganisationChange,
  type OrganisationCreated,
  type OrganisationPage,
  type OrganisationsQuery,
} from './schemas.ts'
import * as store from './store.ts'

const DEFAULT_LIMIT = 50
const FREE_PROOFS = 100
/** With the first agent of an account holder. */
const AGENT_FREE_PROOFS = 150
const FREE_PROOFS_VALID_MS = 30 * 24 * 3_600_000
const MERCHANT_CACHE_MS = 1000
const MAX_CACHED_MERCHANTS = 10_000
/** An organisation's first key also makes further keys; nobody else could. */
const FIRST_KEY_SCOPES: readonly Scope[] = [...DEFAULT_SCOPES, 'keys']

/** Free proofs that come with an agent, before they are written. */
export interface AgentGrant {
  readonly claim: Claim
  readonly granted: number
  /** Unix ms. */
  readonly expiresAt: number
  readonly row: Row
}

type Subscription = Organisation['subscription']

interface Deps {
  readonly database: Database
  readonly logs: Pick<Logs, 'forNew'>
  readonly ledger: Pick<Ledger, 'append' | 'transact'>
  readonly keys: Pick<Keys, 'draft'>
  readonly clock: Clock
  readonly passwordCost: Cost
  readonly openRecent: OpenRecent
  /** The service's limit for organisations without one of their own. */
  readonly rateLimitPerMinute: number
}

export const normaliseEmail = (email: string): string => email.trim().normalize('NFC').toLowerCase()

/** The one merchant a key may act for; undefined: all of its organisation. */
const boundMerchant = ({ credential }: Caller): string | undefined =>
  credential.kind === 'key' ? credential.merchantId : undefined

/** A new organisation and its default merchant. @param log that it has, for ever */
const newOrganisation = (name: string, subscription: Subscription, log: number, at: number) => {
  const organisationId = newId('org', at)
  const merchantId = newId('mer', at)
  const organisation: store.OrganisationRow = {
    id: organisationId,
    name,
    subscription,
    rate_limit_per_minute: null,
    default_merchant: merchantId,
    created_at: at,
    log,
  }
  const merchant: store.MerchantRow = {
    id: merchantId,
    organisation: organisationId,
    name: DEFAULT_MERCHANT_NAME,
    limits: {},
    created_at: at,
  }
  return { organisationId, merchantId, organisation, merchant }
}

/** @returns an organisation's shape on the wire */
const toOrganisation = (row: store.OrganisationRow, defaultLimit: number): Organisation => ({
  organisationId: row.id,
  name: row.name,
  merchantId: row.default_merchant,
  subscription: row.subscription as Subscription,
  rateLimitPerMinute: row.rate_limit_per_minute ?? defaultLimit,
  createdAt: iso(row.created_at),
})

export type Organisations = ReturnType<typeof createOrganisations>

export const createOrganisations = ({
  database,
  logs,
  ledger,
  keys,
  clock,
  openRecent,
  passwordCost,
  rateLimitPerMinute,
}: Deps) => {
  const remembered = { ttlMs: MERCHANT_CACHE_MS, maxEntries: MAX_CACHED_MERCHANTS }
  const merchants = openRecent({
    ...remembered,
    name: 'merchant',
    load: (id) => store.findMerchant(database, id),
  })
  const byId = openRecent({
    ...remembered,
    name: 'organisation',
    load: async (id) => (await store.findOrganisation(database.knex, id)) ?? fail('not_found'),
  })

  return {
    /**
     * Creates an organisation, an account that owns it, and 100 free proofs.
     * @throws AppError email_taken; unavailable when too many passwords are being hashed
     */
    async signUp(
      { email, password, organisation: name }: NewAccount,
      requestId: string,
    ): Promise<AccountCreated> {
      const passwordHash = await hashPassword(password, passwordCost)
      const at = clock.now()
      const accountId = newId('acc', at)
      const address = normaliseEmail(email)
      const { organisationId, merchantId, organisation, merchant } = newOrganisation(
        name,
        'inactive',
        await logs.forNew(),
        at,
      )
      const account: store.AccountRow = {
        id: accountId,
        organisation: organisationId,
        email: address,
        password_hash: passwordHash,
        role: 'owner',
        created_at: at,
        last_sign_in_at: null,
      }
      const grant: store.FreeProofGrantRow = {
        account: accountId,
        organisation: organisationId,
        granted: FREE_PROOFS,
        created_at: at,
        expires_at: at + FREE_PROOFS_VALID_MS,
      }
      const caller = { ...systemCaller(DEFAULT_ORGANISATION, 'sign-up'), requestId }
      // One change at a time, so an address that is free now is free until the end of this one.
      return ledger.transact<AccountCreated>(caller, async (trx) => {
        if (await store.findAccountByEmail(trx, address)) fail('email_taken')
        await store.ensureOrganisation(trx, organisation, merchant)
        await store.insertAccount(trx, account)
        await store.insertFreeProofGrant(trx, grant)
        return {
          entry: {
            type: 'account',
            subject: ['account', accountId],
            data: { event: 'account.created', organisationId },
          },
          result: { accountId, organisationId, merchantId },
        }
      })
    },

    /**
     * 150 free proofs, which an organisation is given with its first agent and never again: the claim goes with the row.
     * @param at Unix ms
     */
    agentGrant(organisation: string, at: number): AgentGrant {
      const expiresAt = at + FREE_PROOFS_VALID_MS
      return {
        claim: [CLAIM_KINDS.agentFreeProofs, organisation],
        granted: AGENT_FREE_PROOFS,
        expiresAt,
        row: store.freeProofGrants.row({
          // Not one account's: all of an organisation's accounts are one holder.
          account: organisation,
          organisation,
          granted: AGENT_FREE_PROOFS,
          created_at: at,
          expires_at: expiresAt,
        }),
      }
    },

    /** Creates an organisation with an active subscription and its first key. For operators. */
    async create(caller: Caller, { name }: NewOrganisation): Promise<OrganisationCreated> {
      const at = clock.now()
      const { organisationId, merchantId, organisation, merchant } = newOrganisation(
        name,
        'active',
        await logs.forNew(),
        at,
      )
      const first = { organisation: organisationId, scopes: FIRST_KEY_SCOPES, label: 'first key', at }
      const { keyId, apiKey, row } = keys.draft(first)
      return ledger.append(caller, (tx) => {
        tx.append({
          type: 'account',
          subject: ['organisation', organisationId],
          keyId,
          data: { event: 'organisation.created', organisationId },
        })
        tx.write(store.organisations.row(organisation))
        tx.write(store.merchants.row(merchant))
        tx.write(row)
        return { organisationId, merchantId, apiKey }
      })
    },

    /** All organisations, the newest first; those of a name by their names. For operators. */
    async list({
      cursor,
      limit = DEFAULT_LIMIT,
      subscription,
      name,
    }: OrganisationsQuery): Promise<OrganisationPage> {
      const filter = { before: cursor, limit: limit + 1, subscription, name }
      const rows = await store.findOrganisations(database, filter)
      const shown = rows.slice(0, limit)
      const counts = await store.countAccounts(
        database,
        shown.map(({ id }) => id),
      )
      return {
        organisations: shown.map((row) => ({
          ...toOrganisation(row, rateLimitPerMinute),
          accounts: counts.get(row.id) ?? 0,
        })),
        nextCursor: rows.length > limit ? (shown.at(-1)?.id ?? null) : null,
      }
    },

    /** Changes what an operator decides about an organisation. @throws AppError not_found, read_only */
    async update(caller: Caller, organisationId: string, sent: OrganisationChange): Promise<Organisation> {
      const answer = await ledger.transact(caller, async (trx) => {
        const before = (await store.findOrganisation(trx, organisationId)) ?? fail('not_found')
        const current = toOrganisation(before, rateLimitPerMinute)
        requireUnchanged(sent, current, FIXED_OF_ORGANISATION)
        const { subscription, rateLimitPerMinute: limit } = changesOf(sent, current)
        const columns = {
          ...(subscription !== undefined && { subscription }),
          ...(limit !== undefined && { rate_limit_per_minute: limit }),
        }
        if (Object.keys(columns).length === 0) return { result: current }
        const row = (await store.updateOrganisation(trx, organisationId, columns)) ?? fail('not_found')
        const entry: Entry = {
          type: 'account',
          subject: ['organisation', organisationId],
          data: { event: 'organisation.updated', organisationId, ...columns },
        }
        return { entry, result: toOrganisation(row, rateLimitPerMinute) }
      })
      await byId.forget(organisationId)
      return answer
    },

    /** @throws AppError not_found */
    async find(organisationId: string): Promise<Organisation> {
      return toOrganisation(await byId.get(organisationId), rateLimitPerMinute)
    },

    /** @throws AppError forbidden for a key that is bound to one merchant */
    async createMerchant(caller: Caller, { name, limits = {} }: NewMerchant): Promise<MerchantCreated> {
      if (boundMerchant(caller) !== undefined) return fail('forbidden')
      const at = clock.now()
      const merchantId = newId('mer', at)
      return ledger.append(caller, (tx) => {
        tx.append({
          type: 'account',
          subject: ['merchant', merchantId],
          data: { event: 'merchant.created', merchantId },
        })
        tx.write(
          store.merchants.row({
            id: merchantId,
            organisation: caller.organisation,
            name,
            limits: pickLimits(limits),
            created_at: at,
          }),
        )
        return { merchantId }
      })
    },

    /** A page of the merchants that the caller may act for, the oldest first. */
    async listMerchants(
      caller: Caller,
      { cursor, limit = MAX_PAGE_MERCHANTS }: MerchantsQuery,
    ): Promise<MerchantList> {
      const { default_merchant } = await byId.get(caller.organisation)
      const rows = await store.findMerchants(database, {
        organisation: caller.organisation,
        id: boundMerchant(caller),
        after: cursor,
        limit: limit + 1,
      })
      const shown = rows.slice(0, limit)
      return {
        merchants: shown.map((row) => ({
          merchantId: row.id,
          name: row.name,
          default: row.id === default_merchant,
          limits: row.limits,
          createdAt: iso(row.created_at),
        })),
        nextCursor: rows.length > limit ? (shown.at(-1)?.id ?? null) : null,
      }
    },

    /** The merchant of an organisation that is meant when none is named. @throws AppError not_found */
    async defaultMerchant(organisation: string): Promise<string> {
      return (await byId.get(organisation)).default_merchant
    },

    /** Whether a merchant belongs to an organisation. */
    async ownsMerchant(organisation: string, merchantId: string): Promise<boolean> {
      return (await merchants.get(merchantId))?.organisation === organisation
    },

    /** What a merchant allows its terminals; empty where nothing was set. @throws AppError not_found */
    async merchantLimits(merchantId: string): Promise<PaymentLimits> {
      return ((await merchants.get(merchantId)) ?? fail('not_found')).limits
    },
  }
}
