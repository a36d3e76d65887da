/**
 * Two server processes on one PostgreSQL and one Redis, of which one makes the leaves of tree 2: whoever waits for a leaf gets it at
 * once from either, and not when the one that makes them looks for entries the next time, once a second.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import { proveEntry, writeEntry } from '../../support/domain/audit-proofs.ts'
import { type Cluster, startCluster } from '../../support/servers/cluster.ts'

const ROUNDS = 15
/** Half of what the median is where nobody is told. */
const AT_ONCE_MS = 250

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.POSITIVE_INFINITY

describe('leaves of tree 2 on two servers', function () {
  this.timeout(180_000)
  const { DATABASE_URL, REDIS_URL } = process.env
  let cluster: Cluster
  let database: Database
  before(async function () {
    if (!DATABASE_URL || !REDIS_URL) {
      console.log('      SKIPPED: needs DATABASE_URL and REDIS_URL')
      return this.skip()
    }
    cluster = await startCluster(DATABASE_URL, 2)
    database = await openDatabase({ databaseUrl: cluster.databaseUrl, dataDir: 'memory' })
  })
  after(async () => {
    await database?.close()
    const codes = (await cluster?.end()) ?? []
    expect(codes.every((code) => code === 0)).to.equal(true)
  })

  /** @returns ms until the leaf of an entry is there */
  const leafTime = async (index: number): Promise<number> => {
    const begunAt = performance.now()
    for (;;) {
      const leaf = await database.knex('poseidon_leaves').where({ idx: index }).first('position')
      if (leaf !== undefined) return performance.now() - begunAt
      await pause(2)
    }
  }

  it('are made at once, whichever of them is asked', async () => {
    const key = cluster.adminKey
    for (const client of cluster.clients) {
      const times: number[] = []
      for (let round = 0; round < ROUNDS; round++) {
        const index = await writeEntry(client, key)
        const [time] = await Promise.all([leafTime(index), proveEntry(client, key, { index })])
        times.push(time)
      }
      expect(median(times), times.map(Math.round).join()).to.be.below(AT_ONCE_MS)
    }
  })
})
