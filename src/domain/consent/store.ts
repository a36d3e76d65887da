/** Consents, their purposes and their withdrawals. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../store/database.ts'
import { findPage, joinOne, type PageOf, type Rows } from '../../store/pages.ts'
import { bytes, integer, type RowOf, table, text } from '../../store/table.ts'

export const consents = table('consents', {
  id: text().key(),
  organisation: text(),
  entry_index: integer(),
  /** Permanent pseudonym, 64 lower-case hex digits. */
  subject: text(),
  /** SHA-256 of the controller's name, 32 bytes. */
  controller_hash: bytes(),
  answer: text<'given' | 'refused'>(),
  /** SHA-256 of the receipt, 32 bytes. */
  receipt_hash: bytes(),
  /** See sealed-consent.ts. */
  sealed: bytes(),
  recorded_at: integer(),
  expires_at: integer().null(),
})

type ConsentRow = RowOf<typeof consents>

export const consentPurposes = table('consent_purposes', {
  consent: text().key(),
  /** SHA-256 of the purpose, 32 bytes. */
  purpose_hash: bytes().key(),
  organisation: text(),
  subject: text(),
  controller_hash: bytes(),
  entry_index: integer(),
  recorded_at: integer(),
})

type PurposeRow = RowOf<typeof consentPurposes>

export const consentWithdrawals = table('consent_withdrawals', {
  consent: text().key(),
  organisation: text(),
  entry_index: integer(),
  /** See sealed-consent.ts. */
  sealed_reason: bytes().null(),
  withdrawn_at: integer(),
})

/** A consent and its withdrawal, if there was one. */
export type KnownConsent = ConsentRow & {
  withdrawn_at: number | null
  sealed_reason: Uint8Array | null
}

const WITHDRAWN = `SELECT withdrawn_at, sealed_reason FROM consent_withdrawals
  WHERE consent_withdrawals.consent = consents.id`

/** By name: a text that is prepared must answer the same when a later version adds a column. */
const FIND_CONSENT = `SELECT ${consents.columns.map((column) => `consents.${column}`).join(', ')}, withdrawn_at, sealed_reason
  FROM consents LEFT JOIN LATERAL (${WITHDRAWN} LIMIT 1) AS withdrawn ON true
  WHERE consents.id = $1 AND consents.organisation = $2`

/** A consent of the organisation, or undefined. */
export const findConsent = async (
  { query }: Database,
  organisation: string,
  id: string,
): Promise<KnownConsent | undefined> => {
  const { rows } = await query<KnownConsent>(FIND_CONSENT, [id, organisation], 'consents-find')
  return rows[0]
}

/** Seals a consent anew, unless somebody was faster. */
export const replaceSealed = async (
  { knex }: Database,
  { id, sealed }: Pick<ConsentRow, 'id' | 'sealed'>,
  anew: Uint8Array,
): Promise<void> => {
  await knex<ConsentRow>('consents')
    .where({ id, sealed: Buffer.from(sealed) })
    .update({ sealed: Buffer.from(anew) })
}

/** What a log has of an entry. */
export const findLeafHash = async ({ knex }: Database, log: number, index: number): Promise<Uint8Array> => {
  const row = await knex<{ log: number; idx: number; leaf_hash: Uint8Array }>('ledger_entries')
    .where({ log, idx: index })
    .first('leaf_hash')
  if (row === undefined) throw new Error('A consent names an entry that the log does not have.')
  return row.leaf_hash
}

/** A record that took the place of another for one of its purposes. */
export interface Supersession {
  /** SHA-256 of the purpose, 32 bytes. */
  readonly purpose_hash: Uint8Array
  /** The record that did. */
  readonly consent: string
  readonly recorded_at: number
}

const FIND_SUPERSESSIONS = `SELECT own.consent AS own, own.purpose_hash, first.consent, first.recorded_at
  FROM consent_purposes own CROSS JOIN LATERAL (
    SELECT later.consent, later.recorded_at FROM consent_purposes later
    WHERE later.organisation = own.organisation AND later.subject = own.subject
      AND later.purpose_hash = own.purpose_hash AND later.controller_hash = own.controller_hash
      AND later.entry_index > own.entry_index
    ORDER BY later.entry_index LIMIT 1
  ) AS first
  WHERE own.consent = ANY ($1::text[]) AND own.organisation = $2`

/**
 * For each purpose of some consents that a later record of the same subject and controller names: the first such record.
 * @returns by the id of the consent that it follows
 */
