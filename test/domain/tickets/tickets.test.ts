/** Tickets for QR codes: issued, checked without the service, handed in once. */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import jsQr from 'jsqr'
import { sharedApp, startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { clientOf } from '../../support/client.ts'
import { asPresented, generated } from '../../support/domain/proof-api.ts'
import { ticketRoutesOf } from '../../support/domain/tickets.ts'
import { base64url, payloadOf } from '../../support/domain/tokens.ts'
import { verifyWithPython } from '../../support/outside-programs.ts'
import { readPng } from '../../support/png.ts'
import { rotate } from '../../support/rotation.ts'

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')

describe('tickets', () => {
  let app: TestApp
  let owner: TestOrganisation
  let tickets: ReturnType<typeof ticketRoutesOf>
  before(async () => {
    app = await sharedApp()
  })
  beforeEach(async () => {
    owner = await app.organisation()
    tickets = ticketRoutesOf(app, owner.apiKey)
  })
  const statuses = async (proofs: readonly unknown[]) =>
    (await tickets.handIn(proofs)).body.results.map(({ status }) => status)
  const entries = async () =>
    app.services.database
      .knex('ledger_entries')
      .where({ organisation: owner.organisationId })
      .whereIn('type', ['attest', 'spend', 'verify'])
      .orderBy('idx')
  /** Signed by a key of the service. */
  const signed = async (payload: object, header: object = {}, purpose: 'tickets' | 'tokens' = 'tickets') => {
    const { kid, sign } = await app.services.signers.current(purpose, 'Ed25519')
    const covered = `${base64url({ alg: 'EdDSA', kid, typ: 'qt+jwt', ...header })}.${base64url(payload)}`
    return `${covered}.${base64url(sign(Buffer.from(covered)))}`
  }

  it('are at most 300 bytes that outside libraries verify with the published keys', async function () {
    const before = Math.floor(Date.now() / 1000)
    const ticket = await tickets.issued({ subject: 'ada', claims: { gate: 'B', seat: '12A' }, ttl: 60 })
    expect(ticket.ticket_id).to.match(/^tkt_[0-9a-z]{26}$/)
    expect(ticket.qr_payload.length).to.be.at.most(300)
    expect(ticket.digest).to.equal(digestOf(ticket.qr_payload))
    const keys = createRemoteJWKSet(new URL(`${app.url}/.well-known/jwks.json`))
    const { payload } = await jwtVerify(ticket.qr_payload, keys, { typ: 'qt+jwt', algorithms: ['EdDSA'] })
    expect(payload.exp).to.be.within(before + 60, Math.floor(Date.now() / 1000) + 60)
    expect(Date.parse(ticket.expires_at)).to.equal((payload.exp ?? 0) * 1000)
    expect(payload).to.deep.equal({
      c: { gate: 'B', seat: '12A' },
      exp: payload.exp,
      jti: ticket.ticket_id.slice(-10),
      o: owner.organisationId.slice(-10),
    })
    const set = (await app.request<object>('GET', '/.well-known/jwks.json')).body
    expect(verifyWithPython(this, 'jwcrypto', ticket.qr_payload, set)).to.deep.equal(payload)
  })

  it('hold as many bytes of claims as are left, and tell how many those are', async () => {
    const refused = await tickets.issue({ claims: { t: 'é'.repeat(200) } })
    expect(refused.status).to.equal(422)
    expect(refused.body.details?.[0]).to.deep.include({ path: '/claims', code: 'too_large' })
    const message = refused.body.details?.[0]?.message ?? ''
    expect(message).to.contain('408 bytes')
    const left = Number(/room for (\d+)/.exec(message)?.[1])
    expect(left).to.be.at.least(50)
    const sized = (bytes: number) => ({ t: 'x'.repeat(bytes - 8) })
    const most = await tickets.issued({ claims: sized(left) })
    expect(most.qr_payload.length).to.be.within(299, 300)
    expect((await tickets.issue({ claims: sized(left + 1) })).status).to.equal(422)
    expect((await tickets.issue({ claims: sized(left - 6), single_use: false })).status).to.equal(201)
    expect((await tickets.issue({ claims: sized(left - 5), single_use: false })).status).to.equal(422)
  })

  it('are refused with the field where the input is wrong', async () => {
    const of = async (body: object) => {
      const { status, body: error } = await tickets.issue(body)
      return `${status} ${error.details?.[0]?.path}`
    }
    expect(await of({ ttl: 0 })).to.equal('422 /ttl')
    expect(await of({ ttl: 366 * 86_400 + 1 })).to.equal('422 /ttl')
    expect(await of({ claims: [] })).to.equal('422 /claims')
    expect(await of({ circuit_id: 'nothing' })).to.equal('422 /circuit_id')
    expect(await of({ subject: '' })).to.equal('422 /subject')
    expect((await tickets.issue({ circuit_id: 'token_validation' })).status).to.equal(201)
  })

  it('have a QR code with their text, for their organisation and while they count', async () => {
    const ticket = await tickets.issued({ claims: { seat: 1 } })
    const path = `/v1/qr/tickets/${ticket.ticket_id}/qr`
    expect(ticket.svg_url).to.equal(`${app.url}${path}?format=svg`)
    const key = owner.apiKey
    const svg = await clientOf(ticket.svg_url).request('GET', '', { key })
    expect(svg.headers.get('content-type')).to.equal('image/svg+xml')
    const png = await app.request('GET', path, { key, headers: { accept: 'image/png' } })
    const { data, width, height } = readPng(png.bytes)
    expect(jsQr.default(data, width, height)?.data).to.equal(ticket.qr_payload)
    const stranger = (await app.organisation()).apiKey
    expect((await app.request('GET', path, { key: stranger })).status).to.equal(404)
    await tickets.handIn([ticket.qr_payload])
    const gone = await app.request<object>('GET', path, { key: owner.apiKey })
    expect(gone.status).to.equal(410)
    expect(gone.body).to.include({ error: 'token_not_active', reason: 'TICKET_USED', status: 'used' })
  })

  it('are used up once, however many hand them in, and tell a second alone by 409', async () => {
    const { qr_payload, digest, ticket_id } = await tickets.issued({ claims: { seat: 1 } })
    const answers = await Promise.all(Array.from({ length: 12 }, () => tickets.handIn([qr_payload])))
    const won = answers.filter(({ status }) => status === 200)
    expect(won).to.have.length(1)
    const [outcome] = won[0]?.body.results ?? []
    expect(won[0]?.body).to.include({ accepted: 1, rejected: 0 })
    expect(outcome).to.deep.include({
      index: 0,
      digest,
      status: 'spent',
      consumed: true,
      ticket_id,
      claims: { seat: 1 },
    })
    for (const { status, body } of answers.filter((answer) => answer !== won[0])) {
      expect(status).to.equal(409)
      expect(body).to.include({
        error: 'double_spend',
        reason: 'DOUBLE_SPEND',
        digest,
        consumed_at: outcome?.consumed_at,
      })
    }
    expect((await entries()).map(({ type, digest: of }) => [type, of])).to.deep.equal([
      ['attest', digest],
      ['spend', digest],
    ])
  })

  it('that are handed in twice in one batch count once, and spoil nothing else', async () => {
    const [one, two] = [await tickets.issued(), await tickets.issued()]
    const { status, body } = await tickets.handIn([
      one.qr_payload,
      { qr_payload: two.qr_payload },
      one.qr_payload,
      'nonsense',
      { proof: 'zk1.nonsense' },
      17,
    ])
    expect(status).to.equal(200)
    expect(body).to.include({ accepted: 2, rejected: 4 })
    expect(body.results.map(({ index, status: word }) => `${index} ${word}`)).to.deep.equal([
      '0 spent',
      '1 spent',
      '2 DOUBLE_SPEND',
      '3 invalid',
      '4 invalid',
      '5 invalid',
    ])
    expect(body.results[2]).to.include({ consumed: false, consumed_at: body.results[0]?.consumed_at })
    expect(await statuses([two.qr_payload, one.qr_payload])).to.deep.equal(['DOUBLE_SPEND', 'DOUBLE_SPEND'])
  })

  it('get a batch its first answer again under its Idempotency-Key', async () => {
    const batch = [(await tickets.issued()).qr_payload, (await tickets.issued()).qr_payload, 'x']
    const headers = { 'idempotency-key': 'batch-1' }
    const first = await tickets.handIn(batch, headers)
    expect(first.body).to.include({ accepted: 2, rejected: 1 })
    expect((await tickets.handIn(batch, headers)).body).to.deep.equal(first.body)
    expect((await tickets.handIn(batch)).body).to.include({ accepted: 0, rejected: 3 })
  })

  it('that are not for a single use are accepted again and again, and never consumed', async () => {
    const { qr_payload } = await tickets.issued({ single_use: false, claims: { pass: 1 } })
    expect(payloadOf(qr_payload)).to.have.property('m', 1)
    for (const _ of [1, 2]) {
      const { body } = await tickets.handIn([qr_payload])
      expect(body).to.include({ accepted: 1 })
      expect(body.results[0]).to.deep.include({ status: 'spent', consumed: false, claims: { pass: 1 } })
    }
    expect((await entries()).map(({ type }) => type)).to.deep.equal(['attest'])
  })

  it('that somebody else made, or that were never issued, are not accepted', async () => {
    const { qr_payload } = await tickets.issued()
    const payload = payloadOf(qr_payload)
    const [head, body, signature] = qr_payload.split('.')
    expect(
      await statuses([
        `${head}.${base64url({ ...payload, exp: Number(payload.exp) + 1 })}.${signature}`,
        `${head}.${body}.${base64url(Buffer.alloc(64))}`,
        await signed(payload, { typ: 'vt+jwt' }),
        await signed(payload, { jku: 'x' }),
        await signed(payload, { kid: 'AAAAAAAA' }),
        await signed(payload, {}, 'tokens'),
        `${qr_payload}=`,
        await signed({ ...payload, exp: Number(payload.exp) + 1 }),
      ]),
    ).to.deep.equal([...Array(7).fill('invalid'), 'unknown'])
    const strangers = ticketRoutesOf(app, (await app.organisation()).apiKey)
    const { body: told } = await strangers.handIn([qr_payload])
    expect(told.results[0]).to.deep.equal({
      index: 0,
      digest: digestOf(qr_payload),
      status: 'unknown',
      decision: null,
      consumed: false,
    })
    expect(await statuses([qr_payload])).to.deep.equal(['spent'])
  })

  it('are handed in beside proofs, which are spent as /v1/proofs/verify spends them', async function () {
    this.timeout(120_000)
    const ticket = await tickets.issued()
    const made = await generated(app, owner.apiKey)
    const foreign = await generated(app, (await app.organisation()).apiKey)
    const batch = [
      asPresented(made),
      ticket.qr_payload,
      asPresented(foreign),
      { ...asPresented(made), proof_id: 5 },
    ]
    const { body } = await tickets.handIn(batch)
    expect(body.results.map(({ status }) => status)).to.deep.equal(['spent', 'spent', 'unknown', 'invalid'])
    expect(body.results[0]).to.include({ digest: made.digest, consumed: true })
    const again = await tickets.handIn([asPresented(made)])
    expect([again.status, again.body.digest]).to.deep.equal([409, made.digest])
    const verified = await app.request('POST', '/v1/proofs/verify', {
      key: owner.apiKey,
      body: { ...asPresented(made), consume: true },
    })
    expect(verified.status).to.equal(409)
    const { body: key } = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      key: owner.apiKey,
      body: { label: 'gate', scopes: ['token'] },
    })
    const gate = ticketRoutesOf(app, key.apiKey)
    const refused = await gate.handIn([asPresented(made)])
    expect([refused.status, refused.body.error]).to.deep.equal([403, 'insufficient_scope'])
    expect((await gate.handIn([(await tickets.issued()).qr_payload])).body).to.include({ accepted: 1 })
  })

  it('are redeemed beside items that are neither, also with a key that may redeem no proofs', async () => {
    const { body: key } = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      key: owner.apiKey,
      body: { label: 'gate', scopes: ['token'] },
    })
    const { qr_payload } = await tickets.issued()
    const batch = [null, 7, [], { qr_payload: 7 }, { qr_payload: null }, qr_payload]
    const { status, body } = await ticketRoutesOf(app, key.apiKey).handIn(batch)
    expect(status).to.equal(200)
    expect(body.results.map((result) => result.status)).to.deep.equal([...Array(5).fill('invalid'), 'spent'])
    expect(body.results[3]?.message).to.match(/^\/qr_payload must be /)
  })

  it('come in batches of 1 to 100', async () => {
    expect((await tickets.handIn([])).status).to.equal(422)
    const { status, body } = await tickets.handIn(Array(101).fill('x'))
    expect([status, body.error]).to.deep.equal([422, 'batch_too_large'])
    expect((await tickets.handIn(Array(100).fill('x'))).body).to.include({ accepted: 0, rejected: 100 })
  })

  it('leave neither subject nor claims readable in the database', async () => {
    await tickets.issued({ subject: 'ada@example.org', claims: { note: 'red hat' } })
    const rows = [
      await app.services.database.knex('tickets').where({ organisation: owner.organisationId }),
      await app.services.database.knex('ledger_entries').where({ organisation: owner.organisationId }),
    ].flat()
    const text = JSON.stringify(rows, (_, value) =>
      value?.type === 'Buffer' ? Buffer.from(value.data).toString('latin1') : value,
    )
    expect(text).to.contain('tkt_')
    expect(text).not.to.match(/ada@example|red hat|eyJjIjp7Im5vd/)
  })

  it('expire at their second and not before, and outlive their key', async () => {
    let now = Date.parse('2026-01-01T00:00:00.400Z')
    const own = await startTestApp({ clock: { now: () => now } })
    try {
      const { apiKey } = await own.organisation()
      const clocked = ticketRoutesOf(own, apiKey)
      const [first, second] = [await clocked.issued({ ttl: 60 }), await clocked.issued({ ttl: 60 })]
      expect(first.expires_at).to.equal('2026-01-01T00:01:00.000Z')
      await rotate(own, 'tickets')
      now += 59_599
      expect((await clocked.handIn([first.qr_payload])).body).to.include({ accepted: 1 })
      now += 1
      const { body } = await clocked.handIn([second.qr_payload])
      expect(body.results[0]).to.deep.include({ status: 'expired', consumed: false, digest: second.digest })
      const gone = await own.request<object>('GET', `/v1/qr/tickets/${second.ticket_id}/qr`, { key: apiKey })
      expect([gone.status, gone.body]).to.deep.include(410)
      expect(gone.body).to.include({ reason: 'TICKET_EXPIRED' })
    } finally {
      await own.close()
    }
  })

  it('differ even when they say the same', async () => {
    const [one, two] = await Promise.all([tickets.issued({ claims: {} }), tickets.issued({ claims: {} })])
    expect(one.digest).not.to.equal(two.digest)
  })
})
