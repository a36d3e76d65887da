/** Hermes: asks a target, searches its answer, and says YES or NO so that others can rely on it. @module */

import { yesno } from '../../circuits/mappers/yesno.ts'
import { type Prover, proveSignals } from '../../circuits/proving/prover.ts'
import type { Clock } from '../../clock.ts'
import { AppError, fail } from '../../errors.ts'
import { newId } from '../../ids.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { SafeFetch } from '../../net/safe-fetch.ts'
import { encodeZk1, zk1Bytes } from '../../protocol/zk1.ts'
import type { Database } from '../../store/database.ts'
import type { proofRow } from '../proofs/recording.ts'
import type { SecurityService } from '../security/service.ts'
import type { UsageService } from '../usage/service.ts'
import type { VerificationService } from '../verification/service.ts'
import { type Question, readTextQuestion, readTypedQuestion } from './criteria.ts'
import { readDocument } from './document.ts'
import { createFlights, type Tier } from './flights.ts'
import { type Asker, actorFor, hasToken, isOwner, type OpenedRoute, type ProxiesService } from './proxies.ts'
import type { TextAnswer, TextQuestion, TypedAnswer, TypedQuestion } from './schemas.ts'
import { countSatisfying } from './search.ts'
import { countFailure, hermesStats, type KnownRoute } from './store.ts'
import { askTarget, type IsOwnHost, urlFor } from './target.ts'
import { makeVerdict, pronounce, type VerdictStatement } from './verdict.ts'

/** What strangers may ask, all routes together. */
const OPEN_QUESTIONS_PER_MINUTE = 30
const MINUTE_SECONDS = 60
/** Statuses of what a target did wrong: they count as its errors. */
const TARGET_STATUSES = [502, 504]

interface Deps {
  readonly proxies: Pick<ProxiesService, 'open'>
  readonly database: Database
  readonly ledger: Pick<Ledger, 'append'>
  readonly prover: Pick<Prover, 'prove'>
  readonly proofRow: typeof proofRow
  readonly verificationKey: string
  readonly verification: Pick<VerificationService, 'signer'>
  readonly usage: Pick<UsageService, 'allowance' | 'meterRow'>
  readonly security: Pick<SecurityService, 'limitAddress' | 'raise'>
  readonly safeFetch: SafeFetch
  readonly clock: Clock
  readonly baseUrl: string
  /** URLs of this service itself, which no target may redirect to. */
  readonly isOwnHost: IsOwnHost
  /** EGRESS_OPEN_PROXY: whether every route may reach the ranges of EGRESS_ALLOW_CIDRS. */
  readonly egressOpenProxy: boolean
  /** What the addresses of one client have in common. */
  readonly addressBlock: (ip: string) => string
  readonly logger: { error(details: object, message: string): void }
}

/** Who asks, from where. */
export interface HermesAsker extends Asker {
  /** Client address, after TRUST_PROXY. */
  readonly ip: string
}

/** A question on its way. */
interface Inquiry extends OpenedRoute {
  readonly asker: HermesAsker
  readonly question: Question
  readonly url: string
  /** The id in the URL, as it stands there. */
  readonly item?: string
  /** Whose turn the proof is made in: those that an organisation with an account of its own vouches for go first. */
  readonly tier: Tier
}

/** What came of a question, without the answer of the target, which may be large. */
interface Found {
  readonly statement: VerdictStatement
  readonly fetchedAt: number
  readonly latencyMs: number
}

/** The key that verifies a verdict's proof: its circuit and the SHA-256 of what `GET /api/circuits/{id}/vkey` answers. */
export const verificationKeyName = (etag: string): string => `${yesno.id}:sha256:${etag.replaceAll('"', '')}`

const countersOf = (row: KnownRoute, outcome: 'yes' | 'no', at: number, latencyMs: number) =>
  hermesStats.row({
    route: row.id,
    yes: 0,
    no: 0,
    errors: 0,
    [outcome]: 1,
    latency_ms: latencyMs,
    last_used_at: at,
  })

export type HermesService = ReturnType<typeof createHermes>

