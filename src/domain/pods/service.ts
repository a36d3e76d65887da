/** Pods: verification spaces of an organisation, with a key, a policy and a charge of their own. @module */
import { isDeepStrictEqual } from 'node:util'
import type { Caller, Credential } from '../../caller.ts'
import { type Clock, iso } from '../../clock.ts'
import { AppError, fail } from '../../errors.ts'
import { newId } from '../../ids.ts'
import { requireUnchanged } from '../../json/read-only.ts'
import { isPodKey, newPodKey, secretDigest } from '../../keys/api-keys.ts'
import type { Json } from '../../ledger/decision.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { exponentOf } from '../../protocol/currency.ts'
import { parseRules } from '../../rules/tree.ts'
import type { Database } from '../../store/database.ts'
import type { OpenRecent } from '../../store/recent.ts'
import type { Row } from '../../store/table.ts'
import type { AccountsService } from '../accounts/service.ts'
import type { VerificationResult, VerifyData, VerifyOptions } from '../verification/schemas.ts'
import type { MadeResult, VerificationService } from '../verification/service.ts'
import {
  DEFAULT_PAGE_PODS,
  type NewPod,
  type OwnPod,
  type OwnPodList,
  type PodChange,
  type PodCreated,
  type PodDomain,
  type PodInfo,
  type PodStatsAnswer,
  type PodStatus,
  type PodsQuery,
} from './schemas.ts'
import { requireActive, requireStep, statusOf } from './states.ts'
import { mondayOf, percentage, utcDay } from './statistics.ts'
import * as store from './store.ts'

const CURRENCY = 'GBP'
const DEFAULT_CHARGE_MINOR = 35
/** How long a suspended pod may go on verifying where nobody was told. */
const POD_CACHE_MS = 1000
const MAX_CACHED_PODS = 10_000

const POD_SCOPES: Caller['scopes'] = new Set(['pod'])

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'append' | 'transact'>
  readonly accounts: Pick<AccountsService, 'organisations'>
  readonly verification: Pick<VerificationService, 'verify'>
  readonly clock: Clock
  readonly openRecent: OpenRecent
  readonly baseUrl: string
}

/** The caller behind a pod's key. */
interface PodIdentity extends Pick<Caller, 'organisation' | 'scopes'> {
  readonly credential: Extract<Credential, { kind: 'pod' }>
}

const MINOR_PER_UNIT = 10 ** exponentOf(CURRENCY)

const toUnits = (minor: number): number => minor / MINOR_PER_UNIT

/** @throws AppError amount_precision */
const toMinor = (charge: number): number => {
  const minor = Math.round(charge * MINOR_PER_UNIT)
  if (toUnits(minor) === charge) return minor
  return fail('amount_precision', {
    details: [
      { path: '/chargePerVerification', code: 'precision', message: `${CURRENCY} has two decimals.` },
    ],
  })
}

const toPodDomain = ({ domain, proven, bound_at, absent_since }: store.PodDomainRow): PodDomain => ({
  domain,
  status: proven ? 'bound' : 'lapsed',
  boundAt: iso(bound_at),
  unseenSince: absent_since === null ? null : iso(absent_since),
})

const toOwnPod = (row: store.PodRow, domains: readonly store.PodDomainRow[] = []): OwnPod => ({
  podId: row.id,
  name: row.name,
  status: statusOf(row),
  chargePerVerification: toUnits(row.charge_minor),
  currency: row.currency,
  rules: row.rules as OwnPod['rules'],
  logic: row.logic as OwnPod['logic'],
  createdAt: iso(row.created_at),
  domains: domains.map(toPodDomain),
})

/** A pod's policy as a verification takes it; nothing where it has none. */
const policyOf = ({ rules, logic }: store.PodRow): VerifyOptions => ({
  ...(rules && { rules: rules as VerifyOptions['rules'] }),
  ...(logic && { logic: logic as VerifyOptions['logic'] }),
})

