/** A second pair of eyes on decisions about cases of KYC and AML. */
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { Member } from '../../../src/domain/accounts/team/schemas.ts'
import type { Finding, FindingPage } from '../../../src/domain/aml/schemas-subscriptions.ts'
import type { Person, PersonPage } from '../../../src/domain/kyc/schemas-list.ts'
import type { ReviewSettings } from '../../../src/domain/reviews/schemas.ts'
import { newId } from '../../../src/ids.ts'
import { sharedApp, type TestApp } from '../../support/app.ts'
import { ok } from '../../support/client.ts'
import { signIn } from '../../support/domain/accounts.ts'
import { screeningRoutesOf } from '../../support/domain/screening.ts'
import { invited, openTeam } from '../../support/domain/team.ts'
import { precede } from '../../support/precede.ts'

const SETTINGS = '/console/api/review-settings'
const APPROVE = { verdict: 'approve', reason: 'The passport was seen.' }
const SAME = { verdict: 'confirmed', reason: 'The same passport.' } as const

type Headers = Record<string, string>
type Failed = { error?: string; message?: string }

describe('a second reviewer', () => {
  let app: TestApp
  let owner: { headers: Headers; accountId: string }
  let first: { headers: Headers; accountId: string; email: string; password: string }
  let second: { headers: Headers; accountId: string }
  let viewer: { headers: Headers }
  let key: string
  beforeEach(async () => {
    app = await sharedApp()
    const team = await openTeam(app, 'operator', 'operator', 'viewer')
    owner = team.owner
    const [one, other, reader] = team.members
    if (one === undefined || other === undefined || reader === undefined) throw new Error('no team')
    first = one
    second = other
    viewer = reader
    const made = await ok<{ apiKey: string }>(app, 'POST', '/console/api/keys', {
      headers: owner.headers,
      body: { scopes: ['kyc', 'aml', 'audit'] },
    })
    key = made.apiKey
  })
  const want = (secondReviewer: boolean, { headers } = owner) =>
    app.request<ReviewSettings & Failed>('PUT', SETTINGS, { headers, body: { secondReviewer } })
  const waiting = async (userId = 'bob') => {
    await ok(app, 'POST', '/api/kyc/verify', { key, body: { userId, data: { givenName: 'Bob' } } })
  }
  /** The newest case that waits, or a reference of nobody. */
  const waitingOf = async (userId = 'bob') => {
    const { people } = await ok<PersonPage>(app, 'GET', `/console/api/people?userId=${userId}`, {
      headers: owner.headers,
    })
    return people[0]?.review?.reference ?? newId('kyc', 0)
  }
  const decide = async (by: { headers: Headers }, body: object = APPROVE, userId = 'bob') =>
    app.request<Person & Failed>('POST', `/console/api/people/${userId}/decision`, {
      headers: by.headers,
      body: { reference: await waitingOf(userId), ...body },
    })

  it('is a setting that owners change, which the log tells', async () => {
    const shown = () => ok<ReviewSettings>(app, 'GET', SETTINGS, { headers: viewer.headers })
    expect(await shown()).to.deep.equal({ secondReviewer: false })
    for (const member of [first, viewer])
      expect((await want(true, member as typeof owner)).status).to.equal(403)
    expect((await want(true)).body).to.deep.equal({ secondReviewer: true })
    expect(await shown()).to.deep.equal({ secondReviewer: true })
    await want(true)
    const entries = await app.services.database
      .knex('ledger_entries')
      .where('entry', 'like', '%review.settings_changed%')
      .where(
        'organisation',
        (await app.services.database.knex('accounts').where({ id: owner.accountId }).first()).organisation,
      )
    expect(entries).to.have.length(1)
  })

  it('is not asked for unless the organisation wants one', async () => {
    await waiting()
    expect((await decide(first)).body).to.include({ status: 'verified', review: null })
  })

  it('confirms what another account decided on a case of KYC; nobody does alone, and no key', async () => {
    await want(true)
    await waiting()
    const proposed = await decide(first)
    expect(proposed.status).to.equal(200)
    expect(proposed.body.status).to.equal('review')
    expect(proposed.body.review?.proposal).to.deep.include({ ...APPROVE, proposedBy: first.accountId })
    const { people } = await ok<{ people: Person[] }>(app, 'GET', '/console/api/people?status=review', {
      headers: viewer.headers,
    })
    expect(people[0]?.review?.proposal).to.deep.equal(proposed.body.review?.proposal)
    expect((await decide(first)).body).to.include({ status: 'review' })
    const byKey = await app.request<Failed>('POST', '/console/api/people/bob/decision', {
      key,
      body: { reference: await waitingOf(), ...APPROVE },
    })
    expect([byKey.status, byKey.body.error]).to.deep.equal([403, 'insufficient_scope'])
    expect((await decide(viewer)).status).to.equal(403)

    const other = await decide(second, { verdict: 'reject', reason: 'Another face.' })
    expect(other.body.review?.proposal).to.deep.include({ verdict: 'reject', proposedBy: second.accountId })
    expect((await decide(second, { verdict: 'reject', reason: 'Really.' })).body.status).to.equal('review')
    const ended = await decide(first, { verdict: 'reject', reason: 'Indeed.' })
    expect(ended.body).to.include({ status: 'rejected', review: null })
    expect(ended.body.checks.at(-1)).to.include({ name: 'manual_review', reason: 'Indeed.' })
    expect((await decide(second)).status).to.equal(409)
  })

  it('confirms nothing that somebody proposed who may not decide any more', async () => {
    await want(true)
    const member = `/console/api/accounts/${first.accountId}`
    await waiting('ann')
    await waiting('bob')
    await decide(first, APPROVE, 'ann')
    await decide(first)
    await ok(app, 'PATCH', member, { headers: owner.headers, body: { role: 'viewer' } })
    const demoted = await decide(second, APPROVE, 'ann')
    expect(demoted.body.review?.proposal?.proposedBy).to.equal(second.accountId)
    expect((await app.request('DELETE', member, { headers: owner.headers })).status).to.equal(204)
    const { invitation } = await invited(app, owner, { email: first.email, role: 'operator' })
    const { accountId } = await ok<Member>(app, 'POST', '/console/api/invitations/accept', {
      body: { invitation, password: first.password },
    })
    const again = { accountId, ...(await signIn(app, first)) }
    const own = await decide(again)
    expect(own.body.review?.proposal?.proposedBy).to.equal(again.accountId)
    expect((await decide(second)).body).to.include({ status: 'verified' })
  })

  /** Lets `change` be committed between the look at what the members may do, and the commit that rests on it. */
  const changedMeanwhile = async (change: () => Promise<unknown>, work: () => Promise<unknown>) => {
    const { members } = app.services.accounts
    const { may } = members
    let isChanged = false
    members.may = async (...asked) => {
      const answer = await may(...asked)
      if (!isChanged && asked[1] === watched) {
        isChanged = true
        await change()
      }
      return answer
    }
    try {
      await work()
    } finally {
      members.may = may
    }
    expect(isChanged).to.equal(true)
  }
  /** Whose role is looked at when the change happens. */
  let watched: string
  const demote = ({ accountId }: { accountId: string }) =>
    ok(app, 'PATCH', `/console/api/accounts/${accountId}`, {
      headers: owner.headers,
      body: { role: 'viewer' },
    })
  const remove = ({ accountId }: { accountId: string }) =>
    app.request('DELETE', `/console/api/accounts/${accountId}`, { headers: owner.headers })

  it('counts no proposal of a member who lost the role, or was removed, before the commit', async () => {
    await want(true)
    watched = first.accountId
    for (const end of [demote, remove]) {
      await waiting('ann')
      expect((await decide(first, APPROVE, 'ann')).status, end.name).to.equal(200)
      await changedMeanwhile(
        () => end(first),
        async () => {
          const { status, body } = await decide(second, APPROVE, 'ann')
          expect([status, body.error], end.name).to.deep.equal([409, 'conflict'])
        },
      )
      // Asked again, it is a proposal of one's own.
      const again = await decide(second, APPROVE, 'ann')
      expect(again.body.review?.proposal?.proposedBy).to.equal(second.accountId)
      if (end === demote)
        await ok(app, 'PATCH', `/console/api/accounts/${first.accountId}`, {
          headers: owner.headers,
          body: { role: 'operator' },
        })
    }
  })

  it('counts no decision of a member who lost the role before the commit, nor one made alone when two are wanted', async () => {
    await want(true)
    await waiting()
    await decide(first)
    watched = second.accountId
    await changedMeanwhile(
      () => demote(second),
      async () => expect((await decide(second)).status).to.equal(409),
    )
    expect((await decide(second)).status).to.equal(403)
    await want(false)
    watched = first.accountId
    await changedMeanwhile(
      () => want(true),
      async () => expect((await decide(first)).status).to.equal(409),
    )
    expect((await decide(first)).body.review?.proposal?.proposedBy).to.equal(first.accountId)
  })

  it('is needed for each case by itself', async () => {
    await want(true)
    await waiting()
    await decide(first)
    await waiting()
    // A new check is a new case: what was proposed about the former says nothing of it.
    const { body } = await decide(second)
    expect(body.review?.proposal).to.deep.include({ proposedBy: second.accountId })
    expect((await decide(first)).body).to.include({ status: 'verified' })
  })

  it('proposes nothing about a person who was checked again or erased while it was decided', async () => {
    await want(true)
    for (const act of [() => waiting(), () => ok(app, 'DELETE', '/api/kyc/bob', { key })]) {
      await waiting()
      precede(app.services.ledger, 'append', act)
      const { status, body } = await decide(first)
      expect([status, body.error]).to.deep.equal([409, 'conflict'])
    }
  })

  it('of two who decide at once proposes one: the other is told so, or confirms it', async () => {
    await want(true)
    await waiting()
    const both = await Promise.all([decide(first), decide(second)])
    const ends = both.map(({ status, body }) => (status === 200 ? body.status : status)).toSorted()
    expect(ends.join()).to.be.oneOf(['409,review', 'review,verified'])
  })

  it('of two who confirm at once is one', async () => {
    await want(true)
    await waiting()
    await decide(first)
    const both = await Promise.all([decide(second), decide(owner)])
    expect(both.map(({ status }) => status).toSorted()).to.deep.equal([200, 409])
  })

  it('confirms what another account decided on a finding of AML', async () => {
    await want(true)
    const { findings } = await screeningRoutesOf(app, key).subscribed({
      userId: 'ivan',
      name: 'Ivan Arkadyevich Testov',
    })
    const id = findings[0]?.findingId ?? expect.fail('nothing found')
    const rule = (by: { headers: Headers }, body: object = SAME, more: Headers = {}) =>
      app.request<Finding & Failed>('POST', `/console/api/findings/${id}/decision`, {
        headers: { ...by.headers, ...more },
        body,
      })
    const byKey = await app.request<Failed>('POST', `/api/aml/findings/${id}/decision`, { key, body: SAME })
    expect(byKey.status).to.equal(403)
    const once = { 'idempotency-key': 'once' }
    const proposed = await rule(first, SAME, once)
    expect(proposed.body).to.deep.include({ status: 'open', decision: null })
    const repeated = await rule(first, SAME, once)
    expect([repeated.status, repeated.headers.get('idempotency-replayed')]).to.deep.equal([200, 'true'])
    expect(repeated.body).to.deep.equal(proposed.body)
    expect(proposed.body.proposal).to.deep.include({ ...SAME, proposedBy: first.accountId })
    const page = await ok<FindingPage>(app, 'GET', '/console/api/findings?status=open', {
      headers: second.headers,
    })
    expect(page.findings[0]?.proposal).to.deep.equal(proposed.body.proposal)
    expect((await rule(first)).body.status).to.equal('open')
    const decided = await rule(second)
    expect(decided.body).to.include({ status: 'decided' })
    expect(decided.body.decision).to.deep.include({ verdict: 'confirmed', reason: 'The same passport.' })
    expect(decided.body.proposal).to.equal(undefined)
    expect(decided.body.decision?.decidedBy).to.deep.include({ kind: 'session', accountId: second.accountId })
    expect(decided.body.decision?.proposedBy).to.equal(first.accountId)
    expect(decodeJwt(decided.body.decision?.jws ?? '')).to.deep.include({
      decided_by: decided.body.decision?.decidedBy,
      proposed_by: first.accountId,
    })
    const changed = await rule(second, { ...SAME, verdict: 'not_this_person' })
    expect(changed.body).to.include({ status: 'decided' })
    expect(changed.body.decision?.verdict).to.equal('confirmed')
    expect(changed.body.proposal?.proposedBy).to.equal(second.accountId)
  })

  it('confirms no proposal about a finding of AML that was made since it was looked at', async () => {
    await want(true)
    const { findings } = await screeningRoutesOf(app, key).subscribed({
      userId: 'ivan',
      name: 'Ivan Arkadyevich Testov',
    })
    const { findingId, version } = findings[0] ?? expect.fail('nothing found')
    const rule = (by: { headers: Headers }, body: object) =>
      app.request<Finding & Failed>('POST', `/console/api/findings/${findingId}/decision`, {
        headers: by.headers,
        body: { ...SAME, ...body },
      })
    const proposed = await rule(first, { version })
    expect(proposed.body.version).to.be.greaterThan(version)
    const unseen = await rule(second, { version })
    expect([unseen.status, unseen.body.error]).to.deep.equal([409, 'conflict'])
    // What was seen was taken back for something else.
    const other = await rule(first, { version: proposed.body.version, verdict: 'not_this_person' })
    expect((await rule(second, { version: proposed.body.version })).status).to.equal(409)
    const page = await ok<FindingPage>(app, 'GET', '/console/api/findings?status=open', {
      headers: second.headers,
    })
    expect(page.findings[0]).to.deep.include({ version: other.body.version, decision: null })
    const confirmed = await rule(second, { version: other.body.version, verdict: 'not_this_person' })
    expect(confirmed.body).to.include({ status: 'decided' })

    // A proposal that comes between the look at what there is, and the commit.
    const again = confirmed.body.version
    const both = await Promise.all([
      rule(first, { version: again }),
      rule(second, { version: again, verdict: 'not_this_person' }),
    ])
    expect(both.map(({ status }) => status).toSorted()).to.deep.equal([200, 409])
  })
})
