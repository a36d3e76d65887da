/**
 * Screening again: 100,000 people on PostgreSQL, a list of 50,000 entries of which 50 change, and then all of it for some of them;
 * how long it takes, and how long other requests wait meanwhile. People and list are made up. PEOPLE sets how many there are. Needs
 * PostgreSQL at DATABASE_URL, by default 127.0.0.1:5432 as user postgres. `npx tsx bench/screening.ts`
 * @module
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { COMPARISON_NUMBER, subjectRecords } from '../src/domain/aml/subscriptions/records.ts'
import { createPersonKeys } from '../src/domain/kyc/person-records.ts'
import { openSealing } from '../src/keys/data-keys.ts'
import { createSubjectPseudonyms } from '../src/keys/subject-pseudonyms.ts'
import { type Database, openDatabase } from '../src/store/database.ts'
import { type Client, clientOf, ok } from '../test/support/client.ts'
import { startProgram } from '../test/support/programs.ts'
import { createComparison } from './support/comparison.ts'
import { report } from './support/interleaved.ts'
import { backgroundNames } from './support/people.ts'
import { measureInScratchDatabase } from './support/scratch-database.ts'

const PEOPLE = Number(process.env.PEOPLE ?? 100_000)
const ENTRIES = 50_000
const CHANGED = 50
/** Screened against everything, as after a change of the comparison. */
const IN_FULL = 2_000
const PROBES = 300
const PROBE_PAUSE_MS = 20
/** How often it is asked whether it is over, which counts everybody. */
const LOOK_PAUSE_MS = 1_000
const ROWS_AT_ONCE = 1_000
const GIVE_UP_MS = 1_200_000
/** What a change of 50 entries may take for 100,000 people, and add to what one waits for another answer. */
const MOST_SECONDS = 120
const MOST_P99_MS = 50
const SERVE = join(import.meta.dirname, '../test/support/programs/serve.ts')

const masterKey = randomBytes(32).toString('hex')
const adminKey = `admin-${randomBytes(16).toString('hex')}`
const names = backgroundNames(PEOPLE, 7)
const listed = backgroundNames(ENTRIES, 11)

/** @param changed entries that are people of ours from now on */
const writeList = (directory: string, changed: number): void => {
  const lines = listed.map((name, i) =>
    JSON.stringify({
      id: `e-${i}`,
      schema: 'Person',
      properties: { name: [i < changed ? (names[i] as string) : name], topics: ['sanction'] },
    }),
  )
  writeFileSync(join(directory, 'own.ftm.json'), lines.join('\n'))
}

/** Rows as the service writes them, without a request for each. */
const seed = async (database: Database, organisation: string, version: number): Promise<void> => {
  const { sealing, close } = await openSealing(database, Buffer.from(masterKey, 'hex'))
  close()
  const keys = createPersonKeys(sealing)
  const pseudonyms = createSubjectPseudonyms({ sealing })
  for (let from = 0; from < PEOPLE; from += ROWS_AT_ONCE) {
    const people: object[] = []
    const subscriptions: object[] = []
    for (let i = from; i < Math.min(PEOPLE, from + ROWS_AT_ONCE); i++) {
      const subject = await pseudonyms.of(organisation, 'kyc', `u-${i}`)
      const person = { organisation, subject, generation: 1 }
      const { key, sealedKey } = keys.create(person)
      people.push({ ...person, sealed_key: sealedKey })
      const record = {
        userId: `u-${i}`,
        checkTypes: ['sanctions'] as const,
        name: names[i] as string,
        dateOfBirth: '1961-04-12',
        country: 'RU',
        identifiers: [],
        about: 'bench',
      }
      const sealed = subjectRecords.seal(key.sealing, subject, record)
      const marks = { lists_version: version, comparison: 1_000_000, screened_at: 0, leased_until: 0 }
      subscriptions.push({ ...person, ...marks, entry_index: 0, sealed, subscribed_at: 0 })
    }
    await database.knex('kyc_subjects').insert(people)
    await database.knex('aml_subscriptions').insert(subscriptions)
  }
}

interface Waited {
  readonly p50: number
  readonly p99: number
  readonly most: number
}

const spread = (times: readonly number[]): Waited => {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number
  return { p50: at(0.5), p99: at(0.99), most: at(1) }
}

/** One request after another until it is over. */
const probe = async (
  ask: (i: number) => Promise<unknown>,
  isOver: (i: number) => boolean,
): Promise<Waited> => {
  const times: number[] = []
  for (let i = 0; !isOver(i); i++) {
    const begun = performance.now()
    await ask(i)
    times.push(performance.now() - begun)
    await pause(PROBE_PAUSE_MS)
  }
  return spread(times)
}

