/** Proofs that the service never saw: verified by what was asked before and by who issued, never because somebody knows a context. */
import { expect } from 'chai'
import type { Credential } from '../../../src/circuits/credential.ts'
import { createHolder } from '../../../src/circuits/holder.ts'
import { h248, type ProofContext } from '../../../src/rules/encode.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { ok } from '../../support/client.ts'
import { kycRoutesOf } from '../../support/domain/kyc.ts'
import {
  AGE_QUESTION,
  challengeRoutesOf,
  type Keeper,
  keeperOf,
  type Otherwise,
  proveKyc,
  proveToken,
} from '../../support/domain/presentations.ts'
import {
  entriesOf,
  type Failed,
  postGenerate,
  postSimpleVerify,
  postVerifyProof,
} from '../../support/domain/proof-api.ts'
import { rejection } from '../../support/rejection.ts'

const START = Date.parse('2026-06-01T12:00:00Z')
const AUD = 'https://shop.example'
const PURPOSE = 'age-check'

describe('proofs made elsewhere', function () {
  this.timeout(120_000)
  let now = START
  let app: TestApp
  let issuer: TestOrganisation
  let asker: TestOrganisation
  let keeper: Keeper
  let nonces = 0
  before(async () => {
    app = await startTestApp({ clock: { now: () => now } })
    issuer = await app.organisation()
    asker = await app.organisation()
    keeper = await keeperOf(app, issuer)
  })
  after(() => app.close())
  beforeEach(() => {
    now = START
  })

  const contextOf = (changes: Partial<ProofContext> = {}, stated: object = {}): ProofContext => ({
    aud: AUD,
    org: asker.organisationId,
    circuit: 'kyc',
    statement: {
      minLevel: '1',
      latestBirthDate: '20080601',
      countries: Array.from({ length: 8 }, () => '0'),
      unique: '1',
      disclose: '1',
      purpose: PURPOSE,
      ...stated,
    },
    nonce: `n-${++nonces}`,
    exp: START / 1000 + 300,
    ...changes,
  })
  const shown = (context = contextOf(), who = keeper, otherwise: Otherwise = {}) =>
    proveKyc(who, context, now, otherwise)
  const expected = (context: ProofContext, changes: object = {}) => ({
    audience: AUD,
    purpose: PURPOSE,
    nonce: context.nonce,
    issuers: [issuer.organisationId],
    ...changes,
  })
  const verify = async (
    made: Awaited<ReturnType<typeof shown>>,
    asked?: object,
    more: object = {},
    by = asker,
  ) => {
    const { status, body } = await postVerifyProof(app, by.apiKey, {
      ...made,
      expect: asked ?? expected(made.context),
      ...more,
    })
    expect(status, JSON.stringify(body)).to.equal(200)
    return body
  }
  const reasons = async (...asked: Parameters<typeof verify>) => (await verify(...asked)).reason_codes

  it('are verified by who issued, and on record under an id of the caller’s own', async () => {
    const made = await shown()
    const body = await verify(made)
    expect(body).to.deep.include({
      valid: true,
      verified: true,
      decision: 1,
      reason_codes: [],
      issuer: issuer.organisationId,
      binding: 'holder',
      made_by: 'elsewhere',
      context: made.context,
    })
    expect(body.proof_id).to.match(/^prf_/)
    const again = await verify(made)
    expect(again).to.deep.include({ verified: true, proof_id: body.proof_id })
    const byId = await postVerifyProof(app, asker.apiKey, { proof_id: body.proof_id, ...made })
    expect(byId.body).to.deep.include({ verified: true, made_by: 'elsewhere', binding: 'holder' })
    const entries = await entriesOf(app, String(body.proof_id))
    expect(entries.map(({ type }) => type)).to.deep.equal(['verify', 'verify', 'verify'])
    expect(entries[0]?.data).to.deep.include({ decision: 'YES', made_by: 'elsewhere' })
  })

  it('may come with the whole answer that made them at another organisation, again and again', async () => {
    const made = await shown()
    const whole = {
      proof_id: `prf_${'0'.repeat(26)}`,
      created_at: new Date(START).toISOString(),
      expires_at: null,
    }
    const first = await verify(made, undefined, whole)
    expect(first).to.deep.include({ verified: true })
    expect(first.proof_id).not.to.equal(whole.proof_id)
    expect(await verify(made, undefined, whole)).to.deep.include({ verified: true, proof_id: first.proof_id })
  })

  it('are verified by POST /api/proof/verify as well', async () => {
    const { proof, public_signals: publicInputs, context } = await shown()
    const { status, body } = await postSimpleVerify(app, asker.apiKey, {
      proof,
      publicInputs,
      context,
      expect: expected(context),
    })
    expect([status, body.verified, body.madeBy, body.binding]).to.deep.equal([
      200,
      true,
      'elsewhere',
      'holder',
    ])
    expect(body.proofId).to.match(/^prf_/)
  })

  it('do not count for whoever only knows their context', async () => {
    const made = await shown()
    const { status, body } = await postVerifyProof(app, asker.apiKey, made)
    expect([status, body.valid, body.verified]).to.deep.equal([200, true, false])
    expect(body.reason_codes).to.deep.equal(['EXPECTATION_MISSING', 'ISSUER_NOT_ACCEPTED'])
    for (const name of ['audience', 'purpose', 'nonce'])
      expect(await reasons(made, expected(made.context, { [name]: undefined })), name).to.deep.equal([
        'EXPECTATION_MISSING',
      ])
    // Nothing was recorded, so that nothing is known by its digest either.
    const unknown = await postVerifyProof(app, asker.apiKey, { ...made, context: undefined })
    expect(unknown.body.reason_codes).to.deep.equal(['PROOF_UNKNOWN'])
  })

  it('that are on record count no more for whoever presents them without an expectation', async () => {
    const made = await shown()
    expect(await reasons(made)).to.deep.equal([])
    for (const context of [made.context, undefined]) {
      const { body } = await postVerifyProof(app, asker.apiKey, { ...made, context })
      expect(body).to.deep.include({ verified: false })
      expect(body.reason_codes).to.include('EXPECTATION_MISSING')
    }
    expect(await reasons(made, expected(made.context, { nonce: 'n-other' }))).to.deep.equal([
      'EXPECTATION_NONCE',
    ])
  })

  for (const [name, value] of Object.entries({
    audience: 'https://other.example',
    purpose: 'other',
    nonce: 'other',
    decision: 0,
    min_level: 'standard',
  }))
    it(`with another ${name} than was expected are not verified, nor spent`, async () => {
      const made = await shown()
      const body = await verify(made, expected(made.context, { [name]: value }), { consume: true })
      expect(body).to.deep.include({
        verified: false,
        consumed: false,
        reason_codes: [`EXPECTATION_${name.toUpperCase()}`],
      })
    })

  it('that were made for another asker are not verified', async () => {
    const made = await shown()
    const other = await app.organisation()
    expect(await reasons(made, expected(made.context), {}, other)).to.deep.equal(['EXPECTATION_ORGANISATION'])
    // Whose they are is not to be had by naming it, but where whoever asks says so themselves.
    const named = expected(made.context, { organisation: asker.organisationId })
    expect(await reasons(made, named, {}, other)).to.deep.equal([])
  })

  it('of an issuer that nobody asked for are not accepted; without one only the caller’s own are', async () => {
    const made = await shown()
    expect(
      await reasons(made, expected(made.context, { issuers: [asker.organisationId, app.url] })),
    ).to.deep.equal(['ISSUER_NOT_ACCEPTED'])
    expect(await reasons(made, expected(made.context, { issuers: undefined }))).to.deep.equal([
      'ISSUER_NOT_ACCEPTED',
    ])
    const own = await shown(contextOf({ org: issuer.organisationId }))
    expect(await reasons(own, expected(own.context, { issuers: undefined }), {}, issuer)).to.deep.equal([])
  })

  it('do not exist with another holder’s secret, nor for another organisation', async () => {
    const other = await keeperOf(app, issuer)
    expect(await rejection(shown(contextOf(), keeper, { secret: other.holder.secret }))).to.be.instanceOf(
      RangeError,
    )
    const moved = { ...keeper, credential: { ...keeper.credential, organisation: asker.organisationId } }
    expect(await rejection(shown(contextOf(), moved))).to.be.instanceOf(RangeError)
  })

  it('must be of the statement that they come with', async () => {
    const context = contextOf()
    const made = await shown(context)
    const other = { ...made, context: { ...context, nonce: 'n-other' } }
    expect(await reasons(other, expected(other.context))).to.include('CONTEXT_MISMATCH')
    const asked = contextOf({}, { minLevel: '3' })
    const easier = await proveKyc(
      keeper,
      { ...asked, statement: { ...(asked.statement as object), minLevel: '1' } },
      now,
    )
    const claimed = await proveKyc(keeper, contextOf({}, { unique: '0' }), now, { unique: true })
    expect(await reasons({ ...easier, context: asked })).to.include('CONTEXT_MISMATCH')
    expect(await reasons(claimed)).to.deep.equal(['CRITERIA_MISMATCH'])
  })

  it('end with their context, and are for showing at once', async () => {
    const made = await shown()
    now = START + 121_000
    expect(await reasons(made)).to.deep.equal(['NOW_OUT_OF_RANGE'])
    now = START + 300_000
    const late = await shown(made.context)
    expect(await reasons(late)).to.deep.equal(['EXPIRED'])
  })

  it('of a credential that was replaced or whose person was erased fail at once, also those on record', async () => {
    const person = await keeperOf(app, issuer)
    const made = await shown(contextOf(), person)
    const { proof_id } = await verify(made)
    await kycRoutesOf(app, issuer.apiKey).erase(person.userId)
    expect(await reasons(made)).to.deep.equal(['CREDENTIAL_REVOKED'])
    expect(await reasons(await shown(contextOf(), person))).to.deep.equal(['CREDENTIAL_REVOKED'])
    const byId = await postVerifyProof(app, asker.apiKey, { ...made, proof_id })
    expect(byId.body.reason_codes).to.deep.equal(['CREDENTIAL_REVOKED'])
  })

  it('that do not disclose their status count only where that was not required', async () => {
    const made = await shown(contextOf({}, { disclose: '0' }))
    expect(await reasons(made)).to.deep.equal(['STATUS_UNDISCLOSED'])
    expect(await reasons(made, expected(made.context, { status: 'required' }))).to.deep.equal([
      'STATUS_UNDISCLOSED',
    ])
    expect(await reasons(made, expected(made.context, { status: 'not_required' }))).to.deep.equal([])
    const hidden = await shown(contextOf(), keeper, { disclose: false })
    expect(await reasons(hidden, expected(hidden.context, { status: 'not_required' }))).to.deep.equal([
      'STATUS_UNDISCLOSED',
    ])
  })

  it('have the status that was expected, and are not spent otherwise; it asks a challenge’s answer for more, not for less', async () => {
    const asked = { ...AGE_QUESTION, issuers: [issuer.organisationId] }
    const challenges = challengeRoutesOf(app, asker.apiKey)
    const { context, challenge_id: id } = await challenges.asked({ ...asked, status: 'not_required' })
    const person = await keeperOf(app, issuer)
    const hidden = await shown(context, person)
    await kycRoutesOf(app, issuer.apiKey).erase(person.userId)
    const refused = await verify(hidden, { status: 'required' }, { consume: true })
    expect(refused).to.deep.include({
      verified: false,
      consumed: false,
      reason_codes: ['STATUS_UNDISCLOSED'],
    })
    expect((await challenges.find(id)).body.state).to.equal('open')
    expect(await reasons(hidden, { status: 'not_required' })).to.deep.equal([])
    const strict = await challenges.asked(asked)
    const undisclosed = await shown(strict.context, keeper, { disclose: false })
    expect(await reasons(undisclosed, { status: 'not_required' })).to.deep.equal(['STATUS_UNDISCLOSED'])
    const made = await shown()
    for (const status of ['active', 'used', 'expired', 'revoked']) {
      const other = await verify(made, expected(made.context, { status }), { consume: true })
      expect(other, status).to.deep.include({ consumed: false, reason_codes: ['EXPECTATION_STATUS'] })
    }
    expect(await reasons(made, expected(made.context, { status: 'required' }))).to.deep.equal([])
  })

  it('are spent once, one person once in a purpose whatever their secret, and another asker knows nothing of it', async () => {
    const userId = 'person-of-two-secrets'
    const first = await keeperOf(app, issuer, userId)
    const one = await shown(contextOf(), first)
    expect(await verify(one, undefined, { consume: true })).to.include({ verified: true, consumed: true })
    const { status, body } = await postVerifyProof(app, asker.apiKey, {
      ...one,
      expect: expected(one.context),
      consume: true,
    })
    expect([status, body.error]).to.deep.equal([409, 'double_spend'])
    const second = await keeperOf(app, issuer, userId)
    const two = await shown(contextOf(), second)
    const again = { ...two, expect: expected(two.context), consume: true }
    expect((await postVerifyProof(app, asker.apiKey, again)).status).to.equal(409)
    expect(await reasons(two)).to.deep.equal(['DOUBLE_SPEND'])
    const elsewhere = contextOf({}, { purpose: 'other' })
    const free = await shown(elsewhere, second)
    expect(
      (await verify(free, expected(elsewhere, { purpose: 'other' }), { consume: true })).consumed,
    ).to.equal(true)
    const other = await app.organisation()
    const theirs = await shown(contextOf({ org: other.organisationId }), second)
    expect((await verify(theirs, undefined, { consume: true }, other)).consumed).to.equal(true)
  })

  it('that say not who acts can not be spent', async () => {
    const made = await shown(contextOf({}, { unique: '0' }))
    const body = await verify(made, undefined, { consume: true })
    expect(body).to.deep.include({ verified: true, consumed: false, reason_codes: ['NOT_UNIQUE'] })
  })

  it('of a NO are facts, and open nothing', async () => {
    const made = await shown(contextOf({}, { minLevel: '3' }))
    const body = await verify(made, undefined, { consume: true })
    expect(body).to.deep.include({
      verified: true,
      decision: 0,
      consumed: false,
      reason_codes: ['DECISION_NO'],
    })
  })

  it('that come twenty times at once are one record, and spent by one of them', async () => {
    const made = await shown()
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        postVerifyProof(app, asker.apiKey, { ...made, expect: expected(made.context), consume: true }),
      ),
    )
    expect(answers.filter(({ status }) => status === 200)).to.have.length(1)
    expect(answers.filter(({ status }) => status === 409)).to.have.length(19)
    const checked = await shown()
    const ids = await Promise.all(Array.from({ length: 20 }, async () => (await verify(checked)).proof_id))
    expect(new Set(ids).size).to.equal(1)
  })

  it('can be aggregated like one’s own; an aggregate fails with the member whose credential is revoked', async () => {
    const [other, person] = [await keeperOf(app, issuer), await keeperOf(app, issuer)]
    const ids: unknown[] = []
    for (const who of [other, person]) ids.push((await verify(await shown(contextOf(), who))).proof_id)
    const made = await postGenerate(app, asker.apiKey, {
      circuit_id: 'proof_aggregation',
      inputs: { proofIds: ids },
    })
    expect(made.status, JSON.stringify(made.body)).to.equal(200)
    const { proof_id, proof, public_signals } = made.body
    const check = async () =>
      (await postVerifyProof(app, asker.apiKey, { proof_id, proof, public_signals })).body.reason_codes
    expect(await check()).to.deep.equal([])
    await kycRoutesOf(app, issuer.apiKey).erase(person.userId)
    expect(await check()).to.deep.equal(['MEMBER_1_CREDENTIAL_REVOKED'])
    const same = (await verify(await shown(contextOf(), other))).proof_id
    const refused = await postGenerate(app, asker.apiKey, {
      circuit_id: 'proof_aggregation',
      inputs: { proofIds: [ids[0], same] },
    })
    expect([refused.status, refused.body.reason]).to.deep.equal([422, 'STATEMENT_FALSE'])
  })

  it('of tokens are for the audience that was expected, spent with the token, and end with its revocation', async () => {
    const holder = createHolder({ organisation: issuer.organisationId })
    const issue = async (audience?: string) => {
      const body = { subject: 'user-1', ttl: 3600, holder: holder.holder, ...(audience && { audience }) }
      const path = '/api/tokens/generate'
      return ok<{ tokenId: string; credential: Credential }>(app, 'POST', path, { key: issuer.apiKey, body })
    }
    const tokenContext = (audience: string) => {
      const statement = { audience, disclose: '1', purpose: PURPOSE }
      return contextOf({ circuit: 'token_validation', statement })
    }
    const { credential, tokenId } = await issue(AUD)
    const made = await proveToken({ holder, credential }, tokenContext(String(h248(AUD))), now)
    expect(await reasons(made)).to.deep.equal([])
    const other = await issue('https://other.example')
    const theirs = await proveToken(
      { holder, credential: other.credential },
      tokenContext(String(h248('https://other.example'))),
      now,
    )
    expect(await reasons(theirs)).to.deep.equal(['EXPECTATION_AUDIENCE'])
    expect((await verify(made, undefined, { consume: true })).consumed).to.equal(true)
    const again = await proveToken({ holder, credential }, tokenContext(String(h248(AUD))), now)
    expect(await reasons(again)).to.deep.equal(['DOUBLE_SPEND'])
    const path = '/api/tokens/revoke'
    await ok(app, 'POST', path, { key: issuer.apiKey, body: { tokenId } })
    expect(await reasons(again)).to.include('CREDENTIAL_REVOKED')
  })

  it('of circuits whose proofs nobody vouches for are not accepted', async () => {
    const stranger = await app.organisation()
    const { body } = await postGenerate(app, stranger.apiKey)
    const { proof, public_signals, context, circuit_id, proof_id } = body
    const asked = {
      audience: context.aud,
      purpose: String(context.statement.purpose),
      nonce: context.nonce,
      organisation: context.org,
    }
    const checked = await postVerifyProof(app, asker.apiKey, {
      proof_id,
      circuit_id,
      proof,
      public_signals,
      context,
      expect: asked,
    })
    expect(checked.body).to.deep.include({ verified: false, reason_codes: ['ISSUER_NOT_ACCEPTED'] })
  })

  it('have a context that can be hashed', async () => {
    const body =
      '{"proof":"x","context":{"aud":"a","org":"o","circuit":"kyc","nonce":"n","statement":{"x":1e999}}}'
    for (const path of ['/v1/proofs/verify', '/api/proof/verify']) {
      const answer = await app.request<Failed>('POST', path, { key: asker.apiKey, body })
      expect([answer.status, answer.body.details?.[0]?.path], path).to.deep.equal([422, '/context'])
    }
  })

  it('have a context of the documented form and size', async () => {
    const made = await shown()
    const post = (context: unknown) => postVerifyProof(app, asker.apiKey, { ...made, context })
    const { nonce: _, ...rest } = made.context
    for (const context of [
      null,
      'x',
      rest,
      { ...made.context, more: 1 },
      { ...made.context, exp: -1 },
      { ...made.context, exp: 1.5 },
      { ...made.context, statement: [] },
      { ...made.context, nonce: 'n'.repeat(129) },
      { ...made.context, statement: { purpose: 'x'.repeat(9000) } },
    ])
      expect((await post(context)).status, JSON.stringify(context)?.slice(0, 80)).to.equal(422)
  })
})
