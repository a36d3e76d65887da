/** Hybrid tokens that the service signs: issued, validated, downgraded in vain, revoked. */
import { createPublicKey, verify } from 'node:crypto'
import { ml_dsa44, ml_dsa65 } from '@noble/post-quantum/ml-dsa.js'
import { expect } from 'chai'
import fc from 'fast-check'
import type { HybridTokenIssued } from '../../../src/domain/hybrid-tokens/schemas.ts'
import { findHybridToken } from '../../../src/domain/hybrid-tokens/store.ts'
import {
  CLASSICAL_ALGORITHMS,
  HYBRID_TOKEN_CONTEXT,
  hybridSigningBytes,
  MAX_HYBRID_TOKEN_BYTES,
  PQ_ALGORITHMS,
  VERIFICATION_POLICIES,
} from '../../../src/protocol/hybrid-token.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { movedClock } from '../../support/circuits/circuit-questions.ts'
import { hybridRoutesOf } from '../../support/domain/hybrid-tokens.ts'
import { tokenRoutesOf } from '../../support/domain/tokens.ts'
import { rotateNoticed } from '../../support/rotation.ts'

const bytesOf = (text: string): Buffer => Buffer.from(text, 'base64url')
const flipped = (text: string): string => {
  const bytes = bytesOf(text)
  bytes[5] = (bytes[5] ?? 0) ^ 1
  return bytes.toString('base64url')
}

