/**
 * Makes the fixtures of today's state: a service that every domain has filled, on the embedded database and on
 * PostgreSQL, with what it answered. Usage: DATABASE_URL=… npm run fixtures:make [NAME]; NAME defaults to the date.
 * A fixture that is there is never made anew: delete it first if it was not released.
 * @module
 */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PLACE_FILE } from '../../../src/store/embedded/pglite.ts'
import { startTestApp, type TestApp } from '../app.ts'
import { createCertificates, createPassFolder } from '../servers/certificates.ts'
import { startDnsServer } from '../servers/dns-server.ts'
import { createScratchDatabase } from '../servers/scratch-database.ts'
import { startTargetServer } from '../servers/target-server.ts'
import { compress, pack } from '../upgrade/archive.ts'
import { ask, type Check, stableCheck } from '../upgrade/checks.ts'
import { dump } from '../upgrade/dump.ts'
import {
  type Expectations,
  FIXTURES,
  filesOf,
  type Head,
  type Kind,
  schemaFileOf,
} from '../upgrade/fixture.ts'
import { callEveryOperation } from '../upgrade/operations.ts'
import { fillAccounts } from '../upgrade/scenarios/accounts.ts'
import { fillChat } from '../upgrade/scenarios/chat.ts'
import { rememberTheLog } from '../upgrade/scenarios/log.ts'
import { fillPayments } from '../upgrade/scenarios/payments.ts'
import { fillTokensAndPeople } from '../upgrade/scenarios/people.ts'
import { fillProofs } from '../upgrade/scenarios/proofs.ts'
import { fillServices } from '../upgrade/scenarios/services.ts'
import { countRows, readSchema } from '../upgrade/schema.ts'
import { createStory, type Story, type Surroundings } from '../upgrade/story.ts'
import { until } from '../webhooks.ts'

/** Where the service calls itself, in everything that it signs; it listens there while it is filled. */
const PORT = '48017'
/** What waits for a receiver that is down waits until the fixture is made, and longer. */
const WEBHOOK_PAUSES_MS = '100,3600000'
const CERTIFICATE_NAMES = ['127.0.0.1', 'localhost']

/** Tables that nothing fills, with the reason. */
const EMPTY: Readonly<Record<string, string>> = {
  account_identities: 'they need an identity provider',
  oidc_flows: 'they need an identity provider',
}

const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

const headOf = async ({ services }: TestApp): Promise<Head> => {
  const { size, root } = await services.ledger.head()
  return { size, root }
}

const answersTo = async (app: TestApp, { questions, credentials }: Story) => {
  const answers: (Awaited<ReturnType<typeof ask>> & { readonly at: number })[] = []
  const wrong: string[] = []
  for (const { expected, once, ...question } of questions) {
    if (once) continue
    const at = Date.now()
    const answer = await ask(app, credentials, question)
    const says = Object.entries(expected.says).every(([at, value]) => answer.values[at] === value)
    if (answer.status !== expected.status || !says)
      wrong.push(`${question.what}: ${JSON.stringify({ expected, answer })}`)
    answers.push({ ...answer, at })
  }
  if (wrong.length > 0) throw new Error(`not answered as expected:\n${wrong.join('\n')}`)
  return answers
}

/** JSON with a question a line. */
const asText = ({ checks, ...rest }: Expectations): string => {
  const lines = checks.map((check) => JSON.stringify(check)).join(',\n')
  return `${JSON.stringify(rest, null, 1).slice(0, -2)},\n "checks": [\n${lines}\n]}\n`
}

const fillAll = async (story: Story): Promise<void> => {
  for (const fill of [
    callEveryOperation,
    fillAccounts,
    fillPayments,
    fillTokensAndPeople,
    fillChat,
    fillServices,
    // Last: some proofs are fresh for two minutes, in which they are looked at twice.
    fillProofs,
  ]) {
    const started = performance.now()
    await fill(story)
    say(`  ${fill.name}: ${Math.round((performance.now() - started) / 1000)} s`)
  }
}

/** Waits until what follows the log has caught up, so that the same is archived as was recorded. */
const followed = (app: TestApp): Promise<void> =>
  until('all entries followed', async () => {
    const { size } = await app.services.ledger.head()
    const rows = await app.services.database.knex('ledger_followers').select('name', 'cursor')
    return rows.every(({ cursor }) => Number(cursor) >= size)
  })

/** Leaves one segment of the write-ahead log that holds next to nothing: what the tables are written to anyway. */
const shortenLog = async ({ services: { database } }: TestApp): Promise<void> => {
  if (database.kind === 'postgres') return
  for (const statement of ['SET wal_recycle = off', 'SELECT pg_switch_wal()', 'CHECKPOINT'])
    await database.knex.raw(statement)
}

/** A fixture is opened elsewhere, where a database that remembers its home would be taken for one that was restored. */
const forgetHome = async ({ services: { database } }: TestApp): Promise<void> => {
  await database.knex('ledger_home').del()
}

const stop = async (app: TestApp): Promise<void> => {
  await followed(app)
  await app.close()
}

