/** What the page that checks finds of what a real service signed: nothing is called good that it could not look up, or that says NO. */
import { webcrypto } from 'node:crypto'
import { expect } from 'chai'
import { checkResult, checkResultAt } from '../../src/web/check/kinds/result.ts'
import { checkSigned } from '../../src/web/check/kinds/signed-kinds.ts'
import { type OwnService, openService } from '../../src/web/check/own-service.ts'
import { conclude, type Found } from '../../src/web/check/report.ts'
import { openCrypto } from '../../src/web/crypto/crypto.ts'
import { sharedApp, type TestApp } from '../support/app.ts'
import { agentJws, agentRequestJws, newTrustedAgent } from '../support/domain/agent-trust.ts'
import { postV1Verify } from '../support/domain/eligibility.ts'
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

  /** The service as the page asks it. @param answered for another path than the one that is asked */
  const serviceOf = async (answered: (path: string) => string = (path) => path): Promise<OwnService> => {
    const bytesAt = async (path: string) => (await app.request('GET', path)).bytes
    const keysAt = async (path: string) => (await app.request<{ keys: Json[] }>('GET', path)).body.keys
    return {
      ...openService(await openCrypto(webcrypto.subtle as SubtleCrypto)),
      published: {
        verificationKey: async (id) => (await app.request('GET', `/api/circuits/${id}/vkey`)).body,
        log: {
          checkpoint: async () => (await bytesAt('/checkpoint')).toString(),
          keys: async () => (await bytesAt('/checkpoint/keys')).toString(),
          tile: async (path) => new Uint8Array(await bytesAt(`/tile/${path}`)),
        },
      },
      issuer: async () => (await app.request<{ issuer: string }>('GET', '/verify')).body.issuer,
      keys: () => keysAt('/.well-known/jwks.json'),
      statusList: async (list) => (await bytesAt(`/status/${list}`)).toString(),
      async lookUp(path) {
        const { status, body } = await app.request<Json>('GET', answered(path))
        return status === 200 ? body : undefined
      },
    }
  }
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
    expect(await verdict()).to.include({ word: 'Valid: verified', tone: 'good' })
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
    expect(await receipt('order.cancel')).to.include({ word: 'Valid: allowed', tone: 'good' })
    const denied = await receipt('order.pay')
    expect(denied).to.include({ word: 'Valid: denied', tone: 'warn' })
    expect(denied.text).to.include('ACTION_NOT_ALLOWED')
    const { body } = await trust.authorise({ agent_id: agentId, action: 'order.cancel' })
    const unsigned = await toldOfSigned(body.receipt, 'agent-receipt+jws')
    expect(unsigned).to.include({ word: 'Valid: not signed by the agent', tone: 'warn' })
  })

  it('is what was decided on a screening, which a later decision may have replaced', async () => {
    const typ = 'aml-decision+jws'
    const cleared = await toldOfSigned(await signed(typ, { verdict: 'not_this_person' }), typ)
    expect(cleared).to.include({ word: 'Genuine: not this person', tone: 'good' })
    expect(cleared.notChecked?.join()).to.include('whether a later decision replaced it')
    const confirmed = await toldOfSigned(await signed(typ, { verdict: 'confirmed' }), typ)
    expect(confirmed).to.include({ word: 'Genuine: confirmed', tone: 'warn' })
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
