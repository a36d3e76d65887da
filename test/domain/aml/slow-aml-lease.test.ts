/** Two server processes on one PostgreSQL that screen the same people again, where a batch takes far longer than a lease. */
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import type { Listed } from '../../support/domain/screening.ts'
import { type ScreeningServer, startScreeningServer } from '../../support/domain/screening-servers.ts'
import { eventually } from '../../support/eventually.ts'
import { type Program, startProgram } from '../../support/programs.ts'
import { createPostgresDatabase, onPostgres } from '../../support/servers/database.ts'
import type { ScratchDatabase } from '../../support/servers/scratch-database.ts'

const PROGRAM = join(import.meta.dirname, '../../support/programs/rescreen.ts')
/** One batch. */
const PEOPLE = 128
const LISTED_PEOPLE = 40
/** So many that there is no index of what has changed, and everybody is compared with all of them. */
const OTHERS = 5_200
const LEASE_MS = 1_500
const PATIENCE_MS = 240_000
const AT_A_TIME = 16

const SYLLABLES = 'ba du ki mo ze fa lu pi go re ta nu si wo ha ye vum tol dir gax'.split(' ')
const word = (text: string): string =>
  [...hash('sha256', text, 'buffer').subarray(0, 4)]
    .map((byte) => SYLLABLES[byte % SYLLABLES.length])
    .join('')
const nameOf = (what: string): string => Array.from({ length: 6 }, (_, i) => word(`${what} ${i}`)).join(' ')

onPostgres.describe('people whose batch takes longer than a lease', function () {
  this.timeout(600_000)
  let fresh: ScratchDatabase
  let database: Database
  let main: ScreeningServer
  let programs: Program[]

  beforeEach(async () => {
    programs = []
    fresh = await createPostgresDatabase()
    database = await openDatabase({ databaseUrl: fresh.url, dataDir: 'memory' })
    main = await startScreeningServer(database, 'org_00000000000000000000000000')
    await main.upload({ id: 'other', name: nameOf('other') })
    for (let i = 0; i < PEOPLE; i += AT_A_TIME)
      await Promise.all(
        Array.from({ length: AT_A_TIME }, (_, n) =>
          main.subscribe(`u-${i + n}`, { name: nameOf(`person ${i + n}`) }),
        ),
      )
    await main.upload(
      ...Array.from(
        { length: LISTED_PEOPLE },
        (_, i): Listed => ({ id: `p-${i}`, name: nameOf(`person ${i}`) }),
      ),
      ...Array.from({ length: OTHERS }, (_, i): Listed => ({ id: `o-${i}`, name: nameOf(`listed ${i}`) })),
    )
  })
  afterEach(async () => {
    for (const { child } of programs) child.kill('SIGKILL')
    await main.close()
    await database.close()
    await fresh.drop()
  })

  const start = async (): Promise<Program> => {
    const program = startProgram(PROGRAM, [fresh.url, String(LEASE_MS)])
    programs.push(program)
    await program.line(/^screening$/)
    return program
  }
  const taken = (): Promise<void> =>
    eventually('somebody has taken them', async () => {
      const row = await database.knex('aml_subscriptions').where('leased_until', '>', 0).first('subject')
      return row !== undefined
    })
  const behind = async (): Promise<number> => (await main.review.progress(main.caller)).behind
  const settled = (): Promise<void> =>
    eventually('everybody is screened again', async () => (await behind()) === 0, {
      patienceMs: PATIENCE_MS,
      pauseMs: 50,
    })
  const end = async (program: Program): Promise<number> => {
    program.child.kill('SIGTERM')
    const line = await program.line(/^screened /)
    expect(await program.ended(), program.errors()).to.equal(0)
    return Number(line.split(' ')[1])
  }
  const expectAllFoundOnce = async (): Promise<void> => {
    const found = (await main.findings('open')).map(({ userId, entryId }) => `${userId} ${entryId}`)
    const wanted = Array.from({ length: LISTED_PEOPLE }, (_, i) => `u-${i} p-${i}`)
    expect(found).to.have.members(wanted)
    expect(await main.findings('void')).to.deep.equal([])
  }

  it('are screened by the one that has them, and by no other', async () => {
    const first = await start()
    await taken()
    const second = await start()
    await pause(2 * LEASE_MS)
    expect(await behind(), 'the batch takes longer than the lease').to.equal(PEOPLE)
    await settled()
    expect([await end(first), await end(second)]).to.deep.equal([PEOPLE, 0])
    await expectAllFoundOnce()
  })

  it('are taken over from one that stands still, which changes nothing when it goes on', async () => {
    const first = await start()
    await taken()
    first.child.kill('SIGSTOP')
    const second = await start()
    await settled()
    await expectAllFoundOnce()
    first.child.kill('SIGCONT')
    expect(await end(second)).to.equal(PEOPLE)
    expect(await end(first)).to.be.below(PEOPLE)
    await expectAllFoundOnce()
    expect(await behind()).to.equal(0)
  })
})