await measureInScratchDatabase('screening', async (databaseUrl) => {
  const directory = mkdtempSync(join(tmpdir(), 'assay-bench-screening-'))
  writeList(directory, 0)
  const program = startProgram(SERVE, [databaseUrl, masterKey, adminKey], { env: { AML_LISTS: directory } })
  const database = await openDatabase({ databaseUrl, dataDir: 'memory' })
  try {
    const [, url = ''] = /^listening (.+)$/.exec(await program.line(/^listening /)) ?? []
    const client: Client = clientOf(url)
    const send = <T>(method: string, path: string, key: string, body?: object) =>
      ok<T>(client, method, path, { key, ...(body && { body }) })
    const { organisationId, apiKey } = await send<{ organisationId: string; apiKey: string }>(
      'POST',
      '/console/api/organisations',
      adminKey,
      { name: 'Bench' },
    )
    await seed(database, organisationId, 1)
    await database.knex.raw('ANALYZE')
    const consent = (i: number) =>
      send('POST', '/api/consent/log', apiKey, { subjectId: `s-${i}`, controller: 'bench', purposes: ['x'] })
    const health = () => send('GET', '/health/live', apiKey)
    /** Seconds until nobody is behind, and what others waited meanwhile. */
    const measure = async (): Promise<{ seconds: number; writes: Waited; reads: Waited }> => {
      const begun = performance.now()
      let over = false
      const waiting = Promise.all([probe(consent, () => over), probe(health, () => over)])
      while (!over) {
        const { behind } = await send<{ behind: number }>('GET', '/console/api/screening', apiKey)
        over = behind === 0
        if (performance.now() - begun > GIVE_UP_MS) throw new Error(`${behind} people are behind`)
        if (!over) await pause(LOOK_PAUSE_MS)
      }
      const seconds = (performance.now() - begun) / 1000
      const [writes, reads] = await waiting
      return { seconds, writes, reads }
    }
    const idle = {
      writes: await probe(consent, (i) => i === PROBES),
      reads: await probe(health, (i) => i === PROBES),
    }
    const { rows, limit } = createComparison()
    const note = (what: string, { p50, p99, most }: Waited): void => {
      const [ms50, ms99, msMost] = [p50, p99, most].map((value) => `${value.toFixed(1)} ms`)
      const ours = `p50 ${ms50}, p99 ${ms99}, most ${msMost}`
      rows.push({ what, ours, peer: '', theirs: '', ratio: '', mustReach: '', ok: true })
    }
    note('idle: POST /api/consent/log', idle.writes)
    note('idle: GET /health/live', idle.reads)

    writeList(directory, CHANGED)
    // Screened by the comparison of today, so that what changed is all that has to be looked at.
    await database.knex('aml_subscriptions').update({ comparison: COMPARISON_NUMBER })
    const reloadedAt = performance.now()
    await send('POST', '/console/api/lists', adminKey, { action: 'reload' })
    console.log(
      `the list is loaded and indexed after ${((performance.now() - reloadedAt) / 1000).toFixed(1)} s`,
    )
    const incremental = await measure()
    const { openFindings } = await send<{ openFindings: number }>('GET', '/console/api/screening', apiKey)
    console.log(`${openFindings} findings`)
    limit(
      `${PEOPLE} people, ${CHANGED} of ${ENTRIES} entries changed`,
      incremental.seconds,
      MOST_SECONDS,
      's',
    )
    note('incremental: POST /api/consent/log', incremental.writes)
    note('incremental: GET /health/live', incremental.reads)
    limit('POST /api/consent/log meanwhile, p99', incremental.writes.p99, idle.writes.p99 + MOST_P99_MS, 'ms')

    await database.knex.raw(
      `UPDATE aml_subscriptions SET comparison = 0, lists_version = 1
        WHERE subject IN (SELECT subject FROM aml_subscriptions LIMIT ${IN_FULL})`,
    )
    const inFull = await measure()
    limit(`${IN_FULL} people against all ${ENTRIES} entries`, inFull.seconds, MOST_SECONDS, 's')
    note('in full: POST /api/consent/log', inFull.writes)
    note('in full: GET /health/live', inFull.reads)
    report(rows)
    return rows.every((row) => row.ok)
  } finally {
    await database.close()
    program.child.kill('SIGTERM')
    await program.ended()
    rmSync(directory, { recursive: true })
  }
})
