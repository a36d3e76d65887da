/** People as a list, and decisions on checks that wait for review. */
import { expect } from 'chai'
import { birthDateOf } from '../../../src/domain/kyc/person-records.ts'
import type { Person } from '../../../src/domain/kyc/schemas-list.ts'
import { newId } from '../../../src/ids.ts'
import { sharedApp, startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { ANNA, annaWith, kycRoutesOf } from '../../support/domain/kyc.ts'
import { listOf } from '../../support/lists.ts'
import { precede } from '../../support/precede.ts'
import { readsOf } from '../../support/query-plans.ts'
import { passportZone } from '../../support/reference/machine-readable-zone.ts'

const PEOPLE = '/console/api/people'
const DAY_MS = 86_400_000
const { document: _, ...INCOMPLETE } = ANNA

describe('the list of people', () => {
  let app: TestApp
  let owner: TestOrganisation
  let kyc: ReturnType<typeof kycRoutesOf>
  const list = (key = owner.apiKey) => listOf<Person, 'people'>(app, key, PEOPLE, 'people')
  /** The newest case that waits, or a reference of nobody. */
  const waitingOf = async (userId: string, key = owner.apiKey) =>
    (await list(key).rows(`userId=${userId}`))[0]?.review?.reference ?? newId('kyc', 0)
  const decide = async (userId: string, body: object, key = owner.apiKey) =>
    app.request<Person & { error?: string; message?: string }>('POST', `${PEOPLE}/${userId}/decision`, {
      key,
      body: { reference: await waitingOf(userId, key), ...body },
    })
  const reviewed = async (userId: string, data: object = INCOMPLETE) => {
    const { body } = await kyc.verify({ userId, data })
    expect(body.status).to.equal('review')
    return body
  }
  const eventsOf = async () =>
    (
      await app.services.database
        .knex('ledger_entries')
        .where({ organisation: owner.organisationId, type: 'attest' })
        .orderBy('idx')
        .pluck('entry')
    ).map((entry: string) => JSON.parse(entry).data.event)
  beforeEach(async () => {
    app = await sharedApp()
    owner = await app.organisation()
    kyc = kycRoutesOf(app, owner.apiKey)
  })

  it('has those checked last first, with how they stand and what waits', async () => {
    await kyc.verified('ada')
    const waiting = await reviewed('bob')
    await kyc.verified('eve')
    await kyc.erase('eve')
    // A check that waits does not change how somebody stands.
    const again = await reviewed('ada')
    const rows = await list().rows()
    expect(rows.map(({ userId, status, review }) => [userId, status, review?.reference])).to.deep.equal([
      ['ada', 'verified', again.reference],
      ['bob', 'review', waiting.reference],
    ])
    const { checkedAt: _, ...standing } = (await kyc.standing('ada')).body
    expect(rows[0]).to.deep.include(standing)
    expect(rows[1]?.review).to.deep.include({ checks: waiting.checks, proposal: null })
    expect((await list().all(1)).map(({ userId }) => userId)).to.deep.equal(['ada', 'bob'])
    expect((await list().all(1, 'status=review')).map(({ userId }) => userId)).to.deep.equal(['ada', 'bob'])
    expect((await list().rows('userId=bob')).map(({ userId }) => userId)).to.deep.equal(['bob'])
    expect(await list().rows('userId=eve')).to.deep.equal([])
    const { apiKey: stranger } = await app.organisation()
    expect(await list(stranger).rows('userId=bob')).to.deep.equal([])
    expect((await list().refused(`cursor=${waiting.reference}`, stranger))[2]).to.equal('query/cursor')
    expect((await list().refused('status=verified'))[2]).to.equal('query/status')
  })

  it('approves a case, with a credential and an entry, once', async () => {
    const { reference } = await reviewed('bob')
    const { status, body } = await decide('bob', { verdict: 'approve', reason: 'The passport was seen.' })
    expect(status).to.equal(200)
    expect(body).to.include({ status: 'verified', level: 'basic', review: null, userId: 'bob' })
    expect(body.checks.at(-1)).to.deep.equal({
      name: 'manual_review',
      result: 'passed',
      reason: 'The passport was seen.',
    })
    expect((await kyc.standing('bob')).body.status).to.equal('verified')
    expect(await eventsOf()).to.deep.equal(['kyc.checked', 'kyc.reviewed'])
    const [newest] = (await kyc.held('bob')).body.checks
    expect(newest?.committed.review).to.deep.include({ reference, reason: 'The passport was seen.' })
    expect(await list().rows('status=review')).to.deep.equal([])
    const again = await decide('bob', { verdict: 'reject', reason: 'x' })
    expect([again.status, again.body.error]).to.deep.equal([409, 'conflict'])
  })

  it('approves a case whose date of birth is none without a credential', async () => {
    for (const dateOfBirth of ['1974-00-00', '1974-02-30', '2999-01-01']) {
      await reviewed('bob', { ...ANNA, dateOfBirth })
      const { body } = await decide('bob', { verdict: 'approve', reason: 'The passport was seen.' })
      expect([body.status, body.level]).to.deep.equal(['verified', 'basic'])
      expect((await kyc.credential('bob')).status, dateOfBirth).to.equal(404)
    }
    // What earlier versions have kept.
    for (const [birthDate, known] of [
      ['1974-00-00', undefined],
      ['1974-08-12', '1974-08-12'],
      ['2026-11-29', '2026-11-29'],
      ['2026-11-30', undefined],
      ['2974-01-01', undefined],
      ['1901-11-29', '1901-11-29'],
      ['1900-11-28', undefined],
    ])
      expect(birthDateOf({ birthDate, checkedAt: Date.UTC(2026, 10, 29) }), birthDate).to.equal(known)
  })

  it('approves for as long as the document is valid, for a year where that is not known', async () => {
    const day = new Date(Date.now() + 7 * DAY_MS).toISOString().slice(0, 10)
    for (const [expiresAt, longest] of [
      [day, Date.parse(day) + DAY_MS],
      ['2034-13-01', Date.now() + 365 * DAY_MS],
      ['2099-04-15', Date.now() + 365 * DAY_MS],
    ] as const) {
      await reviewed('bob', { ...annaWith({ expiresAt }), givenName: 'R2D2' })
      const { body } = await decide('bob', { verdict: 'approve', reason: 'The passport was seen.' })
      expect(body.status, expiresAt).to.equal('verified')
      expect(Date.parse(body.expiresAt ?? ''), expiresAt).to.be.closeTo(
        longest,
        expiresAt === day ? 0 : 60_000,
      )
      expect((await kyc.credential('bob')).body.expiresAt).to.equal(body.expiresAt)
    }
  })

  it('approves as long as the zone of the document says where nobody typed that, and nobody once that is over', async () => {
    const { expiresAt: _, ...untyped } = ANNA.document
    const zoneOf = (expiresAt: string) =>
      passportZone({
        country: 'SWE',
        familyName: 'ERIKSSON',
        givenName: 'ANNA MARIA',
        number: 'L898902C3',
        birthDate: '740812',
        expiresAt: expiresAt.slice(2).replaceAll('-', ''),
      }).join('')
    const approve = async (document: object) => {
      await reviewed('bob', { ...ANNA, givenName: 'R2D2', document })
      return decide('bob', { verdict: 'approve', reason: 'The passport was seen.' })
    }
    const day = new Date(Date.now() + 7 * DAY_MS).toISOString().slice(0, 10)
    const zoned = await approve({ ...untyped, mrz: zoneOf(day) })
    expect(Date.parse(zoned.body.expiresAt ?? '')).to.equal(Date.parse(day) + DAY_MS)
    expect((await kyc.credential('bob')).body.expiresAt).to.equal(zoned.body.expiresAt)
    // With a wrong check digit it was misread.
    const misread = zoneOf(day).replace(/\d(?=<{14})/, (digit) => String((Number(digit) + 1) % 10))
    const unknown = await approve({ ...untyped, mrz: misread })
    expect(Date.parse(unknown.body.expiresAt ?? '')).to.be.closeTo(Date.now() + 365 * DAY_MS, 60_000)
    const over = await approve({ ...untyped, mrz: zoneOf('2012-04-15') })
    expect([over.status, over.body.error]).to.deep.equal([409, 'conflict'])
    expect(over.body.message).to.include('2012-04-16')
  })

  it('approves nobody whose document ended while the case waited, who can be rejected still', async () => {
    let now = Date.now()
    const own = await startTestApp({ clock: { now: () => now } })
    try {
      const { apiKey: key } = await own.organisation()
      const of = kycRoutesOf(own, key)
      const expiresAt = new Date(now).toISOString().slice(0, 10)
      const { body } = await of.verify({
        userId: 'bob',
        data: { ...annaWith({ expiresAt }), givenName: 'R2D2' },
      })
      expect(body.status).to.equal('review')
      const decideAs = (verdict: string) =>
        own.request<Person & { error?: string; message?: string }>('POST', `${PEOPLE}/bob/decision`, {
          key,
          body: { reference: body.reference, verdict, reason: 'seen' },
        })
      now += DAY_MS
      const late = await decideAs('approve')
      expect([late.status, late.body.error]).to.deep.equal([409, 'conflict'])
      expect(late.body.message).to.include('which is over')
      expect((await of.standing('bob')).body.status).to.equal('review')
      expect((await decideAs('reject')).body.status).to.equal('rejected')
    } finally {
      await own.close()
    }
  })

  it('decides once where a request is repeated under its Idempotency-Key', async () => {
    const { reference } = await reviewed('bob')
    const ask = (reason: string) =>
      app.request<Person & { error?: string }>('POST', `${PEOPLE}/bob/decision`, {
        key: owner.apiKey,
        headers: { 'idempotency-key': 'once' },
        body: { reference, verdict: 'approve', reason },
      })
    const [first, second] = [await ask('seen'), await ask('seen')]
    expect([second.status, second.headers.get('idempotency-replayed')]).to.deep.equal([200, 'true'])
    expect(second.body).to.deep.equal(first.body)
    expect(await eventsOf()).to.deep.equal(['kyc.checked', 'kyc.reviewed'])
    expect((await ask('heard')).body.error).to.equal('idempotency_key_reused')
  })

  it('is not decided on another check than the one that was looked at', async () => {
    const { reference } = await reviewed('bob')
    const newest = await reviewed('bob')
    const late = await decide('bob', { reference, verdict: 'approve', reason: 'The passport was seen.' })
    expect([late.status, late.body.error]).to.deep.equal([409, 'conflict'])
    expect(late.body.message).to.include('checked again')
    expect((await list().rows('status=review'))[0]?.review?.reference).to.equal(newest.reference)
  })

  it('rejects a case, and revokes nothing of others', async () => {
    await kyc.verified('ada')
    await reviewed('ada')
    const { body } = await decide('ada', { verdict: 'reject', reason: 'Not the same face.' })
    expect(body).to.include({ status: 'rejected', level: 'none', review: null })
    expect((await kyc.credential('ada')).status).to.equal(404)
  })

  it('is decided by one of several who decide at once', async () => {
    await reviewed('bob')
    const answers = await Promise.all(
      ['approve', 'reject', 'approve'].map((verdict) => decide('bob', { verdict, reason: 'seen' })),
    )
    expect(answers.map(({ status }) => status).toSorted()).to.deep.equal([200, 409, 409])
  })

  describe('is not decided over what has become of somebody meanwhile', () => {
    const WRONG = { ...ANNA, document: { ...ANNA.document, expiresAt: '2001-01-01' } }
    const cases: readonly [name: string, act: () => Promise<unknown>, after: string | undefined][] = [
      ['an erasure', () => kyc.erase('bob'), undefined],
      ['a rejection', () => kyc.verify({ userId: 'bob', data: WRONG }), 'rejected'],
      ['another check that waits', () => reviewed('bob'), 'review'],
    ]
    for (const [name, act, after] of cases) {
      const stands = async () => {
        const { status, body } = await decide('bob', { verdict: 'approve', reason: 'seen' })
        expect([status, body.error]).to.deep.equal([409, 'conflict'])
        expect((await kyc.standing('bob')).body.status).to.equal(after)
        expect(await list().rows('status=review')).to.have.length(after === 'review' ? 1 : 0)
        expect(await eventsOf()).not.to.include('kyc.reviewed')
      }

      it(`${name}, after it was read`, async () => {
        await reviewed('bob')
        precede(app.services.reviews, 'start', act)
        await stands()
      })

      it(`${name}, on its way to the ledger`, async () => {
        await reviewed('bob')
        precede(app.services.ledger, 'append', act)
        await stands()
      })
    }
  })

  it('refuses what is no decision, and cases of others', async () => {
    await reviewed('bob')
    const { apiKey: stranger } = await app.organisation()
    const right = { verdict: 'approve', reason: 'seen' }
    expect((await decide('bob', right, stranger)).status).to.equal(404)
    expect((await decide('nobody', right)).status).to.equal(404)
    for (const wrong of [{ ...right, verdict: 'maybe' }, { verdict: 'approve' }, { ...right, reason: '' }])
      expect((await decide('bob', wrong)).status, JSON.stringify(wrong)).to.equal(422)
    expect((await decide('bob', { ...right, reason: 'x'.repeat(201) })).status).to.equal(422)
    await kyc.verified('ada')
    expect((await decide('ada', right)).status).to.equal(409)
  })

  it('reads no more than it shows, however many there are', async () => {
    await reviewed('bob')
    await app.services.database.knex.raw(
      `INSERT INTO kyc_subjects (organisation, subject, generation, sealed_key, latest_entry, review_entry)
        SELECT organisation, lpad(i::text, 64, '0'), generation, sealed_key, -i, CASE WHEN i % 50 = 0 THEN -i END
          FROM kyc_subjects, generate_series(1, 20000) AS i WHERE organisation = ?`,
      [owner.organisationId],
    )
    await app.services.database.knex.raw('ANALYZE kyc_subjects')
    for (const query of ['limit=1', 'limit=1&status=review', 'userId=bob']) {
      const reads = await readsOf(app.services.database, async () => {
        expect(await list().rows(query), query).to.have.length(1)
      })
      const [own] = reads.filter(({ text }) => text.includes('"kyc_subjects"'))
      // What is copied has no checks, so that the second row of a page is looked for in vain.
      if (query === 'userId=bob') expect(own?.rows, `${own?.indexes}`).to.be.at.most(8)
      expect(own?.indexes.join(), query).to.match(/kyc_subjects_(listed|in_review|pkey)/)
    }
  })
})
