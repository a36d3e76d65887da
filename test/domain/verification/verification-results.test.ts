/** Results after they were made: looked up, shown as a QR code, expired, revoked. */
import { expect } from 'chai'
import jsQr from 'jsqr'
import type { PublicResult, Revoked, StoredResult } from '../../../src/domain/verification/schemas.ts'
import { sharedApp, startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { clientOf } from '../../support/client.ts'
import { readPng } from '../../support/png.ts'
import { DATA, hashOf, signedResult, verified } from '../../support/verification.ts'

const UNKNOWN_HASH = 'A'.repeat(43)

describe('signed results', () => {
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    app = await sharedApp()
  })
  beforeEach(async () => {
    owner = await app.organisation()
  })
  const lookUp = (hash: string, query = '') => app.request<PublicResult>('GET', `/verify/qr/${hash}${query}`)
  const find = (id: string, key = owner.apiKey) => app.request<StoredResult>('GET', `/verify/${id}`, { key })
  const revoke = (id: string, key = owner.apiKey) =>
    app.request<Revoked>('POST', '/verify/revoke', { key, body: { verificationId: id } })

  it('are looked up by the hash of their JWS, by anyone', async () => {
    const result = await signedResult(app, owner.apiKey)
    expect(result.qrUrl).to.equal(`${app.url}/verify/qr/${hashOf(result)}`)
    const { status, body } = await lookUp(hashOf(result))
    expect(status).to.equal(200)
    expect({ ...body, checkedAt: '' }).to.deep.equal({
      success: true,
      status: 'VALID',
      verificationId: result.verificationId,
      timestamp: result.timestamp,
      decision: null,
      question: 'none',
      asked: null,
      circuitId: 'simple_yesno',
      proven: false,
      proof: null,
      merkleIndex: result.merkleIndex,
      issuer: app.url,
      jws: result.jws,
      checkedAt: '',
    })
  })

  it('say in public and to their owner whether a proof was made', async () => {
    const rules = [{ field: 'age', op: 'gte', value: 18 }]
    const body = { data: DATA, options: { rules } }
    for (const [result, proven] of [
      [await verified(app, owner.apiKey, body), true],
      [await signedResult(app, owner.apiKey, body), false],
    ] as const) {
      expect((await lookUp(hashOf(result))).body).to.deep.include({ circuitId: 'yesno', proven })
      expect((await find(result.verificationId)).body).to.deep.include({ circuitId: 'yesno', proven })
    }
  })

  it('that do not exist are not found, as JSON and as a code', async () => {
    expect((await lookUp(UNKNOWN_HASH)).status).to.equal(404)
    expect((await lookUp(UNKNOWN_HASH, '?format=png')).status).to.equal(404)
    expect((await lookUp('short')).status).to.equal(404)
    const result = await signedResult(app, owner.apiKey)
    expect((await lookUp(hashOf(result), '?format=pdf')).status).to.equal(400)
  })

  it('have a QR code that holds their address', async () => {
    const result = await signedResult(app, owner.apiKey)
    const png = await clientOf(result.qrUrl).request('GET', '?format=png')
    expect(png.headers.get('content-type')).to.equal('image/png')
    const { data, width, height } = readPng(png.bytes)
    expect(jsQr.default(data, width, height)?.data).to.equal(result.qrUrl)
    const svg = await app.request<string>('GET', `/verify/qr/${hashOf(result)}?format=svg`)
    expect(svg.headers.get('content-type')).to.equal('image/svg+xml')
    expect(svg.body).to.match(/^<svg.*<\/svg>\s*$/s)
  })

  it('are shown again to their owner, and to nobody else', async () => {
    const rules = [{ field: 'height', op: 'gt', value: 1 }]
    const result = await signedResult(app, owner.apiKey, { data: DATA, options: { rules, ttl: 60 } })
    const { body } = await find(result.verificationId)
    expect({ ...body, checkedAt: '' }).to.deep.equal({
      success: true,
      status: 'VALID',
      verificationId: result.verificationId,
      timestamp: result.timestamp,
      decision: 'NO',
      reason: 'missing_data',
      question: result.rulesHash,
      asked: { rules },
      circuitId: 'eligibility',
      proven: false,
      proof: null,
      issuer: app.url,
      jws: result.jws,
      checkedAt: '',
      digest: result.digest,
      proofId: null,
      merkleLeafHash: result.merkleLeafHash,
      merkleIndex: result.merkleIndex,
      qrUrl: result.qrUrl,
      expiresAt: result.expiresAt,
      revokedAt: null,
    })
    const { apiKey } = await app.organisation()
    expect((await find(result.verificationId, apiKey)).status).to.equal(404)
    expect((await revoke(result.verificationId, apiKey)).status).to.equal(404)
    expect((await find('ver_00000000000000000000000000')).status).to.equal(404)
    expect((await lookUp(hashOf(result))).body.status).to.equal('VALID')
  })

  it('stay revoked, and say since when', async () => {
    const result = await signedResult(app, owner.apiKey, { data: DATA, options: { ttl: 60 } })
    const { status, body } = await revoke(result.verificationId)
    expect(status).to.equal(200)
    expect(body).to.deep.include({ verificationId: result.verificationId, status: 'REVOKED' })
    expect((await revoke(result.verificationId)).body).to.deep.equal(body)
    expect((await lookUp(hashOf(result))).body.status).to.equal('REVOKED')
    expect((await find(result.verificationId)).body).to.deep.include({
      status: 'REVOKED',
      revokedAt: body.revokedAt,
    })
  })

  it('are revoked once, however many ask at the same time', async () => {
    const result = await signedResult(app, owner.apiKey)
    const answers = await Promise.all(Array.from({ length: 8 }, () => revoke(result.verificationId)))
    expect(new Set(answers.map(({ body }) => body.revokedAt)).size).to.equal(1)
    const entries = await app.services.database
      .knex('ledger_entries')
      .where({ organisation: owner.organisationId, type: 'revoke' })
    expect(entries).to.have.length(1)
  })

  it('expire at their second and not before; revocation outlasts that', async () => {
    let now = Date.parse('2026-01-01T00:00:00.000Z')
    const own = await startTestApp({ clock: { now: () => now } })
    try {
      const { apiKey } = await own.organisation()
      const result = await signedResult(own, apiKey, { data: DATA, options: { ttl: 60 } })
      const statusNow = async () =>
        (await own.request<PublicResult>('GET', `/verify/qr/${hashOf(result)}`)).body.status
      now += 59_999
      expect(await statusNow()).to.equal('VALID')
      now += 1
      expect(await statusNow()).to.equal('EXPIRED')
      const { verificationId } = result
      await own.request('POST', '/verify/revoke', { key: apiKey, body: { verificationId } })
      expect(await statusNow()).to.equal('REVOKED')
    } finally {
      await own.close()
    }
  })
})
