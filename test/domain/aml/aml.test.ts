/** Screening through the real app, against the list that ships. */
import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { expect } from 'chai'
import { systemCaller } from '../../../src/caller.ts'
import type { AmlResult } from '../../../src/domain/aml/schemas.ts'
import { sharedApp, startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import type { TestResponse } from '../../support/client.ts'

const ALL = ['sanctions', 'pep', 'watchlist', 'adverse_media']
const IVAN = { name: 'Ivan Arkadyevich Testov', dateOfBirth: '1961-04-12' }

interface ErrorBody {
  readonly error: string
  readonly message: string
  readonly details?: readonly { readonly path: string; readonly code: string }[]
}

describe('aml', () => {
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    app = await sharedApp()
  })
  beforeEach(async () => {
    owner = await app.organisation()
  })
  const send = <T = AmlResult[]>(body: object, key = owner.apiKey): Promise<TestResponse<T>> =>
    app.request<T>('POST', '/api/aml/check', { key, body: { userId: 'user-1', ...body } })
  const check = async (body: object): Promise<AmlResult[]> => {
    const { status, body: results } = await send(body)
    expect(status, JSON.stringify(results)).to.equal(200)
    return results
  }
  const sanctions = async (body: object): Promise<AmlResult> => {
    const [result] = await check({ checkTypes: ['sanctions'], ...body })
    return result as AmlResult
  }
  const outcomes = async (body: object): Promise<string> =>
    (await check(body)).map(({ result }) => result).join()
  const facts = async (userId: string, organisation = owner.organisationId) =>
    (await app.services.aml.factsOf(systemCaller(organisation, 'test'), userId)).facts

  it('answers every type in order, with the version, size and hash of the lists that were searched', async () => {
    const results = await check({ name: 'Somebody Unlisted' })
    expect(results.map(({ checkType }) => checkType)).to.deep.equal(ALL)
    for (const {
      result,
      matches,
      riskScore,
      reason,
      listVersion,
      lists,
      comparison,
      thresholds,
    } of results) {
      expect({ result, matches, reason }).to.deep.equal({ result: 'clear', matches: [], reason: null })
      expect(comparison).to.match(/^names-\d+$/)
      expect(thresholds).to.deep.equal({ review: 85, hit: 95 })
      expect(riskScore).to.be.within(0, 42)
      expect(listVersion).to.match(/^sample-v\d+-[0-9a-f]{16}$/)
      // Whatever else others have uploaded to the shared app.
      const sample = lists.find(({ listId }) => listId === 'sample')
      expect(sample).to.deep.include({ entries: 11 })
      expect(sample?.sha256).to.match(/^[0-9a-f]{64}$/)
    }
    const asked = await check({ name: 'Somebody Unlisted', checkTypes: ['pep', 'sanctions'] })
    expect(asked.map(({ checkType }) => checkType)).to.deep.equal(['pep', 'sanctions'])
  })

  it('makes a hit of a name only with a second attribute that agrees', async () => {
    const { name } = IVAN
    expect((await sanctions({ name })).result).to.equal('review')
    expect((await sanctions(IVAN)).result).to.equal('hit')
    expect((await sanctions({ name, country: 'ru' })).result).to.equal('hit')
    expect(
      (await sanctions({ name, identifiers: [{ type: 'passport', value: 'xx-001 2345' }] })).result,
    ).to.equal('hit')
    expect((await sanctions({ name, country: 'FR' })).result).to.equal('review')
    expect(await outcomes(IVAN)).to.equal('hit,clear,clear,clear')
  })

  it('lowers a match whose date of birth differs, and never makes a hit of it', async () => {
    const { name } = IVAN
    const differs = await sanctions({ name, country: 'RU', dateOfBirth: '1990-01-01' })
    expect(differs).to.deep.include({ result: 'review' })
    expect(differs.matches[0]?.score).to.equal(88)
    expect((await sanctions({ name: 'Iwan Testoff' })).result).to.equal('review')
    expect((await sanctions({ name: 'Iwan Testoff', dateOfBirth: '1990-01-01' })).result).to.equal('clear')
    const transposed = await sanctions({ name, dateOfBirth: '1961-12-04' })
    expect(transposed.matches[0]?.score).to.equal(100)
    expect(transposed.result).to.equal('review')
  })

  it('says of each match whose it is and why', async () => {
    const { matches, riskScore } = await sanctions({ ...IVAN, name: 'TESTOV, Ivan', country: 'FR' })
    expect(riskScore).to.be.within(50, 100)
    expect(matches).to.have.length(1)
    expect(matches[0]).to.deep.include({
      listId: 'sample',
      entryId: 'sample-sanctions-1',
      name: 'Ivan Arkadyevich Testov',
    })
    expect(matches[0]?.entryDigest).to.match(/^[0-9a-f]{64}$/)
    const [overall, ...others] = matches[0]?.explanations ?? []
    expect(overall?.effect).to.equal((matches[0]?.score ?? 0) >= 95 ? 'agrees' : 'close')
    expect(others.map(({ attribute, effect }) => [attribute, effect])).to.deep.equal([
      ['name', 'agrees'],
      ['name', 'close'],
      ['date_of_birth', 'agrees'],
      ['country', 'close'],
    ])
    expect(others.map(({ detail }) => detail).slice(0, 2)).to.deep.equal([
      'in both names: “testov”',
      '“ivan” asked for, “vanya” listed: forms of one given name',
    ])
  })

  it('finds names across scripts, order, case, titles and legal forms', async () => {
    for (const name of [
      'Иван Аркадьевич Тестов',
      'TESTOV IVAN ARKADYEVICH',
      'Mr. Ivan A. Testov',
      'Testov, Vanya',
      'محمد يوسف النموذجي',
      'Muhammad Yousef Al Namudhaji',
      'Fiktiv Shipping and Trading',
      'FIKTIV SHIPPING & TRADING GMBH',
      'Jang Bo-gi',
      '장보기',
    ])
      expect((await sanctions({ name })).result, name).to.equal('review')
  })

  it('is a review without a name, never clear', async () => {
    const results = await check({ userId: 'nobody-knows' })
    for (const { result, reason, riskScore, matches } of results)
      expect({ result, reason, riskScore, matches }).to.deep.equal({
        result: 'review',
        reason: 'no_subject_data',
        riskScore: 50,
        matches: [],
      })
    const [byNumber] = await check({ userId: 'nobody-knows', identifiers: [{ value: 'XX0012345' }] })
    expect(byNumber).to.deep.include({ result: 'review', reason: 'no_subject_data' })
    expect(byNumber?.matches[0]?.entryId).to.equal('sample-sanctions-1')
    for (const name of ['—…—', 'I. A. T.', 'x'])
      expect(await sanctions({ name }), name).to.deep.include({
        result: 'review',
        reason: 'name_not_comparable',
      })
  })

  it('is a review for the document of somebody listed under another name', async () => {
    const { result, matches } = await sanctions({
      name: 'Quite Another',
      identifiers: [{ value: 'XX0012345' }],
    })
    expect(result).to.equal('review')
    expect(matches[0]?.explanations.map(({ attribute, effect }) => [attribute, effect])).to.deep.equal([
      ['name', 'differs'],
      ['identifier', 'agrees'],
    ])
  })

  it('never makes a hit of a name that its publisher calls weak', async () => {
    const weak = await sanctions({ name: 'Abu Namudhaj', dateOfBirth: '1974-06-01', country: 'SY' })
    expect(weak.result).to.equal('review')
    expect(weak.matches[0]?.score).to.equal(94)
  })

  it('uses the name that KYC knows where none is sent', async () => {
    const data = { givenName: 'Ivan', familyName: 'Testov', dateOfBirth: '1961-04-12' }
    const known = await app.request('POST', '/api/kyc/verify', {
      key: owner.apiKey,
      body: { userId: 'kyc-1', data },
    })
    expect(known.status, JSON.stringify(known.body)).to.equal(200)
    const result = await sanctions({ userId: 'kyc-1' })
    expect(result.reason).to.equal(null)
    expect(result.matches[0]?.entryId).to.equal('sample-sanctions-1')
    expect((await sanctions({ userId: 'kyc-1', name: 'Somebody Unlisted' })).result).to.equal('clear')
  })

  it('names the field where the input is wrong', async () => {
    const of = async (body: object) => {
      const { status, body: error } = await send<ErrorBody>(body)
      return `${status} ${error.error} ${error.details?.[0]?.path}`
    }
    expect(await of({ userId: '' })).to.equal('422 validation_failed /userId')
    expect(await of({ checkTypes: [] })).to.equal('422 validation_failed /checkTypes')
    expect(await of({ checkTypes: ['pep', 'pep'] })).to.equal('422 validation_failed /checkTypes')
    expect(await of({ checkTypes: ['astrology'] })).to.equal('422 validation_failed /checkTypes/0')
    expect(await of({ name: 'x'.repeat(201) })).to.equal('422 validation_failed /name')
    expect(await of({ dateOfBirth: '12.04.1961' })).to.equal('422 validation_failed /dateOfBirth')
    expect(await of({ country: 'Russia' })).to.equal('422 validation_failed /country')
    expect(await of({ name: 'A B', identifiers: [{ value: '------' }] })).to.equal(
      '422 validation_failed /identifiers/0/value',
    )
    expect((await send({ name: `${'x '.repeat(99)}x` })).status).to.equal(200)
  })

  it('leaves an attestation with a digest of the answer, and neither name nor result, in the log', async () => {
    const results = await check({ userId: 'user-7', ...IVAN })
    const entry = await app.services.database
      .knex('ledger_entries')
      .where({ organisation: owner.organisationId, type: 'attest' })
      .orderBy('idx', 'desc')
      .first()
    const text = Buffer.from(entry.entry ?? entry.leaf ?? JSON.stringify(entry)).toString('utf8')
    const digest = createHash('sha256')
      .update(canonicalize(results) ?? '')
      .digest('hex')
    expect(text).to.contain(digest)
    for (const secret of ['Testov', 'user-7', IVAN.dateOfBirth, '"hit"']) expect(text).not.to.contain(secret)
    const rows = await app.services.database
      .knex('aml_outcomes')
      .where({ organisation: owner.organisationId })
    expect(rows).to.have.length(4)
    for (const secret of ['Testov', 'user-7', IVAN.dateOfBirth])
      expect(JSON.stringify(rows)).not.to.contain(secret)
  })

  it('keeps the last outcome of each type for rules', async () => {
    expect(await facts('user-9')).to.deep.equal({ result: 'review', reason: 'no_subject_data' })
    await check({ userId: 'user-9', name: 'Somebody Unlisted', checkTypes: ['pep'] })
    expect(await facts('user-9')).to.deep.include({
      result: 'review',
      reason: 'sanctions_not_checked',
      pep: 'clear',
    })
    await check({ userId: 'user-9', name: 'Somebody Unlisted' })
    expect(await facts('user-9')).to.deep.include({
      result: 'clear',
      sanctions: 'clear',
      adverse_media: 'clear',
      lists_changed: false,
    })
    await check({ userId: 'user-9', ...IVAN, checkTypes: ['sanctions'] })
    expect(await facts('user-9')).to.deep.include({
      result: 'hit',
      sanctions: 'hit',
      pep: 'clear',
      risk_score: 100,
    })
    await check({ userId: 'user-9' })
    expect(await facts('user-9')).to.deep.include({ result: 'review', reason: 'no_subject_data' })
    const stranger = await app.organisation()
    expect(await facts('user-9', stranger.organisationId)).to.deep.equal({
      result: 'review',
      reason: 'no_subject_data',
    })
  })

  it('gives one answer to one Idempotency-Key', async () => {
    const options = {
      key: owner.apiKey,
      headers: { 'idempotency-key': 'aml-1' },
      body: { userId: 'user-3', ...IVAN },
    }
    const first = await app.request<AmlResult[]>('POST', '/api/aml/check', options)
    const second = await app.request<AmlResult[]>('POST', '/api/aml/check', options)
    expect(second.body).to.deep.equal(first.body)
    const many = await Promise.all(Array.from({ length: 20 }, () => send({ userId: 'user-4', ...IVAN })))
    expect(new Set(many.map(({ status }) => status))).to.deep.equal(new Set([200]))
    expect(await facts('user-4')).to.deep.include({ result: 'hit' })
  })

  it('answers nobody without a key that may', async () => {
    expect((await app.request('POST', '/api/aml/check', { body: { userId: 'u' } })).status).to.equal(401)
    const { body } = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      key: owner.apiKey,
      body: { label: 'kyc alone', scopes: ['kyc'] },
    })
    expect((await send({ name: 'A B' }, body.apiKey)).status).to.equal(403)
  })

  it('is 503 for a type that no list is for, and clear for nobody', async () => {
    const empty = await startTestApp({ env: { AML_LISTS: 'none' } })
    try {
      const shop = await empty.organisation()
      const { status, body, headers } = await empty.request<ErrorBody>('POST', '/api/aml/check', {
        key: shop.apiKey,
        body: { userId: 'u', name: 'Somebody Unlisted', checkTypes: ['pep'] },
      })
      expect(`${status} ${body.error}`).to.equal('503 lists_unavailable')
      expect(headers.get('retry-after')).to.equal('300')
      expect(body.message).to.contain('pep')
      expect(await empty.services.database.knex('aml_outcomes').select()).to.deep.equal([])
    } finally {
      await empty.close()
    }
  })
})
