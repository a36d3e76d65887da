/** Pods, their charges and counters, and their domains. Columns `…_at` are Unix milliseconds. @module */
import type { Knex } from 'knex'
import type { Database } from '../../store/database.ts'
import { boolean, bytes, integer, json, type RowOf, table, text } from '../../store/table.ts'

export const podDomains = table('pod_domains', {
  domain: text().key(),
  pod: text(),
  bound_at: integer(),
  /** Whether the names pointed here when DNS last said something of them. */
  proven: boolean(),
  /** When to look again. */
  check_at: integer(),
  /** Since when looks have not seen the records, gone or unknown; null: the last look saw them. */
  absent_since: integer().null(),
})

export type PodDomainRow = RowOf<typeof podDomains>

export const pods = table('pods', {
  id: text().key(),
  organisation: text(),
  name: text(),
  status: text(),
  charge_minor: integer(),
  currency: text(),
  rules: json<readonly object[]>().null(),
  logic: json<object>().null(),
  /** SHA-256 of the key, 32 bytes. */
  key_digest: bytes(),
  created_at: integer(),
})

export type PodRow = RowOf<typeof pods>

export const podCharges = table('pod_charges', {
  verification: text().key(),
  pod: text(),
  organisation: text(),
  amount_minor: integer(),
  currency: text(),
  charged_at: integer(),
})

/** A pod's verifications on one UTC day. */
export const podDays = table('pod_days', {
  pod: text().key(),
  /** Days since 1970-01-01 UTC. */
  day: integer().key(),
  verifications: integer().merge('sum'),
  /** Those whose decision was not NO. */
  successes: integer().merge('sum'),
  charged_minor: integer().merge('sum'),
})

export const findPod = (knex: Knex, id: string): Promise<PodRow | undefined> =>
  knex<PodRow>('pods').where({ id }).first()

export const findPodByKey = ({ knex }: Database, key_digest: Uint8Array): Promise<PodRow | undefined> =>
  knex<PodRow>('pods').where({ key_digest }).first()

/** Some of an organisation's pods, the newest first. @param before the last one of the page before */
export const findPods = (
  { knex }: Database,
  organisation: string,
  { before, limit }: { readonly before?: string; readonly limit: number },
): Promise<PodRow[]> => {
  const query = knex<PodRow>('pods').where({ organisation }).orderBy('id', 'desc').limit(limit)
  return before === undefined ? query : query.where('id', '<', before)
}

/** Applies a change within a transaction. */
export const updatePod = async (
  trx: Knex,
  id: string,
  change: Partial<Pick<PodRow, 'name' | 'status' | 'charge_minor' | 'rules' | 'logic'>>,
): Promise<void> => {
  const { rules, logic } = change
  await trx('pods')
    .where({ id })
    .update({
      ...change,
      // As text, since arrays would become SQL arrays.
      ...(rules && { rules: JSON.stringify(rules) }),
      ...(logic && { logic: JSON.stringify(logic) }),
    })
}

export interface PodSums {
  readonly verifications: number
  readonly successes: number
  readonly today: number
  /** Minor units, since the first day of the week. */
  readonly weekMinor: number
}

/** A pod's counters. @param today a UTC day @param monday the first day of its week */
export const sumPod = async (
  { knex }: Database,
  pod: string,
  today: number,
  monday: number,
): Promise<PodSums> => {
  const { rows } = await knex.raw(
    `SELECT coalesce(sum(verifications), 0)::bigint AS verifications,
            coalesce(sum(successes), 0)::bigint AS successes,
            coalesce(sum(verifications) FILTER (WHERE day = ?), 0)::bigint AS today,
            coalesce(sum(charged_minor) FILTER (WHERE day >= ?), 0)::bigint AS "weekMinor"
       FROM pod_days WHERE pod = ?`,
    [today, monday, pod],
  )
  return rows[0]
}

/** A domain with the pod that it was bound to. */
export type BoundDomain = PodDomainRow & Pick<PodRow, 'organisation' | 'name' | 'status'>

export const findDomain = ({ knex }: Database, domain: string): Promise<BoundDomain | undefined> =>
  knex<PodDomainRow>('pod_domains')
    .join('pods', 'pods.id', 'pod_domains.pod')
    .where({ domain })
    .first<BoundDomain>('pod_domains.*', 'pods.organisation', 'pods.name', 'pods.status')