/** What a verification costs and counts, committed with it or not at all. */
const chargeRows =
  (pod: store.PodRow) =>
  ({ verificationId, decision, at }: MadeResult): readonly Row[] => [
    store.podCharges.row({
      verification: verificationId,
      pod: pod.id,
      organisation: pod.organisation,
      amount_minor: pod.charge_minor,
      currency: pod.currency,
      charged_at: at,
    }),
    store.podDays.row({
      pod: pod.id,
      day: utcDay(at),
      verifications: 1,
      successes: decision === 'NO' ? 0 : 1,
      charged_minor: pod.charge_minor,
    }),
  ]

/** Status and charge are the operator's to change; name and policy also the owner's. */
const requireRights = (caller: Caller, row: store.PodRow, change: PodChange): void => {
  if (caller.scopes.has('admin')) return
  if (row.organisation !== caller.organisation) fail('not_found')
  if (change.status !== undefined || change.chargePerVerification !== undefined)
    fail('insufficient_scope', { message: 'Only the operator can change the status or the charge of a pod.' })
}

/** Less than the default is the operator's to grant, since it decides what the service earns. */
const requireCharge = (caller: Caller, chargeMinor: number): void => {
  if (chargeMinor >= DEFAULT_CHARGE_MINOR || caller.scopes.has('admin')) return
  const message = `must be at least ${toUnits(DEFAULT_CHARGE_MINOR)}`
  fail('insufficient_scope', {
    message: 'Only the operator can create pods that charge less than the default.',
    details: [{ path: '/chargePerVerification', code: 'minimum', message }],
  })
}

/** @throws AppError validation_failed, tree_too_large */
const requirePolicy = ({ rules, logic }: Pick<PodChange, 'rules' | 'logic'>): void => {
  if (rules || logic) parseRules(rules, logic)
}

/** Whether a change takes the policy away, which an empty list says. */
const removesPolicy = ({ rules, logic }: PodChange): boolean => rules?.length === 0 && logic === undefined

const AS_ANSWERED = ['podId', 'currency', 'createdAt'] as const

/**
 * What a change asks for beyond what is so already, since a pod that was answered may come back whole.
 * @throws AppError read_only; validation_failed for a null where something is stored: an empty list removes a policy
 */
const differing = (change: PodChange, current: OwnPod): PodChange => {
  requireUnchanged(change, current, AS_ANSWERED)
  const isSame = (name: keyof PodChange) =>
    change[name] === undefined || isDeepStrictEqual(change[name], current[name])
  for (const name of ['rules', 'logic'] as const)
    if (change[name] === null && !isSame(name)) {
      const message = 'must not be null, unless it is'
      fail('validation_failed', { details: [{ path: `/${name}`, code: 'type', message }] })
    }
  const { name, status, chargePerVerification, rules = null, logic = null } = change
  const isPolicySent = rules !== null || logic !== null
  // What is left out of a policy that is sent is not in it, also where the rest is as it was.
  const isOtherPolicy = !isDeepStrictEqual({ rules, logic }, { rules: current.rules, logic: current.logic })
  return {
    ...(!isSame('name') && { name }),
    ...(!isSame('status') && { status }),
    ...(!isSame('chargePerVerification') && { chargePerVerification }),
    ...(isPolicySent && isOtherPolicy && { rules: rules ?? undefined, logic: logic ?? undefined }),
  }
}

/** The columns that a change sets, whose policy was checked. @throws AppError amount_precision */
const columnsOf = ({ name, status, chargePerVerification, rules, logic }: PodChange) => {
  const hasPolicy = rules !== undefined || logic !== undefined
  return {
    ...(name !== undefined && { name }),
    ...(status !== undefined && { status }),
    ...(chargePerVerification !== undefined && { charge_minor: toMinor(chargePerVerification) }),
    // A policy is replaced as a whole: half of an old one would mean something that nobody wrote.
    ...(hasPolicy && { rules: rules?.length ? rules : null, logic: logic ?? null }),
  }
}

export type PodsService = ReturnType<typeof createPods>

