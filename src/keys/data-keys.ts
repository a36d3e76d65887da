/**
 * The keys under which everything is sealed. They are random, and kept in the database, each sealed under MASTER_KEY: another
 * MASTER_KEY only needs these few rows sealed anew. Version 1 is the root, which keyed hashes stay with for good; a database
 * of before there was a root has its MASTER_KEY of that time for one. Later versions are added to seal anew what was sealed
 * under a key that may have leaked; servers that run meanwhile read a new version under their MASTER_KEY or, where it is handed over,
 * from the version before it (`handover`), since they may have been started with an earlier MASTER_KEY.
 * @module
 */
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { fail } from '../errors.ts'
import type { Database } from '../store/database.ts'
import { bytes, integer, type RowOf, table } from '../store/table.ts'
import { createSealing, type Place, type Sealing, SealingError } from './sealing.ts'
import { expectOpens, type signingKeys } from './signers.ts'

export const dataKeys = table('data_keys', {
  version: integer().key(),
  /** Under MASTER_KEY. */
  sealed_key: bytes(),
  /** Under the version before, or empty where nothing is handed over; null once everything is sealed under this one. */
  handover: bytes().null(),
  /** Unix ms of the database's clock: from then on it seals. Until then every server has read it. */
  used_from: integer(),
})

type KeyRow = RowOf<typeof dataKeys>

const KEY_BYTES = 32
const ROOT_VERSION = 1
/** A version is one byte of what it sealed. */
const MAX_VERSION = 255
const PURPOSE = 'data-key'
/** How often a server looks for new versions. */
const LOOK_MS = 1000
/** Time that servers have to read a new version before it seals. */
export const HANDOVER_MS = 3000
/** A statement of a server ends within it, the look for new versions as well as a commit. */
const STATEMENT_MS = 10_000
/** From then on every server that reaches the database seals under the new version, and has committed what it sealed before. */
export const SETTLE_MS = LOOK_MS + 2 * STATEMENT_MS
/** Every so often it is asked whether a version seals. */
const USE_POLL_MS = 100
const RETRY_AFTER_SECONDS = 1

const placeOf = (version: number, column: 'sealed_key' | 'handover'): Place => ({
  table: 'data_keys',
  column,
  row: String(version),
})

const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

const readRows = async (database: Pick<Database, 'query'>): Promise<KeyRow[]> =>
  (await database.query<KeyRow>('SELECT * FROM data_keys ORDER BY version', [])).rows

const insertRow = (
  database: Pick<Database, 'query'>,
  { version, sealed_key, handover }: Omit<KeyRow, 'used_from'>,
  delayMs: number,
) =>
  database.query(
    `INSERT INTO data_keys (version, sealed_key, handover, used_from) VALUES ($1, $2, $3, ${NOW} + $4)
     ON CONFLICT (version) DO NOTHING`,
    [version, sealed_key, handover, delayMs],
  )

const sealKey = (masterKey: Uint8Array, version: number, key: Uint8Array): Uint8Array =>
  createSealing(masterKey).seal(PURPOSE, placeOf(version, 'sealed_key'), key)

/** @throws SealingError */
const openKey = (masterKey: Uint8Array, { version, sealed_key }: Pick<KeyRow, 'version' | 'sealed_key'>) =>
  createSealing(masterKey).open(PURPOSE, placeOf(version, 'sealed_key'), sealed_key)

/**
 * Makes the root where there is none: a random one, or, where something was sealed before there were roots, the key that did.
 * Safe when several servers start at once. @throws SealingError, before anything is written, when MASTER_KEY is another one
 */
const makeRoot = async (database: Database, masterKey: Uint8Array): Promise<void> => {
  const sealedBefore = await database
    .knex<RowOf<typeof signingKeys>>('signing_keys')
    .orderBy('created_at')
    .first('kid', 'sealed_private')
  if (sealedBefore !== undefined) expectOpens(createSealing(masterKey), sealedBefore)
  const root = sealedBefore === undefined ? randomBytes(KEY_BYTES) : masterKey
  const sealed_key = sealKey(masterKey, ROOT_VERSION, root)
  await insertRow(database, { version: ROOT_VERSION, sealed_key, handover: null }, 0)
}

