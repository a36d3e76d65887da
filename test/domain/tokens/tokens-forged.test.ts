/** What is no token of ours is not valid, whatever it says of itself; and each refusal has its reason. */
import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto'
import { expect } from 'chai'
import { jwsHash } from '../../../src/domain/tokens/presented.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { base64url, payloadOf, signedBy, tokenRoutesOf } from '../../support/domain/tokens.ts'
import { signedResult } from '../../support/verification.ts'

const kidOf = (head: string): string => JSON.parse(Buffer.from(head, 'base64url').toString()).kid

describe('texts that are no tokens', () => {
  let app: TestApp
  let owner: TestOrganisation
  let tokens: ReturnType<typeof tokenRoutesOf>
  let token: string
  before(async () => {
    app = await sharedApp()
    owner = await app.organisation()
    tokens = tokenRoutesOf(app, owner.apiKey)
    token = (await tokens.issued({ singleUse: true })).token
  })
  const NOTHING = { tokenId: null, type: null, subject: null, audience: null, claims: null, singleUse: null }
  const reasonOf = async (text: string): Promise<string> => {
    const { status, body } = await tokens.validate({ token: text, consume: true })
    expect(status).to.equal(200)
    expect(body).to.deep.equal({
      ...NOTHING,
      valid: false,
      reasonCodes: body.reasonCodes,
      consumed: false,
      status: null,
      issuedAt: null,
      expiresAt: null,
    })
    return body.reasonCodes.join()
  }
  const parts = () => token.split('.') as [string, string, string]
  /** The token's payload under a header and signature of somebody's own. */
  const withHeader = (header: object, signature = parts()[2]) =>
    `${base64url(header)}.${parts()[1]}.${signature}`

  it('and no compact JWS are malformed', async () => {
    const [head, body, tail] = parts()
    const latin1 = Buffer.from('{"a":"\xff"}', 'latin1').toString('base64url')
    for (const text of [
      'x',
      '..',
      `${head}.${body}`,
      `${head}.${body}.`,
      `${token}.${tail}`,
      `${token}=`,
      ` ${token}`,
      `${head}.${body}.${tail.slice(0, -1)}`,
      `${head}.${base64url(Buffer.from('[]'))}.${tail}`,
      `${head}.${base64url(Buffer.from('null'))}.${tail}`,
      `${base64url(Buffer.from('{'))}.${body}.${tail}`,
      `${head}.${latin1}.${tail}`,
      `${Buffer.from('{}').toString('base64')}.${body}.${tail}`,
    ])
      expect(await reasonOf(text), text).to.equal('TOKEN_MALFORMED')
  })

  it('that have another header than ours are refused, whoever signed them', async () => {
    const payload = payloadOf(token)
    const kid = kidOf(parts()[0])
    const jwk = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
    for (const header of [
      { typ: 'JWT' },
      { typ: 'vr+jws' },
      { typ: undefined },
      { alg: 'none' },
      { alg: 'ES256' },
      { alg: 'HS256' },
      { kid: undefined },
      { kid: 7 },
      { jku: 'https://attacker.example/jwks.json' },
      { jwk },
      { x5u: 'https://attacker.example' },
      { crit: ['exp'] },
      { b64: false },
    ])
      expect(
        await reasonOf(await signedBy(app, 'tokens', 'Ed25519', payload, header)),
        JSON.stringify(header),
      ).to.equal('HEADER_REFUSED')
    expect(await reasonOf(withHeader({ alg: 'none', kid, typ: 'vt+jwt' }))).to.equal('HEADER_REFUSED')
  })

  it('that are signed by a key that is not for tokens have an unknown key', async () => {
    const payload = payloadOf(token)
    expect(await reasonOf(await signedBy(app, 'results', 'Ed25519', payload))).to.equal('KEY_UNKNOWN')
    expect(await reasonOf(await signedBy(app, 'log', 'Ed25519', payload))).to.equal('KEY_UNKNOWN')
    expect(await reasonOf(await signedBy(app, 'tokens', 'ES256', payload))).to.equal('KEY_UNKNOWN')
    expect(await reasonOf(withHeader({ alg: 'EdDSA', kid: '__proto__', typ: 'vt+jwt' }))).to.equal(
      'KEY_UNKNOWN',
    )
  })

  it('that were altered, or signed by a stranger under our kid, have a wrong signature', async () => {
    const [head, , tail] = parts()
    const body = base64url({ ...payloadOf(token), sub: 'somebody-else' })
    expect(await reasonOf(`${head}.${body}.${tail}`)).to.equal('SIGNATURE_INVALID')
    const { privateKey } = generateKeyPairSync('ed25519')
    const key = createPrivateKey(privateKey.export({ format: 'pem', type: 'pkcs8' }))
    const forged = sign(null, Buffer.from(`${head}.${body}`), key)
    expect(await reasonOf(`${head}.${body}.${base64url(forged)}`)).to.equal('SIGNATURE_INVALID')
    for (const bytes of [1, 63, 65, 128])
      expect(await reasonOf(`${head}.${parts()[1]}.${base64url(new Uint8Array(bytes))}`)).to.equal(
        'SIGNATURE_INVALID',
      )
    expect(await reasonOf(withHeader({ typ: 'vt+jwt', alg: 'EdDSA', kid: kidOf(head) }))).to.equal(
      'SIGNATURE_INVALID',
    )
  })

  it('that only the database takes for the one that was issued have a wrong signature', async () => {
    const { token: issued, tokenId } = await tokens.issued()
    const [head = '', , tail = ''] = issued.split('.')
    const forged = `${head}.${base64url({ ...payloadOf(issued), sub: 'somebody-else' })}.${tail}`
    await app.services.database
      .knex('tokens')
      .where({ id: tokenId })
      .update({ jws_hash: jwsHash(forged) })
    expect(await reasonOf(forged)).to.equal('SIGNATURE_INVALID')
    // Nor does another's sealed value stand for it.
    const sealedOf = (id: string) => app.services.database.knex('tokens').where({ id }).first('sealed')
    const other = await tokens.issued()
    await app.services.database
      .knex('tokens')
      .where({ id: other.tokenId })
      .update(await sealedOf(tokenId))
    expect((await tokens.validate({ token: other.token })).status).to.equal(500)
  })

  it('that were signed here but never issued are unknown', async () => {
    const payload = payloadOf(token)
    const others = { jti: 'tok_00000000000000000000000000', exp: 4_102_444_800, sub: 'somebody-else' }
    for (const [name, value] of Object.entries(others)) {
      const text = await signedBy(app, 'tokens', 'Ed25519', { ...payload, [name]: value })
      expect(await reasonOf(text), name).to.equal('TOKEN_UNKNOWN')
    }
    for (const jti of [undefined, null, 7, ['x'], { x: 1 }, '\u0000'])
      expect(await reasonOf(await signedBy(app, 'tokens', 'Ed25519', { ...payload, jti }))).to.equal(
        'TOKEN_UNKNOWN',
      )
  })

  it('that are other things that this service signs are refused', async () => {
    expect(await reasonOf((await signedResult(app, owner.apiKey)).jws)).to.equal('HEADER_REFUSED')
  })

  it('that are larger than any token are refused unread', async () => {
    const { status, body } = await tokens.validate({ token: 'x'.repeat(8193) })
    expect(status).to.equal(422)
    expect(body.details?.[0]).to.deep.include({ path: '/token' })
  })

  it('do not use up the one that they imitate', async () => {
    expect((await tokens.validate({ token, consume: true })).body.consumed).to.equal(true)
  })
})