export const createPods = (deps: Deps) => {
  const { database, ledger, accounts, verification, clock, openRecent, baseUrl } = deps
  const remembered = { ttlMs: POD_CACHE_MS, maxEntries: MAX_CACHED_PODS }
  const byId = openRecent({ ...remembered, name: 'pod', load: (id) => store.findPod(database.knex, id) })
  const byKey = openRecent({
    ...remembered,
    name: 'pod-key',
    load: (digest) => store.findPodByKey(database, Buffer.from(digest, 'hex')),
  })

  /** @throws AppError not_found */
  const known = async (podId: string): Promise<store.PodRow> => (await byId.get(podId)) ?? fail('not_found')

  /**
   * A pod may be changed while its proof is made, or have been just before, unheard of here: who asks again is to be asked of what it is now.
   * @throws AppError pod_suspended, pod_archived; conflict for another policy or charge
   */
  const requireSame = async (pod: store.PodRow): Promise<void> => {
    const now = (await store.findPod(database.knex, pod.id)) ?? fail('not_found')
    const termsOf = (row: store.PodRow) => [statusOf(row), row.charge_minor, policyOf(row)]
    if (isDeepStrictEqual(termsOf(now), termsOf(pod))) return
    await byId.forget(pod.id)
    requireActive(statusOf(now))
    fail('conflict', { message: 'The pod got another policy or charge while the proof was made; ask again.' })
  }

  const sumsOf = (podId: string): Promise<store.PodSums> => {
    const today = utcDay(clock.now())
    return store.sumPod(database, podId, today, mondayOf(today))
  }

  return {
    /**
     * Creates a pod with a key that is shown once. It is ACTIVE if the subscription is, else PENDING.
     * @throws AppError validation_failed and tree_too_large for the policy, amount_precision, insufficient_scope for
     *   a charge below the default
     */
    async create(caller: Caller, input: NewPod): Promise<PodCreated> {
      const { organisation } = caller
      requirePolicy(input)
      const { charge_minor = DEFAULT_CHARGE_MINOR, rules = null, logic = null } = columnsOf(input)
      requireCharge(caller, charge_minor)
      const { subscription } = await accounts.organisations.find(organisation)
      const status: PodStatus = subscription === 'active' ? 'ACTIVE' : 'PENDING'
      const at = clock.now()
      const podId = newId('pod', at)
      const podKey = newPodKey()
      const row = store.pods.row({
        id: podId,
        organisation,
        name: input.name,
        status,
        charge_minor,
        currency: CURRENCY,
        rules,
        logic,
        key_digest: secretDigest(podKey),
        created_at: at,
      })
      return ledger.append(caller, (tx) => {
        tx.append({ type: 'account', subject: ['pod', podId], data: { event: 'pod.created', podId, status } })
        tx.write(row)
        return { podId, podKey, status }
      })
    },

    /** A page of the pods of the caller's organisation, the newest first, with their domains. */
    async list(
      { organisation }: Caller,
      { cursor, limit = DEFAULT_PAGE_PODS }: PodsQuery,
    ): Promise<OwnPodList> {
      const rows = await store.findPods(database, organisation, { before: cursor, limit: limit + 1 })
      const shown = rows.slice(0, limit)
      const domains = await store.findDomainsOfPods(
        database.knex,
        shown.map(({ id }) => id),
      )
      return {
        pods: shown.map((row) => toOwnPod(row, domains.get(row.id))),
        nextCursor: rows.length > limit ? (shown.at(-1)?.id ?? null) : null,
      }
    },

    /**
     * Changes a pod, unless it is archived. Its status and charge are the operator's, who may change any pod; the
     * owner changes name and policy.
     * @throws AppError not_found, insufficient_scope, conflict for a transition that there is not and for an
     *   archived pod, validation_failed and tree_too_large for the policy, amount_precision
     */
    async change(caller: Caller, podId: string, sent: PodChange): Promise<OwnPod> {
      if (sent.rules?.length !== 0) requirePolicy(sent)
      const answer = await ledger.transact(caller, async (trx) => {
        const row = (await store.findPod(trx, podId)) ?? fail('not_found')
        requireRights(caller, row, {})
        const domains = (await store.findDomainsOfPods(trx, [podId])).get(podId)
        const change = differing(sent, toOwnPod(row, domains))
        requireRights(caller, row, change)
        if (!removesPolicy(change)) requirePolicy(change)
        const columns = columnsOf(change)
        const names = Object.keys(columns)
        requireStep(statusOf(row), change.status, names)
        if (names.length === 0) return { result: toOwnPod(row, domains) }
        await store.updatePod(trx, podId, columns)
        const { status = statusOf(row), charge_minor } = columns
        const data: { [key: string]: Json } = { event: 'pod.updated', podId, changed: names, status }
        if (charge_minor !== undefined) data.chargeMinor = charge_minor
        return {
          entry: { type: 'account', subject: ['pod', podId], data } as const,
          result: toOwnPod({ ...row, ...columns }, domains),
        }
      })
      await byId.forget(podId)
      return answer
    },

    /** What anyone may know of a pod. @throws AppError not_found */
    async info(podId: string): Promise<PodInfo> {
      const row = await known(podId)
      const [{ verifications }, customDomain] = await Promise.all([
        sumsOf(podId),
        store.findDomainOfPod(database, podId),
      ])
      const info = `${baseUrl}/pod/${podId}`
      return {
        success: true,
        pod: {
          id: podId,
          name: row.name,
          status: statusOf(row),
          customDomain: customDomain ?? null,
          verificationCount: verifications,
          createdAt: iso(row.created_at),
          endpoints: { verify: `${info}/verify`, info },
        },
      }
    },

    /**
     * Verifies data under the pod's policy and charges for it, in one commit. A signed NO is charged, an error is not.
     * @throws AppError not_found, pod_pending, pod_suspended, pod_archived, conflict where policy or charge were replaced while the proof
     *   was made, and what a verification throws
     */
    async verify(caller: Caller, podId: string, data: VerifyData): Promise<VerificationResult> {
      const pod = await known(podId)
      const { credential } = caller
      const isOwn =
        credential.kind === 'pod' ? credential.podId === podId : pod.organisation === caller.organisation
      if (!isOwn) return fail('not_found')
      requireActive(statusOf(pod))
      return verification.verify(
        caller,
        { data, options: policyOf(pod) },
        { category: 'pod', charge: chargeRows(pod), beforeCommit: () => requireSame(pod) },
      )
    },

    /** A pod's counters, for its owner. @throws AppError not_found; forbidden, since pods are no secret */
    async statistics({ organisation }: Caller, podId: string): Promise<PodStatsAnswer> {
      const pod = await known(podId)
      if (pod.organisation !== organisation) return fail('forbidden')
      const { verifications, successes, today, weekMinor } = await sumsOf(podId)
      return {
        success: true,
        stats: {
          podId,
          podName: pod.name,
          totalVerifications: verifications,
          successfulVerifications: successes,
          successRate: percentage(successes, verifications),
          todayVerifications: today,
          weeklyCharges: toUnits(weekMinor),
          currency: pod.currency,
          status: statusOf(pod),
        },
      }
    },

    /** The pod that a domain is to be bound to. @throws AppError not_found when it is not the caller's, pod_archived */
    async bindable({ organisation }: Caller, podId: string): Promise<void> {
      const pod = await known(podId)
      if (pod.organisation !== organisation) fail('not_found')
      if (pod.status === 'ARCHIVED') fail('pod_archived')
    },

    /** The caller behind a pod's key. @throws AppError unauthorized */
    async authenticate(podKey: string): Promise<{ caller: PodIdentity }> {
      const row = isPodKey(podKey) ? await byKey.get(secretDigest(podKey).toString('hex')) : undefined
      if (row === undefined) throw new AppError('unauthorized')
      const { id, organisation } = row
      return { caller: { organisation, credential: { kind: 'pod', id, podId: id }, scopes: POD_SCOPES } }
    },
  }
}
