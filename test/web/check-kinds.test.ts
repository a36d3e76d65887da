/** What the page that checks finds of what a real service signed: nothing is called good that it could not look up, or that says NO. */
import { expect } from 'chai'
import { checkHybridToken } from '../../src/web/check/kinds/hybrid-token.ts'
import { checkProof } from '../../src/web/check/kinds/proof.ts'
import { checkResult, checkResultAt } from '../../src/web/check/kinds/result.ts'
import { checkSigned } from '../../src/web/check/kinds/signed-kinds.ts'
import type { OwnService } from '../../src/web/check/own-service.ts'
import { recognise } from '../../src/web/check/recognise.ts'
import { besideChecks, conclude, type Found } from '../../src/web/check/report.ts'
import { sharedApp, type TestApp } from '../support/app.ts'
import { checkServiceOf } from '../support/check-service.ts'
import { demandSuccess } from '../support/client.ts'
import { agentJws, agentRequestJws, newTrustedAgent } from '../support/domain/agent-trust.ts'
import { consentRoutesOf } from '../support/domain/consents.ts'
import { postV1Verify } from '../support/domain/eligibility.ts'
import { hybridRoutesOf } from '../support/domain/hybrid-tokens.ts'
import { AGE_QUESTION, challengeRoutesOf, keeperOf, proveKyc } from '../support/domain/presentations.ts'
import { payloadOf, signedBy, tokenRoutesOf } from '../support/domain/tokens.ts'
import { DATA, hashOf, verified } from '../support/verification.ts'

type Json = Readonly<Record<string, unknown>>

const RULES = [{ field: 'age', op: 'gte', value: 18 }]
const TTL_SECONDS = 3600

