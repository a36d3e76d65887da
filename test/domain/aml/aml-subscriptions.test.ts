/** People who are screened again when lists change, through the real app and a database of its own: lists hold for everybody. */
import { createPublicKey, type JsonWebKey, verify } from 'node:crypto'
import { expect } from 'chai'
import { systemCaller } from '../../../src/caller.ts'
import type { Finding, FindingPage, Subscription } from '../../../src/domain/aml/schemas-subscriptions.ts'
import { openAnswer } from '../../../src/ledger/answers.ts'
import { readJws } from '../../../src/protocol/jws.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { type Listed, screeningRoutesOf } from '../../support/domain/screening.ts'
import { sealingOf } from '../../support/sealing.ts'

const IVAN = { name: 'Ivan Petrovich Nachgetragen', dateOfBirth: '1961-04-12', country: 'RU' }
const LISTED: Listed = { id: 'p-1', name: IVAN.name, birthDate: IVAN.dateOfBirth, country: 'ru' }
const OTHER: Listed = { id: 'p-other', name: 'Zacharias Quirin Unbeteiligt' }

describe('aml subscriptions', () => {
  let app: TestApp
  let owner: TestOrganisation
  let routes: ReturnType<typeof screeningRoutesOf>

  before(async () => {
    app = await startTestApp({ env: { AML_LISTS: 'none' } })
  })
  after(() => app?.close())
  beforeEach(async () => {
    owner = await app.organisation()
    routes = screeningRoutesOf(app, owner.apiKey)
    await routes.upload([OTHER])
  })

  const facts = async (userId: string) =>
    (await app.services.aml.factsOf(systemCaller(owner.organisationId, 'test'), userId)).facts
  const alerts = async () =>
    (
      await app.request<{ alerts: { type: string; subject: string; count: number; severity: string }[] }>(
        'GET',
        '/api/security/alerts',
        { key: owner.apiKey },
      )
    ).body.alerts.filter(({ type }) => type === 'aml_finding')

  it('screens at once, and tells what is known of somebody', async () => {
    await routes.upload([OTHER, LISTED])
    const subscribed = await routes.subscribed({ userId: 'u', ...IVAN, identifiers: [{ value: 'AB 12345' }] })
    expect(subscribed).to.deep.include({
      userId: 'u',
      person: IVAN,
      identifiers: [{ type: null, value: 'AB 12345' }],
      upToDate: true,
      checkTypes: ['sanctions'],
    })
    expect(
      subscribed.findings.map(({ entryId, status, result }) => ({ entryId, status, result })),
    ).to.deep.equal([{ entryId: 'p-1', status: 'open', result: 'hit' }])
    expect((await routes.get('u')).body).to.deep.equal(subscribed)
    expect(await facts('u')).to.deep.include({ result: 'hit', sanctions: 'hit' })
  })

  it('screens again when a list changes: a finding in the queue, an alert of its list, and what rules read', async () => {
    await routes.subscribed({ userId: 'u', ...IVAN })
    await routes.subscribed({ userId: 'unconcerned', name: 'Somebody Unlisted' })
    expect(await facts('u')).to.deep.include({ result: 'clear' })
    await routes.upload([OTHER, LISTED])
    await routes.settled()
    const { findings, nextCursor } = await routes.findings({ status: 'open' })
    expect(nextCursor).to.equal(null)
    expect(findings).to.have.length(1)
    expect(findings[0]).to.deep.include({
      userId: 'u',
      entryId: 'p-1',
      listId: 'own',
      person: IVAN,
      decision: null,
    })
    expect(await facts('u')).to.deep.include({ result: 'hit' })
    expect(await facts('unconcerned')).to.deep.include({ result: 'clear' })
    const [alert, ...more] = await alerts()
    expect(more).to.deep.equal([])
    expect(alert).to.deep.include({ subject: 'own', severity: 'high', count: 1 })
    expect((await routes.get('u')).body).to.deep.include({ upToDate: true })
  })

  it('finds the same exactly once, however often people are subscribed and lists are loaded', async () => {
    await routes.upload([OTHER, LISTED])
    await Promise.all([1, 2, 3].map(() => routes.subscribe({ userId: 'u', ...IVAN })))
    await routes.subscribed({ userId: 'u', ...IVAN })
    await routes.upload([LISTED, OTHER, { id: 'p-3', name: 'Nobody Ofimportance' }])
    await routes.settled()
    expect((await routes.findings({})).findings).to.have.length(1)
  })

  it('subscribes once under each Idempotency-Key, also where others were faster', async () => {
    const logged = async () =>
      (await app.services.database.knex('ledger_entries').where({ organisation: owner.organisationId }))
        .length
    // Again and again: who loses while the person's key is made sees what another key sealed.
    for (const userId of Array.from({ length: 40 }, (_, i) => `u${i}`)) {
      const keys = ['K1', 'K2', 'K3'].map((one) => `${one}-${userId}`)
      const ask = (one: string) => routes.subscribe({ userId, ...IVAN }, { 'Idempotency-Key': one })
      const before = await logged()
      for (const { status } of await Promise.all(keys.map(ask))) expect(status).to.equal(201)
      expect(await logged()).to.equal(before + keys.length)
      for (const one of keys) {
        const again = await ask(one)
        expect([again.status, again.headers.get('idempotency-replayed')]).to.deep.equal([201, 'true'])
      }
      expect(await logged()).to.equal(before + keys.length)
    }
  })

  it('signs a decision, remembers it while the entry stays as it is, and lets it lapse when the entry changes', async () => {
    await routes.upload([OTHER, LISTED])
    const { findings } = await routes.subscribed({ userId: 'u', ...IVAN })
    const { findingId } = findings[0] as Finding
    const reason = 'The passport was seen.'
    const decided = await routes.decided(findingId, { verdict: 'not_this_person', reason })
    expect(decided).to.deep.include({ status: 'decided', findingId })
    expect(await facts('u')).to.deep.include({ result: 'clear' })
    const { jws } = decided.decision as NonNullable<Finding['decision']>
    const read = readJws(jws)
    expect(read?.header).to.deep.include({ alg: 'EdDSA', typ: 'aml-decision+jws' })
    expect(read?.payload).to.deep.include({
      org: owner.organisationId,
      finding: findingId,
      list: 'own',
      entry: 'p-1',
      entry_digest: decided.entryDigest,
      verdict: 'not_this_person',
      reason,
    })
    const jwks = (await app.request<{ keys: { kid: string }[] }>('GET', '/.well-known/jwks.json')).body.keys
    const key = createPublicKey({
      key: jwks.find(({ kid }) => kid === read?.header.kid) as JsonWebKey,
      format: 'jwk',
    })
    expect(verify(null, read?.covered ?? Buffer.of(), key, read?.signature ?? Buffer.of())).to.equal(true)

    await routes.upload([OTHER, LISTED, { id: 'p-3', name: 'Nobody Ofimportance' }])
    await routes.settled()
    expect((await routes.findings({ status: 'open' })).findings).to.deep.equal([])
    await routes.upload([OTHER, { ...LISTED, country: 'by' }])
    await routes.settled()
    const [again, ...more] = (await routes.findings({ status: 'open' })).findings
    expect(more).to.deep.equal([])
    expect(again).to.deep.include({ entryId: 'p-1' })
    const [over] = (await routes.findings({ status: 'void' })).findings
    expect(over).to.deep.include({ findingId, status: 'void' })
    expect(over?.void?.reason).to.equal('entry_changed')
    expect(over?.decision?.jws).to.equal(jws)
    expect(await facts('u')).to.deep.include({ result: 'hit' })
    const refused = await routes.decide(findingId, { verdict: 'confirmed', reason })
    expect(refused.status).to.equal(409)
  })

  it('keeps a decision while its entry is gone; a finding that nobody decided is void, and found again when it is back', async () => {
    await routes.upload([OTHER, LISTED, { ...LISTED, id: 'p-2' }])
    const { findings } = await routes.subscribed({ userId: 'u', ...IVAN })
    const decided = findings.find(({ entryId }) => entryId === 'p-1') as Finding
    await routes.decided(decided.findingId, { verdict: 'not_this_person', reason: 'seen' })
    await routes.upload([OTHER])
    await routes.settled()
    const [gone] = (await routes.findings({ status: 'void' })).findings
    expect(gone).to.deep.include({ entryId: 'p-2' })
    expect(gone?.void?.reason).to.equal('entry_removed')
    await routes.upload([OTHER, LISTED, { ...LISTED, id: 'p-2' }])
    await routes.settled()
    const open = (await routes.findings({ status: 'open' })).findings
    expect(open.map(({ entryId }) => entryId)).to.deep.equal(['p-2'])
    expect(open[0]?.findingId).not.to.equal(gone?.findingId)
    expect((await routes.findings({ status: 'decided' })).findings).to.have.length(1)
  })

  it('voids findings and decisions when what is known of the person changes, and only then', async () => {
    await routes.upload([OTHER, LISTED])
    const { findings } = await routes.subscribed({ userId: 'u', ...IVAN })
    await routes.decided((findings[0] as Finding).findingId, { verdict: 'not_this_person', reason: 'seen' })
    const same = await routes.subscribed({ userId: 'u', ...IVAN, checkTypes: ['sanctions'] })
    expect(same.findings.map(({ status }) => status)).to.deep.equal(['decided'])
    const changed = await routes.subscribed({ userId: 'u', ...IVAN, country: 'BY' })
    expect(changed.findings.map(({ status }) => status)).to.deep.equal(['open'])
    const [over] = (await routes.findings({ status: 'void' })).findings
    expect(over?.void?.reason).to.equal('subject_changed')
    const back = await routes.subscribed({ userId: 'u', ...IVAN })
    expect(back.findings.map(({ status }) => status)).to.deep.equal(['open'])
  })

  it('voids what has changed also where somebody is subscribed again before they are screened again', async () => {
    await routes.upload([OTHER, LISTED, { ...LISTED, id: 'p-2' }])
    const { findings } = await routes.subscribed({ userId: 'u', ...IVAN })
    expect(findings).to.have.length(2)
    // As if a server were at it for long.
    await app.services.database
      .knex('aml_subscriptions')
      .where({ organisation: owner.organisationId })
      .update({ leased_until: Date.now() + 3_600_000 })
    await routes.upload([OTHER, { ...LISTED, country: 'by' }])
    const again = await routes.subscribed({ userId: 'u', ...IVAN })
    expect(again.upToDate).to.equal(true)
    expect(again.findings.map(({ entryId, status }) => [entryId, status])).to.deep.equal([['p-1', 'open']])
    const over = (await routes.findings({ status: 'void' })).findings
    expect(over.map(({ entryId, void: end }) => [entryId, end?.reason])).to.have.deep.members([
      ['p-1', 'entry_changed'],
      ['p-2', 'entry_removed'],
    ])
  })

  it('finds the next where one of as many findings as are made at a time is void, and clears nobody of others', async () => {
    const many = Array.from({ length: 12 }, (_, i): Listed => ({ ...LISTED, id: `p-${i}` }))
    await routes.upload([OTHER, ...many])
    const { findings } = await routes.subscribed({ userId: 'u', ...IVAN })
    expect(findings).to.have.length(10)
    const gone = findings[0]?.entryId
    await routes.upload([OTHER, ...many.filter(({ id }) => id !== gone)])
    await routes.settled()
    const { findings: open } = await routes.findings({ status: 'open' })
    expect(new Set(open.map(({ entryId }) => entryId))).to.have.length(10)
    for (const { findingId } of open)
      await routes.decided(findingId, { verdict: 'not_this_person', reason: 'seen' })
    expect(await facts('u')).to.deep.include({ result: 'review', reason: 'more_matches' })
  })

  it('replaces a decision by a later one, of two at once only one', async () => {
    await routes.upload([OTHER, LISTED])
    const { findings } = await routes.subscribed({ userId: 'u', ...IVAN })
    const { findingId } = findings[0] as Finding
    const both = await Promise.all(
      (['confirmed', 'not_this_person'] as const).map((verdict) =>
        routes.decide(findingId, { verdict, reason: 'x' }),
      ),
    )
    expect(both.map(({ status }) => status).sort()).to.deep.equal([200, 409])
    await routes.decided(findingId, { verdict: 'confirmed', reason: 'looked again' })
    const [decided] = (await routes.findings({ status: 'decided' })).findings
    expect(decided?.decision).to.deep.include({ verdict: 'confirmed', reason: 'looked again' })
    expect(await facts('u')).to.deep.include({ result: 'hit' })
  })

  it('decides nothing where somebody else decided since the finding was looked at', async () => {
    await routes.upload([OTHER, LISTED])
    const { findings } = await routes.subscribed({ userId: 'u', ...IVAN })
    const { findingId, version } = findings[0] as Finding
    const confirmed = await routes.decided(findingId, { verdict: 'confirmed', reason: 'seen', version })
    expect(confirmed.version).to.be.greaterThan(version)
    const stale = await routes.decide(findingId, { verdict: 'not_this_person', reason: 'x', version })
    expect([stale.status, (stale.body as { error?: string }).error]).to.deep.equal([409, 'conflict'])
    const [listed] = (await routes.findings({ status: 'decided' })).findings
    expect(listed).to.deep.include({ version: confirmed.version, decision: confirmed.decision })
    expect((await routes.get('u')).body.findings[0]?.version).to.equal(confirmed.version)
    const looked = { verdict: 'not_this_person', reason: 'looked again', version: confirmed.version } as const
    const both = await Promise.all([routes.decide(findingId, looked), routes.decide(findingId, looked)])
    expect(both.map(({ status }) => status).sort()).to.deep.equal([200, 409])
  })

  it('repeats a decision under its Idempotency-Key as the finding stands by then, and keeps nothing of who was erased', async () => {
    await routes.upload([OTHER, LISTED])
    const { findings } = await routes.subscribed({ userId: 'u', ...IVAN })
    const { findingId } = findings[0] as Finding
    const reason = 'The passport of Nachgetragen.'
    const decide = () =>
      routes.decide(findingId, { verdict: 'confirmed', reason }, { 'Idempotency-Key': 'once' })
    const first = await decide()
    expect(first.body).to.deep.include({ status: 'decided', person: IVAN })
    const again = await decide()
    expect([again.status, again.headers.get('idempotency-replayed')]).to.deep.equal([200, 'true'])
    expect(again.body).to.deep.equal(first.body)
    const erased = await app.request('DELETE', '/api/kyc/u', { key: owner.apiKey })
    expect(erased.status).to.equal(200)
    expect((await decide()).status).to.equal(404)
    const sealing = await sealingOf(app)
    const where = { organisation: owner.organisationId }
    const answers = await app.services.database.knex('idempotent_answers').where(where)
    expect(answers.map((row) => openAnswer(sealing, row))).to.deep.equal([null])
  })

  it('ends a subscription: nobody is screened any more, and what was known is gone', async () => {
    await routes.subscribed({ userId: 'u', ...IVAN })
    const ended = await routes.end('u')
    expect(ended.body).to.deep.include({ success: true, status: 'ended' })
    expect((await routes.get('u')).status).to.equal(404)
    expect((await routes.end('u')).status).to.equal(404)
    await routes.upload([OTHER, LISTED])
    await routes.settled()
    expect((await routes.findings({})).findings).to.deep.equal([])
    const [row] = await app.services.database
      .knex('aml_subscriptions')
      .where({ organisation: owner.organisationId })
      .select('sealed')
    expect(row.sealed).to.have.length(0)
    expect((await routes.subscribed({ userId: 'u', ...IVAN })).findings).to.have.length(1)
  })

  it('forgets with the person: no subscription, finding or decision can be read, and lists change without them', async () => {
    await routes.upload([OTHER, LISTED])
    const { findings } = await routes.subscribed({ userId: 'u', ...IVAN })
    await routes.decided((findings[0] as Finding).findingId, { verdict: 'confirmed', reason: 'seen' })
    const { knex } = app.services.database
    const where = { organisation: owner.organisationId }
    const rows = async () => ({
      subscription: await knex('aml_subscriptions').where(where).first('sealed'),
      finding: await knex('aml_findings').where(where).first('sealed', 'id'),
      key: await knex('kyc_subjects').where(where).first('sealed_key'),
    })
    for (const bytes of [(await rows()).subscription.sealed, (await rows()).finding.sealed])
      expect(Buffer.from(bytes).toString('latin1')).not.to.include('Nachgetragen')
    const erased = await app.request('DELETE', '/api/kyc/u', { key: owner.apiKey })
    expect(erased.status).to.equal(200)
    expect((await rows()).key.sealed_key).to.equal('')
    expect((await routes.get('u')).status).to.equal(404)
    expect((await routes.findings({})).findings).to.deep.equal([])
    const { findingId } = findings[0] as Finding
    expect((await routes.decide(findingId, { verdict: 'confirmed', reason: 'x' })).status).to.equal(404)
    await routes.upload([OTHER, { ...LISTED, country: 'by' }])
    await routes.settled()
    expect((await routes.findings({})).findings).to.deep.equal([])
    expect((await routes.progress()).subscriptions).to.equal(0)
    // Who comes back is somebody new.
    expect((await routes.subscribed({ userId: 'u', ...IVAN })).findings).to.have.length(1)
  })

  it('takes name and attributes that KYC knows, and refuses who has no name', async () => {
    const nobody = await routes.subscribe({ userId: 'unknown' })
    expect(nobody.status).to.equal(422)
    expect(nobody.body).to.deep.include({
      error: 'validation_failed',
      details: [{ path: '/name', code: 'required', message: 'is required: KYC knows none of this userId' }],
    })
    const initials = await routes.subscribe({ userId: 'unknown', name: 'A. B.' })
    expect(initials.status).to.equal(422)
    const verified = await app.request('POST', '/api/kyc/verify', {
      key: owner.apiKey,
      body: {
        userId: 'known',
        data: {
          givenName: 'Ivan Petrovich',
          familyName: 'Nachgetragen',
          dateOfBirth: '1961-04-12',
          document: { type: 'passport', number: 'X1234567', country: 'RU', expiresAt: '2035-01-01' },
        },
      },
    })
    expect(verified.status, JSON.stringify(verified.body)).to.equal(200)
    const { person } = await routes.subscribed({ userId: 'known' })
    expect(person).to.deep.equal(IVAN)
  })

  it('answers 503 for a type without a list, and 422 for numbers too short', async () => {
    const uncovered = await routes.subscribe({ userId: 'u', ...IVAN, checkTypes: ['pep'] })
    expect(uncovered.status).to.equal(503)
    const short = await routes.subscribe({ userId: 'u', ...IVAN, identifiers: [{ value: 'ab---' }] })
    expect(short.status).to.equal(422)
  })

  it('answers a repeated request also where its list is gone by then, and 404 once the subscription has ended', async () => {
    const ask = (key: string) => routes.subscribe({ userId: 'u', ...IVAN }, { 'Idempotency-Key': key })
    expect((await ask('once')).status).to.equal(201)
    const body = { action: 'remove', listId: 'own' }
    const removed = await app.request('POST', '/console/api/lists', { key: app.adminKey, body })
    expect(removed.status, JSON.stringify(removed.body)).to.equal(200)
    expect((await ask('another')).status).to.equal(503)
    const again = await ask('once')
    expect([again.status, again.headers.get('idempotency-replayed')]).to.deep.equal([201, 'true'])
    await routes.end('u')
    expect((await ask('once')).status).to.equal(404)
  })

  it('keeps organisations apart', async () => {
    await routes.upload([OTHER, LISTED])
    const { findings } = await routes.subscribed({ userId: 'u', ...IVAN })
    const stranger = screeningRoutesOf(app, (await app.organisation()).apiKey)
    expect((await stranger.findings({})).findings).to.deep.equal([])
    expect((await stranger.get('u')).status).to.equal(404)
    const decision = { verdict: 'confirmed', reason: 'x' } as const
    expect((await stranger.decide((findings[0] as Finding).findingId, decision)).status).to.equal(404)
  })

  it('pages through findings without missing or repeating one', async () => {
    const listed = Array.from({ length: 7 }, (_, i): Listed => ({ ...LISTED, id: `p-${i}` }))
    await routes.upload([OTHER, ...listed])
    await routes.subscribed({ userId: 'u', ...IVAN })
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page: FindingPage = await routes.findings({ limit: '3', ...(cursor && { cursor }) })
      seen.push(...page.findings.map(({ entryId }) => entryId))
      cursor = page.nextCursor ?? undefined
    } while (cursor !== undefined)
    expect(seen).to.have.length(7)
    expect(new Set(seen)).to.have.length(7)
    const body: Subscription = (await routes.get('u')).body as Subscription
    expect(body.findings).to.have.length(7)
  })

  it('looks at the same people again where the change is too large for an index of its own', async () => {
    await routes.subscribed({ userId: 'u', ...IVAN })
    const many = Array.from(
      { length: 5_200 },
      (_, i): Listed => ({ id: `m-${i}`, name: `Nomen${i} Nescio${i}` }),
    )
    await routes.upload([OTHER, LISTED, ...many])
    await routes.settled()
    expect((await routes.findings({})).findings.map(({ entryId }) => entryId)).to.deep.equal(['p-1'])
  }).timeout(60_000)

  it('counts people of an organisation, and those who are behind', async () => {
    await routes.subscribed({ userId: 'u', ...IVAN })
    await routes.settled()
    expect(await routes.progress()).to.deep.include({ subscriptions: 1, behind: 0, openFindings: 0 })
  })
})
