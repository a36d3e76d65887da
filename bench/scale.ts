/**
 * One and two server processes on one PostgreSQL, in turns: items that they commit in a second (payments), what an item costs of the
 * servers' and of the database's processors, what it stores and writes ahead, and what the database's processes wait for meanwhile.
 * Nothing has a goal: which of these ends first depends on the machine. Linux only, and PostgreSQL on this machine: at DATABASE_URL, by default
 * 127.0.0.1:5432 as user postgres. `npx tsx bench/scale.ts`
 * @module
 */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { clientOf, ok } from '../test/support/client.ts'
import type { ServerProcess } from '../test/support/servers/server-process.ts'
import { report } from './support/interleaved.ts'
import { type Asked, comparePayments } from './support/payment-costs.ts'
import { measureInScratchDatabase } from './support/scratch-database.ts'
import { startAsNpmDoes } from './support/started-server.ts'

await measureInScratchDatabase('scale', async (databaseUrl) => {
  const key = `ak_bench_${randomBytes(16).toString('hex')}`
  const settings = {
    DATABASE_URL: databaseUrl,
    MASTER_KEY: randomBytes(32).toString('hex'),
    ADMIN_API_KEY: key,
  }
  const servers: ServerProcess[] = []
  const client = new pg.Client({ connectionString: databaseUrl })
  try {
    // One after the other: the first brings the schema up to date.
    for (let i = 0; i < 2; i++) servers.push(await startAsNpmDoes(settings))
    await client.connect()
    const [{ url } = { url: '' }] = servers
    const { merchantId } = await ok<{ merchantId: string }>(clientOf(url), 'GET', '/console/api/me', { key })
    const both = servers.map((server): Asked => ({ server, merchantId, key }))
    return report(
      await comparePayments([
        { name: 'one server', asked: both.slice(0, 1), client },
        { name: 'two servers', asked: both, client },
      ]),
    )
  } finally {
    await client.end()
    await Promise.all(servers.map((server) => server.end()))
  }
})
