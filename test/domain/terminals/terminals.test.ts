/** Terminals and their tokens, through the real app. */
import { expect } from 'chai'
import type { Terminal, TerminalCreated, TerminalToken } from '../../../src/domain/terminals/schemas.ts'
import { sharedApp, startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { spendBudget } from '../../support/domain/accounts.ts'
import { exportedRows } from '../../support/domain/exports.ts'
import { eventually } from '../../support/eventually.ts'

interface Failure {
  error: string
  message: string
  details?: { path: string }[]
}

const AUTHENTICATE = '/api/merchant/terminals/authenticate'
const SYNC = '/api/merchant/transactions/sync'

const createTerminal = (app: TestApp, key: string, body: object = {}) =>
  app.request<TerminalCreated & Failure>('POST', '/console/api/terminals', {
    key,
    body: { label: 'till', ...body },
  })

const authenticate = (app: TestApp, bearer: string, terminalId: string, terminalSecret: string) =>
  app.request<TerminalToken & Failure>('POST', AUTHENTICATE, { bearer, body: { terminalId, terminalSecret } })

/** An upload of nothing: only the credential decides about the answer. */
const upload = async (app: TestApp, bearer: string) =>
  (await app.request('POST', SYNC, { bearer, body: { transactions: [] } })).status

describe('terminals', () => {
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    app = await sharedApp()
  })
  beforeEach(async () => {
    owner = await app.organisation()
  })
  const terminal = async (body?: object) => {
    const { status, body: created } = await createTerminal(app, owner.apiKey, body)
    expect(status).to.equal(201)
    return created
  }
  const list = async (key = owner.apiKey) =>
    (await app.request<{ terminals: Terminal[] }>('GET', '/console/api/terminals', { key })).body.terminals
  const remove = (terminalId: string, key = owner.apiKey) =>
    app.request('DELETE', `/console/api/terminals/${terminalId}`, { key })

  it('show what they last told of themselves, and null where they told nothing', async () => {
    let now = Date.now()
    const own = await startTestApp({ clock: { now: () => now } })
    try {
      const shop = await own.organisation()
      const made = (await createTerminal(own, shop.apiKey)).body
      const till = async () => {
        const path = '/console/api/terminals'
        const { body } = await own.request<{ terminals: Terminal[] }>('GET', path, { key: shop.apiKey })
        const [{ lastSeenAt, queued, version, clockSkewMs } = expect.fail()] = body.terminals
        return { lastSeenAt, queued, version, clockSkewMs }
      }
      const seenAt = () => new Date(now).toISOString()
      const untold = { queued: null, version: null, clockSkewMs: null }
      expect(await till()).to.deep.equal({ lastSeenAt: null, ...untold })

      const { token } = (await authenticate(own, made.apiKey, made.terminalId, made.terminalSecret)).body
      const opened = seenAt()
      expect(await till()).to.deep.equal({ lastSeenAt: opened, ...untold })
      now += 59_999
      expect(await upload(own, token)).to.equal(200)
      expect((await till()).lastSeenAt).to.equal(opened)
      now += 1_001
      expect(await upload(own, token)).to.equal(200)
      expect(await till()).to.deep.equal({ lastSeenAt: seenAt(), ...untold })

      const told = { version: '2.1.0', clock: now - 90_000 }
      const queued = { count: 3, sum: [{ currency: 'GBP', amount: 12.5 }] }
      const credentials = { terminalId: made.terminalId, terminalSecret: made.terminalSecret }
      now += 10
      const again = { bearer: made.apiKey, body: { ...credentials, ...told, queued } }
      expect((await own.request('POST', AUTHENTICATE, again)).status).to.equal(200)
      const shown = { lastSeenAt: seenAt(), queued, version: '2.1.0', clockSkewMs: -90_010 }
      expect(await till()).to.deep.equal(shown)

      now += 10
      const body = { transactions: [], queued: { count: 0, sum: [] } }
      expect((await own.request('POST', SYNC, { bearer: token, body })).status).to.equal(200)
      expect(await till()).to.deep.equal({ ...shown, lastSeenAt: seenAt(), queued: { count: 0, sum: [] } })
      // A key says nothing of a terminal.
      const { lastSeenAt } = await till()
      now += 10
      expect(
        (await own.request('POST', SYNC, { bearer: made.apiKey, body: { ...body, version: '9' } })).status,
      ).to.equal(200)
      expect(await till()).to.deep.include({ lastSeenAt, version: '2.1.0' })
    } finally {
      await own.close()
    }
  })

  it('tell nothing that can not be: 422 names the member', async () => {
    const { terminalId, terminalSecret, apiKey } = await terminal()
    for (const [told, path] of [
      [{ queued: { count: -1, sum: [] } }, '/queued/count'],
      [{ queued: { count: 1 } }, '/queued/sum'],
      [{ queued: { count: 1, sum: [{ currency: 'pounds', amount: 1 }] } }, '/queued/sum/0/currency'],
      [{ version: '' }, '/version'],
      [{ version: 'x'.repeat(65) }, '/version'],
      [{ clock: -1 }, '/clock'],
      [{ clock: 8.64e15 + 1 }, '/clock'],
    ] as const) {
      const body = { terminalId, terminalSecret, ...told }
      const { status, body: answer } = await app.request<Failure>('POST', AUTHENTICATE, {
        bearer: apiKey,
        body,
      })
      expect([status, answer.details?.[0]?.path], JSON.stringify(told)).to.deep.equal([422, path])
    }
  })

  it('come with a secret and a key that may only take payments of their merchant', async () => {
    const { terminalId, terminalSecret, merchantId, apiKey } = await terminal()
    expect(terminalId).to.match(/^ter_[0-9a-z]{26}$/)
    expect(terminalSecret).to.match(/^[0-9A-Za-z]{43}$/)
    expect(merchantId).to.equal(owner.merchantId)
    const { body } = await app.request<{ scopes: string[]; merchantId: string }>('GET', '/console/api/me', {
      key: apiKey,
    })
    expect(body).to.deep.include({ scopes: ['merchant'], merchantId })
    expect((await createTerminal(app, apiKey)).status).to.equal(403)
    expect(
      (await app.request('POST', '/console/api/merchants', { key: apiKey, body: { name: 'x' } })).status,
    ).to.equal(403)
    expect((await app.request('GET', '/api/security/alerts', { key: apiKey })).status).to.equal(403)
  })

  it('belong to a merchant of the organisation, and to no other', async () => {
    const created = await app.request<{ merchantId: string }>('POST', '/console/api/merchants', {
      key: owner.apiKey,
      body: { name: 'Stall' },
    })
    const { merchantId } = await terminal({ merchantId: created.body.merchantId })
    expect(merchantId).to.equal(created.body.merchantId)
    const stranger = await app.organisation()
    const { status, body } = await createTerminal(app, owner.apiKey, { merchantId: stranger.merchantId })
    expect(status).to.equal(422)
    expect(body.details?.[0]?.path).to.equal('/merchantId')
  })

  it('are made and ended by nobody who lacks the scope of their keys', async () => {
    const { body: narrow } = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      key: owner.apiKey,
      body: { scopes: ['keys'] },
    })
    const { status, body } = await createTerminal(app, narrow.apiKey)
    expect([status, body.error]).to.deep.equal([403, 'insufficient_scope'])
    const { terminalId } = await terminal()
    expect((await remove(terminalId, narrow.apiKey)).status).to.equal(403)
    expect((await list()).map((row) => [row.terminalId, row.status])).to.deep.equal([[terminalId, 'active']])
  })

  it('are listed without their secrets, to a till only its own merchant’s', async () => {
    const first = await terminal({ limits: { floorLimit: 25 } })
    const stall = await app.request<{ merchantId: string }>('POST', '/console/api/merchants', {
      key: owner.apiKey,
      body: { name: 'Stall' },
    })
    const second = await terminal({ merchantId: stall.body.merchantId })
    const terminals = await list()
    expect(terminals.map(({ terminalId }) => terminalId)).to.deep.equal([second.terminalId, first.terminalId])
    expect(terminals[1]).to.deep.include({
      label: 'till',
      status: 'active',
      limits: { floorLimit: 25, storedSumLimit: 5000 },
    })
    expect(JSON.stringify(terminals)).to.not.contain(first.terminalSecret)
    expect((await list(second.apiKey)).map(({ terminalId }) => terminalId)).to.deep.equal([second.terminalId])
    expect(await list((await app.organisation()).apiKey)).to.deep.equal([])
  })

  it('keep their secret only as a hash', async () => {
    const { terminalId, terminalSecret } = await terminal()
    const row = await app.services.database.knex('terminals').where({ id: terminalId }).first()
    expect(row.secret_hash).to.match(/^scrypt\$/)
    expect(JSON.stringify(row)).to.not.contain(terminalSecret)
  })

  it('get a token for 12 hours with the limits of terminal and merchant', async () => {
    const stall = await app.request<{ merchantId: string }>('POST', '/console/api/merchants', {
      key: owner.apiKey,
      body: { name: 'Stall', limits: { floorLimit: 100, minAssurance: 'mac' } },
    })
    const { terminalId, terminalSecret, apiKey, merchantId } = await terminal({
      merchantId: stall.body.merchantId,
      limits: { floorLimit: 30, maxOfflineAgeMs: 3_600_000 },
    })
    const before = Date.now()
    const { status, body } = await authenticate(app, apiKey, terminalId, terminalSecret)
    expect(status).to.equal(200)
    expect(body.token).to.match(/^mt_[0-9A-Za-z]{43}$/)
    expect(Date.parse(body.expiresAt) - before).to.be.within(12 * 3_600_000, 12 * 3_600_000 + 60_000)
    expect({ ...body, token: '', expiresAt: '' }).to.deep.equal({
      token: '',
      expiresAt: '',
      terminalId,
      merchantId,
      organisationId: owner.organisationId,
      config: { floorLimit: 30, storedSumLimit: 5000, maxOfflineAgeMs: 3_600_000, minAssurance: 'mac' },
    })
    expect(await upload(app, body.token)).to.equal(200)
    const rows = await app.services.database.knex('terminal_tokens').where({ terminal: terminalId })
    expect(JSON.stringify(rows)).to.not.contain(body.token)
  })

  it('have limits of 250 and 5,000 unless others, or none, are asked for', async () => {
    const configOf = async (made: TerminalCreated) =>
      (await authenticate(app, made.apiKey, made.terminalId, made.terminalSecret)).body.config
    const plain = await terminal()
    expect(plain.limits).to.deep.equal({ floorLimit: 250, storedSumLimit: 5000 })
    expect(await configOf(plain)).to.deep.equal({
      floorLimit: 250,
      storedSumLimit: 5000,
      maxOfflineAgeMs: 30 * 24 * 3_600_000,
      minAssurance: 'structural',
    })
    const free = await terminal({ limits: { floorLimit: 'none', storedSumLimit: 'none' } })
    expect(await configOf(free)).to.include({ floorLimit: null, storedSumLimit: null })
    const { body } = await app.request<{ merchantId: string }>('POST', '/console/api/merchants', {
      key: owner.apiKey,
      body: { name: 'Stall', limits: { floorLimit: 40, storedSumLimit: 'none' } },
    })
    const own = await terminal({ merchantId: body.merchantId, limits: { storedSumLimit: 70 } })
    expect(await configOf(own)).to.include({ floorLimit: 40, storedSumLimit: 70 })
    const its = await terminal({ merchantId: body.merchantId })
    expect(await configOf(its)).to.include({ floorLimit: 40, storedSumLimit: null })
    // One that was made before there were defaults keeps what it has.
    const early = await terminal()
    await app.services.database.knex('terminals').where({ id: early.terminalId }).update({ limits: '{}' })
    expect(await configOf(early)).to.include({ floorLimit: null, storedSumLimit: null })
    for (const floorLimit of ['any', -1])
      expect((await createTerminal(app, owner.apiKey, { limits: { floorLimit } })).status).to.equal(422)
  })

  it('answer unknown, foreign, revoked ones and a wrong secret alike', async () => {
    const { terminalId, terminalSecret, apiKey } = await terminal()
    const stranger = (await createTerminal(app, (await app.organisation()).apiKey)).body
    const revoked = await terminal()
    await remove(revoked.terminalId)
    const stall = await app.request<{ merchantId: string }>('POST', '/console/api/merchants', {
      key: owner.apiKey,
      body: { name: 'Stall' },
    })
    const neighbour = await terminal({ merchantId: stall.body.merchantId })
    const attempts: [key: string, id: string, secret: string][] = [
      [apiKey, terminalId, `${terminalSecret}x`],
      [apiKey, 'ter_nowhere', terminalSecret],
      [owner.apiKey, stranger.terminalId, stranger.terminalSecret],
      [owner.apiKey, revoked.terminalId, revoked.terminalSecret],
      [apiKey, neighbour.terminalId, neighbour.terminalSecret],
    ]
    for (const [key, id, secret] of attempts) {
      const { status, body } = await authenticate(app, key, id, secret)
      const { error, message, ...rest } = body
      expect({ status, error, message, fields: Object.keys(rest) }).to.deep.equal({
        status: 401,
        error: 'invalid_credentials',
        message: 'The credentials are wrong.',
        fields: ['request_id'],
      })
    }
  })

  it('need an API key of scope merchant beside id and secret', async () => {
    const { terminalId, terminalSecret, apiKey } = await terminal()
    const body = { terminalId, terminalSecret }
    expect((await app.request('POST', AUTHENTICATE, { body })).status).to.equal(401)
    const { token } = (await authenticate(app, apiKey, terminalId, terminalSecret)).body
    const asTerminal = await app.request<Failure>('POST', AUTHENTICATE, { body, bearer: token })
    expect([asTerminal.status, asTerminal.body.error]).to.deep.equal([403, 'insufficient_scope'])
    const other = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      key: owner.apiKey,
      body: { scopes: ['verify'] },
    })
    expect((await authenticate(app, other.body.apiKey, terminalId, terminalSecret)).status).to.equal(403)
    expect((await authenticate(app, owner.apiKey, terminalId, terminalSecret)).status).to.equal(200)
  })

  it('are refused after 10 failures, with an alert, and others are not', async () => {
    const { terminalId, terminalSecret, apiKey } = await terminal()
    for (let i = 0; i < 10; i++) {
      expect((await authenticate(app, apiKey, terminalId, 'wrong')).status).to.equal(401)
    }
    const { status, headers } = await authenticate(app, apiKey, terminalId, terminalSecret)
    expect(status).to.equal(429)
    expect(Number(headers.get('retry-after'))).to.be.within(1, 900)
    const other = await terminal()
    expect((await authenticate(app, other.apiKey, other.terminalId, other.terminalSecret)).status).to.equal(
      200,
    )
    await app.services.security.close()
    const { alerts } = await app.services.security.list(owner.organisationId, {})
    expect(alerts.map(({ type, subject }) => ({ type, subject }))).to.deep.equal([
      { type: 'auth_bruteforce', subject: terminalId },
    ])
  })

  it('are locked out by no other key’s failures, unless there are 100 with all of them', async () => {
    const [victim, stolen] = [await terminal(), await terminal()]
    const signIn = async (key: string, secret = victim.terminalSecret) =>
      (await authenticate(app, key, victim.terminalId, secret)).status
    for (let i = 0; i < 10; i++) expect(await signIn(stolen.apiKey, 'wrong')).to.equal(401)
    expect(await signIn(stolen.apiKey)).to.equal(429)
    expect(await signIn(victim.apiKey)).to.equal(200)
    const known = await terminal()
    await spendBudget(app, `terminal:${owner.organisationId}:${known.terminalId}`, 99)
    const guess = (key: string, secret: string) => authenticate(app, key, known.terminalId, secret)
    expect((await guess(stolen.apiKey, 'wrong')).status).to.equal(401)
    expect((await guess(known.apiKey, known.terminalSecret)).status).to.equal(429)
  })

  it('end with their tokens and their key when they are revoked', async () => {
    const { terminalId, terminalSecret, apiKey, keyId } = await terminal()
    const { token } = (await authenticate(app, apiKey, terminalId, terminalSecret)).body
    expect(await upload(app, token)).to.equal(200)
    expect((await remove(terminalId)).status).to.equal(204)
    expect(await upload(app, token)).to.equal(401)
    expect(await upload(app, apiKey)).to.equal(401)
    expect((await remove(terminalId)).status).to.equal(204)
    expect((await list())[0]).to.include({ terminalId, status: 'revoked' })
    const entries = await app.services.database
      .knex('ledger_entries')
      .where({ key_id: keyId, type: 'key.revoked' })
    expect(entries).to.have.length(1)
  })

  it('end with the key that a rotation made for them', async () => {
    const { terminalId, keyId } = await terminal()
    const rotated = await app.request<{ apiKey: string }>('POST', `/console/api/keys/${keyId}/rotate`, {
      key: owner.apiKey,
      body: {},
    })
    expect(await upload(app, rotated.body.apiKey)).to.equal(200)
    await remove(terminalId)
    expect(await upload(app, rotated.body.apiKey)).to.equal(401)
  })

  it('are told to end, in the log and in exports, with each of their keys that still works', async () => {
    const { terminalId, keyId } = await terminal()
    const rotate = async (id: string, overlapSeconds: number) => {
      const path = `/console/api/keys/${id}/rotate`
      const asked = { key: owner.apiKey, body: { overlapSeconds } }
      return (await app.request<{ keyId: string }>('POST', path, asked)).body.keyId
    }
    const replaced = await rotate(keyId, 1)
    const present = await rotate(replaced, 3600)
    const isTold = async () =>
      (await exportedRows(app, owner)).some((row) => row.type === 'key.revoked' && row.keyId === keyId)
    await eventually('the end of the first key is told', isTold, { pauseMs: 200 })
    const before = (await exportedRows(app, owner)).length
    await remove(terminalId)
    const rows = (await exportedRows(app, owner)).slice(before)
    expect(rows.flatMap((row) => (row.type === 'key.revoked' ? [row.keyId] : []))).to.deep.equal([
      replaced,
      present,
    ])
    const leaves: { entry: string }[] = await app.services.database
      .knex('ledger_entries')
      .where({ organisation: owner.organisationId })
      .orderBy('idx', 'desc')
      .limit(3)
      .select('entry')
    expect(leaves.map(({ entry }) => JSON.parse(entry).data)).to.deep.include.members([
      { event: 'terminal.revoked', terminalId },
    ])
  })

  it('of another organisation are not found', async () => {
    const { terminalId } = await terminal()
    expect((await remove(terminalId, (await app.organisation()).apiKey)).status).to.equal(404)
    expect((await remove('ter_nowhere')).status).to.equal(404)
  })

  it('hold tokens that open nothing but merchant routes and the list of circuits', async () => {
    const { terminalId, terminalSecret, apiKey } = await terminal()
    const { token } = (await authenticate(app, apiKey, terminalId, terminalSecret)).body
    for (const path of ['/console/api/me', '/console/api/terminals', '/api/security/alerts', '/v1/metrics']) {
      const { status, body } = await app.request<Failure>('GET', path, { bearer: token })
      expect([status, body.error], path).to.deep.equal([403, 'insufficient_scope'])
    }
    expect((await app.request('GET', '/api/circuits', { bearer: token })).status).to.equal(200)
    const unknown = await app.request('GET', '/api/circuits', { bearer: `mt_${'0'.repeat(43)}` })
    expect(unknown.status).to.equal(401)
  })

  it('may only upload once the key of their token is revoked', async () => {
    const { terminalId, terminalSecret, apiKey, keyId } = await terminal()
    const { token } = (await authenticate(app, apiKey, terminalId, terminalSecret)).body
    await app.request('DELETE', `/console/api/keys/${keyId}`, { key: owner.apiKey })
    expect(await upload(app, token)).to.equal(200)
    const validate = await app.request('POST', '/api/merchant/payments/validate', {
      bearer: token,
      body: { proofData: '1-G_E31gJBF1PaGvrfFEbSNMsF17t4ejjZ4e', amount: 1 },
    })
    expect(validate.status).to.equal(401)
    const admitted = await app.services.terminals.authenticateToken(token)
    expect(admitted.credential).to.include({ kind: 'terminal', terminalId, keyId, keyRevoked: true })
  })

  it('are rate limited each for itself, whatever its token, by the limit of their organisation', async () => {
    const own = await startTestApp()
    try {
      const { apiKey, organisationId } = await own.organisation()
      await own.request('PATCH', `/console/api/organisations/${organisationId}`, {
        key: own.adminKey,
        body: { rateLimitPerMinute: 6 },
      })
      const till = async () => (await createTerminal(own, apiKey)).body
      const tokenOf = async ({ terminalId, terminalSecret }: TerminalCreated) =>
        (await authenticate(own, apiKey, terminalId, terminalSecret)).body.token
      const tills = await Promise.all([till(), till()])
      const [first = '', second = '', renewed = ''] = await Promise.all([...tills, tills[0]].map(tokenOf))
      const statuses = []
      for (let i = 0; i < 7; i++) statuses.push(await upload(own, first))
      expect(statuses).to.deep.equal([200, 200, 200, 200, 200, 200, 429])
      expect(await upload(own, renewed)).to.equal(429)
      expect(await upload(own, second)).to.equal(200)
      expect((await own.request('GET', '/console/api/me', { key: apiKey })).status).to.equal(200)
    } finally {
      await own.close()
    }
  })

  it('lose their token after 12 hours, and expired rows are removed', async () => {
    let now = Date.now()
    const own = await startTestApp({ clock: { now: () => now } })
    try {
      const { apiKey } = await own.organisation()
      const { terminalId, terminalSecret } = (await createTerminal(own, apiKey)).body
      const sign = async () => (await authenticate(own, apiKey, terminalId, terminalSecret)).body.token
      const token = await sign()
      now += 12 * 3_600_000 - 1000
      expect(await upload(own, token)).to.equal(200)
      now += 2000
      expect(await upload(own, token)).to.equal(401)
      await sign()
      const rows = () => own.services.database.knex('terminal_tokens')
      expect(await rows()).to.have.length(1)
      const old = Array.from({ length: 600 }, (_, i) => ({
        id: `mtk_${i}`,
        digest: Buffer.from(`${i}`),
        terminal: terminalId,
        api_key: '',
        created_at: 0,
        expires_at: 1,
      }))
      await rows().insert(old)
      now += 3_600_000
      await sign()
      expect(await rows(), 'some hundred at a time').to.have.length(102)
      await sign()
      expect(await rows()).to.have.length(3)
    } finally {
      await own.close()
    }
  })
})
