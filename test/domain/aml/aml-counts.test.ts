/** How many people are screened again, as the metrics of a server say it. */
import { expect } from 'chai'
import { systemClock } from '../../../src/clock.ts'
import { newId } from '../../../src/ids.ts'
import type { Database } from '../../../src/store/database.ts'
import { type ScreeningServer, startScreeningServer } from '../../support/domain/screening-servers.ts'
import { openTestDatabase } from '../../support/servers/database.ts'

const MINUTE_MS = 60_000

describe('people who are screened again, as metrics', () => {
  let database: Database
  let server: ScreeningServer
  let running: { close(): Promise<void> } | undefined
  let counted = 0
  let ahead = 0

  before(async () => {
    database = await openTestDatabase()
    const query: Database['query'] = (text, ...rest) => {
      if (text.includes('AS behind')) counted++
      return database.query(text, ...rest)
    }
    const clock = { now: () => systemClock.now() + ahead }
    const organisation = newId('org', Date.now())
    server = await startScreeningServer({ ...database, query }, organisation, 'none', clock)
    await server.upload({ id: 'p-other', name: 'Zacharias Quirin Unbeteiligt' })
    running = server.rescreen()
  })
  after(async () => {
    await running?.close()
    await server?.close()
    await database.close()
  })

  const told = async () => (await server.metrics()).match(/^aml_subscriptions\{.*$/gm)

  it('are counted once a minute, however many ask at once and again', async () => {
    const one = ['aml_subscriptions{state="all"} 1', 'aml_subscriptions{state="behind"} 0']
    await server.subscribe('u', { name: 'Somebody' })
    for (const texts of [await Promise.all(Array.from({ length: 10 }, told)), [await told()]])
      for (const text of texts) expect(text).to.deep.equal(one)
    expect(counted).to.equal(1)
    await server.subscribe('v', { name: 'Somebody Else' })
    ahead += MINUTE_MS
    expect(await told()).to.deep.equal(['aml_subscriptions{state="all"} 2', one[1]])
    expect(counted).to.equal(2)
  })
})
