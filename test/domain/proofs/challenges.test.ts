/** Challenges: asked with a key, answered without one, once, and told to the asker alone. */
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { fail } from '../../../src/errors.ts'
import type { SnarkProof } from '../../../src/protocol/zk1.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { kycRoutesOf } from '../../support/domain/kyc.ts'
import {
  AGE_QUESTION,
  challengeRoutesOf,
  type Keeper,
  keeperOf,
  type Presented,
  proveKyc,
} from '../../support/domain/presentations.ts'
import { entriesOf, postVerifyProof } from '../../support/domain/proof-api.ts'
import { eventually } from '../../support/eventually.ts'
import { register } from '../../support/webhooks.ts'

const START = Date.parse('2026-06-01T12:00:00Z')
const NO_PROOF = { proof: 'zk1.AAAA', public_signals: [] } as unknown as Presented

describe('challenges', function () {
  this.timeout(120_000)
  let now = START
  let app: TestApp
  let issuer: TestOrganisation
  let asker: TestOrganisation
  let keeper: Keeper
  let routes: ReturnType<typeof challengeRoutesOf>
  before(async () => {
    app = await startTestApp({ clock: { now: () => now } })
    issuer = await app.organisation()
    keeper = await keeperOf(app, issuer)
  })
  after(() => app.close())
  beforeEach(async () => {
    now = START
    asker = await app.organisation()
    routes = challengeRoutesOf(app, asker.apiKey)
  })
  const ask = (changes: object = {}) =>
    routes.asked({ ...AGE_QUESTION, issuers: [issuer.organisationId], ...changes })
  const told = async (id: string) => (await routes.find(id)).body

  it('say what to prove, where, and until when', async () => {
    const made = await ask({ ttl: 60 })
    const { challenge_id: id, context } = made
    expect(made.request_url).to.equal(`${app.url}/challenge/${id}`)
    expect(made.qr).to.match(/^<svg /)
    expect(made.expires_at).to.equal(new Date(START + 60_000).toISOString())
    expect(context).to.deep.include({
      aud: app.url,
      org: asker.organisationId,
      circuit: 'kyc',
      nonce: made.nonce,
      exp: START / 1000 + 60,
    })
    expect(context.statement).to.deep.equal({
      minLevel: '1',
      latestBirthDate: '20080601',
      countries: Array.from({ length: 8 }, () => '0'),
      unique: '1',
      disclose: '1',
      purpose: 'age-check',
    })
    expect(await told(id)).to.deep.include({ state: 'open', attempts: 0, result: null, context })
  })

  it('are shown to whoever has the address in the service’s words, with the asker’s name', async () => {
    const { challenge_id: id, context } = await ask({ purpose: 'Free money! https://evil.example' })
    const { status, body } = await routes.request(id)
    expect(status).to.equal(200)
    const { context: bound, ...seen } = body
    expect(bound).to.deep.equal(context)
    expect(JSON.stringify(seen)).not.to.contain('evil')
    expect(seen).to.deep.include({
      state: 'open',
      circuit_id: 'kyc',
      status: 'required',
      issuers: [issuer.organisationId],
    })
    expect(seen.asker).to.deep.include({ organisation: asker.organisationId, domain: null })
    expect(seen.asker.name).to.match(/^Shop /)
    expect(seen.question).to.contain('was born on 2008-06-01 or earlier')
    expect((await routes.request(`chl_${'0'.repeat(26)}`)).status).to.equal(404)
  })

  it('are answered by who keeps the credential, which the asker learns by asking and by proof.verified', async () => {
    const { challenge_id: id, context, proof_id } = await ask()
    const made = await proveKyc(keeper, context, now)
    const url = 'https://hooks.shop.example/'
    const { id: endpoint } = await register(app, { key: asker.apiKey }, { url, events: ['proof.verified'] })
    const { status, body } = await routes.answer(id, made)
    expect([status, body]).to.deep.equal([200, { status: 'received' }])
    const after = await told(id)
    expect(after).to.deep.include({ state: 'verified', attempts: 1, reason_codes: [] })
    expect(after.result).to.deep.include({
      verified: true,
      decision: 1,
      issuer: issuer.organisationId,
      binding: 'holder',
      made_by: 'elsewhere',
      public_signals: made.public_signals,
    })
    expect((await routes.request(id)).body.state).to.equal('closed')
    const [entry] = await entriesOf(app, proof_id)
    expect(entry).to.deep.include({ type: 'verify', circuit_id: 'kyc', digest: after.result?.digest })
    expect(entry?.key_id).to.match(/^key_/)
    let announced: { event?: string; data?: object } = {}
    await eventually('the event', async () => {
      const row = await app.services.database.knex('webhook_deliveries').where({ endpoint }).first('body')
      announced = row ? JSON.parse(row.body) : {}
      return row !== undefined
    })
    expect(announced.event).to.equal('proof.verified')
    expect(announced.data).to.have.keys('digest', 'circuit_id', 'proof_id', 'merkle_root', 'merkle_leaf_hash')
    expect(announced.data).to.include({ proof_id, circuit_id: 'kyc' })
    const { proof, public_signals } = made
    const spent = await postVerifyProof(app, asker.apiKey, { proof_id, proof, public_signals, consume: true })
    expect(spent.body).to.include({ verified: true, consumed: true })
  })

  it('can be answered by the asker’s own key with what they were handed otherwise', async () => {
    const { challenge_id: id, context, proof_id } = await ask()
    const made = await proveKyc(keeper, context, now)
    const { body } = await postVerifyProof(app, asker.apiKey, made)
    expect(body).to.deep.include({ verified: true, proof_id, issuer: issuer.organisationId })
    expect((await told(id)).state).to.equal('verified')
    const again = await postVerifyProof(app, asker.apiKey, made)
    expect(again.body.reason_codes).to.deep.equal(['CHALLENGE_ANSWERED'])
  })

  it('are answered once: the same and another proof are refused after that', async () => {
    const { challenge_id: id, context } = await ask()
    const made = await proveKyc(keeper, context, now)
    await routes.answer(id, made)
    for (const answer of [made, await proveKyc(keeper, context, now + 1000)]) {
      const { status, body } = await routes.answer(id, answer)
      expect([status, body.error, body.reason]).to.deep.equal([409, 'challenge_closed', 'CHALLENGE_ANSWERED'])
    }
    const other = await proveKyc(keeper, context, now + 1000)
    const late = await postVerifyProof(app, asker.apiKey, other)
    expect(late.body).to.deep.include({ verified: false, reason_codes: ['CHALLENGE_ANSWERED'] })
  })

  it('are answered by one of many at the same time', async () => {
    const { challenge_id: id, context, proof_id } = await ask()
    const answers = await Promise.all(
      [0, 1000, 2000, 3000].map((later) => proveKyc(keeper, context, now + later)),
    )
    const statuses = await Promise.all(answers.map(async (one) => (await routes.answer(id, one)).status))
    expect(statuses.every((status) => status === 200 || status === 409)).to.equal(true)
    expect((await told(id)).state).to.equal('verified')
    expect(await entriesOf(app, proof_id)).to.have.length(1)
  })

  it('take five answers; what was wrong with the last is told to the asker alone', async () => {
    const { challenge_id: id, context } = await ask()
    const good = await proveKyc(keeper, context, now)
    for (let tries = 1; tries <= 5; tries++) {
      const { status, body } = await routes.answer(id, NO_PROOF)
      expect([status, body]).to.deep.equal([200, { status: 'received' }])
      expect(await told(id)).to.deep.include({ attempts: tries, reason_codes: ['PROOF_MALFORMED'] })
    }
    const { status, body } = await routes.answer(id, good)
    expect([status, body.reason]).to.deep.equal([409, 'CHALLENGE_TRIES_OVER'])
    expect(await told(id)).to.deep.include({ state: 'failed', attempts: 5, result: null })
  })

  it('lose no answer for one that nobody looked at, since too many waited', async () => {
    const { challenge_id: id } = await ask()
    const { proof, public_signals } = await proveKyc(keeper, (await ask()).context, now)
    const { verifier } = app.services
    let isOver = false
    const wait = async () => {
      while (!isOver) {
        await verifier.verify('kyc', proof as SnarkProof, public_signals, 'challenge-answers').catch(() => {})
        await setImmediate()
      }
    }
    const waiting = Array.from({ length: 400 }, wait)
    const statuses: number[] = []
    for (let i = 0; i < 5; i++) statuses.push((await routes.answer(id, { proof, public_signals })).status)
    isOver = true
    await Promise.all(waiting)
    expect(statuses).to.include(503)
    expect((await told(id)).attempts).to.equal(statuses.filter((status) => status === 200).length)
  })

  it('lose no answer for one that nobody could judge, since the database was out of reach', async () => {
    const { challenge_id: id, context } = await ask()
    const made = await proveKyc(keeper, context, now)
    const { ledger } = app.services
    const { append } = ledger
    Object.assign(ledger, { append: async () => fail('unavailable') })
    const statuses: number[] = []
    for (let i = 0; i < 6; i++) statuses.push((await routes.answer(id, made)).status)
    Object.assign(ledger, { append })
    expect(statuses).to.deep.equal(Array.from({ length: 6 }, () => 503))
    expect((await told(id)).attempts).to.equal(0)
    expect((await routes.answer(id, made)).status).to.equal(200)
    expect(await told(id)).to.deep.include({ state: 'verified', attempts: 1 })
  })

  it('take five answers of forty at the same time', async () => {
    const { challenge_id: id } = await ask()
    const answers = await Promise.all(Array.from({ length: 40 }, () => routes.answer(id, NO_PROOF)))
    const taken = answers.filter(({ status }) => status === 200)
    expect(taken).to.have.length(5)
    expect(answers.every(({ status }) => [200, 409, 503].includes(status))).to.equal(true)
    expect((await told(id)).attempts).to.equal(5)
  })

  it('end', async () => {
    const { challenge_id: id, context } = await ask({ ttl: 30 })
    now = START + 30_000
    const made = await proveKyc(keeper, context, now)
    const { status, body } = await routes.answer(id, made)
    expect([status, body.reason]).to.deep.equal([409, 'CHALLENGE_EXPIRED'])
    expect((await told(id)).state).to.equal('expired')
    expect((await routes.request(id)).body.state).to.equal('expired')
    const own = await postVerifyProof(app, asker.apiKey, made)
    expect(own.body.reason_codes).to.deep.equal(['EXPIRED'])
  })

  const refused = async (id: string, made: Presented) => {
    expect((await routes.answer(id, made)).body).to.deep.equal({ status: 'received' })
    const { state, reason_codes } = await told(id)
    expect(state).to.equal('open')
    return reason_codes
  }

  it('are not answered by a proof for another challenge, of another asker or purpose', async () => {
    const other = await app.organisation()
    const theirs = await challengeRoutesOf(app, other.apiKey).asked({
      ...AGE_QUESTION,
      issuers: [issuer.organisationId],
    })
    const mine = await ask()
    for (const { context } of [theirs, await ask(), await ask({ purpose: 'other' })])
      expect(await refused(mine.challenge_id, await proveKyc(keeper, context, now))).to.deep.equal([
        'CHALLENGE_MISMATCH',
      ])
    // Nor are they known to others.
    const shown = await proveKyc(keeper, mine.context, now)
    const { body } = await postVerifyProof(app, other.apiKey, shown)
    expect(body.reason_codes).to.deep.equal(['EXPECTATION_MISSING', 'ISSUER_NOT_ACCEPTED'])
  })

  it('are not answered by what an issuer issued whom nobody asked for, by default all but the asker', async () => {
    const { challenge_id: id, context } = await routes.asked()
    expect(await refused(id, await proveKyc(keeper, context, now))).to.deep.equal(['ISSUER_NOT_ACCEPTED'])
    const own = await keeperOf(app, asker)
    await routes.answer(id, await proveKyc(own, context, now))
    expect((await told(id)).result).to.include({ issuer: asker.organisationId })
  })

  it('are not answered with a revoked credential, a hidden status or an old proof', async () => {
    const person = await keeperOf(app, issuer)
    const { challenge_id: id, context } = await ask()
    expect(await refused(id, await proveKyc(person, context, now, { disclose: false }))).to.deep.equal([
      'STATUS_UNDISCLOSED',
    ])
    expect(await refused(id, await proveKyc(person, context, now - 121_000))).to.deep.equal([
      'NOW_OUT_OF_RANGE',
    ])
    const made = await proveKyc(person, context, now)
    await kycRoutesOf(app, issuer.apiKey).erase(person.userId)
    expect(await refused(id, made)).to.deep.equal(['CREDENTIAL_REVOKED'])
  })

  it('that do not require the status are answered without it, and those of more than one answer by anybody', async () => {
    const { challenge_id: id, context } = await ask({ status: 'not_required', unique: false })
    expect(context.statement).to.include({ disclose: '0', unique: '0' })
    await routes.answer(id, await proveKyc(keeper, context, now))
    const { state, status } = await told(id)
    expect([state, status]).to.deep.equal(['verified', 'not_required'])
  })

  it('may be answered with NO', async () => {
    const { challenge_id: id, context } = await ask({ inputs: { minLevel: 'enhanced', minAge: 18 } })
    await routes.answer(id, await proveKyc(keeper, context, now))
    expect((await told(id)).result).to.include({ verified: true, decision: 0 })
  })

  it('are the asker’s alone', async () => {
    const { challenge_id: id } = await ask()
    const other = await app.organisation()
    expect((await challengeRoutesOf(app, other.apiKey).find(id)).status).to.equal(404)
    expect((await app.request('GET', `/v1/proofs/challenge/${id}`)).status).to.equal(401)
  })

  it('are refused that ask what nobody vouches for, or what does not exist', async () => {
    const cases: [object, number, string][] = [
      [{ circuit_id: 'yesno' }, 400, 'proof_not_accepted'],
      [{ circuit_id: 'unknown' }, 404, 'not_found'],
      [{ inputs: { minLevel: 'basic' } }, 422, 'validation_failed'],
      [{ inputs: { minLevel: 'basic', minAge: 18, userId: 'u' } }, 422, 'unknown_member'],
      [{ inputs: { minLevel: 'basic', minAge: 18, countries: ['XX'] } }, 422, 'validation_failed'],
      [{ inputs: { minLevel: 'basic', latestBirthDate: '2001-02-30' } }, 422, 'validation_failed'],
      [{ issuers: [] }, 422, 'validation_failed'],
      [{ issuers: ['me'] }, 422, 'validation_failed'],
      [{ ttl: 901 }, 422, 'validation_failed'],
      [{ ttl: 0 }, 422, 'validation_failed'],
      [{ status: null }, 422, 'validation_failed'],
      [{ unique: null }, 422, 'validation_failed'],
      [{ purpose: '' }, 422, 'validation_failed'],
      [{ circuit_id: 'token_validation', inputs: {}, unique: true }, 422, 'validation_failed'],
      [{ circuit_id: 'token_validation', inputs: {}, status: 'not_required' }, 422, 'validation_failed'],
      [{ surprise: 1 }, 422, 'unknown_member'],
    ]
    for (const [changes, status, error] of cases) {
      const answer = await routes.create({ ...AGE_QUESTION, ...changes })
      expect([answer.status, answer.body.error], JSON.stringify(changes)).to.deep.equal([status, error])
    }
  })

  it('ask of tokens and consents as well', async () => {
    const token = await routes.asked({ circuit_id: 'token_validation', inputs: {}, purpose: 'gate' })
    expect(token.context.statement).to.deep.equal({ audience: '0', disclose: '1', purpose: 'gate' })
    const inputs = { purpose: 'newsletter', controller: 'shop.example' }
    const consent = await routes.asked({ circuit_id: 'consent_verification', inputs, purpose: 'mail' })
    expect(consent.context.statement).to.have.keys('controller', 'purpose_element', 'disclose', 'purpose')
  })

  it('are a thousand at most that wait, of an organisation; answered and ended ones make room', async () => {
    const { knex } = app.services.database
    const [made] = [await ask()]
    const [row] = await knex('proof_challenges').where({ id: made.challenge_id })
    const json = {
      statement: JSON.stringify(row.statement),
      issuers: JSON.stringify(row.issuers),
      reason_codes: '[]',
    }
    const rows = Array.from({ length: 989 }, (_, i) => ({
      ...row,
      ...json,
      id: `chl_${String(i).padStart(26, '0')}`,
      proof_id: `prf_${String(i).padStart(26, '0')}`,
      nonce: `n-${i}`,
    }))
    for (let i = 0; i < rows.length; i += 100) await knex('proof_challenges').insert(rows.slice(i, i + 100))
    const answers = await Promise.all(Array.from({ length: 20 }, () => routes.create()))
    expect(answers.filter(({ status }) => status === 201)).to.have.length(10)
    const refusals = answers.filter(({ status }) => status === 409).map(({ body }) => body as object)
    expect(refusals).to.have.length(10)
    expect(refusals[0]).to.deep.include({ error: 'limit_reached', limit: 1000 })
    await routes.answer(made.challenge_id, await proveKyc(keeper, made.context, now))
    expect((await routes.create()).status).to.equal(201)
    expect((await routes.create()).status).to.equal(409)
    now = START + 301_000
    expect((await routes.create()).status).to.equal(201)
  })

  it('are forgotten a day after their end', async () => {
    const { challenge_id: id } = await ask()
    now = START + 86_400_000
    await ask()
    expect((await routes.find(id)).status).to.equal(200)
    now = START + 86_400_000 + 3_700_000
    // Some hundred at a time.
    for (let sweeps = 0; sweeps < 4; sweeps++) await ask()
    expect((await routes.find(id)).status).to.equal(404)
  })

  it('give the same answer to a repeated Idempotency-Key', async () => {
    const post = () =>
      app.request<{ challenge_id: string }>('POST', '/v1/proofs/challenge', {
        key: asker.apiKey,
        body: AGE_QUESTION,
        headers: { 'idempotency-key': 'one' },
      })
    const [first, second] = [await post(), await post()]
    expect(second.body).to.deep.equal(first.body)
  })

  it('limit answers by address', async () => {
    const { challenge_id: id } = await ask()
    const headers = { 'x-forwarded-for': '192.0.2.77' }
    const statuses: number[] = []
    for (let i = 0; i < 31; i++)
      statuses.push(
        (await app.request('POST', `/v1/proofs/challenge/${id}/answer`, { body: { proof: 'x' }, headers }))
          .status,
      )
    expect(statuses.at(-1)).to.equal(429)
    expect(statuses.slice(0, 30)).to.not.include(429)
  })
})