/** Asks everything before and after a restart: what stays is expected for ever. */
const record = async (start: () => Promise<TestApp>, surroundings: Surroundings) => {
  const first = await start()
  const story = await createStory(first, surroundings)
  await fillAll(story)
  await rememberTheLog(story, await headOf(first))
  const before = await answersTo(first, story)
  await stop(first)

  const second = await start()
  const after = await answersTo(second, story)
  const repeated = story.questions.filter(({ once }) => !once)
  const checks = repeated.map(({ expected: _, once: __, ...question }, i): Check => {
    const [one, other] = [before[i], after[i]]
    if (one === undefined || other === undefined) throw new Error('an answer is missing')
    return stableCheck(question, other.at, [one, other])
  })
  const at = Date.now()
  for (const { expected, once, ...question } of story.questions)
    if (once) checks.push({ ...question, at, status: expected.status, values: expected.says })
  await followed(second)
  const { database } = second.services
  const rows = await countRows(database)
  const empty = Object.keys(rows).filter((table) => rows[table] === 0 && !(table in EMPTY))
  if (empty.length > 0) throw new Error(`nothing is in ${empty.join()}`)
  const schema = await readSchema(database)
  const head = await headOf(second)
  await forgetHome(second)
  await shortenLog(second)
  await stop(second)
  const { credentials, signatures: signed } = story
  return { schema, recorded: { head, rows, credentials, signed, checks } }
}

/** @throws Error when the other database of the fixture has another schema */
const writeSchema = (name: string, schema: readonly string[]): void => {
  const file = schemaFileOf(name)
  const text = `${JSON.stringify(schema, null, 1)}\n`
  if (existsSync(file) && readFileSync(file, 'utf8') !== text)
    throw new Error('the two databases differ in schema')
  writeFileSync(file, text)
}

/** What the service needs around it while it is filled, and the variables that say where it is. */
const surround = async (directory: string) => {
  const certificates = createCertificates({ names: CERTIFICATE_NAMES })
  const caFile = join(directory, 'ca.pem')
  writeFileSync(caFile, certificates.ca)
  const passes = createPassFolder()
  const [dns, receiver] = [await startDnsServer(), await startTargetServer({ certificates })]
  return {
    dns,
    receiver,
    env: {
      DNS_SERVERS: dns.address,
      EGRESS_CA_FILE: caFile,
      EGRESS_OPEN_PROXY: 'on',
      PASS_CERTIFICATES: passes.path,
    },
    async end() {
      await receiver.close()
      await dns.close()
      passes.remove()
    },
  }
}

const make = async (name: string, kind: Kind, databaseUrl: string): Promise<void> => {
  say(`${name}/${kind}`)
  const directory = mkdtempSync(join(tmpdir(), 'assay-fixture-'))
  const dataDir = join(directory, 'data')
  const surroundings = await surround(directory)
  const scratch = kind === 'postgres' ? await createScratchDatabase(databaseUrl) : undefined
  // What the fixture is opened with: its secrets, and the address that it signed for.
  const env = {
    BASE_URL: `http://127.0.0.1:${PORT}`,
    MASTER_KEY: randomBytes(32).toString('hex'),
    ADMIN_API_KEY: `admin-${randomBytes(16).toString('hex')}`,
    CUSTOM_DOMAIN_CNAME: 'pods.assay.example',
    WEBHOOK_PAUSES_MS,
  }
  const here = { PORT, DATA_DIR: dataDir, DATABASE_URL: '', REDIS_URL: '' }
  const database = scratch && { url: scratch.url, drop: async () => undefined }
  const start = () => startTestApp({ env: { ...env, ...surroundings.env, ...here }, database })
  try {
    const { schema, recorded } = await record(start, surroundings)
    const files = filesOf(name, kind)
    mkdirSync(join(FIXTURES, name, kind), { recursive: true })
    writeSchema(name, schema)
    writeFileSync(files.expectations, asText({ env, ...recorded }))
    rmSync(join(dataDir, PLACE_FILE), { force: true })
    writeFileSync(files.dataDir, pack(dataDir))
    if (scratch) writeFileSync(files.dump, compress(Buffer.from(dump(scratch.url))))
    const { checks, head, rows } = recorded
    say(`  ${checks.length} checks, ${head.size} entries, ${Object.keys(rows).length} tables`)
  } finally {
    await scratch?.drop()
    await surroundings.end()
    rmSync(directory, { recursive: true, force: true })
  }
}

const name = process.argv[2] ?? new Date().toISOString().slice(0, 10)
const { DATABASE_URL } = process.env
if (!DATABASE_URL)
  throw new Error('DATABASE_URL must name a PostgreSQL server, which the fixture is made on, too.')
if (existsSync(join(FIXTURES, name)))
  throw new Error(`${join(FIXTURES, name)} is there: fixtures are only added.`)
try {
  await make(name, 'embedded', DATABASE_URL)
  await make(name, 'postgres', DATABASE_URL)
} catch (error) {
  rmSync(join(FIXTURES, name), { recursive: true, force: true })
  throw error
}
// The target of hermes routes is closed at the end of tests only.
process.exit(0)
