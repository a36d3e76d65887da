/** All tickets of an organisation, and those that are revoked. */
import { expect } from 'chai'
import type { ListedTicket, TicketRevoked } from '../../../src/domain/tickets/schemas-list.ts'
import { findTicketPage } from '../../../src/domain/tickets/store-list.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { ticketRoutesOf } from '../../support/domain/tickets.ts'
import { expectFlatPage, listOf } from '../../support/lists.ts'

const TICKETS = '/console/api/tickets'

describe('the list of tickets', () => {
  let now = Date.now()
  let app: TestApp
  let owner: TestOrganisation
  let tickets: ReturnType<typeof ticketRoutesOf>
  const list = (key = owner.apiKey) => listOf<ListedTicket, 'tickets'>(app, key, TICKETS, 'tickets')
  const revoke = (ticketId: string, body: object = {}, key = owner.apiKey) =>
    app.request<TicketRevoked & { error?: string }>('POST', `${TICKETS}/${ticketId}/revoke`, { key, body })
  before(async () => {
    app = await startTestApp({ clock: { now: () => now } })
  })
  after(() => app.close())
  beforeEach(async () => {
    owner = await app.organisation()
    tickets = ticketRoutesOf(app, owner.apiKey)
  })

  it('has every ticket, newest first, and those of a subject or state', async () => {
    const used = await tickets.issued({ subject: 'ada', claims: { seat: '12A' } })
    now += 1_000
    const revoked = await tickets.issued({ circuit_id: 'yesno' })
    now += 1_000
    const short = await tickets.issued({ subject: 'bob', ttl: 1 })
    now += 2_000
    const active = await tickets.issued({ subject: 'ada', single_use: false })
    await tickets.handIn([used.qr_payload])
    await revoke(revoked.ticket_id, { reason: 'cancelled' })
    const rows = await list().rows()
    expect(rows.map(({ ticketId, status, subject }) => [ticketId, status, subject])).to.deep.equal([
      [active.ticket_id, 'active', 'ada'],
      [short.ticket_id, 'expired', 'bob'],
      [revoked.ticket_id, 'revoked', null],
      [used.ticket_id, 'used', 'ada'],
    ])
    expect(rows[2]).to.include({ revocationReason: 'cancelled', circuitId: 'yesno', claims: null })
    expect(rows[3]).to.deep.include({ claims: { seat: '12A' }, digest: used.digest, singleUse: true })
    expect(JSON.stringify(rows)).to.not.contain(active.qr_payload.slice(-40))
    for (const [status, ticket] of Object.entries({ active, expired: short, revoked, used }))
      expect(
        (await list().rows(`status=${status}`)).map(({ ticketId }) => ticketId),
        status,
      ).to.deep.equal([ticket.ticket_id])
    expect(await list().rows('subject=ada')).to.have.length(2)
    const { apiKey: stranger } = await app.organisation()
    expect(await list(stranger).rows('subject=ada')).to.deep.equal([])
    expect((await list().refused(`cursor=${used.ticket_id}`, stranger))[2]).to.equal('query/cursor')
    expect((await list().refused('status=void'))[2]).to.equal('query/status')
  })

  it('revokes a ticket for good, once, for those who own it', async () => {
    const { ticket_id: id, qr_payload } = await tickets.issued()
    const { apiKey: stranger } = await app.organisation()
    expect((await revoke(id, {}, stranger)).status).to.equal(404)
    const first = await revoke(id, { reason: 'lost' })
    expect(first.body).to.include({ success: true, ticketId: id, status: 'revoked' })
    now += 5_000
    expect((await revoke(id)).body).to.deep.equal(first.body)
    const { body } = await tickets.handIn([qr_payload])
    expect(body.results[0]).to.deep.include({
      status: 'invalid',
      consumed: false,
      reason_codes: ['TICKET_REVOKED'],
    })
    const code = await app.request<{ reason: string }>('GET', `/v1/qr/tickets/${id}/qr`, {
      key: owner.apiKey,
    })
    expect([code.status, code.body.reason]).to.deep.equal([410, 'TICKET_REVOKED'])
    const entries = await app.services.database
      .knex('ledger_entries')
      .where({ organisation: owner.organisationId, type: 'revoke' })
    expect(entries).to.have.length(1)
    expect((await revoke(id, { reason: '' })).status).to.equal(422)
  })

  it('never redeems a ticket that is revoked at the same moment', async () => {
    for (let round = 0; round < 5; round++) {
      const { ticket_id: id, qr_payload } = await tickets.issued()
      const [, handed] = await Promise.all([revoke(id), tickets.handIn([qr_payload])])
      const again = await tickets.handIn([qr_payload])
      expect(again.body.results[0]).to.deep.include({ status: 'invalid' })
      expect(handed.body.results[0]?.status).to.be.oneOf(['spent', 'invalid'])
    }
  })

  it('reads no more than it shows, however many there are', async () => {
    const { ticket_id: ticketId } = await tickets.issued({ subject: 'ada' })
    await app.services.database.knex.raw(
      `INSERT INTO tickets (id, organisation, entry_index, digest, single_use, sealed, issued_at, expires_at, subject)
        SELECT 'tkt_' || lpad(i::text, 20, '0') || substr(id, 25), organisation, 0, sha256((id || i)::bytea), single_use, sealed,
          issued_at - i, expires_at, CASE WHEN i % 100 = 0 THEN subject END
          FROM tickets, generate_series(1, 10000) AS i WHERE id = :ticketId`,
      { ticketId },
    )
    await app.services.database.knex.raw('ANALYZE tickets')
    const { database } = app.services
    const row = await database.knex('tickets').where({ id: ticketId }).first('subject')
    const filter = { organisation: owner.organisationId, now }
    for (const narrowed of [filter, { ...filter, subject: row.subject }])
      await expectFlatPage(database, 'tickets', (page) => findTicketPage(database, narrowed, page))
  })
})
