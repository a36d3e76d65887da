/**
 * `assay restore`: unpacks a backup into an empty DATA_DIR, and lets a restored database, this one or one of PostgreSQL, go on once it
 * was shown that nothing was signed after it: else it would fork the log.
 * @module
 */
import { existsSync, readFileSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { systemCaller } from '../../caller.ts'
import { iso, systemClock } from '../../clock.ts'
import { type Config, loadConfig } from '../../config/config.ts'
import { MEMORY_DATA_DIR, makeDataDirectory, readSecret } from '../../config/secrets.ts'
import { DEFAULT_ORGANISATION } from '../../domain/accounts/defaults.ts'
import { openSealing } from '../../keys/data-keys.ts'
import { isNoteSigned } from '../../keys/note-signatures.ts'
import { createPseudonyms } from '../../keys/pseudonyms.ts'
import type { Sealing } from '../../keys/sealing.ts'
import { createSigners, type Signers } from '../../keys/signers.ts'
import { createCheckpointReader } from '../../ledger/checkpoints/checkpoint-reading.ts'
import { createHighWater } from '../../ledger/checkpoints/high-water.ts'
import { isAtHome, leaveHome, originOf, readHome } from '../../ledger/checkpoints/home.ts'
import { createLedger } from '../../ledger/ledger.ts'
import { HEAD_NAME } from '../../ledger/tables.ts'
import { createLog, type Head } from '../../ledger/tree/log.ts'
import { NOTE_ED25519, type ReadNote, readNote, signaturesBy } from '../../protocol/checkpoint/note.ts'
import { identified } from '../../protocol/checkpoint/signed-note.ts'
import { MAX_LOGS, originOfLog } from '../../protocol/log-heads.ts'
import { type Database, openDatabase } from '../../store/database.ts'
import { lockDirectory } from '../../store/directory-lock.ts'
import { isComplete, LOCK_FILE, PLACE_FILE } from '../../store/embedded/pglite.ts'
import { migrate, missingMigrations, outdated } from '../../store/migrate.ts'
import { readBackup } from './archive.ts'
import { startProgress } from './progress.ts'

interface Flags {
  /** One of each log. */
  readonly checkpoint?: readonly string[]
  readonly newLog?: true
}

const unpack = async (file: string, { dataDir, databaseUrl }: Config): Promise<void> => {
  if (databaseUrl !== undefined || dataDir === MEMORY_DATA_DIR)
    throw new Error('A backup is unpacked into DATA_DIR: unset DATABASE_URL, and name a directory.')
  const cluster = join(dataDir, 'database')
  const target = `${cluster}.restoring`
  makeDataDirectory(dataDir)
  // A second restore would delete what this one unpacks.
  const unlock = lockDirectory(join(dataDir, LOCK_FILE))
  const progress = startProgress()
  try {
    if (existsSync(cluster))
      throw new Error(`${cluster} exists: a backup is restored into an empty DATA_DIR.`)
    await rm(target, { recursive: true, force: true })
    progress.step(`${file} is checked and unpacked`)
    const { createdAt, service, log, otherLogs = [] } = await readBackup(file, { target })
    const entries = [log, ...otherLogs].reduce((sum, { treeSize }) => sum + treeSize, 0)
    // What is unpacked is a copy, also where the database was that it is of.
    await rm(join(dataDir, PLACE_FILE), { force: true })
    await rename(target, cluster)
    console.log(
      `Restored the state of ${createdAt} (assay ${service}, ${entries} log entries) into ${dataDir}.`,
    )
  } finally {
    progress.end()
    await rm(target, { recursive: true, force: true })
    unlock()
  }
}

/** @throws Error where there is no database: one that is opened would be made, empty, and stand in the way of the one that was meant */
const expectThere = ({ databaseUrl, dataDir }: Config): void => {
  if (databaseUrl !== undefined) return
  if (dataDir !== MEMORY_DATA_DIR && isComplete(join(dataDir, 'database'))) return
  throw new Error(
    `DATA_DIR (${dataDir}) holds no database, and no backup was named: it comes before --checkpoint, as in \`npx assay restore backup.zip --checkpoint checkpoint.txt\`. Nothing was changed.`,
  )
}

/** What somebody gave as a checkpoint. */
interface Given {
  readonly name: string
  readonly note: string
}

const UNSIGNED =
  'holds a checkpoint that no key of this copy signed: it is forged, or was signed after a key that the copy does not know was made.'

const NOTHING_THERE =
  'The database holds no log that ever signed anything: put the copy there first, as with pg_restore, or name the one that has it in DATABASE_URL. Nothing was changed.'

/** By columns alone that were there from the first schema on. @throws Error for a database whose log never signed, or not what was given */
const expectSigned = async ({ knex }: Database, given: readonly Given[]): Promise<void> => {
  const jwks: { readonly x?: string }[] = await knex('signing_keys')
    .where({ purpose: 'log', alg: 'Ed25519' })
    .pluck('public_jwk')
  if (jwks.length === 0) throw new Error(NOTHING_THERE)
  const keys = jwks.map(({ x = '' }) => Buffer.from(x, 'base64url'))
  const isSigned = (note: ReadNote): boolean =>
    keys
      .map((publicKey) => identified({ name: note.origin, type: NOTE_ED25519, publicKey }))
      .some((key) => signaturesBy(note, key).some(isNoteSigned))
  for (const { name, note: text } of given) {
    const note = readNote(text)
    if (note === undefined) throw new Error(`${name} holds no checkpoint. Nothing was changed.`)
    if (!isSigned(note)) throw new Error(`${name} ${UNSIGNED} Nothing was changed.`)
  }
}

/**
 * Opens the copy, and brings its schema up to date once it is known to be the one that was meant.
 * @throws SchemaMismatch, and as {@link expectSigned}
 */
const openCopy = async (config: Config, given: readonly Given[]): Promise<Database> => {
  const { databaseUrl, dataDir, migrate: mayMigrate } = config
  const database = await openDatabase({ databaseUrl, dataDir, migrate: 'any' })
  try {
    if (!(await database.knex.schema.hasTable('signing_keys'))) throw new Error(NOTHING_THERE)
    const missing = await missingMigrations(database)
    if (missing.length > 0 && !mayMigrate) throw outdated(missing)
    await expectSigned(database, given)
    if (missing.length > 0) await migrate(database)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

/** What is known of the copy. */
interface Copy {
  readonly database: Database
  readonly sealing: Sealing
  readonly signers: Signers
  readonly generation: number
  /** From log 0 on. */
  readonly logs: readonly CopiedLog[]
}

interface CopiedLog {
  readonly number: number
  /** Under which its last checkpoint was signed. */
  readonly origin: string
  /** The last checkpoint that it knows of itself. */
  readonly signed: { readonly size: number; readonly note: string; readonly signed_at: number } | undefined
  readonly head: Head
}

/** A checkpoint that was shown. */
interface Shown extends Head {
  readonly log: CopiedLog
  readonly file: string
  readonly note: string
}

const examine = async (database: Database, { masterKey, baseUrl }: Config): Promise<Copy> => {
  const { sealing, close } = await openSealing(database, masterKey)
  close()
  const signers = await createSigners({ database, sealing, clock: systemClock })
  const generation = (await readHome(database))?.generation ?? 1
  const numbers: number[] = await database.knex('ledger_head').orderBy('log').pluck('log')
  const logs = await Promise.all(
    numbers.map(async (number): Promise<CopiedLog> => {
      const signed = await database
        .knex<NonNullable<CopiedLog['signed']> & { log: number }>('ledger_checkpoint')
        .where({ log: number })
        .first('size', 'note', 'signed_at')
      const origin = originOfLog(originOf(new URL(baseUrl).host, generation), number)
      const head = await createLog(database, number).head()
      return { number, origin: signed?.note.split('\n', 1)[0] ?? origin, signed, head }
    }),
  )
  return { database, sealing, signers, generation, logs }
}

const SO =
  'Restore a newer copy, or begin a new log with --new-log: what is missing stays lost, and whoever holds proofs of it can see that.'

/** @returns why the copy does not go on from what was signed; undefined where it does */
const breakOf = async (
  { database }: Copy,
  { number, head }: CopiedLog,
  { size, root }: Head,
  whose: string,
): Promise<string | undefined> => {
  if (size > head.size)
    return `This copy is too old: ${whose} was signed over ${size} entries, the copy has ${head.size}, so ${size - head.size} are missing. Signing from here would fork the log. ${SO}`
  if (Buffer.compare(await createLog(database, number).root(size), root) !== 0)
    return `This copy is of another log, or of a fork: at ${size} entries it has another root than ${whose}. ${SO}`
  return undefined
}

/** @throws Error unless the copy goes on from what was signed */
const expectContinued = async (copy: Copy, log: CopiedLog, signed: Head, whose: string): Promise<void> => {
  const fault = await breakOf(copy, log, signed, whose)
  if (fault !== undefined) throw new Error(fault)
}

/** @throws Error when a file holds no checkpoint that this log signed */
const readCheckpoint = async ({ logs, signers }: Copy, file: string, note: string): Promise<Shown> => {
  const [first] = logs
  if (first === undefined) throw new Error('The ledger has no head: the schema is incomplete.')
  const log = logs.find(({ origin }) => origin === note.split('\n', 1)[0]) ?? first
  const found = await createCheckpointReader(log.origin, signers).read(note)
  if (!('fault' in found)) return { ...found, log, file, note }
  throw new Error(
    found.fault === 'CHECKPOINT_MALFORMED'
      ? `${file} holds no checkpoint of ${first.origin}${logs.length > 1 ? ', nor of its other logs' : ''}.`
      : `${file} ${UNSIGNED}`,
  )
}

/**
 * What was recovered with PostgreSQL's own files is at home, although it may lack what was signed last: the checkpoint shows it.
 * @throws Error for a copy that has all of the checkpoint, or without one
 */
const expectLoss = async (copy: Copy, all: readonly Shown[]): Promise<void> => {
  for (const shown of all) if ((await breakOf(copy, shown.log, shown, shown.file)) !== undefined) return
  throw new Error(
    'This database was not restored, or has all that was signed, as far as was shown: the log was not changed. --checkpoint names what it lacks.',
  )
}

/** @throws Error when the copy itself remembers a newer checkpoint, so that what was shown can't be the newest */
const expectNewest = ({ log: { signed }, file, size }: Shown): void => {
  if (signed === undefined || size >= signed.size) return
  throw new Error(
    `${file} is not the newest checkpoint: it was signed over ${size} entries, and the copy itself remembers one over ${signed.size}, signed at ${iso(signed.signed_at)}. Look for one that is at least as new as that; what was signed after the copy was made is only known elsewhere.`,
  )
}

const placeOf = async (database: Database): Promise<string> =>
  (await database.place()) ?? (await database.makePlace())

/** @throws Error unless a checkpoint of each log that has entries was shown: one of log 0 says nothing of what was signed in others since */
const expectEach = ({ logs }: Copy, all: readonly Shown[]): void => {
  const missing = logs.filter(
    ({ number, head, signed }) =>
      (head.size > 0 || signed !== undefined) && all.every(({ log }) => log.number !== number),
  )
  if (missing.length === 0) return
  const names = missing.map(({ origin }) => origin).join(', ')
  throw new Error(
    `Show the newest checkpoint of each log; none was shown of ${names}. The log was not changed: run \`npx assay restore --checkpoint\` with all of them; a backup that was unpacked is not named again.`,
  )
}

/** @throws Error where this server remembers more of a log than the copy has, also of one that the copy is too old to have */
const expectMarks = async (copy: Copy, directory: string | undefined): Promise<void> => {
  const whose = "this server's high-water mark"
  for (let number = 0; number < MAX_LOGS; number++) {
    const mark = await createHighWater(directory, copy.generation, number).read()
    if (mark === undefined || mark.size === 0) continue
    const log = copy.logs.find((one) => one.number === number)
    if (log === undefined)
      throw new Error(
        `This copy is too old: it has no log ${number}, of which ${whose} was signed over ${mark.size} entries. ${SO}`,
      )
    await expectContinued(copy, log, mark, whose)
  }
}

/** The same logs go on. */
const goOn = async (copy: Copy, config: Config, all: readonly Shown[]): Promise<void> => {
  const directory = config.dataDir === MEMORY_DATA_DIR ? undefined : config.dataDir
  expectEach(copy, all)
  await expectMarks(copy, directory)
  for (const shown of all) {
    expectNewest(shown)
    await expectContinued(copy, shown.log, shown, shown.file)
  }
  for (const shown of all) await createHighWater(directory, copy.generation, shown.log.number).raise(shown)
  const place = await placeOf(copy.database)
  await copy.database.knex('ledger_home').where({ name: HEAD_NAME }).update({ place })
  for (const { file, size, log } of all)
    console.log(
      `The copy has all ${size} entries of ${file}, and ${log.head.size - size} more. The log goes on as ${log.origin}.`,
    )
}

/** A log of another name begins, with what this copy holds; its first entry says what was known of the one before. */
const beginAnew = async (copy: Copy, { baseUrl }: Config, all: readonly Shown[]): Promise<void> => {
  const { database, sealing, generation } = copy
  const known = copy.logs.map(({ number, origin, signed }) => ({
    origin,
    checkpoint: all.find(({ log }) => log.number === number)?.note ?? signed?.note ?? null,
  }))
  const [before, ...others] = known
  if (before === undefined) throw new Error('The ledger has no head: the schema is incomplete.')
  const size = copy.logs[0]?.head.size ?? 0
  const origin = originOf(new URL(baseUrl).host, generation + 1)
  // Outside of the change, which waits for nothing else.
  const place = await placeOf(database)
  const pseudonyms = createPseudonyms({ database, sealing, clock: systemClock })
  const ledger = await createLedger({ database, sealing, pseudonyms, clock: systemClock })
  await ledger.transact(systemCaller(DEFAULT_ORGANISATION, 'restore'), async (trx) => {
    await trx('ledger_home')
      .where({ name: HEAD_NAME })
      .update({ place, generation: generation + 1 })
    const data = { event: 'log.begun', origin, before, ...(others.length > 0 && { others }) }
    return { entry: { type: 'account', data }, result: null }
  })
  await ledger.close()
  console.log(
    `A new log begins as ${origin}, with the ${size} entries of this copy; entry ${size} holds the last known checkpoint of ${before.origin}${others.length > 0 ? ' and its other logs' : ''}.`,
  )
}

const NEXT =
  'It does not start yet: show the newest checkpoint of the log that you can find (`npx assay restore --checkpoint FILE`), or begin a new one (`npx assay restore --new-log`).'

/** What isn't as the server that the copy is of had it, as far as that is seen from here. */
const tellDifferences = ({ logs }: Copy, { baseUrl, adminApiKey, databaseUrl, dataDir }: Config): void => {
  console.log(
    'What was ended or revoked after the copy was made counts again: end keys of the service that leaked before a server starts (`npx assay rotate-keys --leaked KID`), and revoke API keys, terminals, tokens and so on once one runs.',
  )
  const { host } = new URL(baseUrl)
  const named = logs[0]?.origin.split('/', 1)[0]
  if (named !== undefined && named !== host)
    console.log(
      `BASE_URL leads to ${host}, and the log is named after ${named}: start servers with the BASE_URL of before, or the log gets another name and proofs made before count no more.`,
    )
  // With PostgreSQL each server has a DATA_DIR of its own, which need not be this one.
  if (databaseUrl !== undefined || adminApiKey !== undefined) return
  if (readSecret(dataDir, 'admin.key') === undefined)
    console.log(
      'DATA_DIR holds no admin.key, and none is made while the database knows an admin key: put the one of before there, or set ADMIN_API_KEY to that one or a new one.',
    )
}

/** @param file a backup; undefined: the database is there already */
export const restore = async (file: string | undefined, { checkpoint, newLog }: Flags): Promise<void> => {
  const config = loadConfig(process.env, { makesKey: false })
  const notes = (checkpoint ?? []).map((name) => ({ name, note: readFileSync(name, 'utf8') }))
  if (file !== undefined) await unpack(file, config)
  else if (checkpoint === undefined && !newLog) throw new Error('Name a backup, --checkpoint or --new-log.')
  else expectThere(config)
  // What was unpacked here is kept from going on by itself, whatever is wrong with a checkpoint.
  const database = await openCopy(config, file === undefined ? notes : [])
  try {
    if (file !== undefined) await leaveHome(database)
    const copy = await examine(database, config)
    // Before anything is written to what was not unpacked here: it may be another database than was meant.
    const shown: Shown[] = []
    for (const { name, note } of notes) shown.push(await readCheckpoint(copy, name, note))
    if (newLog && (await isAtHome(database, copy.generation))) await expectLoss(copy, shown)
    await leaveHome(database)
    if (newLog) await beginAnew(copy, config, shown)
    else if (shown.length > 0) await goOn(copy, config, shown)
    else console.log(NEXT)
    tellDifferences(copy, config)
  } finally {
    await database.close()
  }
}
