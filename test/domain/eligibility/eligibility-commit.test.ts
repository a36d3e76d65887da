/** Eligibility at the moment of the commit: what is changed until then counts, and what comes later does not. */
import { expect } from 'chai'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { demandSuccess, type TestResponse } from '../../support/client.ts'
import { consentRoutesOf } from '../../support/domain/consents.ts'
import { entryTypes, postCheck, postComposite } from '../../support/domain/eligibility.ts'
import { hybridRoutesOf } from '../../support/domain/hybrid-tokens.ts'
import { ANNA, annaWith, kycRoutesOf } from '../../support/domain/kyc.ts'
import { screeningRoutesOf } from '../../support/domain/screening.ts'
import { tokenRoutesOf } from '../../support/domain/tokens.ts'
import { precede } from '../../support/precede.ts'

const VALID = { field: 'valid', op: 'eq', value: true }
const NEWSLETTER = { type: 'consent', purpose: 'newsletter' }
/** On the list that ships. */
const LISTED = { name: 'Ivan Arkadyevich Testov', dateOfBirth: '1961-04-12' }
const REJECTED = annaWith({ expiresAt: '2001-01-01' })

/** A YES that a change on its way to the ledger takes away. */
interface Race {
  readonly source: object
  readonly rule: object
  readonly change: () => Promise<TestResponse<unknown>>
}

