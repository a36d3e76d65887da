/** The forms in which tokens are carried, read by the programs of others: QR codes, NFC tags, JWTs. */
import { expect } from 'chai'
import jsQr from 'jsqr'
import ndef from 'ndef'
import type { NfcPayload } from '../../../src/domain/tokens/schemas-forms.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { type Failure, payloadOf, tokenRoutesOf } from '../../support/domain/tokens.ts'
import { readQrWithZbar, verifyWithPython } from '../../support/outside-programs.ts'
import { readPng } from '../../support/png.ts'

const MAX_QR_CHARACTERS = 997
const NTAG216_BYTES = 872

/** By how much a token's place in a status list, up to six digits and random, is longer than another's. */
const STATUS_DIGITS = 6
/** The same in base64url, with what is rounded. */
const MAX_SPARE = 10

describe('forms of tokens', () => {
  let app: TestApp
  let owner: TestOrganisation
  let tokens: ReturnType<typeof tokenRoutesOf>
  before(async () => {
    app = await sharedApp()
  })
  beforeEach(async () => {
    owner = await app.organisation()
    tokens = tokenRoutesOf(app, owner.apiKey)
  })
  const get = <T>(tokenId: string, form: string, key = owner.apiKey) =>
    app.request<T & Failure & { status?: string }>('GET', `/api/tokens/${tokenId}/${form}`, { key })
  const png = async (tokenId: string): Promise<Buffer> => {
    const options = { key: owner.apiKey, headers: { accept: 'image/png' } }
    const { status, headers, bytes } = await app.request('GET', `/api/tokens/${tokenId}/qr`, options)
    expect([status, headers.get('content-type')]).to.deep.equal([200, 'image/png'])
    return bytes
  }
  /** A token that is as long as its type allows, but for the length of its place in a status list; and what is too long. @param limit characters */
  const longest = async (type: string, limit: number) => {
    const claimsOf = (length: number) => ({ text: 'x'.repeat(length) })
    const shortest = await tokens.issued({ type, claims: claimsOf(0) })
    const room = Math.floor(((limit - shortest.token.length) * 3) / 4)
    const token = await tokens.issued({ type, claims: claimsOf(room - STATUS_DIGITS) })
    const refused = await tokens.generate({
      subject: 'member-7',
      type,
      claims: claimsOf(room + STATUS_DIGITS),
    })
    return { token, refused }
  }

  for (const type of ['jwt', 'qr', 'nfc']) {
    it(`of type ${type} are the same JWT, that validates, is used up and revoked as any`, async () => {
      const issued = await tokens.issued({ type, singleUse: true })
      const url = `${app.url}/api/tokens/${issued.tokenId}`
      expect(issued).to.include({ type, qrUrl: `${url}/qr`, nfcUrl: `${url}/nfc-payload` })
      expect(issued).not.to.have.property('passUrl')
      expect(payloadOf(issued.token)).to.include({ jti: issued.tokenId, single_use: true })
      expect((await tokens.status(issued.tokenId)).body).to.include({ type, status: 'active' })
      expect((await tokens.validate({ token: issued.token, consume: true })).body).to.include({
        type,
        consumed: true,
      })
      expect((await tokens.validate({ token: issued.token, consume: true })).status).to.equal(409)
      expect((await tokens.revoke(issued.tokenId)).body).to.include({ status: 'revoked' })
    })
  }

  it('verify with jwcrypto under the published keys, and no longer once a byte differs', async function () {
    const { token } = await tokens.issued({ type: 'qr', claims: { level: 'gold' } })
    const { body: set } = await app.request<object>('GET', '/.well-known/jwks.json')
    expect(verifyWithPython(this, 'jwcrypto', token, set)).to.deep.equal(payloadOf(token))
    const [head, body, signature] = token.split('.')
    const other = Buffer.from(JSON.stringify({ ...payloadOf(token), sub: 'x' })).toString('base64url')
    expect(body).not.to.equal(other)
    expect(() => verifyWithPython(this, 'jwcrypto', `${head}.${other}.${signature}`, set)).to.throw()
  })

  it('have a QR code that holds the token, in the format that was asked for', async () => {
    const { token, tokenId } = await tokens.issued()
    const { data, width, height } = readPng(await png(tokenId))
    expect(jsQr.default(data, width, height)?.data).to.equal(token)
    const svg = await get<string>(tokenId, 'qr')
    expect(svg.headers.get('content-type')).to.equal('image/svg+xml')
    expect(svg.headers.get('cache-control')).to.equal('no-store')
    expect(svg.body).to.match(/^<svg.*<\/svg>\s*$/s)
    expect((await get(tokenId, 'qr?format=png')).headers.get('content-type')).to.equal('image/png')
    expect((await get(tokenId, 'qr?format=pdf')).status).to.equal(400)
  })

  it('of type qr have a code that zbarimg reads, at their greatest length too', async function () {
    const { token, refused } = await longest('qr', MAX_QR_CHARACTERS)
    expect(token.token.length).to.be.within(MAX_QR_CHARACTERS - 2 * MAX_SPARE, MAX_QR_CHARACTERS)
    expect(readQrWithZbar(this, await png(token.tokenId))).to.equal(token.token)
    expect(refused.status).to.equal(422)
    expect(refused.body.details?.[0]).to.deep.include({ path: '/type', code: 'too_large' })
    expect(refused.body.details?.[0]?.message).to.contain(String(MAX_QR_CHARACTERS))
  })

  it('that are too long for a QR code have none, whatever their type', async () => {
    const { tokenId } = await tokens.issued({ claims: { text: 'x'.repeat(1500) } })
    const { status, body } = await get(tokenId, 'qr')
    expect([status, body.error]).to.deep.equal([422, 'token_too_large'])
  })

  it('of type nfc have a message with address and token, that an outside parser reads and an NTAG216 holds', async () => {
    const short = await tokens.issued({ type: 'nfc' })
    const { size } = (await get<NfcPayload>(short.tokenId, 'nfc-payload')).body
    const limit = NTAG216_BYTES - 5 - (size - short.token.length)
    const { token, refused } = await longest('nfc', limit)
    const { body } = await get<NfcPayload>(token.tokenId, 'nfc-payload')
    const bytes = Buffer.from(body.ndefHex, 'hex')
    expect(Buffer.from(body.ndefBase64, 'base64').equals(bytes)).to.equal(true)
    expect(body).to.deep.include({
      size: bytes.length,
      tag: 'ntag216',
      fitsTag: true,
      tokenId: token.tokenId,
    })
    expect(bytes.length).to.be.within(NTAG216_BYTES - 5 - 2 * MAX_SPARE, NTAG216_BYTES - 5)
    const [address, jwt, ...more] = ndef.decodeMessage([...bytes])
    expect(more).to.deep.equal([])
    expect(address?.value).to.equal(`${app.url}/api/tokens/${token.tokenId}/status`)
    expect(jwt).to.include({ tnf: 2, type: 'application/jwt' })
    expect(Buffer.from(jwt?.payload ?? []).toString()).to.equal(token.token)
    expect(body.records).to.deep.equal([
      { tnf: 1, type: 'U', payloadBytes: address?.payload.length, uri: address?.value },
      { tnf: 2, type: 'application/jwt', payloadBytes: token.token.length },
    ])
    expect(refused.status).to.equal(422)
    expect(refused.body.details?.[0]?.message).to.contain(`at most ${limit} characters`)
  })

  it('leave the token away where the tag has no room for it', async () => {
    const { tokenId } = await tokens.issued({ claims: { text: 'x'.repeat(1500) } })
    for (const tag of ['ntag213', 'ntag215', 'ntag216']) {
      const { body } = await get<NfcPayload>(tokenId, `nfc-payload?tag=${tag}`)
      expect(body.records.map(({ type }) => type)).to.deep.equal(['U'])
      expect(body).to.include({ tag, fitsTag: true })
    }
    expect((await get(tokenId, 'nfc-payload?tag=ntag999')).status).to.equal(400)
  })

  it('are given out no longer once the token is used or revoked', async () => {
    const used = await tokens.issued({ singleUse: true })
    await tokens.validate({ token: used.token, consume: true })
    const revoked = await tokens.issued()
    await tokens.revoke(revoked.tokenId)
    for (const [{ tokenId }, word] of [
      [used, 'used'],
      [revoked, 'revoked'],
    ] as const)
      for (const form of ['qr', 'nfc-payload', 'pass']) {
        const { status, body } = await get(tokenId, form)
        expect(status, form).to.equal(410)
        const reason = `TOKEN_${word.toUpperCase()}`
        expect(body).to.include({ error: 'token_not_active', reason, status: word })
      }
  })

  it('of another organisation do not exist', async () => {
    const { tokenId } = await tokens.issued()
    const { apiKey } = await app.organisation()
    for (const form of ['qr', 'nfc-payload', 'pass'])
      expect((await get(tokenId, form, apiKey)).status, form).to.equal(404)
  })

  it('that are passes are refused before anything is made, where nobody can sign them', async () => {
    const refused = await tokens.generate({ subject: 'm', type: 'pass' })
    expect([refused.status, refused.body.error]).to.deep.equal([501, 'pass_signing_not_configured'])
    const rows = await app.services.database.knex('tokens').where({ organisation: owner.organisationId })
    expect(rows).to.deep.equal([])
    const { tokenId } = await tokens.issued()
    const { status, body } = await get(tokenId, 'pass')
    expect([status, body.error]).to.deep.equal([501, 'pass_signing_not_configured'])
  })

  it('are what eligibility gives too, and their circuit takes them', async function () {
    this.timeout(120_000)
    const check = (tokenConfig: object, identifier = 'customer-7', least = 18) =>
      app.request<{ tokenId: string } & Failure>('POST', '/api/eligibility/check', {
        key: owner.apiKey,
        body: {
          identifier,
          dataSources: [{ id: 'form', type: 'inline', data: { age: 36 } }],
          rules: [{ source: 'form', field: 'age', op: 'gte', value: least }],
          tokenConfig,
        },
      })
    expect((await check({ type: 'pass' })).status).to.equal(501)
    for (const least of [18, 40]) {
      const { status, body } = await check({ type: 'qr' }, '\u{1f3ab}'.repeat(256), least)
      expect([status, body.details?.[0]?.path]).to.deep.equal([422, '/tokenConfig/type'])
    }
    for (const type of ['qr', 'nfc']) {
      const { body } = await check({ type })
      expect((await tokens.status(body.tokenId)).body, JSON.stringify(body)).to.include({
        type,
        status: 'active',
      })
      const proven = await app.request<{ token_valid: boolean }>('POST', '/api/circuits/token-validation', {
        key: owner.apiKey,
        body: { tokenId: body.tokenId },
      })
      expect(proven.body).to.include({ success: true, token_valid: true })
    }
  })
})

describe('POST /v1/offline/transactions', () => {
  it('says after authentication that it is not implemented, and what to call instead', async () => {
    const app = await sharedApp()
    const { apiKey } = await app.organisation()
    const path = '/v1/offline/transactions'
    expect((await app.request('POST', path, { body: {} })).status).to.equal(401)
    const { status, body } = await app.request<object>('POST', path, {
      key: apiKey,
      body: { transactions: [] },
    })
    expect(status).to.equal(501)
    expect(body).to.deep.include({ error: 'not_implemented', use: '/api/merchant/transactions/sync' })
    for (const init of [{}, { body: 'nonsense', headers: { 'content-type': 'text/plain' } }])
      expect((await app.request('POST', path, { ...init, key: apiKey })).status).to.equal(501)
  })
})
