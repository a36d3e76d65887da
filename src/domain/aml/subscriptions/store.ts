/**
 * People who are screened again when lists change, what was found of them and what was decided. All that is known of somebody is
 * sealed under the key of the person, which erasure destroys; rows of erased people are not read any more.
 * @module
 */
import type { Database } from '../../../store/database.ts'
import { MAX_SEARCHED_ROWS } from '../../../store/pages.ts'
import { bytes, integer, type RowOf, table, text } from '../../../store/table.ts'

export const subscriptions = table('aml_subscriptions', {
  organisation: text().key(),
  /** The pseudonym that KYC keeps of the person, 64 hexadecimal digits. */
  subject: text().key(),
  /** Counts erasures, from 1. */
  generation: integer().key(),
  /** Of the ledger, when it was made or last changed: tells one state of the subscription from the next. */
  entry_index: integer().merge('last'),
  /** Whom to look for; empty once the subscription has ended. */
  sealed: bytes().merge('last'),
  subscribed_at: integer().merge('last'),
  ended_at: integer().null().merge('last'),
  /** Number of the snapshot, and version of the comparison, up to which the person was screened. */
  lists_version: integer().merge('last'),
  comparison: integer().merge('last'),
  screened_at: integer().merge('last'),
  /** By the database's clock: until then a server is at it. */
  leased_until: integer().merge('last'),
})

export type SubscriptionRow = RowOf<typeof subscriptions>

/** Why a finding counts no more. */
export const VOID_REASONS = ['entry_changed', 'entry_removed', 'subject_changed'] as const
export type VoidReason = (typeof VOID_REASONS)[number]

export const findings = table('aml_findings', {
  /** `fnd_…` */
  id: text().key(),
  organisation: text(),
  subject: text(),
  generation: integer(),
  entry_index: integer(),
  /** What was found, of whom. */
  sealed: bytes(),
  found_at: integer(),
  /** Entry of the newest decision. */
  decision_entry: integer().null().merge('max'),
  void_at: integer().null().merge('min'),
  void_reason: text<VoidReason>().null().merge('max'),
})

export type FindingRow = RowOf<typeof findings>

export const decisions = table('aml_decisions', {
  entry_index: integer().key(),
  /** An index is that of an entry in each log, and a finding in one of them. */
  finding: text().key(),
  /** Verdict, reason and signature. */
  sealed: bytes(),
  decided_at: integer(),
})

/** Somebody from one erasure to the next. */
export type Person = Pick<SubscriptionRow, 'organisation' | 'subject' | 'generation'>

/** Tells people of all organisations apart. */
export const personKey = ({ organisation, subject, generation }: Person): string =>
  `${organisation}/${subject}/${generation}`

const REVISION = 'aml.revision/'

/**
 * Counts what was recorded of somebody: subscriptions, findings, decisions. Whoever reads it before all else knows later whether
 * what they read still holds.
 */
export const revisionCounter = ({ subject, generation }: Pick<Person, 'subject' | 'generation'>): string =>
  `${REVISION}${subject}/${generation}`

/** Where that of a row `s` stands. */
const REVISION_OF_ROW = `coalesce((SELECT c.value FROM ledger_counters AS c
    WHERE c.organisation = s.organisation AND c.counter = '${REVISION}' || s.subject || '/' || s.generation), 0)::bigint`

/** Of many people, a column each. */
const keysOf = (people: readonly Person[]) => [
  people.map(({ organisation }) => organisation),
  people.map(({ subject }) => subject),
  people.map(({ generation }) => generation),
]

/** The database's own time, the same in all of a statement: servers may differ in theirs. */
const NOW_MS = '(extract(epoch FROM statement_timestamp()) * 1000)::bigint'

/** The subscription of somebody, ended or not. */
export const findSubscription = async (
  { knex }: Database,
  { organisation, subject, generation }: Person,
): Promise<SubscriptionRow | undefined> =>
  knex<SubscriptionRow>(subscriptions.name).where({ organisation, subject, generation }).first()

/** A finding with its newest decision and the key of its person. */
export type KnownFinding = FindingRow & {
  readonly sealed_key: string
  readonly decision: Uint8Array | null
  readonly decided_at: number | null
}

export const FINDING_STATES = ['open', 'decided', 'void'] as const
export type FindingState = (typeof FINDING_STATES)[number]

const STATE_CONDITIONS: Readonly<Record<FindingState, string>> = {
  open: 'f.decision_entry IS NULL AND f.void_at IS NULL',
  decided: 'f.decision_entry IS NOT NULL AND f.void_at IS NULL',
  void: 'f.void_at IS NOT NULL',
}

const COLUMNS = `${findings.columns.map((column) => `f.${column}`).join(', ')}, p.sealed_key, d.sealed AS decision, d.decided_at`