describe('a YES of eligibility', function () {
  this.timeout(60_000)
  let app: TestApp
  let owner: TestOrganisation
  beforeEach(async () => {
    app = await sharedApp()
    owner = await app.organisation()
  })

  const consents = () => consentRoutesOf(app, owner.apiKey)
  const kyc = () => kycRoutesOf(app, owner.apiKey)
  const tokens = () => tokenRoutesOf(app, owner.apiKey)
  const screen = (name: object) =>
    app.request('POST', '/api/aml/check', { key: owner.apiKey, body: { userId: 'ada', ...name } })
  const ask = ({ source, rule }: Pick<Race, 'source' | 'rule'>, headers = {}) =>
    postCheck(
      app,
      owner.apiKey,
      { identifier: 'ada', dataSources: [{ id: 'about', ...source }], rules: [rule] },
      headers,
    )
  const askTree = ({ source, rule }: Race) =>
    postComposite(app, owner.apiKey, {
      identifier: 'ada',
      dataSources: [{ id: 'about', ...source }],
      logicTree: rule,
    })
  const changeFirst = (change: () => Promise<unknown>): void => precede(app.services.ledger, 'append', change)

  const races: Readonly<Record<string, () => Promise<Race>>> = {
    'the consent is withdrawn': async () => {
      const { consentId } = await consents().logged()
      return { source: NEWSLETTER, rule: VALID, change: () => consents().revoke(consentId) }
    },
    'one of its purposes is refused': async () => {
      await consents().logged({ purposes: ['newsletter', 'profiling'] })
      const refuse = () => consents().log({ purposes: ['newsletter'], status: 'refused' })
      return { source: NEWSLETTER, rule: VALID, change: refuse }
    },
    'the consent is the first that is recorded': async () => {
      const rule = { field: 'status', op: 'eq', value: 'none' }
      return { source: NEWSLETTER, rule, change: () => consents().log() }
    },
    'the person is rejected': async () => {
      await kyc().verified('ada')
      const rule = { field: 'status', op: 'eq', value: 'verified' }
      return { source: { type: 'kyc' }, rule, change: () => kyc().verify({ userId: 'ada', data: REJECTED }) }
    },
    'the person is forgotten': async () => {
      await kyc().verified('ada')
      const rule = { field: 'status', op: 'eq', value: 'verified' }
      return { source: { type: 'kyc' }, rule, change: () => kyc().erase('ada') }
    },
    'somebody unknown is rejected': async () => {
      const rule = { field: 'status', op: 'ne', value: 'rejected' }
      return { source: { type: 'kyc' }, rule, change: () => kyc().verify({ userId: 'ada', data: REJECTED }) }
    },
    'somebody who was forgotten is known again': async () => {
      await kyc().verified('ada')
      await kyc().erase('ada')
      const rule = { field: 'status', op: 'eq', value: 'none' }
      return { source: { type: 'kyc' }, rule, change: () => kyc().verify({ userId: 'ada', data: ANNA }) }
    },
    'a check finds the person on a list': async () => {
      await screen({ name: 'Somebody Unlisted' })
      const rule = { field: 'result', op: 'eq', value: 'clear' }
      return { source: { type: 'aml' }, rule, change: () => screen(LISTED) }
    },
    'screening of somebody unknown begins, and finds them': async () => {
      const { subscribe } = screeningRoutesOf(app, owner.apiKey)
      const rule = { field: 'result', op: 'ne', value: 'hit' }
      return { source: { type: 'aml' }, rule, change: () => subscribe({ userId: 'ada', ...LISTED }) }
    },
    'somebody who is screened is another one, who is listed': async () => {
      const { subscribe, subscribed } = screeningRoutesOf(app, owner.apiKey)
      await subscribed({ userId: 'ada', name: 'Somebody Unlisted' })
      const rule = { field: 'result', op: 'eq', value: 'clear' }
      return { source: { type: 'aml' }, rule, change: () => subscribe({ userId: 'ada', ...LISTED }) }
    },
    'somebody who is screened is forgotten': async () => {
      await screeningRoutesOf(app, owner.apiKey).subscribed({ userId: 'ada', name: 'Somebody Unlisted' })
      const rule = { field: 'result', op: 'eq', value: 'clear' }
      return { source: { type: 'aml' }, rule, change: () => kyc().erase('ada') }
    },
    'the token is revoked': async () => {
      const { token, tokenId } = await tokens().issued()
      const source = { type: 'credential', data: { token } }
      return { source, rule: VALID, change: () => tokens().revoke(tokenId) }
    },
    'the token is used up': async () => {
      const { token } = await tokens().issued({ singleUse: true })
      const source = { type: 'credential', data: { token } }
      return { source, rule: VALID, change: () => tokens().validate({ token, consume: true }) }
    },
    'the hybrid token is revoked': async () => {
      const token = await hybridRoutesOf(app, owner.apiKey).issued()
      const source = { type: 'credential', data: { token } }
      return { source, rule: VALID, change: () => tokens().revoke(token.token_id) }
    },
  }

  for (const [name, prepare] of Object.entries(races))
    it(`is given to nobody where, on its way to the ledger, ${name}`, async () => {
      const race = await prepare()
      const before = await entryTypes(app, owner.organisationId)
      let after = before.length
      changeFirst(async () => {
        demandSuccess(await race.change())
        after = (await entryTypes(app, owner.organisationId)).length
      })
      const { status, body } = await ask(race)
      expect([status, body.error], JSON.stringify(body)).to.deep.equal([409, 'conflict'])
      expect(after).to.be.above(before.length)
      expect(await entryTypes(app, owner.organisationId), 'no proof and no token').to.have.length(after)
      expect((await ask(race)).body.eligible).to.equal(false)
    })

  it('is given to nobody by a tree either', async () => {
    const { consentId } = await consents().logged()
    const race = { source: NEWSLETTER, rule: VALID, change: () => consents().revoke(consentId) }
    changeFirst(race.change)
    const { status, body } = await askTree(race)
    expect([status, body.error]).to.deep.equal([409, 'conflict'])
    expect((await askTree(race)).body.eligible).to.equal(false)
  })

  it('is given where what ended before is what the rules ask for', async () => {
    const { token, tokenId } = await tokens().issued({ singleUse: true })
    const hybrid = await hybridRoutesOf(app, owner.apiKey).issued()
    demandSuccess(await tokens().validate({ token, consume: true }))
    const rule = (value: string) => ({ field: 'status', op: 'eq', value })
    const source = { type: 'credential', data: { token } }
    expect((await ask({ source, rule: rule('used') })).body.eligible).to.equal(true)
    for (const id of [tokenId, hybrid.token_id]) await tokens().revoke(id)
    expect((await ask({ source, rule: rule('revoked') })).body.eligible).to.equal(true)
    const ofHybrid = { type: 'credential', data: { token: hybrid } }
    expect((await ask({ source: ofHybrid, rule: rule('revoked') })).body.eligible).to.equal(true)
  })

  it('is given where the rules hold after what was changed as well, once under an Idempotency-Key', async () => {
    await consents().logged()
    const question = { source: NEWSLETTER, rule: VALID }
    changeFirst(() => consents().logged({ purposes: ['profiling'] }))
    const headers = { 'idempotency-key': 'changed' }
    const { status, body } = await ask(question, headers)
    expect([status, body.eligible], JSON.stringify(body)).to.deep.equal([200, true])
    const before = await entryTypes(app, owner.organisationId)
    const again = await ask(question, headers)
    expect([again.headers.get('idempotency-replayed'), again.body]).to.deep.equal(['true', body])
    expect(await entryTypes(app, owner.organisationId)).to.deep.equal(before)
  })

  it('is given up where something is changed each time', async () => {
    await consents().logged()
    let changes = 0
    const changeEachTime = (): void =>
      changeFirst(async () => {
        changes++
        await consents().logged({ purposes: ['profiling'] })
        if (changes < 3) changeEachTime()
      })
    changeEachTime()
    const { status, body } = await ask({ source: NEWSLETTER, rule: VALID })
    expect([status, body.error, changes]).to.deep.equal([409, 'conflict', 3])
    expect((await ask({ source: NEWSLETTER, rule: VALID })).body.eligible).to.equal(true)
  })

  it('is not what a NO waits for', async () => {
    changeFirst(() => consents().logged())
    const { status, body } = await ask({ source: NEWSLETTER, rule: VALID })
    expect([status, body.eligible]).to.deep.equal([200, false])
  })
})
