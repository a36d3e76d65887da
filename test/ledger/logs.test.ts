import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import type { Knex } from 'knex'
import type { Change } from '../../src/ledger/ledger.ts'
import { openLogs } from '../../src/ledger/logs.ts'
import { createLog } from '../../src/ledger/tree/log.ts'
import { foldInclusion } from '../../src/ledger/tree/merkle.ts'
import { type Database, openDatabase } from '../../src/store/database.ts'
import { eventually } from '../support/eventually.ts'
import { callerOf, claiming, expectWholeLog, ledgerOn } from '../support/ledger.ts'
import { logger, newOrganisation, ORIGIN, type Server, serverOn } from '../support/logs.ts'
import { rejection } from '../support/rejection.ts'
import { createPostgresDatabase, onPostgres, openTestDatabase } from '../support/servers/database.ts'

/** A database of its own whose transactions are so isolated. */
const openIsolated = async (isolation: string): Promise<Database> => {
  const { url: databaseUrl, drop } = await createPostgresDatabase()
  const open = () => openDatabase({ databaseUrl, dataDir: 'memory' })
  const first = await open()
  const name = new URL(databaseUrl).pathname.slice(1)
  await first.knex.raw(`ALTER DATABASE ${name} SET default_transaction_isolation = '${isolation}'`)
  await first.close()
  const database = await open()
  return { ...database, close: () => database.close().then(drop) }
}

