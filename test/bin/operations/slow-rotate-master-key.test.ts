/**
 * `assay rotate-master-key` beside servers at work, and killed in the middle: no request fails, nothing is lost, and afterwards
 * only the new key opens.
 */
import { randomBytes, randomInt } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { opensKeys } from '../../../src/keys/data-keys.ts'
import { sealedVersion } from '../../../src/keys/sealing.ts'
import { openDatabase } from '../../../src/store/database.ts'
import { clientOf, ok } from '../../support/client.ts'
import { rejection } from '../../support/rejection.ts'
import { runCli, startCli } from '../../support/run-cli.ts'
import { createPostgresDatabase, onEmbedded, onPostgres } from '../../support/servers/database.ts'
import { temporaryDirectories } from '../../support/servers/directory.ts'
import { openShop, payOnce, startPayments } from '../../support/servers/payment-load.ts'
import { startServerProcess } from '../../support/servers/server-process.ts'

const ADMIN_API_KEY = 'admin-key-of-the-rotation'
const KILLS = Number(process.env.CRASH_ROUNDS ?? 3)
const newKey = (): string => randomBytes(32).toString('hex')
const TOKENS = 40

onPostgres.describe('npx assay rotate-master-key beside servers at work', function () {
  this.timeout(300_000)

  it('loses nothing, fails no request, and is finished after a kill -9 by running it again', async () => {
    const scratch = await createPostgresDatabase()
    const [MASTER_KEY, NEW_MASTER_KEY] = [newKey(), newKey()]
    const env = {
      DATABASE_URL: scratch.url,
      DATA_DIR: 'memory',
      ADMIN_API_KEY,
      RATE_LIMITS: 'off',
      AML_LISTS: 'none',
    }
    const servers = await Promise.all([1, 2].map(() => startServerProcess({ ...env, MASTER_KEY })))
    const [one = '', other = ''] = servers.map(({ url }) => url)
    const shop = await openShop(one, ADMIN_API_KEY)
    const issue = () =>
      ok<{ tokenId: string }>(clientOf(one), 'POST', '/v1/api-keys', {
        key: shop.apiKey,
        body: { label: 'x', scopes: ['verify'] },
      })
    for (let count = 0; count < TOKENS; count++) await issue()
    // Seals something all the time.
    let isIssuing = true
    const issuing = (async () => {
      while (isIssuing) await issue().then(() => pause(100))
    })()
    let turn = 0
    const load = startPayments(() => (turn++ % 2 === 0 ? one : other), shop)
    try {
      const rotate = () => startCli(['rotate-master-key', '--reseal'], { ...env, MASTER_KEY, NEW_MASTER_KEY })
      for (let kill = 0; kill < KILLS; kill++) {
        const { child, run } = rotate()
        // Some while the keys are handed over, some while rows are sealed.
        await pause(1500 + randomInt(3500))
        child.kill('SIGKILL')
        await run
      }
      const { status, output, errors } = await rotate().run
      expect(errors).to.include('rows sealed anew')
      expect([status, output], errors).to.deep.equal([0, output])
      expect(output).to.include('Everything is sealed under key 2')
      await pause(500)
    } finally {
      isIssuing = false
      await issuing
      await load.stop()
    }
    expect(load.refused, 'refused').to.deep.equal([])
    expect(load.acknowledged.length).to.be.greaterThan(50)
    await issue()

    const database = await openDatabase({ databaseUrl: scratch.url, dataDir: 'memory' })
    expect(await opensKeys(database, Buffer.from(NEW_MASTER_KEY, 'hex'))).to.equal(true)
    expect(await database.knex('data_keys').pluck('handover')).to.deep.equal([null, null])
    const midstates: Buffer[] = await database.knex('api_keys').pluck('sealed_midstate')
    expect(new Set(midstates.map(sealedVersion))).to.deep.equal(new Set([2]))
    const paid = await database.knex('payments').pluck('transaction_id')
    expect(load.acknowledged.filter((id) => !paid.includes(id))).to.deep.equal([])
    await database.close()

    for (const server of servers) expect(await server.end()).to.equal(0)
    const refused = await rejection(startServerProcess({ ...env, MASTER_KEY }))
    expect(refused.message).to.include('another MASTER_KEY')
    const restarted = await startServerProcess({ ...env, MASTER_KEY: NEW_MASTER_KEY })
    expect((await payOnce(restarted.url, shop)).status).to.equal(200)

    const present = { ...env, MASTER_KEY: NEW_MASTER_KEY }
    const quietly = ['rotate-master-key', '--reseal', '--no-handover']
    expect((await runCli(quietly, { ...present, NEW_MASTER_KEY: newKey() })).errors).to.include(
      'restart them',
    )
    const anew = await runCli([...quietly, '--keep-key'], present)
    expect(
      [anew.status, anew.output.includes('Everything is sealed under key 3')],
      anew.errors,
    ).to.deep.equal([0, true])
    expect((await payOnce(restarted.url, shop)).status).to.equal(200)
    await restarted.end()
    await scratch.drop()
  })
})

onEmbedded.describe('npx assay rotate-master-key on the embedded database', function () {
  this.timeout(300_000)
  const directory = temporaryDirectories()

  it('waits for the server to stop, replaces the key in DATA_DIR, and is finished after a kill -9 by running it again', async () => {
    const DATA_DIR = await directory()
    const env = { DATA_DIR, ADMIN_API_KEY, RATE_LIMITS: 'off', AML_LISTS: 'none' }
    const server = await startServerProcess(env)
    const shop = await openShop(server.url, ADMIN_API_KEY)
    expect((await runCli(['rotate-master-key'], env)).errors).to.include('in use by process')
    expect(await server.end()).to.equal(0)

    const file = join(DATA_DIR, 'master.key')
    const before = readFileSync(file, 'utf8')
    for (let kill = 0; kill < KILLS; kill++) {
      const { child, run } = startCli(['rotate-master-key', '--reseal'], env)
      await pause(800 + randomInt(4000))
      child.kill('SIGKILL')
      await run
    }
    const { status, output, errors } = await runCli(['rotate-master-key', '--reseal'], env)
    expect([status, output.includes('Everything is sealed under key')], errors).to.deep.equal([0, true])
    expect(readFileSync(file, 'utf8')).to.not.equal(before)
    expect(existsSync(`${file}.new`)).to.equal(false)

    const restarted = await startServerProcess(env)
    expect((await payOnce(restarted.url, shop)).status).to.equal(200)
    await restarted.end()
    const refused = await rejection(startServerProcess({ ...env, MASTER_KEY: before.trim() }))
    expect(refused.message).to.include('another MASTER_KEY')
  })

  it('keeps the present key only to seal everything anew, and takes no new one beside it', async () => {
    const env = { DATA_DIR: await directory(), MASTER_KEY: newKey() }
    const keeping = ['rotate-master-key', '--keep-key']
    for (const { status, errors } of [
      await runCli(keeping, env),
      await runCli([...keeping, '--reseal'], { ...env, NEW_MASTER_KEY: newKey() }),
      await runCli([...keeping, '--reseal', '--new-key-file', 'new.key'], env),
    ]) {
      expect(status).to.equal(1)
      expect(errors).to.include('it needs --reseal, and takes no new key')
    }
    expect(readdirSync(env.DATA_DIR)).to.deep.equal([])
  })
})