export interface OpenSealing {
  readonly sealing: Sealing
  /** Ends the look-out for new versions. */
  close(): void
}

const RESTART =
  'a new key for sealing does not open under the MASTER_KEY that this server was started with: restart it with the new MASTER_KEY. Until then it can neither seal nor read what is sealed under it'

/** Whether whoever has the version before can read this one. */
const isHandedOver = <R extends Pick<KeyRow, 'handover'>>(row: R): row is R & { handover: Uint8Array } =>
  row.handover !== null && row.handover.length > 0

interface NewerRow extends Pick<KeyRow, 'version' | 'sealed_key' | 'handover'> {
  readonly is_used: boolean
}

/**
 * Opens the keys of a database; a new one gets its root.
 * @throws SealingError when they were sealed under another MASTER_KEY
 */
export const openSealing = async (
  database: Database,
  masterKey: Uint8Array,
  logger?: { warn(details: object, message: string): void },
): Promise<OpenSealing> => {
  if ((await readRows(database)).length === 0) await makeRoot(database, masterKey)
  const known = new Map<number, Uint8Array>()
  const objects = new Map<number, KeyObject>()
  let current = ROOT_VERSION
  const keep = (version: number, key: Uint8Array): void => {
    known.set(version, key)
    objects.set(version, createSecretKey(key))
  }

  /** Under the MASTER_KEY of this process, or handed over by a version that it has. @throws SealingError */
  const openNewer = (row: NewerRow): Uint8Array => {
    const before = known.get(row.version - 1)
    if (before === undefined || !isHandedOver(row)) return openKey(masterKey, row)
    return createSealing(before).open(PURPOSE, placeOf(row.version, 'handover'), row.handover)
  }
  /** The first version that does not open here: of a handover that was missed, or that there was none of. */
  let unopened: number | undefined
  let isLeftBehind = false
  /** The newest that the database was seen to have. */
  let newest = ROOT_VERSION

  const look = async (): Promise<void> => {
    const { rows } = await database.query<NewerRow>(
      `SELECT version, sealed_key, handover, used_from <= ${NOW} AS is_used FROM data_keys
       WHERE version > $1 ORDER BY version`,
      [current],
      'data-keys-newer',
    )
    newest = rows.at(-1)?.version ?? newest
    for (const row of rows) {
      try {
        if (!known.has(row.version)) keep(row.version, openNewer(row))
      } catch (error) {
        if (!(error instanceof SealingError)) throw error
        if (unopened !== row.version) logger?.warn({ err: error, version: row.version }, RESTART)
        unopened = row.version
        isLeftBehind = row.is_used
        return
      }
      if (row.is_used) current = row.version
    }
    isLeftBehind = false
  }

  for (const row of await readRows(database)) keep(row.version, openKey(masterKey, row))
  await look()
  const root = known.get(ROOT_VERSION)
  if (root === undefined) throw new SealingError(placeOf(ROOT_VERSION, 'sealed_key'))

  let isLooking = false
  const lookOnce = async (): Promise<void> => {
    if (isLooking) return
    isLooking = true
    try {
      await look()
    } catch (error) {
      logger?.warn({ err: error }, 'new keys for sealing could not be read')
    } finally {
      isLooking = false
    }
  }
  // Nobody else writes to an embedded database.
  const timer = database.kind === 'postgres' ? setInterval(() => void lookOnce(), LOOK_MS).unref() : undefined
  return {
    sealing: createSealing(root, {
      // Under the version before, it would stay open to whoever has the key that leaked.
      current: () => (isLeftBehind ? fail('unavailable', { retryAfter: RETRY_AFTER_SECONDS }) : current),
      find(version) {
        const found = objects.get(version)
        const isNewer = version > objects.size && version <= newest + 1
        if (found === undefined && isNewer && timer !== undefined) {
          void lookOnce()
          fail('unavailable', { retryAfter: RETRY_AFTER_SECONDS })
        }
        return found
      },
    }),
    close: () => clearInterval(timer),
  }
}

