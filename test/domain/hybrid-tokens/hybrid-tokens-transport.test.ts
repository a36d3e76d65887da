/** How hybrid tokens travel: in the body, in cookies below 4 KB, never as a credential. */
import { expect } from 'chai'
import type { HybridTokenIssued } from '../../../src/domain/hybrid-tokens/schemas.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { cookiesOf, hybridRoutesOf } from '../../support/domain/hybrid-tokens.ts'

const MAX_COOKIE_BYTES = 4096

describe('hybrid tokens on their way', function () {
  this.timeout(60_000)
  let app: TestApp
  let owner: TestOrganisation
  let hybrid: ReturnType<typeof hybridRoutesOf>
  let token: HybridTokenIssued
  before(async () => {
    app = await sharedApp()
    owner = await app.organisation()
    hybrid = hybridRoutesOf(app, owner.apiKey)
    token = await hybrid.issued({ alg_pq: 'Dilithium3', subject: 'Zoë ☃' })
  })

  const byCookies = (cookie: string, body: object = {}) => hybrid.validate(body, { cookie })

  it('fit two cookies, which are put together in the order of their numbers', async () => {
    const cookies = cookiesOf(token)
    expect(cookies).to.have.length(2)
    for (const cookie of cookies) {
      expect(Buffer.byteLength(cookie)).to.be.below(MAX_COOKIE_BYTES)
      expect(cookie).to.match(/^assay_ht_\d=[\w%!'()*~.-]+$/)
    }
    for (const header of [cookies, cookies.toReversed(), ['a=b', ...cookies, 'c=d']]) {
      const { status, body } = await byCookies(header.join('; '))
      expect([status, body.valid, body.subject]).to.deep.equal([200, true, 'Zoë ☃'])
    }
    const demanding = await byCookies(cookies.join('; '), { required_policy: 'pq_only' })
    expect(demanding.body.valid).to.equal(true)
  })

  it('of the greatest size, all outside of ASCII, still fit cookies', async () => {
    const large = await hybrid.issued({
      alg_pq: 'Dilithium3',
      subject: '☃'.repeat(256),
      claims: { decision: 1, text: '☃'.repeat(80) },
    })
    const cookies = cookiesOf(large)
    expect(cookies.length).to.be.at.most(3)
    expect((await byCookies(cookies.join('; '))).body.valid).to.equal(true)
  })

  it('in cookies that are cut, doubled, foreign or no JSON are malformed, never an error', async () => {
    const [first = '', second = ''] = cookiesOf(token)
    const nested = `${'['.repeat(1900)}${']'.repeat(1900)}`
    const deep = cookiesOf({ ...token, sig_pq: '', claims: { decision: 1, deep: JSON.parse(nested) } }).join(
      '; ',
    )
    for (const cookie of [
      first,
      second,
      `${first}; assay_ht_2=${second.slice(11)}`,
      `${first}; ${second}; assay_ht_x=1`,
      `${first}; ${second}x`,
      'assay_ht_0=%E0%A4%A',
      'assay_ht_0=1e999',
      'assay_ht_0=',
      'assay_ht_=1',
      'assay_ht_0',
      deep,
      // What no UTF-8 holds nobody signed.
      `assay_ht_0=${encodeURIComponent(JSON.stringify({ ...token, claims: { decision: 1, half: '\ud800' }, sig_pq: '' }))}`,
      `assay_ht_0=${'x'.repeat(5000)}`,
      Array.from({ length: 12 }, (_, i) => `assay_ht_${i}=x`).join('; '),
    ]) {
      const { status, body } = await byCookies(cookie)
      expect([status, body.valid], cookie.slice(0, 40)).to.deep.equal([200, false])
      expect(body.reason_codes).to.deep.equal(['TOKEN_MALFORMED'])
    }
    expect((await hybrid.validate({})).body.reason_codes).to.deep.equal(['TOKEN_MALFORMED'])
  })

  it('in the body come before those in cookies', async () => {
    const { body } = await byCookies(cookiesOf(token).join('; '), { token: { ...token, sig_pq: '' } })
    expect(body.reason_codes).to.deep.equal(['PQ_SIGNATURE_MISSING'])
  })

  it('stand alone under `token`: no member of a token beside it is taken for one that it is held against', async () => {
    for (const beside of [{ subject: 'somebody else' }, { exp: token.exp }]) {
      const { status, body } = await hybrid.validate({ token, ...beside })
      const [name] = Object.keys(beside)
      expect([status, body])
        .to.deep.include(422)
        .and.to.have.nested.property('[1].details')
        .that.deep.equals([
          { path: `/${name}`, code: 'not_applicable', message: 'must not be combined with token' },
        ])
    }
  })

  it('are refused as a credential, and the answer says where they belong', async () => {
    const text = JSON.stringify(token)
    for (const headers of [
      { authorization: `Bearer ${Buffer.from(text).toString('base64url')}` },
      { authorization: `HybridToken ${encodeURIComponent(text)}` },
      { authorization: encodeURIComponent(text) },
      { 'x-api-key': encodeURIComponent(text) },
    ] as Record<string, string>[]) {
      const { status, body } = await app.request<{ error: string; message: string; reason: string }>(
        'POST',
        '/v1/tokens/validate-quantum-safe',
        { body: {}, headers },
      )
      expect([status, body.error, body.reason]).to.deep.equal([401, 'unauthorized', 'CREDENTIAL_TOO_LONG'])
      expect(body.message).to.contain('JSON body or in cookies')
      expect(JSON.stringify(body)).to.not.contain(token.sig_classical)
    }
  })
})
