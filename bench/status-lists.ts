/**
 * A status list of 2^17 entries, a tenth, half or all of them set: how long it takes to read its rows, to build the token, and how
 * long the event loop waits meanwhile; its size; and how long reading it takes beside @sd-jwt/jwt-status-list. On the embedded
 * database, and on PostgreSQL at DATABASE_URL, by default 127.0.0.1:5432 as user postgres. `npx tsx bench/status-lists.ts`
 * @module
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getListFromStatusListJWT } from '@sd-jwt/jwt-status-list'
import { createSealing } from '../src/keys/sealing.ts'
import { createSigners } from '../src/keys/signers.ts'
import { STATUS_LIST_ENTRIES } from '../src/protocol/status.ts'
import { readStatusList } from '../src/protocol/status-list.ts'
import { type Database, openDatabase } from '../src/store/database.ts'
import { statusesOn } from '../test/support/domain/statuses.ts'
import { type Row, report } from './support/interleaved.ts'
import { measureInScratchDatabase } from './support/scratch-database.ts'

const ISSUER = 'https://assay.example'
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 9)
const SHARES = [0.1, 0.5, 1]
const MASTER_KEY = new Uint8Array(32).fill(7)
/** A list is made once a minute. */
const GOAL_MS = 1000
/** What anybody else may have to wait meanwhile, on PostgreSQL; the embedded database works on this thread. */
const GOAL_DELAY_MS = 20
const NS_PER_MS = 1e6

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
const timed = async <T>(run: () => Promise<T> | T): Promise<[ms: number, result: T]> => {
  const start = performance.now()
  const result = await run()
  return [performance.now() - start, result]
}

/** Set bits are spread as they are in use, by a hash. */
const fill = async ({ knex }: Database, share: number): Promise<void> => {
  await knex.raw('TRUNCATE revoked_statuses')
  await knex.raw(
    `INSERT INTO revoked_statuses (status, revoked_at)
       SELECT index + 1, 1 FROM generate_series(0, ${STATUS_LIST_ENTRIES - 1}) index
        WHERE (hashint4(index)::bigint & 65535) < ?`,
    [Math.round(share * 65_536)],
  )
  await knex.raw('ANALYZE revoked_statuses')
}

const rows: Row[] = []

const measure = async (database: Database): Promise<void> => {
  const clock = { now: () => Date.now() }
  const keys = await (await createSigners({ database, sealing: createSealing(MASTER_KEY), clock })).jwks()
  for (const share of SHARES) {
    await fill(database, share)
    const times: Record<'build' | 'delay' | 'ours' | 'theirs', number[]> = {
      build: [],
      delay: [],
      ours: [],
      theirs: [],
    }
    let jwt = ''
    for (let round = 0; round < ROUNDS; round++) {
      const statuses = await statusesOn(database)
      const delay = monitorEventLoopDelay({ resolution: 1 })
      delay.enable()
      const [build, list] = await timed(() => statuses.list(0))
      // A turn that is blocked is counted when it ends.
      await new Promise((resolve) => setTimeout(resolve, 3))
      delay.disable()
      jwt = list.jwt
      times.build.push(build)
      times.delay.push(delay.max / NS_PER_MS)
      const now = Math.floor(clock.now() / 1000)
      const expected = { keys, issuer: ISSUER, list: 0, now }
      const [ours, read] = await timed(() => readStatusList(jwt, expected))
      if ('reason' in read) throw new Error(read.reason)
      times.ours.push(ours)
      times.theirs.push((await timed(() => getListFromStatusListJWT(jwt)))[0])
    }
    const [build, delay, ours, theirs] = [times.build, times.delay, times.ours, times.theirs].map(median)
    const ms = (value: number | undefined): string => `${value?.toFixed(1)} ms`
    const row = (what: string, figure: number | undefined, most: number | undefined, peer = {}): void => {
      const isOk = most === undefined || (figure ?? Number.NaN) <= most
      rows.push({
        what: `status list, ${share * 100} % set, ${database.kind}: ${what}`,
        ours: ms(figure),
        peer: '',
        theirs: '',
        ratio: '',
        mustReach: most === undefined ? '' : `≤ ${most} ms`,
        ok: isOk,
        ...peer,
      })
    }
    row('built', build, GOAL_MS)
    row('event loop waits at most', delay, database.kind === 'pglite' ? undefined : GOAL_DELAY_MS)
    row('read and verified', ours, undefined, {
      peer: '@sd-jwt/jwt-status-list, without the signature',
      theirs: ms(theirs),
      ratio: `${((theirs ?? Number.NaN) / (ours ?? Number.NaN)).toFixed(2)}×`,
    })
    console.log(`${jwt.length} characters`)
  }
}

const embedded = await openDatabase({ dataDir: 'memory' })
await measure(embedded)
await embedded.close()
await measureInScratchDatabase('status_lists', async (databaseUrl) => {
  const database = await openDatabase({ databaseUrl, dataDir: 'memory' })
  await measure(database)
  await database.close()
  report(rows)
  return rows.every(({ ok }) => ok)
})
