/** Signed tokens through the real app: issued, validated, used up, revoked. */
import { expect } from 'chai'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { systemCaller } from '../../../src/caller.ts'
import { holderCommitment } from '../../../src/circuits/holder-commitment.ts'
import { issuerSignatureHolds, tokenMessage } from '../../../src/circuits/issuer-signature.ts'
import type { TokenVerdict } from '../../../src/domain/tokens/schemas.ts'
import { h248, organisationElement } from '../../../src/rules/encode.ts'
import { sharedApp, startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { payloadOf, tokenRoutesOf } from '../../support/domain/tokens.ts'
import { rejection } from '../../support/rejection.ts'
import { rotate } from '../../support/rotation.ts'

const MAX_TTL_SECONDS = 30 * 24 * 3600

describe('tokens', () => {
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
  const entries = () =>
    app.services.database
      .knex('ledger_entries')
      .where({ organisation: owner.organisationId })
      .whereIn('type', ['attest', 'gate', 'revoke'])
      .orderBy('idx')

  it('are JWTs that an outside library verifies with the published keys', async () => {
    const before = Math.floor(Date.now() / 1000)
    const { token, tokenId, type, issuedAt, expiresAt } = await tokens.issued({
      claims: { level: 'gold' },
      ttl: 60,
      audience: 'https://gate.example',
      singleUse: true,
    })
    const keys = createRemoteJWKSet(new URL(`${app.url}/.well-known/jwks.json`))
    const { payload, protectedHeader } = await jwtVerify(token, keys, {
      issuer: app.url,
      audience: 'https://gate.example',
      subject: 'member-7',
      typ: 'vt+jwt',
      algorithms: ['EdDSA'],
    })
    expect(Object.keys(protectedHeader).sort()).to.deep.equal(['alg', 'kid', 'typ'])
    expect(payload.iat).to.be.within(before, Math.floor(Date.now() / 1000))
    expect(payload).to.deep.equal({
      iss: app.url,
      org: owner.organisationId,
      jti: tokenId,
      sub: 'member-7',
      aud: 'https://gate.example',
      iat: payload.iat,
      exp: (payload.iat ?? 0) + 60,
      single_use: true,
      status: payload.status,
      claims: { level: 'gold' },
    })
    expect(type).to.equal('jwt')
    expect(Date.parse(issuedAt)).to.equal((payload.iat ?? 0) * 1000)
    expect(Date.parse(expiresAt)).to.equal((payload.exp ?? 0) * 1000)
  })

  it('keep what callers claim apart from what the service says', async () => {
    const claims = { exp: 1, iss: 'https://elsewhere.example', sub: 'somebody', aud: 'all' }
    const { token } = await tokens.issued({ claims })
    const payload = payloadOf(token)
    expect(payload).to.deep.include({ iss: app.url, sub: 'member-7', claims })
    expect(payload).not.to.have.any.keys('aud', 'single_use')
    expect(Number(payload.exp) - Number(payload.iat)).to.equal(300)
    expect((await tokens.validate({ token })).body).to.deep.include({
      valid: true,
      claims,
      subject: 'member-7',
    })
  })

  it('are refused with the field where the input is wrong', async () => {
    const of = async (body: object) => {
      const { status, body: error } = await tokens.generate({ subject: 'member-7', ...body })
      return `${status} ${error.details?.[0]?.path}`
    }
    expect(await of({ ttl: 0 })).to.equal('422 /ttl')
    expect(await of({ ttl: MAX_TTL_SECONDS + 1 })).to.equal('422 /ttl')
    expect(await of({ ttl: 1.5 })).to.equal('422 /ttl')
    expect(await of({ subject: '' })).to.equal('422 /subject')
    expect(await of({ audience: '' })).to.equal('422 /audience')
    expect(await of({ claims: [] })).to.equal('422 /claims')
    expect((await tokens.generate({ subject: 'member-7', ttl: MAX_TTL_SECONDS })).status).to.equal(201)
    const { body } = await tokens.generate({ subject: 'member-7', type: 'barcode' })
    expect(body.details?.[0]).to.deep.include({ path: '/type' })
    expect(body.details?.[0]?.message).to.contain('jwt')
  })

  it('hold 2048 bytes of claims and not one more', async () => {
    const claimsOf = (bytes: number) => ({ text: 'é'.repeat((bytes - 11) / 2).padEnd((bytes - 11) / 2) })
    const sized = (bytes: number) => {
      const claims = claimsOf(bytes - (bytes % 2 === 0 ? 1 : 0))
      return bytes % 2 === 0 ? { text: `${claims.text}x` } : claims
    }
    expect(Buffer.byteLength(JSON.stringify(sized(2048)))).to.equal(2048)
    const { token } = await tokens.issued({
      claims: sized(2048),
      audience: 'a'.repeat(256),
      subject: 's'.repeat(256),
    })
    expect((await tokens.validate({ token, audience: 'a'.repeat(256) })).body.valid).to.equal(true)
    const { status, body } = await tokens.generate({ subject: 'member-7', claims: sized(2049) })
    expect(status).to.equal(422)
    expect(body.details?.[0]).to.deep.include({ path: '/claims', code: 'too_large' })
    expect(body.details?.[0]?.message).to.contain('2048')
  })

  it('say everything about themselves to their organisation while they count', async () => {
    const { token, tokenId, issuedAt, expiresAt } = await tokens.issued({ claims: { seats: 2 } })
    const expected = { tokenId, type: 'jwt', status: 'active', singleUse: false, issuedAt, expiresAt }
    expect((await tokens.validate({ token })).body).to.deep.equal({
      ...expected,
      valid: true,
      reasonCodes: [],
      consumed: false,
      subject: 'member-7',
      audience: null,
      claims: { seats: 2 },
    })
    const { body } = await tokens.status(tokenId)
    expect({ ...body, checkedAt: '' }).to.deep.equal({
      ...expected,
      usedAt: null,
      revokedAt: null,
      revocationReason: null,
      checkedAt: '',
    })
  })

  it('for an audience count for nobody else, nor for those who do not say who they are', async () => {
    const { token } = await tokens.issued({ audience: 'https://gate.example' })
    const reasons = async (audience?: string) => (await tokens.validate({ token, audience })).body.reasonCodes
    expect(await reasons('https://gate.example')).to.deep.equal([])
    expect(await reasons('https://gate.example/')).to.deep.equal(['AUDIENCE_MISMATCH'])
    expect(await reasons()).to.deep.equal(['AUDIENCE_REQUIRED'])
    const open = await tokens.issued()
    expect((await tokens.validate({ token: open.token, audience: 'anyone' })).body.valid).to.equal(true)
  })

  it('for a single use are used up by the first who consumes them, however many try', async () => {
    const { token, tokenId } = await tokens.issued({ singleUse: true })
    expect((await tokens.validate({ token })).body).to.deep.include({
      valid: true,
      consumed: false,
      status: 'active',
    })
    const answers = await Promise.all(
      Array.from({ length: 16 }, () => tokens.validate({ token, consume: true })),
    )
    const [won, ...others] = answers.filter(({ status }) => status === 200)
    expect(others).to.deep.equal([])
    expect(won?.body).to.deep.include({ valid: true, consumed: true, status: 'used' })
    const { usedAt } = (await tokens.status(tokenId)).body
    for (const { status, body } of answers.filter((answer) => answer !== won)) {
      expect(status).to.equal(409)
      expect(body).to.deep.include({ error: 'token_used', reason: 'TOKEN_USED', consumed_at: usedAt })
    }
    const again = await tokens.validate({ token, consume: true })
    expect(again.status).to.equal(409)
    expect(again.body).to.deep.include({ reason: 'TOKEN_USED', consumed_at: usedAt })
    expect((await tokens.validate({ token })).body).to.deep.include({
      valid: false,
      reasonCodes: ['TOKEN_USED'],
      status: 'used',
    })
    expect((await entries()).map(({ type }) => type)).to.deep.equal(['attest', 'gate'])
  })

  it('are not used up for a wrong audience', async () => {
    const { token } = await tokens.issued({ singleUse: true, audience: 'a' })
    const verdict = (await tokens.validate({ token, audience: 'b', consume: true })).body
    expect(verdict).to.deep.include({ valid: false, consumed: false, status: 'active' })
    expect((await tokens.validate({ token, audience: 'a', consume: true })).body.consumed).to.equal(true)
  })

  it('that are not for a single use are never used up', async () => {
    const { token } = await tokens.issued()
    for (const _ of [1, 2])
      expect((await tokens.validate({ token, consume: true })).body).to.deep.include({
        valid: true,
        consumed: false,
        status: 'active',
      })
  })

  it('answer a repeated consumption under its Idempotency-Key as they did the first', async () => {
    const { token } = await tokens.issued({ singleUse: true })
    const consume = () => tokens.validate({ token, consume: true }, { 'idempotency-key': 'once' })
    const first = await consume()
    expect(first.body.consumed).to.equal(true)
    const second = await consume()
    expect(second.status).to.equal(200)
    expect(second.body).to.deep.equal(first.body)
    expect((await tokens.validate({ token, consume: true })).status).to.equal(409)
  })

  it('stay revoked, for their circuit too, and answer the first revocation again', async () => {
    const { token, tokenId, credential } = await tokens.issued({ singleUse: true })
    const first = await tokens.revoke(tokenId, 'lost')
    expect(first.status).to.equal(200)
    expect(first.body).to.deep.include({ success: true, tokenId, status: 'revoked' })
    expect((await tokens.revoke(tokenId, 'again')).body).to.deep.equal(first.body)
    expect((await tokens.validate({ token, consume: true })).body).to.deep.include({
      valid: false,
      reasonCodes: ['TOKEN_REVOKED'],
      consumed: false,
      status: 'revoked',
    })
    expect((await tokens.status(tokenId)).body).to.deep.include({
      status: 'revoked',
      revokedAt: first.body.revokedAt,
      revocationReason: 'lost',
      usedAt: null,
    })
    expect(await app.services.statuses.isSet(Number(credential?.fields.status))).to.equal(true)
    expect((await entries()).map(({ type }) => type)).to.deep.equal(['attest', 'revoke'])
  })

  it('are either used or revoked first, when both happen at once', async () => {
    for (const revokesFirst of [true, false, true, false]) {
      const { token, tokenId } = await tokens.issued({ singleUse: true })
      const use = () => tokens.validate({ token, consume: true })
      const revoke = () => tokens.revoke(tokenId)
      const [used] = revokesFirst
        ? (await Promise.all([revoke(), use()])).reverse()
        : await Promise.all([use(), revoke()])
      const verdict = used?.body as TokenVerdict
      const { usedAt, revokedAt } = (await tokens.status(tokenId)).body
      expect(revokedAt).not.to.equal(null)
      expect(verdict.consumed).to.equal(usedAt !== null)
      if (!verdict.consumed)
        expect(verdict).to.deep.include({ valid: false, reasonCodes: ['TOKEN_REVOKED'], status: 'revoked' })
    }
    // Each token's entries follow its `attest`: what was revoked is not used afterwards.
    expect((await entries()).map(({ type }) => type).join()).not.to.contain('revoke,gate')
  })

  it('of another organisation do not exist', async () => {
    const { token, tokenId } = await tokens.issued({ singleUse: true })
    const strangers = tokenRoutesOf(app, (await app.organisation()).apiKey)
    expect((await strangers.status(tokenId)).status).to.equal(404)
    expect((await strangers.revoke(tokenId)).status).to.equal(404)
    expect((await strangers.validate({ token, consume: true })).body).to.deep.include({
      valid: false,
      reasonCodes: ['TOKEN_UNKNOWN'],
      tokenId: null,
      subject: null,
      claims: null,
    })
    expect((await tokens.status(tokenId)).body.status).to.equal('active')
  })

  it('that are validated in one moment are each told their own, and strangers nothing of them', async () => {
    const strangers = tokenRoutesOf(app, (await app.organisation()).apiKey)
    const [active, revoked, used] = await Promise.all([
      tokens.issued({ subject: 'first' }),
      tokens.issued({ subject: 'second' }),
      tokens.issued({ subject: 'third', singleUse: true }),
    ])
    await tokens.revoke(revoked.tokenId)
    await tokens.validate({ token: used.token, consume: true })
    const texts = [active, revoked, used, active].map(({ token }) => token)
    const answers = await Promise.all([
      ...texts.map((token) => tokens.validate({ token })),
      ...texts.map((token) => strangers.validate({ token })),
    ])
    const told = answers.map(({ body }) => [body.subject, ...body.reasonCodes].join(' '))
    expect(told.slice(0, 4)).to.deep.equal(['first', 'second TOKEN_REVOKED', 'third TOKEN_USED', 'first'])
    expect(new Set(told.slice(4))).to.deep.equal(new Set([' TOKEN_UNKNOWN']))
  })

  it('leave neither subject nor claims readable in the database', async () => {
    const { tokenId } = await tokens.issued({ subject: 'ada@example.org', claims: { note: 'red hat' } })
    await tokens.revoke(tokenId)
    const rows = [
      await app.services.database.knex('tokens').where({ organisation: owner.organisationId }),
      await app.services.database.knex('ledger_entries').where({ organisation: owner.organisationId }),
    ].flat()
    const text = JSON.stringify(rows, (_, value) =>
      value?.type === 'Buffer' ? Buffer.from(value.data).toString('latin1') : value,
    )
    expect(text).to.contain(tokenId)
    expect(text).not.to.match(/ada@example|red hat|YWRhQGV4/)
  })

  it('carry a signature for their circuit over the same facts', async () => {
    const caller = systemCaller(owner.organisationId, 'test')
    const issued = await tokens.issued({ claims: { b: 1, a: 2 }, audience: 'gate' })
    const forCircuit = async (tokenOrId: string) => {
      const found = await app.services.tokens.forCircuit(caller, tokenOrId)
      return found.ended === undefined ? found : expect.fail(found.ended)
    }
    const { token, secret, signature, issuer, facts } = await forCircuit(issued.tokenId)
    expect(issuerSignatureHolds(tokenMessage(token), signature, issuer)).to.equal(true)
    expect(issuerSignatureHolds(tokenMessage({ ...token, audience: 0n }), signature, issuer)).to.equal(false)
    const organisation = organisationElement(owner.organisationId, 'bearer')
    expect(token).to.deep.equal({
      tokenId: h248(issued.tokenId),
      subject: h248('member-7'),
      audience: h248('gate'),
      claims: h248('{"a":2,"b":1}'),
      issuedAt: BigInt(Date.parse(issued.issuedAt) / 1000),
      expiresAt: BigInt(Date.parse(issued.expiresAt) / 1000),
      holder: holderCommitment(secret, organisation),
      organisation,
      status: token.status,
    })
    expect(await forCircuit(issued.token)).to.deep.equal({ token, secret, signature, issuer, facts })
    const open = await tokens.issued()
    const bare = await forCircuit(open.token)
    expect(bare.token).to.deep.include({ audience: 0n, claims: h248('{}') })
    expect(bare.secret).not.to.equal(secret)
    expect(bare.token.status).not.to.equal(token.status)
    for (const unknown of ['tok_00000000000000000000000000', `${issued.token}x`, 'nonsense'])
      expect(await rejection(app.services.tokens.forCircuit(caller, unknown))).to.include({
        code: 'not_found',
      })
    const stranger = systemCaller((await app.organisation()).organisationId, 'test')
    expect(await rejection(app.services.tokens.forCircuit(stranger, issued.token))).to.include({
      code: 'not_found',
    })
  })

  it('expire at their second and not before, and outlive their key', async () => {
    let now = Date.parse('2026-01-01T00:00:00.400Z')
    const own = await startTestApp({ clock: { now: () => now } })
    try {
      const { apiKey } = await own.organisation()
      const clocked = tokenRoutesOf(own, apiKey)
      const { token, tokenId, expiresAt } = await clocked.issued({ ttl: 60, singleUse: true })
      expect(expiresAt).to.equal('2026-01-01T00:01:00.000Z')
      await rotate(own, 'tokens')
      now += 59_599
      expect((await clocked.validate({ token })).body).to.deep.include({ valid: true, status: 'active' })
      now += 1
      expect((await clocked.validate({ token, consume: true })).body).to.deep.include({
        valid: false,
        reasonCodes: ['TOKEN_EXPIRED'],
        consumed: false,
        status: 'expired',
      })
      await clocked.revoke(tokenId)
      expect((await clocked.validate({ token })).body.reasonCodes).to.deep.equal([
        'TOKEN_EXPIRED',
        'TOKEN_REVOKED',
      ])
      expect((await clocked.status(tokenId)).body.status).to.equal('revoked')
    } finally {
      await own.close()
    }
  })
})
