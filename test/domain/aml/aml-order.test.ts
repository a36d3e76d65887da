/** What several servers record of one person at a time: nothing that was decided or found by an earlier state outlives a later one. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { newId } from '../../../src/ids.ts'
import type { Database } from '../../../src/store/database.ts'
import type { Listed } from '../../support/domain/screening.ts'
import { type ScreeningServer, startScreeningServer } from '../../support/domain/screening-servers.ts'
import { eventually } from '../../support/eventually.ts'
import { openTestDatabase } from '../../support/servers/database.ts'

const IVAN = { name: 'Ivan Petrovich Nachgetragen', birthDate: '1961-04-12' }
const OTHER: Listed = { id: 'p-other', name: 'Zacharias Quirin Unbeteiligt' }
const LISTED: Listed = { id: 'p-1', ...IVAN }
const SECOND: Listed = { id: 'p-2', ...IVAN }
const SEEN = { verdict: 'not_this_person', reason: 'The passport was seen.' } as const

describe('what is recorded of people who are screened again', () => {
  let database: Database
  let fast: ScreeningServer
  let slow: ScreeningServer
  let running: { close(): Promise<void> }[]

  let organisation: string

  before(async () => {
    database = await openTestDatabase()
  })
  after(() => database.close())
  beforeEach(async () => {
    running = []
    organisation = newId('org', Date.now())
    fast = await startScreeningServer(database, organisation)
    await fast.upload(OTHER)
  })
  afterEach(async () => {
    for (const one of running.reverse()) await one.close()
    await fast.close()
    await database.knex('aml_subscriptions').delete()
  })

  const start = async (): Promise<ScreeningServer> => {
    const server = await startScreeningServer(database, organisation)
    running.push(server)
    return server
  }
  const rescreen = (server: ScreeningServer, leaseMs?: number): { close(): Promise<void> } => {
    const begun = server.rescreen(leaseMs)
    running.push(begun)
    return begun
  }
  const rows = () => database.knex('aml_subscriptions').select('lists_version', 'leased_until')
  const settled = (version: number): Promise<void> =>
    eventually('everybody is screened against it', async () =>
      (await rows()).every((row) => row.lists_version === version && row.leased_until === 0),
    )
  /** As after thirty seconds in which the server that holds them did nothing. */
  const expireLeases = () =>
    database.knex('aml_subscriptions').where('leased_until', '>', 0).update({ leased_until: 1 })
  const entriesOf = async (status: 'open' | 'decided' | 'void') =>
    (await fast.findings(status)).map(({ entryId }) => entryId).sort()

  it('a decision that is overtaken by a re-screening does not hide what that has found', async () => {
    await fast.upload(OTHER, LISTED)
    const { findings } = await fast.subscribe('u', IVAN)
    slow = await start()
    const held = slow.hold()
    const deciding = slow.review.decide(slow.caller, findings[0]?.findingId ?? '', SEEN)
    await held.arrived
    const version = await fast.upload(OTHER, LISTED, SECOND)
    rescreen(fast)
    await settled(version)
    held.release()
    await deciding
    expect(await entriesOf('open')).to.deep.equal(['p-2'])
    expect(await fast.facts('u')).to.deep.include({ result: 'hit', lists_changed: false })
  })

  it('two decisions at a time both count', async () => {
    await fast.upload(OTHER, LISTED, SECOND)
    const { findings } = await fast.subscribe('u', IVAN)
    slow = await start()
    const held = slow.hold()
    const deciding = slow.review.decide(slow.caller, findings[0]?.findingId ?? '', SEEN)
    await held.arrived
    await fast.review.decide(fast.caller, findings[1]?.findingId ?? '', SEEN)
    held.release()
    await deciding
    expect(await fast.facts('u')).to.deep.include({ result: 'clear', risk_score: 0 })
  })

  for (const [what, later] of [
    ['has changed', { ...LISTED, country: 'by' }],
    ['is gone', undefined],
  ] as const)
    it(`a server that was slower than its lease records nothing of an entry that ${what} since`, async () => {
      await fast.subscribe('u', IVAN)
      await fast.upload(OTHER, LISTED)
      slow = await start()
      await slow.stayBehind()
      const held = slow.hold()
      const late = rescreen(slow)
      await held.arrived
      const version = await fast.upload(OTHER, ...(later === undefined ? [] : [later]))
      await expireLeases()
      rescreen(fast)
      await settled(version)
      held.release()
      await late.close()
      const open = await fast.findings('open')
      expect(open.map(({ listVersion }) => listVersion.split('-')[0])).to.deep.equal(
        later === undefined ? [] : [`v${version}`],
      )
      expect(await fast.facts('u')).to.deep.include({ result: later === undefined ? 'clear' : 'hit' })
      expect(await rows()).to.deep.equal([{ lists_version: version, leased_until: 0 }])
    })

  it('a person who changes while they are screened again keeps no finding as they were before', async () => {
    await fast.subscribe('u', IVAN)
    const version = await fast.upload(OTHER, LISTED)
    slow = await start()
    const held = slow.hold()
    const changing = slow.subscribe('u', { ...IVAN, country: 'BY' })
    await held.arrived
    rescreen(fast)
    await settled(version)
    held.release()
    await changing
    const open = await fast.findings('open')
    expect(open.map(({ person }) => person.country)).to.deep.equal(['BY'])
    expect((await fast.findings('void')).map((one) => one.void?.reason)).to.deep.equal(['subject_changed'])
  })

  it('a re-screening that is overtaken by a change of the person finds nobody as they were before', async () => {
    await fast.subscribe('u', IVAN)
    await fast.upload(OTHER, LISTED)
    slow = await start()
    const held = slow.hold()
    rescreen(slow)
    await held.arrived
    await fast.subscribe('u', { ...IVAN, country: 'BY' })
    held.release()
    await pause(100)
    const open = await fast.findings('open')
    expect(open.map(({ person }) => person.country)).to.deep.equal(['BY'])
    expect(await entriesOf('void')).to.deep.equal([])
  })

  it('a decision that is made while a re-screening finds the entry gone is kept', async () => {
    await fast.upload(OTHER, LISTED)
    const { findings } = await fast.subscribe('u', IVAN)
    const version = await fast.upload(OTHER)
    slow = await start()
    const held = slow.hold()
    rescreen(slow)
    await held.arrived
    await fast.review.decide(fast.caller, findings[0]?.findingId ?? '', SEEN)
    held.release()
    await settled(version)
    expect(await entriesOf('decided')).to.deep.equal(['p-1'])
    expect(await entriesOf('void')).to.deep.equal([])
    // As it was: nobody has to decide again.
    rescreen(fast)
    await settled(await fast.upload(OTHER, LISTED))
    expect(await entriesOf('open')).to.deep.equal([])
  })

  it('people stay with the server that screens them for as long as that takes', async () => {
    const leaseMs = 600
    await fast.subscribe('u', IVAN)
    const version = await fast.upload(OTHER, LISTED)
    slow = await start()
    const held = slow.hold()
    rescreen(slow, leaseMs)
    await held.arrived
    await pause(2 * leaseMs)
    rescreen(fast, leaseMs)
    await pause(leaseMs)
    expect(await fast.screened()).to.equal(0)
    held.release()
    await settled(version)
    expect([await slow.screened(), await fast.screened()]).to.deep.equal([1, 0])
  })

  it('are taken over from a server that does nothing any more, once', async () => {
    await fast.subscribe('u', IVAN)
    const version = await fast.upload(OTHER, LISTED)
    slow = await start()
    const held = slow.hold()
    const late = rescreen(slow)
    await held.arrived
    await expireLeases()
    rescreen(fast)
    await settled(version)
    held.release()
    await late.close()
    expect([await slow.screened(), await fast.screened()]).to.deep.equal([0, 1])
    expect(await entriesOf('open')).to.deep.equal(['p-1'])
    const alerts = await database
      .knex('security_alerts')
      .where({ organisation, type: 'aml_finding' })
      .select('count')
    expect(alerts).to.deep.equal([{ count: 1 }])
  })
})