/** Heads in log 0 of another log, the earliest first. */
const headsIn = async ({ knex }: Database, log: number): Promise<{ size: number; root: string }[]> => {
  const entries: { entry: string }[] = await knex('ledger_entries')
    .where({ log: 0, type: 'ledger.head' })
    .orderBy('idx')
  return entries.map(({ entry }) => JSON.parse(entry).data).filter((data) => data.log === log)
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

describe('several logs', function () {
  this.timeout(60_000)
  let database: Database
  let server: Server
  before(async () => {
    database = await openTestDatabase()
    server = await serverOn(database, 3)
  })
  after(async () => {
    await server.close()
    await database.close()
  })

  it('take the entries of an organisation in the log that it has, each counted from 0', async () => {
    const { ledger } = server
    for (const log of [0, 1, 2]) {
      const organisation = await newOrganisation(database, log)
      const append = () => ledger.append(callerOf(organisation), claiming('same key'))
      const place = await append()
      const next = await ledger.append(callerOf(organisation), claiming('another key'))
      expect([place.log, next.log, next.index - place.index]).to.deep.equal([log, log, 1])
      if (log > 0) expect(place.index).to.equal(0)
      expect(await rejection(append())).to.include({ code: 'double_spend' })
    }
    for (const log of [0, 1, 2]) await expectWholeLog(database, log)
  })

  it('have what has no organisation, and what is not known, in log 0', () => {
    const { logs } = server
    expect(['log', 'chat', 'log/1', 'log/2', 'log/x'].map((name) => logs.of(name))).to.deep.equal([
      0, 0, 1, 2, 0,
    ])
  })

  it('are chosen for new organisations by how few a log has', async () => {
    const own = await openTestDatabase()
    const logs = await openLogs({ database: own, logger, wanted: 3 })
    await newOrganisation(own, 0)
    const chosen: number[] = []
    for (let i = 0; i < 5; i++) chosen.push(await logs.forNew())
    expect(chosen).to.deep.equal([1, 2, 0, 1, 2])
    await logs.close()
    await own.close()
  })

  it('fill tiles of their own, and prove what stands in them', async () => {
    const { ledger } = server
    const organisation = await newOrganisation(database, 2)
    for (let done = 0; done < 600; done += 300)
      await ledger.append(callerOf(organisation), (tx) => {
        for (let n = 0; n < 300; n++) tx.append({ type: 'attest', data: { n } })
      })
    const entries = await expectWholeLog(database, 2)
    const tree = createLog(database, 2)
    const { size, root } = await tree.head()
    const leaf = entries[271]?.leaf_hash ?? new Uint8Array()
    expect(hex(foldInclusion(leaf, 271, size, await tree.inclusion(271, size)) ?? leaf)).to.equal(hex(root))
    const log0 = await createLog(database, 0).head()
    expect(log0.size).to.be.below(size)
  })

  it('have their heads in log 0 within two seconds, once each, and none where nothing was appended', async () => {
    await eventually('the head', async () => (await headsIn(database, 2)).at(-1)?.size === 602)
    const said = await headsIn(database, 2)
    for (const { size, root } of said) expect(hex(await createLog(database, 2).root(size))).to.equal(root)
    await pause(2_500)
    expect(await headsIn(database, 2)).to.deep.equal(said)
    const sizes = said.map(({ size }) => size)
    expect(sizes).to.deep.equal([...new Set(sizes)].sort((a, b) => a - b))
  })

  it('say a head at once to whoever needs one, and two servers say no head twice', async () => {
    const other = await serverOn(database, 3)
    const organisation = await newOrganisation(database, 1)
    for (let i = 0; i < 5; i++) {
      const { index } = await server.ledger.append(callerOf(organisation), claiming(`needed ${i}`))
      const found = await Promise.all([server, other].map(({ heads }) => heads.covering(1, index)))
      for (const head of found) expect(head?.size).to.be.above(index)
      const { checkpoint, head } = await other.heads.latest(1)
      expect(head).to.include({ log: 1, size: checkpoint.size })
      expect(JSON.parse(head?.entry ?? '{}').data).to.deep.equal({
        ...{ log: 1, size: checkpoint.size, root: hex(checkpoint.root) },
      })
      expect(checkpoint.note.split('\n')[0]).to.equal(`${ORIGIN}/log/1`)
    }
    const sizes = (await headsIn(database, 1)).map(({ size }) => size)
    expect(sizes).to.deep.equal([...new Set(sizes)].sort((a, b) => a - b))
    expect(await server.heads.covering(1, 10_000)).to.equal(undefined)
    await other.close()
  })

  it('have no more heads appended by whoever asks for them all the time', async () => {
    const organisation = await newOrganisation(database, 1)
    const before = (await headsIn(database, 1)).length
    const begun = performance.now()
    for (let i = 0; performance.now() - begun < 4_000; i++) {
      const { index } = await server.ledger.append(callerOf(organisation), claiming(`asked ${i}`))
      await Promise.all([
        server.heads.covering(1, index),
        pause(20).then(() => server.heads.covering(1, index)),
      ])
    }
    expect(await server.heads.covering(1, 1_000_000)).to.equal(undefined)
    // One a second, and as many of those that are appended each second anyway.
    const seconds = (performance.now() - begun) / 1_000
    expect((await headsIn(database, 1)).length - before).to.be.at.most(2 * seconds + 2)
  })

  it('let the others commit while one head is locked', async function () {
    if (database.kind === 'pglite') return this.skip()
    const { ledger } = server
    const [held, free] = [await newOrganisation(database, 1), await newOrganisation(database, 2)]
    await Promise.all([held, free].map((one) => ledger.append(callerOf(one), claiming('first'))))
    const session = await database.session()
    await session.query('BEGIN; SELECT 1 FROM ledger_head WHERE log = 1 FOR UPDATE')
    const late = ledger.append(callerOf(held), claiming('late'))
    const begun = performance.now()
    await ledger.append(callerOf(free), claiming('in time'))
    expect(performance.now() - begun).to.be.below(1_000)
    await session.query('ROLLBACK')
    session.release()
    expect((await late).log).to.equal(1)
  })

  it('let the others commit while an administrative change waits for a head that is locked', async function () {
    if (database.kind === 'pglite') return this.skip()
    const other = await serverOn(database, 3)
    const [first, second] = [await newOrganisation(database, 0), await newOrganisation(database, 1)]
    const session = await database.session()
    await session.query('BEGIN; SELECT 1 FROM ledger_head WHERE log = 0 FOR UPDATE')
    const change = ({ ledger }: Server, organisation: string) =>
      ledger.transact(callerOf(organisation), async () => ({
        entry: { type: 'account', data: {} },
        result: null,
      }))
    const changes = [change(other, first)]
    await pause(50)
    changes.push(change(server, second))
    await pause(50)
    const begun = performance.now()
    const { log } = await server.ledger.append(callerOf(second), claiming('beside a change'))
    expect(performance.now() - begun).to.be.below(1_000)
    expect(log).to.equal(1)
    await session.query('ROLLBACK')
    session.release()
    await Promise.all(changes)
    await other.close()
  })

  it('keep the order of what an organisation asks for at once, also of the first that is heard of it', async () => {
    const organisation = await newOrganisation(database, 1)
    let batches = 0
    const ledger = await ledgerOn(database, { logs: server.logs, onBatch: () => batches++ })
    const places = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        ledger.append(callerOf(organisation), (tx) => tx.append({ type: 'attest', data: { n } })),
      ),
    )
    const [first] = places
    expect(places.map(({ index }) => index)).to.deep.equal(
      places.map((_, place) => (first?.index ?? 0) + place),
    )
    expect(batches).to.equal(1)
    await ledger.close()
  })

  onPostgres.describe('of several servers', () => {
    const noting = async (): Promise<Change<null>> => ({ entry: { type: 'account', data: {} }, result: null })

    it('let changes of other logs go on while one waits for a head that is locked', async () => {
      const other = await serverOn(database, 3)
      const [first, second] = [await newOrganisation(database, 0), await newOrganisation(database, 1)]
      const session = await database.session()
      await session.query('BEGIN; SELECT 1 FROM ledger_head WHERE log = 1 FOR UPDATE')
      const held = other.ledger.transact(callerOf(second), noting)
      await pause(50)
      const begun = performance.now()
      for (let i = 0; i < 5; i++) await server.ledger.transact(callerOf(first), noting)
      expect(performance.now() - begun).to.be.below(1_000)
      await session.query('ROLLBACK')
      session.release()
      await held
      await other.close()
    })

    it('append behind a change of the same server that takes longer than a lock may', async () => {
      const organisation = await newOrganisation(database, 1)
      const slow = server.ledger.transact(callerOf(organisation), async (trx) => {
        await trx.raw('SELECT pg_sleep(2.6)')
        return noting()
      })
      await pause(50)
      const late = server.ledger.append(callerOf(organisation), claiming('late'))
      await Promise.all([slow, late])
    })

    for (const isolation of ['read committed', 'repeatable read'])
      it(`have each change find what one of another log did, at ${isolation}`, async () => {
        const strict = await openIsolated(isolation)
        const servers = [await serverOn(strict, 3), await serverOn(strict, 3)]
        const organisations = [await newOrganisation(strict, 0), await newOrganisation(strict, 1)]
        await strict.knex.raw('CREATE TABLE taken (name text)')
        const take = (name: string) => async (trx: Knex) => {
          if ((await trx('taken').where({ name })).length > 0) throw new Error('taken')
          await pause(5)
          await trx('taken').insert({ name })
          return noting()
        }
        for (let round = 0; round < 10; round++) {
          const ended = await Promise.allSettled(
            servers.map(({ ledger }, place) =>
              ledger.transact(callerOf(organisations[place] ?? ''), take(`name ${round}`)),
            ),
          )
          expect(ended.map(({ status }) => status)).to.have.members(['fulfilled', 'rejected'])
        }
        await Promise.all(servers.map((one) => one.close()))
        await strict.close()
      })

    it('answer one Idempotency-Key once, whichever logs two requests go to', async () => {
      const other = await serverOn(database, 3)
      const [first, second] = [await newOrganisation(database, 0), await newOrganisation(database, 1)]
      for (let round = 0; round < 10; round++) {
        const ask = ({ ledger }: Server, actor: string) =>
          ledger.append(
            {
              ...callerOf(actor),
              idempotency: {
                organisation: first,
                key: `key ${round}`,
                requestHash: `hash of ${actor}`,
                replayed: false,
              },
            },
            (tx) => tx.append({ type: 'attest', data: {} }),
          )
        const ended = await Promise.allSettled([ask(server, first), ask(other, second)])
        const refused = ended.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []))
        expect(refused).to.deep.equal(['idempotency_key_reused'])
      }
      await other.close()
    })

    it('use a key again once its answer has expired', async () => {
      const organisation = await newOrganisation(database, 1)
      const ask = (requestHash: string) =>
        server.ledger.append(
          {
            ...callerOf(organisation),
            idempotency: { organisation, key: 'again', requestHash, replayed: false },
          },
          (tx) => tx.append({ type: 'attest', data: {} }),
        )
      await ask('first')
      expect(await rejection(ask('second'))).to.include({ code: 'idempotency_key_reused' })
      await database.knex('idempotent_answers').where({ organisation }).update({ expires_at: 1 })
      await ask('second')
    })
  })
})
