/**
 * `assay rotate-master-key`: seals the keys of a database under another MASTER_KEY, in one commit; with `--reseal`, adds a key and seals
 * everything anew under it. On PostgreSQL while servers run; the embedded database belongs to its server, which is stopped for it.
 * @module
 */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, loadConfig, MASTER_KEY_FILE } from '../../config/config.ts'
import { keepSecret, MEMORY_DATA_DIR } from '../../config/secrets.ts'
import {
  addDataKey,
  awaitUse,
  changeMasterKey,
  endHandover,
  openSealing,
  opensKeys,
  SETTLE_MS,
} from '../../keys/data-keys.ts'
import { resealAll } from '../../keys/resealing.ts'
import { SEALED_COLUMNS } from '../../services/sealed-columns.ts'
import { type Database, openDatabase } from '../../store/database.ts'
import { startProgress } from './progress.ts'

const KEY_BYTES = 32
/** Holds the new key until everything is sealed under it, so that a call that was cut short can be finished. */
const NEW_KEY_FILE = `${MASTER_KEY_FILE}.new`

interface Flags {
  readonly newKeyFile?: string
  readonly reseal?: true
  readonly keepKey?: true
  /** False: servers read the new key under MASTER_KEY alone. */
  readonly handover: boolean
}

const readKey = (text: string, where: string): Buffer => {
  if (!/^[0-9a-f]{64}$/i.test(text.trim()))
    throw new Error(`${where} must hold 32 bytes in hexadecimal (64 digits): openssl rand -hex 32`)
  return Buffer.from(text.trim(), 'hex')
}

interface NewKey {
  readonly key: Buffer
  /** Puts the key where the next start finds it. @returns what else is to be done, for people */
  install(): string
}

const SET_IT =
  'Start every server with the new MASTER_KEY from now on. Those that run go on with the old one until they end.'

/** The key that is given; where DATA_DIR keeps the key, a new one that is kept there. */
const findNewKey = ({ newKeyFile }: Flags, { dataDir }: Config): NewKey => {
  const { NEW_MASTER_KEY, MASTER_KEY } = process.env
  const isKept = !MASTER_KEY && dataDir !== MEMORY_DATA_DIR
  const [file, draft] = [join(dataDir, MASTER_KEY_FILE), join(dataDir, NEW_KEY_FILE)]
  const given = newKeyFile === undefined ? NEW_MASTER_KEY : readFileSync(newKeyFile, 'utf8')
  if (!isKept) {
    const key = readKey(given ?? '', newKeyFile ?? 'NEW_MASTER_KEY')
    return { key, install: () => SET_IT }
  }
  const isUnfinished = existsSync(draft)
  if (isUnfinished && given)
    throw new Error(`${draft} is left of a call that was cut short. Run it again without a new key.`)
  const fresh = given ? readKey(given, newKeyFile ?? 'NEW_MASTER_KEY') : randomBytes(KEY_BYTES)
  const key = readKey(keepSecret(dataDir, NEW_KEY_FILE, fresh.toString('hex')), draft)
  return {
    key,
    install() {
      renameSync(draft, file)
      return `${file} holds the new key. Backups from before open with the old one alone.`
    },
  }
}

/** Seals everything anew, under a key that nobody can have seen. Exit status 1 where something does not open. */
const resealUnderNew = async (
  database: Database,
  masterKey: Uint8Array,
  handsOver: boolean,
): Promise<void> => {
  const hasServers = database.kind === 'postgres'
  const version = await addDataKey(database, masterKey, { handsOver })
  const progress = startProgress()
  const told = new Set<string>()
  let unopened: readonly string[]
  if (hasServers) progress.step(`servers that run read key ${version}`)
  await awaitUse(database, version)
  const { sealing, close } = await openSealing(database, masterKey)
  try {
    unopened = await resealAll(database, sealing, version, SEALED_COLUMNS, {
      settleMs: hasServers ? SETTLE_MS : 0,
      onProgress({ table, column, seen, sealed, isDone }) {
        const name = `${table}.${column}`
        if (!told.has(name)) progress.step(`${name}: ${sealed} of ${seen} rows sealed anew`)
        if (isDone) told.add(name)
      },
      onSettle: () => progress.step('servers commit what they had sealed before'),
    })
    await endHandover(database)
  } finally {
    close()
    progress.end()
  }
  if (unopened.length > 0) {
    for (const row of unopened) console.error(`${row} does not open`)
    console.log(
      `Everything else is sealed under key ${version}: ${unopened.length} values do not open and stay as they are.`,
    )
    process.exitCode = 1
    return
  }
  console.log(
    `Everything is sealed under key ${version}. Older backups still open with the keys of their time.`,
  )
}

const NO_HANDOVER =
  '--no-handover is for servers that were all started with the present MASTER_KEY: change it first, restart them, then add --reseal --keep-key --no-handover.'

const KEEP_KEY =
  '--keep-key stays with the present MASTER_KEY: it needs --reseal, and takes no new key, neither of --new-key-file nor of NEW_MASTER_KEY. Nothing was changed.'

export const rotateMasterKey = async (flags: Flags): Promise<void> => {
  if (!flags.handover && !(flags.reseal && flags.keepKey)) throw new Error(NO_HANDOVER)
  const isKeyGiven = flags.newKeyFile !== undefined || Boolean(process.env.NEW_MASTER_KEY)
  if (flags.keepKey && (!flags.reseal || isKeyGiven)) throw new Error(KEEP_KEY)
  const config = loadConfig(process.env, { makesKey: false })
  const { databaseUrl, dataDir, masterKey } = config
  const database = await openDatabase({ databaseUrl, dataDir, migrate: false })
  try {
    let current: Uint8Array = masterKey
    if (!flags.keepKey) {
      const { key, install } = findNewKey(flags, config)
      const isDone = await opensKeys(database, key)
      const changed = isDone ? 0 : await changeMasterKey(database, masterKey, key)
      current = key
      console.log(
        isDone
          ? 'The new MASTER_KEY was in force.'
          : `The new MASTER_KEY is in force: ${changed} keys sealed anew.`,
      )
      console.log(install())
    }
    if (flags.reseal) await resealUnderNew(database, current, flags.handover)
  } finally {
    await database.close()
  }
}
