/** Deliveries of an app whose connections to PostgreSQL break. */
import { expect } from 'chai'
import pg from 'pg'
import { eventually } from '../../support/eventually.ts'
import { type BreakingProxy, startBreakingProxy } from '../../support/servers/breaking-proxy.ts'
import { DATABASE_URL, onPostgres } from '../../support/servers/database.ts'
import { createMigratedDatabase } from '../../support/servers/scratch-database.ts'
import {
  answer,
  arrivals,
  newPath,
  register,
  requestsTo,
  settled,
  startWebhookApp,
  verify,
  type WebhookApp,
} from '../../support/webhooks.ts'

onPostgres.describe('webhook deliveries over a connection that breaks', () => {
  let context: WebhookApp
  let proxy: BreakingProxy
  /** Past the proxy. */
  let direct: pg.Client
  before(async () => {
    const scratch = await createMigratedDatabase(DATABASE_URL as string)
    proxy = await startBreakingProxy(scratch.url)
    direct = new pg.Client({ connectionString: scratch.url })
    await direct.connect()
    context = await startWebhookApp({ database: { url: proxy.url, drop: () => scratch.drop() } })
  })
  after(async () => {
    await direct.end()
    await context.close()
    await proxy.close()
  })

  const cursorOf = async (name: string): Promise<number> => {
    const { rows } = await direct.query('SELECT cursor::int FROM ledger_followers WHERE name = $1', [name])
    return rows[0]?.cursor ?? -1
  }

  it('are made at once although nobody was told that they are written', async () => {
    const { app, receiver } = context
    const { apiKey } = await app.organisation()
    const path = newPath()
    receiver.on(path, answer(204))
    await register(app, { key: apiKey }, { url: receiver.url + path, events: ['proof.verified'] })
    await settled(app)
    // Nothing else is to commit when it does.
    await direct.query("BEGIN; SELECT FROM ledger_followers WHERE name = 'webhooks' FOR UPDATE")
    await verify(app, apiKey)
    const { size } = await app.services.ledger.head()
    await eventually('the leaf of it', async () => (await cursorOf('poseidon')) === size)
    const { broken } = proxy
    proxy.breakAt('COMMIT', 'after')
    await direct.query('COMMIT')
    // Left alone, what was written as held by this server would be due in a minute.
    await arrivals(receiver, path, 1)
    await settled(app)
    expect(proxy.broken).to.equal(broken + 1)
    expect(await cursorOf('webhooks')).to.equal(size)
    expect(requestsTo(receiver, path)).to.have.length(1)
  })
})