describe('what the page that checks finds', () => {
  let app: TestApp
  let apiKey: string
  let service: OwnService
  before(async () => {
    app = await sharedApp()
    ;({ apiKey } = await app.organisation())
    service = await serviceOf()
  })

  const serviceOf = (answered?: (path: string) => string) => checkServiceOf(app, { answered })
  const result = (options: object = { rules: RULES }) => verified(app, apiKey, { data: DATA, options })
  const toldOf = (found: Found) => {
    const { word, tone, text, checks, notChecked } = conclude(found)
    const faults = checks.flatMap(({ fault }) => fault ?? [])
    return { word, tone, text, faults, notChecked, checks }
  }
  const toldOfSigned = async (jws: string, typ: string, from = service) =>
    toldOf(await checkSigned(jws, typ, from, Date.now()))
  const signed = async (typ: string, payload: object) =>
    signedBy(app, 'results', 'Ed25519', { iss: await service.issuer(), ...payload }, { typ })

  it('is the verdict about an agent, whether it was verified or not', async () => {
    const { trust, agents, key, agentId } = await newTrustedAgent(app)
    const verdict = async () => {
      const { body } = await trust.verify({ agent_id: agentId, jws: agentJws(key, app.url) })
      return toldOfSigned(body.jws, 'agent-verdict+jws')
    }
    expect(await verdict()).to.include({
      word: 'Valid: verified, but whether the agent was suspended or revoked since was not checked',
      tone: 'warn',
    })
    await agents.step(String(agentId), 'suspend')
    const refused = await verdict()
    expect(refused).to.include({ word: 'Valid: not verified', tone: 'warn' })
    expect(refused.text).to.include('AGENT_SUSPENDED')
  })

  it('is what an agent was allowed or denied', async () => {
    const { trust, key, agentId } = await newTrustedAgent(app, {
      limits: { currency: 'GBP', per_transaction: 1, per_day: 1, allowed_actions: ['order.cancel'] },
    })
    const receipt = async (action: string) => {
      const jws = agentRequestJws(key, app.url, { action })
      const { body } = await trust.authorise({ agent_id: agentId, action, jws })
      return toldOfSigned(body.receipt, 'agent-receipt+jws')
    }
    expect(await receipt('order.cancel')).to.include({
      word: 'Valid: allowed, but whether the agent was suspended or revoked since was not checked',
      tone: 'warn',
    })
    const denied = await receipt('order.pay')
    expect(denied).to.include({ word: 'Valid: denied', tone: 'warn' })
    expect(denied.text).to.include('ACTION_NOT_ALLOWED')
    const { body } = await trust.authorise({ agent_id: agentId, action: 'order.cancel' })
    const unsigned = await toldOfSigned(body.receipt, 'agent-receipt+jws')
    expect(unsigned).to.include({ word: 'Valid: not signed by the agent', tone: 'warn' })
  })

  it('shows whose word it is, and leaves it to whoever checks whether that is one to take', async () => {
    const { organisationId, apiKey: key } = await app.organisation()
    const body = { subject: 'member-7' }
    const { token } = demandSuccess(
      await app.request<{ token: string }>('POST', '/api/tokens/generate', { key, body }),
    )
    const found = await checkSigned(token, 'vt+jwt', service, Date.now())
    expect(found.facts).to.deep.include(['Organisation', organisationId])
    expect(toldOf(found)).to.include({ word: 'Valid' })
    expect(toldOf(found).notChecked?.join()).to.include('that the organisation is who you think')
  })

  it('is what was decided on a screening, which a later decision may have replaced', async () => {
    const typ = 'aml-decision+jws'
    const cleared = await toldOfSigned(await signed(typ, { verdict: 'not_this_person' }), typ)
    expect(cleared).to.include({
      word: 'Genuine: not this person, but whether it still counts was not checked',
      tone: 'warn',
    })
    expect(cleared.text).to.include('Whether a later decision replaced it')
    const confirmed = await toldOfSigned(await signed(typ, { verdict: 'confirmed' }), typ)
    expect(confirmed).to.include({ word: 'Genuine: confirmed', tone: 'warn' })
  })

  it('is no plain YES where nobody knows the question', async () => {
    for (const [typ, payload, word] of [
      ['hv+jws', { verdict: 'YES' }, 'Valid: YES to an unknown question'],
      ['hv+jws', { verdict: 'NO' }, 'Valid: NO to an unknown question'],
      ['pd+jws', { decision: true }, 'Valid: permitted, question unknown'],
      ['pd+jws', { decision: false }, 'Valid: denied, question unknown'],
    ] as const) {
      const told = await toldOfSigned(await signed(typ, payload), typ)
      expect(told).to.include({ word, tone: 'warn' })
      expect(told.text).to.include('ask the organisation before you rely on it')
    }
    const resultOf = async (rules: object[], from = service) => {
      const { jws } = await result({ rules })
      return toldOf(await checkResult(jws, undefined, from, Date.now()))
    }
    expect(await resultOf(RULES)).to.include({ word: 'Valid: YES', tone: 'good' })
    const unpublished: OwnService = {
      ...service,
      lookUp: async (path) => ({ ...(await service.lookUp(path)), asked: null }),
    }
    expect(await resultOf(RULES, unpublished)).to.include({
      word: 'Valid: YES to an unknown question',
      tone: 'warn',
    })
    expect(await resultOf([{ field: 'name', op: 'eq', value: 'Ada' }])).to.include({
      word: 'Valid: YES, question not checked',
      tone: 'warn',
    })
  }).timeout(120_000)

  it('is a NO where the claims of a hybrid token say so', async () => {
    const hybrids = hybridRoutesOf(app, apiKey)
    const told = async (decision: 0 | 1) => {
      const token = await hybrids.issued({ claims: { decision } })
      return toldOf(await checkHybridToken(token, service, Date.now()))
    }
    const no = await told(0)
    expect(no).to.include({ word: 'Genuine: NO', tone: 'warn' })
    expect(no.faults).to.deep.equal([])
    expect(await told(1)).to.include({
      word: 'Genuine, but whether it was revoked was not checked',
      tone: 'warn',
    })
  })

  it('is green for nothing that may have been used, withdrawn or revoked meanwhile', async () => {
    const exp = Math.floor(Date.now() / 1000) + TTL_SECONDS
    const ticketKid = async (): Promise<string> => {
      const payload = { o: 'x', jti: 'tkt_1', exp, c: {} }
      return signedBy(app, 'tickets', 'Ed25519', payload, { typ: 'qt+jwt' })
    }
    const open = {
      'qt+jwt': [await ticketKid(), 'whether it was used or revoked'],
      'cr+jws': [(await consentRoutesOf(app, apiKey).logged()).receipt, 'whether the consent still stands'],
      'agent-authorisation+jwt': [await signed('agent-authorisation+jwt', { exp }), 'whether the agent was'],
    }
    for (const [typ, [text = '', what]] of Object.entries(open)) {
      const told = await toldOfSigned(text, typ)
      expect(told.faults, typ).to.deep.equal([])
      expect(told.tone, typ).to.equal('warn')
      expect(told.word, typ)
        .to.match(/^Genuine, but whether .* was not checked$/)
        .and.include(what)
    }
    const single = await tokenRoutesOf(app, apiKey).issued({ ttl: TTL_SECONDS, singleUse: true })
    expect(await toldOfSigned(single.token, 'vt+jwt')).to.include({
      word: 'Genuine, but whether it was used was not checked',
      tone: 'warn',
    })
    const many = await tokenRoutesOf(app, apiKey).issued({ ttl: TTL_SECONDS })
    expect(await toldOfSigned(many.token, 'vt+jwt')).to.include({ word: 'Valid', tone: 'good' })
  })

  it('is no consent where the receipt is of a refusal, and over where the end that it names is', async () => {
    const consents = consentRoutesOf(app, apiKey)
    // Of whole seconds the page shows no milliseconds.
    const expiresAt = new Date(Math.floor(Date.now() / 1000) * 1000 + 3_600_500).toISOString()
    const { receipt } = await consents.logged({ subjectId: 'bea', expiresAt })
    const at = async (now: number, text = receipt) => toldOf(await checkSigned(text, 'cr+jws', service, now))
    const end = Date.parse(expiresAt)
    const before = await at(end - 1)
    expect(before).to.include({
      word: 'Genuine, but whether the consent still stands was not checked',
      tone: 'warn',
    })
    expect(before.checks.find(({ title }) => title === 'Expiry')?.detail).to.include(`ends at ${expiresAt}`)
    const after = await at(end)
    expect([after.word, after.faults]).to.deep.equal(['Expired', ['CONSENT_EXPIRED']])
    const refused = await consents.logged({ subjectId: 'bea', status: 'refused' })
    const no = await at(Date.now(), refused.receipt)
    expect([no.word, no.tone, no.faults]).to.deep.equal(['Genuine: refused', 'warn', []])
    expect(no.text).to.include('it is no consent')
    const [event] = payloadOf(receipt).events as Json[]
    for (const events of [
      undefined,
      [],
      [{ ...event, event_state: 'consent_renewed' }],
      [{ ...event, validity_duration: 'P1D' }],
      [{ ...event, event_time: 'today' }],
      [event, event],
    ]) {
      const text = await signed('cr+jws', { ...payloadOf(receipt), events })
      expect((await at(Date.now(), text)).faults, JSON.stringify(events)).to.deep.equal(['RECEIPT_MALFORMED'])
    }
  })

  it('is green for no proof, which may have been spent, and says where it hides the status of what it is about', async () => {
    const owner = await app.organisation()
    const keeper = await keeperOf(app, owner)
    const { asked } = challengeRoutesOf(app, owner.apiKey)
    const told = async (question: object) => {
      const { context } = await asked({ ...AGE_QUESTION, ...question })
      const proof = await proveKyc(keeper, context, Date.now())
      return toldOf(await checkProof(JSON.stringify(proof), service, Date.now()))
    }
    expect(await told({})).to.include({
      word: 'The proof holds: YES, but whether the proof was spent or revoked was not checked',
      tone: 'warn',
    })
    const hidden = await told({ status: 'not_required' })
    expect(hidden).to.include({
      word: 'The proof holds: YES, but whether what it is about was revoked, and whether the proof was spent or revoked was not checked',
      tone: 'warn',
    })
    expect(hidden.faults).to.deep.equal([])
    expect(hidden.text).to.include('It does not tell the status')
  }).timeout(120_000)

  it('is a YES with what it depends on, and open all the same', async () => {
    const { proof, circuitId } = await result({})
    const given = { proof, circuitId, question: 'is she of age' }
    const told = toldOf(await checkProof(JSON.stringify(given), service, Date.now()))
    expect(told).to.include({
      word: 'The proof holds: YES, if a question was asked, but whether the proof was spent or revoked was not checked',
      tone: 'warn',
    })
    expect(told.text).to.include('if a question was asked: the file does not tell')
  }).timeout(60_000)

  it('says of what time a proof is, and leaves open whether it still holds where that is not now', async () => {
    const owner = await app.organisation()
    const keeper = await keeperOf(app, owner)
    const { context } = await challengeRoutesOf(app, owner.apiKey).asked({ ...AGE_QUESTION })
    const now = Math.floor(Date.now() / 1000) * 1000
    const madeAt = async (time: number) => JSON.stringify(await proveKyc(keeper, context, time))
    const told = async (proof: string, at: number) => toldOf(await checkProof(proof, service, at))
    const proof = await madeAt(now)
    for (const [given, at, time] of [
      [proof, now + 121_000, now],
      [await madeAt(now + 121_000), now, now + 121_000],
    ] as const) {
      const { word, tone, text, faults } = await told(given, at)
      expect(word, text).to.match(/^The proof holds: YES, but whether it still holds, and whether the proof/)
      expect([tone, faults]).to.deep.equal(['warn', []])
      expect(text).to.include(`what held at ${new Date(time).toISOString().replace('.000', '')}`)
    }
    for (const at of [now, now + 120_000]) {
      const { word, checks } = await told(proof, at)
      expect(word).to.match(/^The proof holds: YES, but whether the proof was spent/)
      expect(checks.find(({ title }) => title === 'Freshness')?.outcome).to.equal('passed')
    }
    const broken = { ...service, statusList: async () => '<!doctype html>' }
    const unknown = toldOf(await checkProof(proof, broken, now))
    expect(unknown).to.include({ word: 'Not verified', tone: 'warn' })
    expect(unknown.faults).to.deep.equal([])
  }).timeout(120_000)

  it('is nothing where the published status list says nothing, or the clock of the device is wrong', async () => {
    const { token } = await tokenRoutesOf(app, apiKey).issued({ ttl: TTL_SECONDS })
    for (const [from, offMs] of [
      [{ ...service, statusList: async () => '<!doctype html>' }, 0],
      [service, 400_000],
      [service, -400_000],
    ] as const) {
      const told = toldOf(await checkSigned(token, 'vt+jwt', from, Date.now() + offMs))
      expect(told).to.include({ word: 'Not verified', tone: 'warn' })
      expect(told.faults).to.deep.equal([])
      const { detail = '' } = told.checks.find(({ title }) => title === 'Revocation') ?? {}
      expect(detail.includes('Is the clock of this device right?'), detail).to.equal(offMs !== 0)
    }
  })

  it('names what stands beside something signed, with which it compares nothing', () => {
    const [jws, list] = ['vt+jwt', 'statuslist+jwt'].map((typ) => {
      const part = (json: object) => Buffer.from(JSON.stringify(json)).toString('base64url')
      return `${part({ alg: 'EdDSA', typ })}.${part({ sub: 'ada' })}.AA`
    })
    const besides = (given: object) => recognise(JSON.stringify(given)).beside
    expect(recognise(jws ?? '').beside).to.equal(undefined)
    expect(besides({ token: jws })).to.deep.equal([])
    expect(besides({ token: jws, subject: 'somebody else', scope: 1 })).to.deep.equal(['subject', 'scope'])
    expect(besides({ decision: true, context: { jws, by: 'x' } })).to.deep.equal(['by', 'decision'])
    expect(besides({ token: list, valid: true })).to.deep.equal(['valid'])
    expect(besides({ checkpoint: 'a\n1', size: 2 })).to.deep.equal(['size'])
    expect(besides({ credential: `${jws?.replace('vt', 'xx')}~`, name: 'x' })).to.deep.equal(['name'])
    expect(besideChecks([])).to.deep.equal([])
    const [told] = besideChecks(['subject', 'a\u202eb'])
    expect(told).to.include({ title: 'Answer', outcome: 'skipped' })
    expect(told?.detail).to.include('subject, a\\u{202e}b')
  })

  it('is nothing about a token that names no status list', async () => {
    const { token } = await tokenRoutesOf(app, apiKey).issued({ ttl: TTL_SECONDS })
    const { status: _, ...earlier } = payloadOf(token)
    for (const single_use of [true, false]) {
      const text = await signedBy(app, 'tokens', 'Ed25519', { ...earlier, single_use })
      const told = await toldOfSigned(text, 'vt+jwt')
      expect(told).to.include({ word: 'Not verified', tone: 'warn' })
      expect(told.text).to.include('Revocation').and.not.include('not revoked')
    }
  })

  it('is nothing about a badge of which the service told another’s state', async () => {
    const { agents, agentId } = await newTrustedAgent(app)
    const { agentId: otherId, agents: others } = await newTrustedAgent(app)
    const { body: badge } = await agents.badge({ agent_id: agentId })
    const { body: other } = await others.badge({ agent_id: otherId })
    const jws = badge.jws ?? ''
    expect(await toldOfSigned(jws, 'agent-badge+jwt')).to.include({ word: 'Valid', tone: 'good' })
    const mistaken = await serviceOf((path) => path.replace(badge.badge_id, other.badge_id))
    expect(await toldOfSigned(jws, 'agent-badge+jwt', mistaken)).to.include({ word: 'Not verified' })
  })

  it('says that a badge holds no more whose agent is trusted less by now', async () => {
    const { agents, agentId } = await newTrustedAgent(app)
    const { body: badge } = await agents.badge({ agent_id: agentId })
    const stated = payloadOf(badge.jws ?? '')
    const told = async (trust_level: string) => {
      const typ = 'agent-badge+jwt'
      return toldOfSigned(await signed(typ, { ...stated, trust_level }), typ)
    }
    const lowered = await told('domain_verified')
    expect([lowered.word, ...lowered.faults]).to.deep.equal(['Revoked', 'TRUST_LEVEL_LOWERED'])
    for (const level of ['key_verified', 'registered'])
      expect(await told(level), level).to.include({ word: 'Valid', tone: 'good' })
  })

  it('at the address of a result is that result and no other', async () => {
    const [one, other] = [await result(), await result()]
    const path = `/verify/qr/${hashOf(one)}`
    const at = async (from: OwnService) => {
      const found = await checkResultAt(path, from, Date.now())
      return toldOf(typeof found === 'string' ? expect.fail(found) : found)
    }
    expect(await at(service)).to.include({ word: 'Valid: YES', tone: 'good' })
    const mistaken = await serviceOf((asked) => asked.replace(hashOf(one), hashOf(other)))
    const told = await at(mistaken)
    expect(told).to.include({ word: 'Not valid', tone: 'bad' })
    expect(told.faults).to.deep.equal(['ADDRESS_MISMATCH'])
    // Nor does another's standing count for one that was handed over.
    const handed = toldOf(await checkResult(one.jws, undefined, mistaken, Date.now()))
    expect(handed).to.include({ word: 'Not verified', tone: 'warn' })
    expect(handed.text).to.include('Withdrawal')
    expect(await checkResultAt(`/verify/qr/${'A'.repeat(43)}`, service, Date.now())).to.be.a('string')
  }).timeout(60_000)

  describe('beside a result', () => {
    const answerOf = async (jws: string, answer: Json) => {
      const { checks } = toldOf(await checkResult(jws, answer, service, Date.now()))
      const { outcome, fault, detail } = checks.find(({ title }) => title === 'Answer') ?? expect.fail()
      return { outcome, fault, detail }
    }
    const decidedBy = async (): Promise<Json & { jws: string }> => {
      const context = { amount: 49.99, currency: 'GBP' }
      const body = { circuit_id: 'yesno', identifier: 'ada', context, ttl: TTL_SECONDS }
      return { ...(await postV1Verify(app, apiKey, body)).body }
    }

    for (const [what, make, times] of [
      ['POST /verify', () => result({ rules: RULES, ttl: TTL_SECONDS }), ['timestamp', 'expiresAt']],
      ['POST /v1/verify', decidedBy, ['issued_at', 'expires_at', 'verdict']],
    ] as const)
      it(`is what it repeats, by name, as ${what} answers`, async () => {
        const answer: Json & { jws: string } = { ...(await make()) }
        const { outcome, detail } = await answerOf(answer.jws, answer)
        expect(outcome, detail).to.equal('passed')
        for (const name of ['decision', ...times]) expect(detail).to.include(name)
        const { decision } = payloadOf(answer.jws)
        const changes = {
          verdict: decision === 'YES' ? 'NO' : 'YES',
          ...Object.fromEntries(times.slice(0, 2).map((name) => [name, '2020-01-01T00:00:00.000Z'])),
          issuer: 'https://elsewhere.example',
        }
        for (const [name, value] of Object.entries(changes)) {
          const told = await answerOf(answer.jws, { ...answer, [name]: value })
          expect(told.fault, name).to.equal('ANSWER_MISMATCH')
          expect(told.detail).to.include(`another ${name} than`)
        }
        const endless = await answerOf(answer.jws, { ...answer, [times[1]]: null })
        expect(endless.fault).to.equal('ANSWER_MISMATCH')
      }).timeout(120_000)

    it('is as the service looks it up, and nothing where it repeats nothing', async () => {
      const { jws, verificationId } = await result({ rules: RULES })
      const { body } = await app.request<Json>('GET', `/verify/${verificationId}`, { key: apiKey })
      expect(await answerOf(jws, body)).to.include({ outcome: 'passed' })
      expect(await answerOf(jws, { jws, org: 'org_other' })).to.include({ outcome: 'skipped' })
    }).timeout(60_000)
  })
})