const KNOWN_FINDINGS = `SELECT ${COLUMNS} FROM aml_findings AS f
  JOIN kyc_subjects AS p ON p.organisation = f.organisation AND p.subject = f.subject AND p.generation = f.generation
    AND p.erased_at IS NULL
  LEFT JOIN aml_decisions AS d ON d.entry_index = f.decision_entry AND d.finding = f.id`

export interface FindingFilter {
  readonly organisation: string
  readonly state?: FindingState
  /** Id after which the page begins. */
  readonly before?: string
  readonly limit: number
}

/** Of an erased person there is no key. */
type Candidate = Omit<KnownFinding, 'sealed_key'> & { readonly sealed_key: string | null }

const isKnown = (row: Candidate): row is KnownFinding => row.sealed_key !== null

/**
 * The findings of an organisation, the newest first. Those of erased people are passed over: a page may have fewer than its limit.
 * @returns also the id after which the next page begins; undefined: there is none
 */
export const findFindings = async (
  { query }: Database,
  { organisation, state, before = '~', limit }: FindingFilter,
): Promise<{ readonly rows: readonly KnownFinding[]; readonly next?: string }> => {
  const condition = state === undefined ? '' : ` AND ${STATE_CONDITIONS[state]}`
  const candidates = `SELECT ${COLUMNS} FROM aml_findings AS f
    LEFT JOIN LATERAL (SELECT sealed_key FROM kyc_subjects WHERE organisation = f.organisation AND subject = f.subject
      AND generation = f.generation AND erased_at IS NULL LIMIT 1) AS p ON true
    LEFT JOIN LATERAL (SELECT sealed, decided_at FROM aml_decisions WHERE entry_index = f.decision_entry AND finding = f.id LIMIT 1) AS d ON true
    WHERE f.organisation = $1 AND f.id < $2${condition} ORDER BY f.id DESC LIMIT $3`
  for (let [after, searched] = [before, limit]; ; searched += limit) {
    const found = (await query<Candidate>(candidates, [organisation, after, limit + 1])).rows
    const page = found.slice(0, limit)
    const rows = page.filter(isKnown)
    const next = found.length > limit ? page.at(-1)?.id : undefined
    if (rows.length > 0 || next === undefined || searched >= MAX_SEARCHED_ROWS) return { rows, next }
    after = next
  }
}

export const findFinding = async (
  { query }: Database,
  organisation: string,
  id: string,
): Promise<KnownFinding | undefined> => {
  const { rows } = await query<KnownFinding>(`${KNOWN_FINDINGS} WHERE f.organisation = $1 AND f.id = $2`, [
    organisation,
    id,
  ])
  return rows[0]
}

/** What counts of people: everything but what is void, the newest first. */
export const findFindingsOf = async (
  { query }: Database,
  people: readonly Person[],
): Promise<KnownFinding[]> => {
  const { rows } = await query<KnownFinding>(
    `${KNOWN_FINDINGS}
      JOIN unnest($1::text[], $2::text[], $3::int[]) AS wanted (organisation, subject, generation)
        ON wanted.organisation = f.organisation AND wanted.subject = f.subject AND wanted.generation = f.generation
      WHERE f.void_at IS NULL ORDER BY f.id DESC`,
    keysOf(people),
    'aml-findings-of',
  )
  return rows
}

/** A subscription that this server is to screen, and the key of its person. */
export type DueSubscription = Pick<
  SubscriptionRow,
  'organisation' | 'subject' | 'generation' | 'sealed' | 'lists_version' | 'comparison' | 'leased_until'
> & {
  readonly sealed_key: string
  /** As it stood when the rest was read. */
  readonly revision: number
  /** Whether another server had taken the person and did not finish. */
  readonly was_left: boolean
}

/** What people were screened against. */
export interface Mark {
  readonly lists: number
  readonly comparison: number
}

/**
 * Takes people whose mark is lower: if this server dies, they are due again once the lease is over. All of them get the same
 * `leased_until`, by which the lease is known from then on.
 */
const LEASE = `UPDATE aml_subscriptions AS s SET leased_until = ${NOW_MS} + $4::bigint
  FROM (SELECT d.organisation, d.subject, d.generation, d.leased_until > 0 AS was_left, p.sealed_key
      FROM aml_subscriptions AS d JOIN kyc_subjects AS p
        ON p.organisation = d.organisation AND p.subject = d.subject AND p.generation = d.generation AND p.erased_at IS NULL
      WHERE d.ended_at IS NULL AND (d.lists_version, d.comparison) < ($1::bigint, $2::int) AND d.leased_until <= ${NOW_MS}
      ORDER BY d.lists_version, d.comparison LIMIT $3::int FOR UPDATE OF d SKIP LOCKED) AS due
  WHERE s.organisation = due.organisation AND s.subject = due.subject AND s.generation = due.generation
  RETURNING s.organisation, s.subject, s.generation, s.sealed, s.lists_version, s.comparison, s.leased_until,
    due.sealed_key, due.was_left, ${REVISION_OF_ROW} AS revision`