export const findSupersessions = async (
  { query }: Database,
  organisation: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Supersession[]>> => {
  const { rows } = await query<Supersession & { own: string }>(
    FIND_SUPERSESSIONS,
    [ids, organisation],
    'consents-supersessions',
  )
  const found = new Map<string, Supersession[]>(ids.map((id) => [id, []]))
  for (const { own, ...supersession } of rows) found.get(own)?.push(supersession)
  return found
}

/** Purposes of one subject and controller. */
interface Named {
  readonly organisation: string
  readonly subject: string
  readonly controllerHash: Uint8Array
  /** At least one. */
  readonly purposeHashes: readonly Uint8Array[]
}

/** LATERAL with LIMIT looks at the latest record alone, however many somebody has. */
const FIND_REPLACED = `SELECT DISTINCT consents.id, consents.organisation, consents.sealed, consents.expires_at
  FROM unnest(CAST(:named AS text[])) AS named (hash)
  CROSS JOIN LATERAL (SELECT consent FROM consent_purposes
    WHERE organisation = :organisation AND subject = :subject AND purpose_hash = decode(named.hash, 'hex')
      AND controller_hash = :controllerHash AND entry_index < :before
    ORDER BY entry_index DESC LIMIT 1) AS latest
  JOIN consents ON consents.id = latest.consent
  WHERE consents.answer = 'given' AND NOT EXISTS (
    SELECT 1 FROM consent_purposes AS own
    WHERE own.consent = consents.id AND encode(own.purpose_hash, 'hex') <> ALL (CAST(:named AS text[]))
      AND NOT EXISTS (SELECT 1 FROM consent_purposes AS later
        WHERE later.organisation = own.organisation AND later.subject = own.subject
          AND later.purpose_hash = own.purpose_hash AND later.controller_hash = own.controller_hash
          AND later.entry_index > own.entry_index))`

/**
 * The given consents of which nothing stands any more once a record names these purposes, and which it is that takes the last
 * purpose of: at most one for each purpose.
 * @param before index of that record's entry; by default it is still to come
 */
export const findReplaced = async (
  { knex }: Pick<Database, 'knex'>,
  { purposeHashes, controllerHash, ...whose }: Named,
  before = Number.MAX_SAFE_INTEGER,
): Promise<Pick<ConsentRow, 'id' | 'organisation' | 'sealed' | 'expires_at'>[]> => {
  const named = purposeHashes.map((hash) => Buffer.from(hash).toString('hex'))
  const asked = { ...whose, named, controllerHash: Buffer.from(controllerHash), before }
  const { rows } = await knex.raw(FIND_REPLACED, asked)
  return rows
}

/** Consents by the order in which they were recorded. */
export const CONSENTS = { table: 'consents', orderedBy: 'entry_index' } as const

/** A page of somebody's consents, the newest first. @param subject pseudonym */
export const findConsents = (
  database: Database,
  organisation: string,
  subject: string,
  page: PageOf,
): Promise<Rows<KnownConsent>> =>
  findPage<KnownConsent>(
    database,
    CONSENTS,
    {
      within: (query) => query.where({ 'consents.organisation': organisation, 'consents.subject': subject }),
      select(query) {
        joinOne(query, 'withdrawn', WITHDRAWN)
        query.select('consents.*', 'withdrawn_at', 'sealed_reason')
      },
    },
    page,
  )

/** How many records of the same subject and controller there were up to this one: its version. */
export const findVersion = async ({ query }: Database, organisation: string, id: string): Promise<number> => {
  const { rows } = await query<{ version: number }>(
    `SELECT count(*)::integer AS version FROM consents own JOIN consents earlier
       ON earlier.organisation = own.organisation AND earlier.subject = own.subject
       AND earlier.controller_hash = own.controller_hash AND earlier.entry_index <= own.entry_index
     WHERE own.id = $1 AND own.organisation = $2`,
    [id, organisation],
    'consents-version',
  )
  return rows[0]?.version ?? 0
}

/** Whose consent to what is looked for. */
export interface Sought {
  readonly organisation: string
  readonly subject: string
  readonly purposeHash: Uint8Array
  /** Undefined: of any controller. */
  readonly controllerHash: Uint8Array | undefined
  /** Unix ms: records of later are not looked at. Undefined: all are. */
  readonly at: number | undefined
}

const ASKED =
  'WITH asked AS (SELECT $1::text AS organisation, $2::text AS subject, $3::bytea AS purpose_hash, $4::bigint AS at'
const OF_PURPOSE = `FROM consent_purposes AS own WHERE own.organisation = asked.organisation AND own.subject = asked.subject
  AND own.purpose_hash = asked.purpose_hash AND own.recorded_at <= asked.at`
const LATEST = 'ORDER BY own.entry_index DESC LIMIT 1'
/** By steps from one controller to the next: somebody may have any number of records of one. */
const FIND_LATEST = `${ASKED}),
  one AS (SELECT found.controller_hash FROM asked CROSS JOIN LATERAL (
    SELECT own.controller_hash ${OF_PURPOSE} ORDER BY own.controller_hash LIMIT 1) AS found),
  other AS (SELECT found.controller_hash FROM asked, one CROSS JOIN LATERAL (
    SELECT own.controller_hash ${OF_PURPOSE} AND own.controller_hash > one.controller_hash ORDER BY own.controller_hash LIMIT 1) AS found)
  SELECT latest.consent FROM asked, (SELECT * FROM one UNION ALL SELECT * FROM other) AS found
  CROSS JOIN LATERAL (SELECT own.consent ${OF_PURPOSE} AND own.controller_hash = found.controller_hash ${LATEST}) AS latest`
const FIND_LATEST_OF = `${ASKED}, $5::bytea AS controller_hash)
  SELECT latest.consent FROM asked CROSS JOIN LATERAL (
    SELECT own.consent ${OF_PURPOSE} AND own.controller_hash = asked.controller_hash ${LATEST}) AS latest`

/** The latest record of each controller that names the purpose, at most two: more say no more. */
export const findLatest = async (
  { query }: Database,
  { organisation, subject, purposeHash, controllerHash, at = Number.MAX_SAFE_INTEGER }: Sought,
): Promise<string[]> => {
  type Found = Pick<PurposeRow, 'consent'>
  const values = [organisation, subject, purposeHash, at]
  const { rows } = await (controllerHash === undefined
    ? query<Found>(FIND_LATEST, values, 'consents-latest')
    : query<Found>(FIND_LATEST_OF, [...values, controllerHash], 'consents-latest-of'))
  return rows.map(({ consent }) => consent)
}