/** All domains of some pods, by pod; of each the one bound last first. */
export const findDomainsOfPods = async (
  knex: Knex,
  pods: readonly string[],
): Promise<ReadonlyMap<string, readonly PodDomainRow[]>> => {
  if (pods.length === 0) return new Map()
  const rows = await knex<PodDomainRow>('pod_domains')
    .whereIn('pod', [...pods])
    .orderBy([{ column: 'bound_at', order: 'desc' }, 'domain'])
  const byPod = new Map<string, PodDomainRow[]>()
  for (const row of rows) byPod.set(row.pod, [...(byPod.get(row.pod) ?? []), row])
  return byPod
}

/** The domain of a pod that was bound last and still points here. */
export const findDomainOfPod = async ({ knex }: Database, pod: string): Promise<string | undefined> => {
  const row = await knex<PodDomainRow>('pod_domains')
    .where({ pod, proven: true })
    .orderBy([{ column: 'bound_at', order: 'desc' }, 'domain'])
    .first('domain')
  return row?.domain
}

/** The domain of an organisation's active pods that was bound last and still points here. */
export const findDomainOfOrganisation = async (
  { knex }: Database,
  organisation: string,
): Promise<string | undefined> => {
  const row = await knex<PodDomainRow>('pod_domains')
    .join('pods', 'pods.id', 'pod_domains.pod')
    .where({ organisation, proven: true, status: 'ACTIVE' })
    .orderBy([{ column: 'bound_at', order: 'desc' }, 'domain'])
    .first('domain')
  return row?.domain
}

/** Domains to be looked at again, those that have waited longest first. */
export const findDueDomains = ({ knex }: Database, now: number, limit: number): Promise<PodDomainRow[]> =>
  knex<PodDomainRow>('pod_domains').where('check_at', '<=', now).orderBy('check_at').limit(limit)

/**
 * Says when a domain is to be looked at next. Several servers may try: the first has it.
 * @returns false when somebody else was faster, or the domain was bound anew
 */
export const postponeCheck = async (
  { knex }: Database,
  { domain, bound_at, check_at }: PodDomainRow,
  next: number,
): Promise<boolean> => {
  const count = await knex<PodDomainRow>('pod_domains')
    .where({ domain, bound_at, check_at })
    .update({ check_at: next })
  return count === 1
}

/** The domains that select a pod, which are all that a request's Host needs to be compared with. */
export const findProvenDomains = ({ knex }: Database): Promise<Pick<PodDomainRow, 'domain' | 'pod'>[]> =>
  knex<PodDomainRow>('pod_domains').where({ proven: true }).select('domain', 'pod')

/** What else is bound to a pod, that which has been missing for longest first. */
export const findOtherDomains = (trx: Knex, { pod, domain }: PodDomainRow): Promise<PodDomainRow[]> =>
  trx<PodDomainRow>('pod_domains')
    .where({ pod })
    .whereNot({ domain })
    .orderByRaw('absent_since NULLS LAST, domain')

/** Binds a domain, whoever had it before: it belongs to whoever proved it last. */
export const bindDomain = async (trx: Knex, row: PodDomainRow): Promise<void> => {
  await trx<PodDomainRow>('pod_domains').insert(row).onConflict('domain').merge()
}

/** Notes what a look at a domain showed, unless it was bound anew in the meantime. @returns whether it was noted */
export const updateDomain = async (
  trx: Knex,
  { domain, pod, bound_at }: PodDomainRow,
  seen: Pick<PodDomainRow, 'proven' | 'absent_since'>,
): Promise<boolean> => {
  const count = await trx<PodDomainRow>('pod_domains').where({ domain, pod, bound_at }).update(seen)
  return count === 1
}

/** Ends a binding, unless the domain was bound anew in the meantime. @returns whether it was ended */
export const deleteDomain = async (trx: Knex, { domain, pod, bound_at }: PodDomainRow): Promise<boolean> =>
  (await trx<PodDomainRow>('pod_domains').where({ domain, pod, bound_at }).delete()) === 1