const opens = (masterKey: Uint8Array, row: KeyRow): boolean => {
  try {
    openKey(masterKey, row)
    return true
  } catch (error) {
    if (error instanceof SealingError) return false
    throw error
  }
}

/**
 * Seals the keys under another MASTER_KEY, all in one statement. What is sealed under it already stays, so that a call that was cut short
 * is finished by the next. Servers that run go on with the keys that they have.
 * @returns how many keys were sealed anew @throws SealingError, before anything is written, when neither MASTER_KEY opens them
 */
export const changeMasterKey = async (
  database: Database,
  from: Uint8Array,
  to: Uint8Array,
): Promise<number> => {
  if ((await readRows(database)).length === 0) await makeRoot(database, from)
  let changed = 0
  // Again where a version was added meanwhile.
  for (;;) {
    const rows = (await readRows(database)).filter((row) => !opens(to, row))
    if (rows.length === 0) return changed
    const fresh = rows.map((row) => sealKey(to, row.version, openKey(from, row)))
    const { rowCount } = await database.query(
      `UPDATE data_keys AS k SET sealed_key = u.fresh
       FROM unnest($1::int[], $2::bytea[], $3::bytea[]) AS u (version, old, fresh)
       WHERE k.version = u.version AND k.sealed_key = u.old`,
      [rows.map(({ version }) => version), rows.map(({ sealed_key }) => sealed_key), fresh],
    )
    changed += rowCount
  }
}

/** Whether a MASTER_KEY opens the keys of a database, which has some. */
export const opensKeys = async (
  database: Pick<Database, 'query'>,
  masterKey: Uint8Array,
): Promise<boolean> => {
  const rows = await readRows(database)
  return rows.length > 0 && rows.every((row) => opens(masterKey, row))
}

/**
 * Adds a version, which seals once every server had the time to read it. One whose work was cut short is gone on with.
 * @param handsOver seals it under the version before, too, for servers that were started with an earlier MASTER_KEY. Whoever has that one
 *   and sees the row, or a copy of it, then has this one as well. On the embedded database, which no server uses meanwhile, it never is
 * @returns its number
 */
export const addDataKey = async (
  database: Database,
  masterKey: Uint8Array,
  { handsOver = true }: { readonly handsOver?: boolean } = {},
): Promise<number> => {
  const hasServers = database.kind === 'postgres'
  const isShown = handsOver && hasServers
  const last = (await readRows(database)).at(-1)
  if (last === undefined) throw new Error('The database has no keys yet: nothing was sealed.')
  if (last.handover !== null && isHandedOver(last) === isShown) return last.version
  if (last.handover !== null && isShown)
    throw new Error(
      `Key ${last.version} was added without a handover: finish that first, with --no-handover.`,
    )
  const version = last.version + 1
  if (version > MAX_VERSION)
    throw new Error(`There are ${MAX_VERSION} versions of the key, and can't be more.`)
  const key = randomBytes(KEY_BYTES)
  const handover = isShown
    ? createSealing(openKey(masterKey, last)).seal(PURPOSE, placeOf(version, 'handover'), key)
    : Buffer.alloc(0)
  const sealed_key = sealKey(masterKey, version, key)
  await insertRow(database, { version, sealed_key, handover }, hasServers ? HANDOVER_MS : 0)
  return version
}

/** Waits until a version seals, by the clock of the database. */
export const awaitUse = async (database: Pick<Database, 'query'>, version: number): Promise<void> => {
  for (;;) {
    const { rows } = await database.query<{ is_used: boolean }>(
      `SELECT used_from <= ${NOW} AS is_used FROM data_keys WHERE version = $1`,
      [version],
    )
    if (rows[0]?.is_used) return
    await pause(USE_POLL_MS)
  }
}

/** Ends the handover: from now on only MASTER_KEY opens the new versions. */
export const endHandover = async (database: Pick<Database, 'query'>): Promise<void> => {
  await database.query('UPDATE data_keys SET handover = NULL WHERE handover IS NOT NULL', [])
}