describe('hybrid tokens', function () {
  this.timeout(60_000)
  const clock = movedClock()
  let app: TestApp
  let owner: TestOrganisation
  let hybrid: ReturnType<typeof hybridRoutesOf>
  let token: HybridTokenIssued
  before(async () => {
    app = await startTestApp({ clock })
    owner = await app.organisation()
    hybrid = hybridRoutesOf(app, owner.apiKey)
    token = await hybrid.issued({ claims: { decision: 1, level: 'gold' } })
  })
  after(() => app.close())

  const seconds = () => Math.floor(clock.now() / 1000)
  const verdictOf = async (presented: object, more: object = {}) => {
    const { status, body } = await hybrid.validate({ token: presented, ...more })
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(body.valid).to.equal(body.reason_codes.length === 0)
    return body
  }
  const reasonsOf = async (presented: object, more: object = {}) =>
    (await verdictOf(presented, more)).reason_codes

  it('of every combination have two signatures that anyone checks with the published keys, in at most 6 KB', async () => {
    type Published = { kid: string; alg: string; pub: string; kty: string; crv: string; x: string; y: string }
    const keysAt = async (path: string) => (await app.request<{ keys: Published[] }>('GET', path)).body.keys
    const known = await keysAt('/.well-known/jwks.json')
    const postQuantum = await keysAt('/.well-known/jwks-pq.json')
    const keyOf = (keys: readonly Published[], wanted: string) =>
      keys.find(({ kid }) => kid === wanted) ?? expect.fail(`no key ${wanted}`)
    for (const alg_classical of CLASSICAL_ALGORITHMS)
      for (const alg_pq of PQ_ALGORITHMS)
        for (const verification_policy of VERIFICATION_POLICIES) {
          const made = await hybrid.issued({ alg_classical, alg_pq, verification_policy })
          const { kid_classical, kid_pq, sig_classical, sig_pq } = made
          const bytes = hybridSigningBytes(made)
          expect(Buffer.from(bytes).toString()).to.match(/^hybrid-token\/1\n\{"alg_classical":/)
          const { kid: _, alg, pub, ...jwk } = keyOf(known, kid_classical)
          const key = createPublicKey({ key: jwk, format: 'jwk' })
          const hash = alg_classical === 'Ed25519' ? null : 'sha256'
          const classical = { key, dsaEncoding: 'ieee-p1363' } as const
          expect(verify(hash, bytes, classical, bytesOf(sig_classical))).to.equal(true)
          const scheme = alg_pq === 'Dilithium2' ? ml_dsa44 : ml_dsa65
          const published = keyOf(postQuantum, kid_pq)
          expect(published.alg).to.equal(alg_pq === 'Dilithium2' ? 'ML-DSA-44' : 'ML-DSA-65')
          const context = { context: HYBRID_TOKEN_CONTEXT }
          const [signature, pqKey] = [bytesOf(sig_pq), bytesOf(published.pub)].map((b) => new Uint8Array(b))
          expect(scheme.verify(signature as Uint8Array, bytes, pqKey as Uint8Array, context)).to.equal(true)
          expect(JSON.stringify(made).length).to.be.within(3600, MAX_HYBRID_TOKEN_BYTES)
          expect(await verdictOf(made)).to.deep.include({
            valid: true,
            policy: verification_policy,
            policy_satisfied: true,
            classical: {
              checked: verification_policy !== 'pq_only',
              valid: verification_policy !== 'pq_only',
            },
            pq: {
              checked: verification_policy !== 'classical_only',
              valid: verification_policy !== 'classical_only',
            },
            expired: false,
            revoked: false,
            subject: 'member-7',
            claims: { decision: 1 },
            signer: { type: 'service', id: app.url },
          })
        }
  })

  it('fill their 6 KB to the last byte, and not one more', async () => {
    const claims = (characters: number) => ({ decision: 1, text: 'x'.repeat(characters) })
    const more = { alg_pq: 'Dilithium3', subject: '\u{1F600}'.repeat(256) }
    const { body: refused } = await hybrid.generate({ ...more, claims: claims(3000) })
    expect(refused.details?.[0]).to.include({ path: '/claims', code: 'too_large' })
    const tooMany = Number(/(\d+) bytes too large/.exec(refused.details?.[0]?.message ?? '')?.[1])
    const largest = await hybrid.issued({ ...more, claims: claims(3000 - tooMany) })
    expect(Buffer.byteLength(JSON.stringify(largest))).to.equal(MAX_HYBRID_TOKEN_BYTES)
    expect(await reasonsOf(largest)).to.deep.equal([])
    expect((await hybrid.generate({ ...more, claims: claims(3001 - tooMany) })).status).to.equal(422)
    expect(await reasonsOf({ ...largest, claims: claims(3001 - tooMany) })).to.deep.equal(['TOKEN_TOO_LARGE'])
  })

  it('say YES under the strictest policy for five minutes when nothing else is asked, from either route', async () => {
    for (const path of ['/v1/tokens/generate-quantum-safe', '/api/tokens/generate-quantum-safe']) {
      const { status, body } = await app.request<HybridTokenIssued>('POST', path, {
        bearer: owner.apiKey,
        body: { subject: 'x', sig_classical: '', sig_pq: '' },
      })
      expect(status).to.equal(201)
      expect(body).to.deep.include({
        claims: { decision: 1 },
        alg_classical: 'Ed25519',
        alg_pq: 'Dilithium3',
        verification_policy: 'hybrid_required',
        signed_by: 'service',
        exp: body.iat + 300,
      })
      expect(body.token_id).to.match(/^hyt_[0-9a-z]{26}$/)
    }
  })

  it('are signed by the service where signatures come without keys: they can be nobody’s', async () => {
    const { sig_classical, sig_pq } = token
    const made = await hybrid.issued({ sig_classical, sig_pq })
    expect(made.signed_by).to.equal('service')
    expect(made.sig_classical).to.not.equal(sig_classical)
    expect(await reasonsOf(made)).to.deep.equal([])
  })

  it('are not made of what no token has, and the answer names the field', async () => {
    const now = seconds()
    const deep = Array.from({ length: 17 }).reduce<object>((inner) => ({ a: inner }), {})
    for (const [body, path, code] of [
      [{ subject: '' }, '/subject', 'min_length'],
      [{ subject: 'x'.repeat(257) }, '/subject', 'max_length'],
      [{ alg_pq: 'Dilithium5' }, '/alg_pq', 'enum'],
      [{ alg_classical: 'RS256' }, '/alg_classical', 'enum'],
      [{ verification_policy: 'none' }, '/verification_policy', 'enum'],
      [{ exp: now }, '/exp', 'out_of_range'],
      [{ exp: now + 365 * 24 * 3600 + 60 }, '/exp', 'out_of_range'],
      [{ exp: 'tomorrow' }, '/exp', 'type'],
      [{ claims: {} }, '/claims/decision', 'enum'],
      [{ claims: { decision: 2 } }, '/claims/decision', 'enum'],
      [{ claims: { decision: '1' } }, '/claims/decision', 'enum'],
      [{ claims: { decision: 1, deep } }, '/claims', 'too_deep'],
      [{ claims: [1] }, '/claims', 'type'],
    ] as const) {
      const answer = await hybrid.generate({ subject: 'x', ...body })
      expect([answer.status, answer.body.error], JSON.stringify(body)).to.deep.equal([
        422,
        'validation_failed',
      ])
      expect(answer.body.details?.[0]).to.include({ path, code })
    }
    expect((await hybrid.generate({})).body.details?.[0]?.path).to.equal('/subject')
  })

  it('hold for a year at most, and expire to the second', async () => {
    const year = await hybrid.issued({ exp: seconds() + 365 * 24 * 3600 })
    expect(await reasonsOf(year)).to.deep.equal([])
    const { exp } = token
    clock.offsetMs = exp * 1000 - 5000 - Date.now()
    expect(await reasonsOf(token)).to.deep.equal([])
    clock.offsetMs = exp * 1000 - Date.now()
    const verdict = await verdictOf(token)
    expect(verdict).to.deep.include({ valid: false, expired: true, policy_satisfied: true })
    expect(verdict.reason_codes).to.deep.equal(['TOKEN_EXPIRED'])
  })

  it('fail when either signature fails under hybrid_required, and only then under the others', async () => {
    const corrupt = { sig_classical: flipped(token.sig_classical), sig_pq: flipped(token.sig_pq) }
    for (const verification_policy of VERIFICATION_POLICIES) {
      const made = await hybrid.issued({ verification_policy })
      for (const half of ['classical', 'pq'] as const) {
        const name = `sig_${half}` as const
        const broken = { ...made, [name]: flipped(made[name]) }
        const demanded = verification_policy === 'hybrid_required' || verification_policy === `${half}_only`
        const verdict = await verdictOf(broken)
        expect(verdict.reason_codes).to.deep.equal(
          demanded ? [`${half.toUpperCase()}_SIGNATURE_INVALID`] : [],
        )
        expect(verdict[half]).to.deep.equal({ checked: demanded, valid: false })
        expect(verdict.policy_satisfied).to.equal(!demanded)
        // What is demanded on top counts as well.
        expect(await reasonsOf(broken, { required_policy: 'hybrid_required' })).to.deep.equal([
          `${half.toUpperCase()}_SIGNATURE_INVALID`,
        ])
      }
    }
    expect(await reasonsOf({ ...token, ...corrupt })).to.have.members([
      'CLASSICAL_SIGNATURE_INVALID',
      'PQ_SIGNATURE_INVALID',
    ])
  })

  it('are not weakened by whoever asks: its own policy holds as well', async () => {
    const broken = { ...token, sig_pq: flipped(token.sig_pq) }
    for (const required_policy of VERIFICATION_POLICIES)
      expect(await reasonsOf(broken, { required_policy })).to.deep.equal(['PQ_SIGNATURE_INVALID'])
  })

  it('can’t be stripped, downgraded, relabelled or moved to other keys', async () => {
    const other = await hybrid.issued({ alg_classical: 'ECDSA_P256', alg_pq: 'Dilithium3' })
    const later = await hybrid.issued()
    for (const [changes, reasons] of [
      [{ verification_policy: 'classical_only' }, ['CLASSICAL_SIGNATURE_INVALID', 'TOKEN_UNKNOWN']],
      [{ verification_policy: 'pq_only' }, ['PQ_SIGNATURE_INVALID', 'TOKEN_UNKNOWN']],
      [
        { verification_policy: 'classical_only', sig_pq: '' },
        ['CLASSICAL_SIGNATURE_INVALID', 'TOKEN_UNKNOWN'],
      ],
      [{ sig_pq: '' }, ['PQ_SIGNATURE_MISSING']],
      [{ sig_classical: '' }, ['CLASSICAL_SIGNATURE_MISSING']],
      [{ alg_pq: 'Dilithium3' }, ['CLASSICAL_SIGNATURE_INVALID', 'PQ_SIGNATURE_MALFORMED', 'TOKEN_UNKNOWN']],
      [{ alg_classical: 'ECDSA_P256' }, ['CLASSICAL_KEY_UNKNOWN', 'PQ_SIGNATURE_INVALID', 'TOKEN_UNKNOWN']],
      [
        { kid_classical: other.kid_classical },
        ['CLASSICAL_KEY_UNKNOWN', 'PQ_SIGNATURE_INVALID', 'TOKEN_UNKNOWN'],
      ],
      [
        { alg_classical: 'ECDSA_P256', kid_classical: other.kid_classical },
        ['CLASSICAL_SIGNATURE_INVALID', 'PQ_SIGNATURE_INVALID', 'TOKEN_UNKNOWN'],
      ],
      [{ kid_pq: token.kid_classical }, ['CLASSICAL_SIGNATURE_INVALID', 'PQ_KEY_UNKNOWN', 'TOKEN_UNKNOWN']],
      [{ claims: { decision: 1 } }, ['CLASSICAL_SIGNATURE_INVALID', 'PQ_SIGNATURE_INVALID', 'TOKEN_UNKNOWN']],
      [{ subject: 'member-8' }, ['CLASSICAL_SIGNATURE_INVALID', 'PQ_SIGNATURE_INVALID', 'TOKEN_UNKNOWN']],
      [{ exp: token.exp + 1 }, ['CLASSICAL_SIGNATURE_INVALID', 'PQ_SIGNATURE_INVALID', 'TOKEN_UNKNOWN']],
      [{ iat: token.iat - 1 }, ['CLASSICAL_SIGNATURE_INVALID', 'PQ_SIGNATURE_INVALID', 'TOKEN_UNKNOWN']],
      [
        { token_id: later.token_id },
        ['CLASSICAL_SIGNATURE_INVALID', 'PQ_SIGNATURE_INVALID', 'TOKEN_UNKNOWN'],
      ],
      [
        { sig_classical: later.sig_classical, sig_pq: later.sig_pq },
        ['CLASSICAL_SIGNATURE_INVALID', 'PQ_SIGNATURE_INVALID'],
      ],
      [{ signed_by: 'agent' }, ['SIGNER_MISMATCH']],
    ] as const) {
      const verdict = await verdictOf({ ...token, ...changes })
      expect(verdict.reason_codes, JSON.stringify(changes).slice(0, 90)).to.deep.equal(reasons)
      if (reasons.some((reason) => reason === 'TOKEN_UNKNOWN'))
        expect(verdict).to.include({ token_id: null, subject: null, claims: null, policy: null })
    }
  })

  it('of the third round are refused for the size of their signatures', async () => {
    const made = await hybrid.issued({ alg_pq: 'Dilithium3' })
    const whole = bytesOf(made.sig_pq)
    expect(whole).to.have.length(3309)
    for (const bytes of [
      whole.subarray(0, 3293),
      Buffer.alloc(3293),
      Buffer.concat([whole, Buffer.alloc(1)]),
    ])
      expect(await reasonsOf({ ...made, sig_pq: bytes.toString('base64url') })).to.deep.equal([
        'PQ_SIGNATURE_MALFORMED',
      ])
    for (const text of [`${made.sig_pq}=`, `${made.sig_pq.slice(0, -1)}+`, whole.toString('base64')])
      expect(await reasonsOf({ ...made, sig_pq: text })).to.deep.equal(['PQ_SIGNATURE_MALFORMED'])
  })

  it('of any other form are invalid, with a reason and never an error', async () => {
    const { exp: _, ...short } = token
    for (const presented of [
      {},
      [],
      'eyJ',
      7,
      true,
      short,
      { ...token, more: 1 },
      { ...token, token_id: 'tok_01kahnq7x8e4w3v5f6t2s9r0pm' },
      { ...token, iat: String(token.iat) },
      { ...token, exp: token.exp + 0.5 },
      { ...token, claims: {} },
      { ...token, claims: null },
      { ...token, kid_pq: 'x' },
      { ...token, subject: '' },
      { ...token, sig_pq: null },
      { ...token, signed_by: 7 },
      { token },
    ])
      expect(await reasonsOf(presented as object), JSON.stringify(presented).slice(0, 60)).to.deep.equal([
        'TOKEN_MALFORMED',
      ])
    for (const [changes, reason] of [
      [{ alg_pq: 'Dilithium5' }, 'ALGORITHM_UNKNOWN'],
      [{ alg_classical: 'none' }, 'ALGORITHM_UNKNOWN'],
      [{ alg_classical: 'toString' }, 'ALGORITHM_UNKNOWN'],
      [{ verification_policy: 'none' }, 'POLICY_UNKNOWN'],
      [{ exp: token.iat }, 'LIFETIME_INVALID'],
      [{ exp: token.iat + 365 * 24 * 3600 + 1 }, 'LIFETIME_INVALID'],
      [{ claims: { decision: 1, text: 'x'.repeat(3000) } }, 'TOKEN_TOO_LARGE'],
    ] as const)
      expect(await reasonsOf({ ...token, ...changes })).to.deep.equal([reason])
    // Infinity, once it is read.
    const text = JSON.stringify({ token: { ...token, claims: { decision: 1, n: 0 } } })
    const { body } = await hybrid.validate(text.replace('"n":0', '"n":1e999') as unknown as object)
    expect(body.reason_codes).to.deep.equal(['TOKEN_MALFORMED'])
  })

  it('never make the service answer anything but a verdict, whatever member is replaced by whatever', async () => {
    const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.string(), fc.integer())
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...Object.keys(token)), value, async (name, replacement) => {
        const { status, body } = await hybrid.validate({ token: { ...token, [name]: replacement } })
        // JSON itself may be refused, such as a text with a NUL.
        expect([200, 400]).to.include(status)
        const isSame = JSON.stringify(replacement) === JSON.stringify(token[name as keyof HybridTokenIssued])
        if (status === 200 && !isSame) expect(body.valid).to.equal(false)
      }),
      { numRuns: 60 },
    )
  })

  it('count whatever their claims say, under token as well as in the body itself', async () => {
    const claims = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ maxDepth: 3 }), {
      maxKeys: 5,
    })
    const example = {
      n: null,
      list: [null, { a: null }],
      zero: -0,
      small: 1e-7,
      10: 1e21,
      9: { toJSON: 'x' },
    }
    let counted = 0
    await fc.assert(
      fc.asyncProperty(claims, async (more) => {
        const { status, body } = await hybrid.generate({
          subject: 'x',
          alg_pq: 'Dilithium2',
          claims: { ...more, token: null, decision: 1 },
        })
        // Some texts and names are refused in any body, and so are numbers that would be rounded.
        if (status === 400 || status === 422) return
        expect(status).to.equal(201)
        expect(await reasonsOf(body)).to.deep.equal([])
        expect((await hybrid.validate(body)).body.reason_codes).to.deep.equal([])
        counted++
      }),
      { numRuns: 40, examples: [[example]] },
    )
    expect(counted).to.be.above(0)
  })

  it('may stand in the body itself, beside what is asked', async () => {
    const { status, body } = await hybrid.validate({
      ...token,
      required_policy: 'pq_only',
      accept_signers: [],
    })
    expect([status, body.valid]).to.deep.equal([200, true])
    expect((await hybrid.validate({ ...token, token: null })).body.valid).to.equal(true)
    for (const loose of [{ required_policy: null }, { required_polcy: 'pq_only' }])
      expect((await hybrid.validate({ ...token, ...loose })).status).to.equal(422)
    expect((await hybrid.validate({ token: null })).body.reason_codes).to.deep.equal(['TOKEN_MALFORMED'])
    const wrong = await hybrid.validate({ ...token, required_policy: 'any' })
    expect([wrong.status, wrong.body.details?.[0]?.path]).to.deep.equal([422, '/required_policy'])
  })

  it('are unknown to other organisations, which can neither validate, revoke nor look them up', async () => {
    const stranger = await app.organisation()
    const theirs = hybridRoutesOf(app, stranger.apiKey)
    const { body } = await theirs.validate({ token })
    expect(body).to.deep.include({ valid: false, subject: null, claims: null, policy_satisfied: true })
    expect(body.reason_codes).to.deep.equal(['TOKEN_UNKNOWN'])
    const others = tokenRoutesOf(app, stranger.apiKey)
    expect((await others.revoke(token.token_id)).status).to.equal(404)
    expect((await others.status(token.token_id)).status).to.equal(404)
  })

  it('remain valid after the service has changed its keys', async () => {
    const old = await hybrid.issued()
    await rotateNoticed(app, 'tokens')
    const fresh = await hybrid.issued()
    expect(fresh.kid_pq).to.not.equal(old.kid_pq)
    expect(await reasonsOf(old)).to.deep.equal([])
    expect(await reasonsOf(fresh)).to.deep.equal([])
  })

  it('are recorded by digest and commitment, without subject or claims', async () => {
    const made = await hybrid.issued({
      subject: 'somebody@example.org',
      claims: { decision: 0, secret: 'tulip' },
    })
    const { database } = app.services
    const row = await findHybridToken(database, owner.organisationId, made.token_id)
    if (row === undefined) return expect.fail('no row')
    const logged = await database.knex('ledger_entries').where({ idx: row.entry_index }).first()
    expect(logged.type).to.equal('hybrid_token')
    const entry = JSON.parse(logged.entry)
    expect(entry.digest).to.equal(Buffer.from(row.digest).toString('hex'))
    expect(entry.data).to.deep.include({ policy_bits: 3, signed_by: 'service' })
    expect(entry.commitment).to.match(/^[0-9a-f]{64}$/)
    for (const word of ['somebody', 'tulip']) {
      expect(logged.entry).to.not.contain(word)
      expect(Buffer.from(row.sealed).toString('latin1')).to.not.contain(word)
    }
  })

  it('are issued once under one Idempotency-Key', async () => {
    const headers = { 'idempotency-key': `hybrid-${owner.organisationId}` }
    const body = { subject: 'x', alg_pq: 'Dilithium2' }
    const [first, second] = [await hybrid.generate(body, headers), await hybrid.generate(body, headers)]
    expect(first.status).to.equal(201)
    expect(second.body).to.deep.equal(first.body)
  })

  it('are revoked for good, once, whoever is faster', async () => {
    const made = await hybrid.issued()
    const { revoke, status } = tokenRoutesOf(app, owner.apiKey)
    const standing = async () => (await status(made.token_id)).body
    expect(await standing()).to.include({ type: 'hybrid', status: 'active', revokedAt: null })
    const answers = await Promise.all(
      ['lost', 'stolen', 'sold'].map(async (reason) => (await revoke(made.token_id, reason)).body),
    )
    expect(answers[0]).to.include({ success: true, tokenId: made.token_id, status: 'revoked' })
    for (const answer of answers) expect(answer).to.deep.equal(answers[0])
    const verdict = await verdictOf(made)
    expect(verdict).to.deep.include({ valid: false, revoked: true, policy_satisfied: true })
    expect(verdict.reason_codes).to.deep.equal(['TOKEN_REVOKED'])
    expect(await standing()).to.include({ status: 'revoked', revokedAt: answers[0]?.revokedAt })
    const entries = await app.services.database
      .knex('ledger_entries')
      .where({ organisation: owner.organisationId, type: 'revoke' })
    expect(entries.filter(({ entry }) => entry.includes('hybrid_token.revoked'))).to.have.length(1)
  })

  it('need a key with scope token', async () => {
    const { body } = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      key: owner.apiKey,
      body: { label: 'other', scopes: ['verify'] },
    })
    const other = hybridRoutesOf(app, body.apiKey)
    expect((await other.generate({ subject: 'x' })).status).to.equal(403)
    expect((await other.validate({ token })).status).to.equal(403)
  })
})
