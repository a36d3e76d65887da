/** What earlier versions issued is found by subject once it was read, in the background. */
import { expect } from 'chai'
import { createSubjectPseudonyms } from '../../../src/keys/subject-pseudonyms.ts'
import { readSubjects } from '../../../src/services/subjects.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { ok } from '../../support/client.ts'
import { hybridRoutesOf } from '../../support/domain/hybrid-tokens.ts'
import { ticketRoutesOf } from '../../support/domain/tickets.ts'
import { tokenRoutesOf } from '../../support/domain/tokens.ts'
import { eventually } from '../../support/eventually.ts'
import { sealingOf } from '../../support/sealing.ts'

const TABLES = ['tokens', 'tickets', 'hybrid_tokens'] as const
/** More than are read at once. */
const MANY = 120

interface Found {
  readonly tokens?: readonly { tokenId: string }[]
  readonly tickets?: readonly { ticketId: string }[]
  readonly complete: boolean
}

describe('subjects of what earlier versions issued', () => {
  let app: TestApp
  let warned: unknown[]
  beforeEach(async () => {
    app = await startTestApp()
    warned = []
  })
  afterEach(() => app.close())

  const unread = (table: string): Promise<string[]> =>
    app.services.database.knex(table).whereNull('subject').pluck('id')
  const forget = () =>
    Promise.all(TABLES.map((table) => app.services.database.knex(table).update({ subject: null })))
  /** As a start of the service does. */
  const read = async (until: () => Promise<boolean>) => {
    const closers: (() => Promise<void> | void)[] = []
    const sealing = await sealingOf(app)
    const logger = { warn: (details: object) => warned.push(details) }
    const subjects = createSubjectPseudonyms({ sealing })
    readSubjects({ ...app.services, logger, sealing, subjects }, closers)
    try {
      await eventually('subjects that are read', until)
    } finally {
      for (const close of closers) await close()
    }
  }
  const allRead = async () => {
    const left = await Promise.all(TABLES.map(unread))
    return left.flat().length === 0
  }

  it('are read, and until then the lists say that some may be missing', async () => {
    const { apiKey: key } = await app.organisation()
    const { tokenId } = await tokenRoutesOf(app, key).issued({ subject: 'ada' })
    const { token_id } = await hybridRoutesOf(app, key).issued({ subject: 'ada' })
    const tickets = ticketRoutesOf(app, key)
    const { ticket_id } = await tickets.issued({ subject: 'ada' })
    await tickets.issued({})
    for (let i = 0; i < MANY; i++) await tokenRoutesOf(app, key).issued({ subject: `member-${i}` })
    const pseudonyms = () =>
      Promise.all(TABLES.map((table) => app.services.database.knex(table).orderBy('id').pluck('subject')))
    const issued = await pseudonyms()
    await forget()
    const found = async () => ({
      tokens: await ok<Found>(app, 'GET', '/console/api/tokens?subject=ada', { key }),
      tickets: await ok<Found>(app, 'GET', '/console/api/tickets?subject=ada', { key }),
    })
    const before = await found()
    expect([before.tokens.tokens, before.tokens.complete]).to.deep.equal([[], false])
    expect([before.tickets.tickets, before.tickets.complete]).to.deep.equal([[], false])
    const { apiKey: other } = await app.organisation()
    expect((await ok<Found>(app, 'GET', '/console/api/tokens?subject=x', { key: other })).complete).to.equal(
      true,
    )

    await read(allRead)
    const after = await found()
    expect(after.tokens.tokens?.map((token) => token.tokenId)).to.have.members([tokenId, token_id])
    expect(after.tickets.tickets?.map((ticket) => ticket.ticketId)).to.deep.equal([ticket_id])
    expect([after.tokens.complete, after.tickets.complete]).to.deep.equal([true, true])
    expect(await pseudonyms()).to.deep.equal(issued)
    expect(warned).to.deep.equal([])
  })

  it('are said to be incomplete where one can’t be read, which keeps no other from being read', async () => {
    const { apiKey: key } = await app.organisation()
    const tokens = tokenRoutesOf(app, key)
    const { tokenId: broken } = await tokens.issued({ subject: 'ada' })
    const { tokenId } = await tokens.issued({ subject: 'ada' })
    await forget()
    await app.services.database
      .knex('tokens')
      .where({ id: broken })
      .update({ sealed: Buffer.alloc(64) })
    await read(async () => (await unread('tokens')).join() === broken)
    const found = await ok<Found>(app, 'GET', '/console/api/tokens?subject=ada', { key })
    expect(found.tokens?.map((token) => token.tokenId)).to.deep.equal([tokenId])
    expect(found.complete).to.equal(false)
    expect(warned).to.have.length(1)
  })
})
