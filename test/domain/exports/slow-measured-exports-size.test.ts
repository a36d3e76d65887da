/** A large export of evidence, EXPORT_MIB (default 1 GiB), while the log grows: the server's memory stays where it was, and the file holds. */
import { createWriteStream, readFileSync } from 'node:fs'
import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { expect } from 'chai'
import { examine } from '../../../src/bin/evidence/verify-evidence.ts'
import { recordedLine } from '../../../src/domain/event-log/rows.ts'
import { openSegments } from '../../../src/domain/event-log/segments.ts'
import { openSealing } from '../../../src/keys/data-keys.ts'
import { openDatabase } from '../../../src/store/database.ts'
import { clientOf, ok } from '../../support/client.ts'
import { openLog, readAll, requestAt } from '../../support/domain/event-log.ts'
import { callerOf, claiming, ledgerOn, together } from '../../support/ledger.ts'
import { createPostgresDatabase, DATABASE_URL } from '../../support/servers/database.ts'
import { temporaryDirectories } from '../../support/servers/directory.ts'
import { type ServerProcess, startServerProcess } from '../../support/servers/server-process.ts'

const EXPORT_MIB = Number(process.env.EXPORT_MIB ?? 1024)
const EXPORT_BYTES = EXPORT_MIB * 2 ** 20
const LOG_BYTES = 2 ** 30
const MAX_GROWTH_BYTES = 100 * 2 ** 20
const SAMPLE_MS = 50
/** A collector with room lets rubbish lie; what an export holds shows where there is little more than a server needs. */
const HEAP_MIB = 160
const MASTER_KEY = '07'.repeat(32)
const ADMIN_KEY = 'admin-key-of-the-export-size-test'
const OWN_ENTRIES = 20_000
const OTHERS_ENTRIES = 20_000
const BATCH_ENTRIES = 500
const BATCH_ROWS = 10_000
/** Rows that take a little more than that as evidence: 1 GiB takes less than the ceiling as they are kept. */
const REQUESTS = Math.ceil((EXPORT_MIB * 2_750_000) / 1024)

const residentBytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024

describe(`an export of ${EXPORT_MIB} MiB`, function () {
  this.timeout(900_000)
  const directory = temporaryDirectories()
  const started: ServerProcess[] = []
  after(() => Promise.all(started.map(({ process }) => process.kill('SIGKILL'))))

  const start = async (env: Record<string, string>): Promise<ServerProcess> => {
    const server = await startServerProcess(env)
    started.push(server)
    return server
  }

  /** Entries of two organisations in turn, then requests, as a server would have kept them. */
  const fill = async (target: Parameters<typeof openDatabase>[0], path: string, organisation: string) => {
    const database = await openDatabase(target)
    const { sealing, close: closeSealing } = await openSealing(database, Buffer.from(MASTER_KEY, 'hex'))
    const ledger = await ledgerOn(database, { sealing })
    for (let i = 0; i < OWN_ENTRIES + OTHERS_ENTRIES; i += BATCH_ENTRIES) {
      const owner = (i / BATCH_ENTRIES) % 2 === 0 ? organisation : 'org_other'
      const items = Array.from({ length: BATCH_ENTRIES }, (_, n) => claiming(`size-${i + n}`))
      await ledger.append(callerOf(owner), together(items))
    }
    const log = await openLog({ ledger, database }, { directory: path, maxBytes: LOG_BYTES })
    await readAll(log, 'org_nobody')
    await log.close()
    const segments = await openSegments({
      directory: path,
      maxBytes: LOG_BYTES,
      begin: () => Promise.reject(new Error('there is a log')),
    })
    for (let i = 0; i < REQUESTS; i += BATCH_ROWS) {
      const lines = Array.from({ length: BATCH_ROWS }, (_, n) => {
        const at = Date.now()
        return { text: recordedLine(requestAt(at, `req_${'0'.repeat(60)}${i + n}`, organisation)), at }
      })
      await segments.append(lines)
    }
    await segments.close()
    await ledger.close()
    closeSealing()
    await database.close()
  }

  const post = ({ url }: ServerProcess, path: string, key: string, body: object) =>
    ok<Record<string, string>>(clientOf(url), 'POST', path, { key, body })

  it(`takes less than ${MAX_GROWTH_BYTES / 2 ** 20} MiB of the server's memory`, async () => {
    const fresh = DATABASE_URL === undefined ? undefined : await createPostgresDatabase()
    const dataDir = await directory()
    const env = {
      DATA_DIR: dataDir,
      MASTER_KEY,
      ADMIN_API_KEY: ADMIN_KEY,
      RATE_LIMITS: 'off',
      ...(fresh && { DATABASE_URL: fresh.url }),
    }
    const first = await start(env)
    const made = await post(first, '/console/api/organisations', ADMIN_KEY, { name: 'Large' })
    const { organisationId = '', apiKey = '' } = made
    await first.end()
    await fill(
      fresh ? { databaseUrl: fresh.url, dataDir } : { dataDir },
      join(dataDir, 'events/1'),
      organisationId,
    )

    const server = await start({ ...env, NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` })
    const pid = server.process.pid ?? 0
    // What a first export and some requests take is not this one's.
    await ok(clientOf(server.url), 'GET', '/api/export/evidence?limit=50000', { key: apiKey })
    let growing = true
    let appended = 0
    const grow = async () => {
      for (; growing; appended++) await post(server, '/console/api/keys', apiKey, { label: `k${appended}` })
    }
    for (const until = Date.now() + 3_000; Date.now() < until; )
      await post(server, '/console/api/keys', apiKey, { label: 'warm' })
    const before = residentBytes(pid)
    let peak = before
    const sampling = setInterval(() => {
      peak = Math.max(peak, residentBytes(pid))
    }, SAMPLE_MS)
    const writing = grow()
    const file = join(dataDir, 'evidence.ndjson')
    const answer = await fetch(`${server.url}/api/export/evidence?since=2026-01-01`, {
      headers: { 'x-api-key': apiKey },
    })
    expect(answer.status).to.equal(200)
    await pipeline(Readable.fromWeb(answer.body as never), createWriteStream(file))
    clearInterval(sampling)
    growing = false
    await writing
    const { size } = await stat(file)
    console.log(
      `      ${(size / 2 ** 20).toFixed(0)} MiB exported, ${appended} entries appended meanwhile, ` +
        `memory ${(before / 2 ** 20).toFixed(0)} → ${(peak / 2 ** 20).toFixed(0)} MiB`,
    )
    expect(size).to.be.at.least(EXPORT_BYTES)
    expect(appended).to.be.greaterThan(10)
    expect(peak - before).to.be.lessThan(MAX_GROWTH_BYTES)

    const keys = join(dataDir, 'jwks.json')
    const jwks = await clientOf(server.url).request('GET', '/.well-known/jwks.json')
    await writeFile(keys, jwks.bytes)
    await server.end()
    const report = await examine(file, { keys })
    expect(report).to.include({ holds: true, reason: null })
    expect(report.entries).to.be.at.least(OWN_ENTRIES)
    await fresh?.drop()
  })
})
