/** Providers that check people over HTTPS: asked by their contract, believed only in answers that are whole. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect } from 'chai'
import { createHttpProviders } from '../../../src/domain/kyc/http-provider.ts'
import { type PersonStanding, ProviderAnswer } from '../../../src/domain/kyc/schemas.ts'
import { bodyCheck } from '../../../src/http/input/validation.ts'
import { createSafeFetch } from '../../../src/net/safe-fetch.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { ANNA, annaWith, kycRoutesOf, namesOf } from '../../support/domain/kyc.ts'
import { rejection } from '../../support/rejection.ts'
import { type Certificates, createCertificates } from '../../support/servers/certificates.ts'
import {
  json,
  startTargetServer,
  type TargetScript,
  type TargetServer,
} from '../../support/servers/target-server.ts'

const API_KEY = 'provider-key-1'
const DAY_MS = 86_400_000
const VERIFIED = { status: 'verified', level: 'enhanced', reference: 'acme-1' }

describe('KYC providers', () => {
  let certificates: Certificates
  let provider: TargetServer
  let app: TestApp
  let owner: TestOrganisation
  let kyc: ReturnType<typeof kycRoutesOf>
  let folder: string
  before(async () => {
    certificates = createCertificates({ names: ['127.0.0.1'] })
    provider = await startTargetServer({ certificates })
    folder = mkdtempSync(join(tmpdir(), 'assay-kyc-'))
    const caFile = join(folder, 'ca.pem')
    writeFileSync(caFile, certificates.ca)
    const named = (path: string) => ({ url: `${provider.url}${path}`, apiKey: API_KEY })
    app = await startTestApp({
      env: {
        EGRESS_CA_FILE: caFile,
        KYC_PROVIDERS: JSON.stringify({
          acme: named('/check'),
          elsewhere: { url: `https://localhost:${provider.port}/check`, apiKey: API_KEY },
          nobody: { url: 'https://127.0.0.1:1/check', apiKey: API_KEY },
        }),
      },
    })
  })
  after(async () => {
    await app?.close()
    await provider?.close()
    if (folder) rmSync(folder, { recursive: true })
  })
  beforeEach(async () => {
    owner = await app.organisation()
    kyc = kycRoutesOf(app, owner.apiKey)
    provider.requests.length = 0
  })
  const ask = (script: TargetScript, more: object = {}) => {
    provider.on('/check', script)
    return kyc.verify({ userId: 'user-7', provider: 'acme', data: ANNA, ...more })
  }
  const rows = () => app.services.database.knex('kyc_subjects').where({ organisation: owner.organisationId })

  it('are asked with key, level and data over TLS, and never for whom the caller takes the person', async () => {
    const { status, body } = await ask(json({ ...VERIFIED, unknown: true }), { level: 'enhanced' })
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(body).to.include({
      status: 'verified',
      level: 'enhanced',
      source: 'provider',
      provider: 'acme',
      providerReference: 'acme-1',
      credentialIssued: true,
    })
    const [request] = provider.requests
    expect(request?.method).to.equal('POST')
    expect(request?.headers).to.include({
      authorization: `Bearer ${API_KEY}`,
      'content-type': 'application/json',
      'idempotency-key': body.reference,
    })
    expect(JSON.parse(request?.body.toString() ?? '')).to.deep.equal({
      version: 1,
      reference: body.reference,
      level: 'enhanced',
      data: ANNA,
    })
  })

  it('say when it ends, what they found, and are told so again', async () => {
    const expiresAt = new Date(Date.now() + 30 * 86_400_000).toISOString()
    const checks = [{ name: 'liveness', result: 'passed', passport: 'L898902C3' }]
    const attributes = { dateOfBirth: '1974-08-13', country: 'NOR' }
    const { body } = await ask(json({ ...VERIFIED, level: 'standard', expiresAt, checks, attributes }))
    expect(body).to.include({ status: 'verified', level: 'standard', expiresAt })
    expect(namesOf(body, 'passed')).to.deep.equal(['liveness', 'level_reached'])
    expect(body.checks[0]).to.deep.equal({ name: 'liveness', result: 'passed' })
    const { body: credential } = await kyc.credential('user-7')
    expect([credential.country, credential.signals.birthDate, credential.signals.level]).to.deep.equal([
      'NO',
      '19740813',
      '2',
    ])
    expect((await kyc.standing('user-7')).body).to.include({ status: 'verified', level: 'standard' })
  })

  it('leave a person for review where they reach less than was asked for, and never more than they say', async () => {
    const less = await ask(json({ ...VERIFIED, level: 'standard' }), { level: 'enhanced' })
    expect(less.body).to.include({ status: 'review', level: 'none', credentialIssued: false })
    expect(namesOf(less.body, 'failed')).to.deep.equal(['level_reached'])
    for (const status of ['pending', 'rejected', 'review']) {
      const { body } = await ask(json({ status, level: 'enhanced' }))
      expect(body).to.include({ status, level: 'none', verifiedAt: null, credentialIssued: false })
    }
  })

  it('limit what somebody approves that they left for review, as the document does', async () => {
    const at = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString()
    const until = at(30)
    const day = at(7).slice(0, 10)
    const approve = async (script: TargetScript, data: object = ANNA) => {
      const { body } = await ask(script, { level: 'enhanced', data })
      expect(body).to.include({ status: 'review', expiresAt: null })
      return app.request<PersonStanding & { error?: string }>('POST', '/console/api/people/user-7/decision', {
        key: owner.apiKey,
        body: { reference: body.reference, verdict: 'approve', reason: 'seen' },
      })
    }
    for (const script of [
      json({ ...VERIFIED, level: 'standard', expiresAt: until }),
      json({ status: 'review', level: 'none', expiresAt: until }),
    ]) {
      expect((await approve(script)).body).to.include({ status: 'verified', expiresAt: until })
      const { body } = await approve(script, annaWith({ expiresAt: day }))
      expect(Date.parse(body.expiresAt ?? '')).to.equal(Date.parse(day) + DAY_MS)
    }
    const over = await approve(json({ ...VERIFIED, level: 'standard', expiresAt: at(-1) }))
    expect([over.status, over.body.error]).to.deep.equal([409, 'conflict'])
  })

  it('verify nobody for longer than the document that was sent is valid, and nobody whose document has expired', async () => {
    const day = new Date(Date.now() + 7 * DAY_MS).toISOString().slice(0, 10)
    const soon = new Date(Date.now() + 3 * DAY_MS).toISOString()
    const ends = new Date(Date.parse(day) + DAY_MS).toISOString()
    const data = annaWith({ expiresAt: day })
    expect((await ask(json(VERIFIED), { data })).body).to.include({ status: 'verified', expiresAt: ends })
    expect((await kyc.credential('user-7')).body.expiresAt).to.equal(ends)
    expect((await ask(json({ ...VERIFIED, expiresAt: soon }), { data })).body.expiresAt).to.equal(soon)
    const { body } = await ask(json(VERIFIED), { data: annaWith({ expiresAt: '2020-01-01' }) })
    expect(body).to.include({ status: 'rejected', level: 'none', expiresAt: null, credentialIssued: false })
    expect(namesOf(body, 'failed')).to.deep.equal(['document_expiry'])
    expect((await kyc.credential('user-7')).status).to.equal(404)
  })

  it('verify a person without a credential where birth date or country is not known', async () => {
    const { body } = await ask(json(VERIFIED), { data: { givenName: 'Anna' } })
    expect(body).to.include({ status: 'verified', level: 'enhanced', credentialIssued: false })
    expect((await kyc.credential('user-7')).status).to.equal(404)
  })

  it('that fail in any way are 502 and nothing is kept', async () => {
    const past = new Date(Date.now() - 1000).toISOString()
    const scripts: readonly TargetScript[] = [
      json(VERIFIED, 500),
      json(VERIFIED, 201),
      json({ error: 'unauthorized' }, 401),
      (_, response) => void response.writeHead(302, { location: '/other' }).end(),
      (_, response) => void response.writeHead(200).end('<html>'),
      json({}),
      json([VERIFIED]),
      json(null),
      json({ ...VERIFIED, status: 'approved' }),
      json({ ...VERIFIED, level: 'best' }),
      json({ ...VERIFIED, expiresAt: 'tomorrow' }),
      json({ ...VERIFIED, expiresAt: past }),
      json({ ...VERIFIED, expiresAt: '9999-12-31T23:59:59-23:59' }),
      json({ ...VERIFIED, reference: 'cut \ud800' }),
      json({ ...VERIFIED, checks: [{ name: 'x', result: 'maybe' }] }),
      json({ ...VERIFIED, padding: 'x'.repeat(70_000) }),
      (_, response) => void response.socket?.destroy(),
    ]
    for (const script of scripts) {
      const { status, body } = await ask(script)
      expect([status, body.error], JSON.stringify(body)).to.deep.equal([502, 'provider_failed'])
      expect(body.message).to.contain('acme').and.not.contain(API_KEY)
    }
    for (const other of ['elsewhere', 'nobody']) {
      const { status, body } = await ask(json(VERIFIED), { provider: other })
      expect([status, body.error], other).to.deep.equal([502, 'provider_failed'])
    }
    expect(await rows()).to.deep.equal([])
  })

  it('that are unknown are the caller’s fault, and nobody is asked', async () => {
    const { status, body } = await ask(json(VERIFIED), { provider: 'acme2' })
    expect([status, body.details?.[0]?.path]).to.deep.equal([422, '/provider'])
    expect(provider.requests).to.deep.equal([])
  })

  describe('asked directly', () => {
    const openCalls = async (use: (providers: ReturnType<typeof createHttpProviders>) => Promise<void>) => {
      const safeFetch = createSafeFetch({ allowCidrs: ['127.0.0.0/8'], ca: certificates.ca })
      const providers = createHttpProviders({
        providers: { acme: { url: `${provider.url}/slow`, apiKey: API_KEY } },
        safeFetch,
        clock: { now: () => Date.now() },
        deadlineMs: 300,
        checkAnswer: bodyCheck(ProviderAnswer),
      })
      try {
        await use(providers)
      } finally {
        await safeFetch.close()
      }
    }
    const question = { reference: 'kyc_1', level: 'standard', data: ANNA } as const

    it('are given up at their deadline', () =>
      openCalls(async (providers) => {
        provider.on('/slow', () => undefined)
        const error = await rejection(providers.ask('acme', question))
        expect(error).to.include({ code: 'provider_failed' })
        expect(String(error)).to.contain('timeout')
      }))

    it('are not quoted, in what is logged either, where what they answer is no JSON', () =>
      openCalls(async (providers) => {
        provider.on('/slow', (_, response) => void response.writeHead(200).end('Anna Maria'))
        const error = await rejection(providers.ask('acme', question))
        expect(error).to.include({ code: 'provider_failed' })
        expect(inspect(error)).to.contain('JSON').and.not.contain('Anna')
      }))

    it('hold no more than 16 questions at a time, and take others again once they answered', () =>
      openCalls(async (providers) => {
        provider.on('/slow', () => undefined)
        const waiting = Array.from({ length: 16 }, () => rejection(providers.ask('acme', question)))
        expect(await rejection(providers.ask('acme', question))).to.include({ code: 'unavailable' })
        await Promise.all(waiting)
        expect(await rejection(providers.ask('acme', question))).to.include({ code: 'provider_failed' })
      }))
  })
})