export const leaseDue = async (
  { query }: Database,
  { lists, comparison }: Mark,
  limit: number,
  leaseMs: number,
): Promise<DueSubscription[]> =>
  (await query<DueSubscription>(LEASE, [lists, comparison, limit, leaseMs], 'aml-lease')).rows

const RENEW = `UPDATE aml_subscriptions AS s SET leased_until = ${NOW_MS} + $5::bigint
  FROM unnest($1::text[], $2::text[], $3::int[]) AS held (organisation, subject, generation)
  WHERE s.organisation = held.organisation AND s.subject = held.subject AND s.generation = held.generation
    AND s.leased_until = $4::bigint
  RETURNING s.organisation, s.subject, s.generation, s.leased_until`

/** @param until the lease as it is @returns who is still held, with the lease as it is now */
export const renewLease = async (
  { query }: Database,
  people: readonly Person[],
  until: number,
  leaseMs: number,
): Promise<(Person & Pick<SubscriptionRow, 'leased_until'>)[]> =>
  (
    await query<Person & Pick<SubscriptionRow, 'leased_until'>>(
      RENEW,
      [...keysOf(people), until, leaseMs],
      'aml-renew',
    )
  ).rows

/** Who was changed meanwhile, or taken by another server, is not held any more, and is screened by that or due again. */
const MARK = `UPDATE aml_subscriptions AS s SET lists_version = $1::bigint, comparison = $2::int, screened_at = $3::bigint, leased_until = 0
  FROM unnest($4::text[], $5::text[], $6::int[]) AS done (organisation, subject, generation)
  WHERE s.organisation = done.organisation AND s.subject = done.subject AND s.generation = done.generation
    AND s.leased_until = $7::bigint AND (s.lists_version, s.comparison) < ($1::bigint, $2::int)`

/** Says of people that they were screened. @param until the lease @param at Unix ms */
export const markScreened = async (
  { query }: Database,
  done: readonly Person[],
  until: number,
  { lists, comparison, at }: Mark & { readonly at: number },
): Promise<void> => {
  await query(MARK, [lists, comparison, at, ...keysOf(done), until], 'aml-mark')
}

const RELEASE = `UPDATE aml_subscriptions AS s SET leased_until = 0
  FROM unnest($1::text[], $2::text[], $3::int[]) AS left_over (organisation, subject, generation)
  WHERE s.organisation = left_over.organisation AND s.subject = left_over.subject AND s.generation = left_over.generation
    AND s.leased_until = $4::bigint`

/** Lets another server take people at once whom this one has leased and not screened. @param until the lease */
export const release = async (
  { query }: Database,
  people: readonly Person[],
  until: number,
): Promise<void> => {
  if (people.length > 0) await query(RELEASE, [...keysOf(people), until], 'aml-release')
}

export interface ScreeningCounts {
  readonly subscriptions: number
  /** Of these, not yet screened against what is asked about. */
  readonly behind: number
}

const COUNT = `SELECT count(*) AS subscriptions,
    count(*) FILTER (WHERE (s.lists_version, s.comparison) < ($1::bigint, $2::int)) AS behind
  FROM aml_subscriptions AS s JOIN kyc_subjects AS p
    ON p.organisation = s.organisation AND p.subject = s.subject AND p.generation = s.generation AND p.erased_at IS NULL
  WHERE s.ended_at IS NULL AND ($3::text IS NULL OR s.organisation = $3)`

/** @param organisation absent: of all */
export const countSubscriptions = async (
  { query }: Database,
  { lists, comparison }: Mark,
  organisation?: string,
): Promise<ScreeningCounts> => {
  type Counts = Readonly<Record<keyof ScreeningCounts, number | string>>
  const { rows } = await query<Counts>(COUNT, [lists, comparison, organisation ?? null])
  return { subscriptions: Number(rows[0]?.subscriptions ?? 0), behind: Number(rows[0]?.behind ?? 0) }
}

export const countOpenFindings = async ({ query }: Database, organisation: string): Promise<number> => {
  const { rows } = await query<{ count: number | string }>(
    `SELECT count(*) AS count FROM aml_findings AS f JOIN kyc_subjects AS p
        ON p.organisation = f.organisation AND p.subject = f.subject AND p.generation = f.generation AND p.erased_at IS NULL
      WHERE f.organisation = $1 AND ${STATE_CONDITIONS.open}`,
    [organisation],
  )
  return Number(rows[0]?.count ?? 0)
}