export const createHermes = (deps: Deps) => {
  const flights = createFlights()
  const { proxies, ledger, prover, verification, usage, security, safeFetch, clock, baseUrl } = deps

  /**
   * Opens the route to who may ask it.
   * @throws AppError not_found, route_deleted, rate_limited; unauthorized where a token is needed and nothing was sent,
   *   insufficient_scope where something else was
   */
  const admit = async (slug: string, { caller, ip }: HermesAsker) => {
    const route = await proxies.open(slug)
    const { row } = route
    const isTrusted = isOwner(caller, row) || hasToken(caller, row)
    // Tokens of routes that strangers made can be had for nothing, so they lift no limit.
    const isVouchedFor = row.owned && isTrusted
    if (!isVouchedFor)
      await security.limitAddress('hermes', deps.addressBlock(ip), OPEN_QUESTIONS_PER_MINUTE, MINUTE_SECONDS)
    if (row.ask_digest !== null && !isTrusted) fail(caller ? 'insufficient_scope' : 'unauthorized')
    return { ...route, isTrusted, tier: isVouchedFor ? ('paying' as const) : ('open' as const) }
  }

  /** Counts a failure of the target. @throws AppError route_deleted where the route was deleted meanwhile */
  const noteFailure = async ({ row }: Inquiry, error: AppError, latencyMs: number): Promise<void> => {
    const { organisation, id } = row
    const failed = { route: id, at: clock.now(), latencyMs }
    const isCounted = await countFailure(deps.database, failed).catch((failure: unknown) => {
      deps.logger.error({ err: failure, routeId: id }, 'failure not counted')
      return true
    })
    if (!isCounted) fail('route_deleted')
    if (error.code === 'egress_blocked') security.raise({ organisation, type: 'egress_blocked', subject: id })
  }

  /** @throws AppError with status 502 or 504 for whatever the target did wrong; route_deleted */
  const search = async (inquiry: Inquiry): Promise<Found> => {
    const { question, url, item, row, bindingKey, tier } = inquiry
    const startedAt = clock.now()
    let latencyMs: number | undefined
    try {
      const { found, body, fetchedAt } = await askTarget(safeFetch, clock, {
        url,
        item,
        tier,
        allowListed: row.private_egress || deps.egressOpenProxy,
        isOwnHost: deps.isOwnHost,
      })
      latencyMs = Math.max(0, fetchedAt - startedAt)
      const satisfying = found ? await countSatisfying(await readDocument(body), question) : 0
      const id = newId('hmv', fetchedAt)
      const { asked } = question
      const finding = { id, route: row, bindingKey, asked, url, body, fetchedAt, satisfying }
      return { statement: makeVerdict(baseUrl, finding), fetchedAt, latencyMs }
    } catch (error) {
      if (error instanceof AppError && TARGET_STATUSES.includes(error.status))
        await noteFailure(inquiry, error, latencyMs ?? Math.max(0, clock.now() - startedAt))
      throw error
    }
  }

  const answer = async (inquiry: Inquiry): Promise<TypedAnswer> => {
    const { asker, row, tier } = inquiry
    const { organisation } = row
    const allowance = row.owned ? await usage.allowance(organisation) : undefined
    if (allowance?.left === 0) fail(allowance.code)
    const block = deps.addressBlock(asker.ip)
    // Only until the answer of the target is let go: proofs have a queue of their own.
    const { statement, fetchedAt, latencyMs } = await flights.within(
      tier,
      tier === 'paying' ? organisation : block,
      () => search(inquiry),
    )
    // Routes that strangers made are all of one organisation: whoever asks them has a turn of their own.
    const owner = row.owned ? organisation : block
    const made = await proveSignals(prover, yesno.id, statement, tier, owner)
    const proof = encodeZk1(made.proof, made.publicSignals)
    const proofBytes = zk1Bytes(made.publicSignals)
    const caller = actorFor(asker, organisation)
    return ledger.append(
      caller,
      pronounce({
        caller,
        issuer: baseUrl,
        statement,
        signer: await verification.signer(),
        proof,
        proofId: newId('prf', fetchedAt),
        made: made.proof,
        proofRow: deps.proofRow,
        verificationKey: deps.verificationKey,
        allowance,
        rows: [
          countersOf(row, statement.verdict === 'YES' ? 'yes' : 'no', fetchedAt, latencyMs),
          usage.meterRow({ organisation, at: fetchedAt, category: 'hermes', proofs: 1, proofBytes }),
        ],
      }),
    )
  }

  return {
    /** Whether a route belongs to the caller's organisation. @throws AppError not_found, route_deleted */
    async isOwn({ caller }: Asker, slug: string): Promise<boolean> {
      return isOwner(caller, (await proxies.open(slug)).row)
    },

    /**
     * Answers a typed question. A failure of the target is never a verdict.
     * @throws AppError not_found, route_deleted, unauthorized, rate_limited; criteria_required, validation_failed,
     *   tree_too_large; subscription_inactive, free_allocation_used; egress_blocked, upstream_…; unavailable, prover_overloaded
     */
    async askTyped(asker: HermesAsker, slug: string, body: TypedQuestion): Promise<TypedAnswer> {
      const { isTrusted, ...route } = await admit(slug, asker)
      const question = readTypedQuestion(body, !isTrusted)
      return answer({ ...route, asker, question, ...urlFor(route.destination, question.id?.text) })
    },

    /** Answers a question in a query string. @throws as `askTyped` */
    async askText(asker: HermesAsker, slug: string, query: TextQuestion): Promise<TextAnswer> {
      const route = await admit(slug, asker)
      const question = readTextQuestion(query)
      const asked = { ...route, asker, question, ...urlFor(route.destination, question.id?.text) }
      const { zkProof: _, proofId: __, ...short } = await answer(asked)
      return short
    },
  }
}
