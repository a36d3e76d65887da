import { hash } from 'node:crypto'
import { expect } from 'chai'
import { CIRCUITS, type CircuitId } from '../../../src/circuits/catalogue.ts'
import { type VerificationKey, verifyPairing } from '../../../src/circuits/verifier.ts'
import { sharedApp, startTestApp, type TestApp } from '../../support/app.ts'
import { artifacts } from '../../support/circuits/circuits.ts'
import { clientOf } from '../../support/client.ts'
import { goodProof } from '../../support/domain/proofs.ts'
import { FORMER, formerProofs } from '../../support/upgrade/former-proofs.ts'

interface Listed {
  id: CircuitId
  version: string
  formerVersions: { version: string; verificationKeyUrl: string }[]
  provingKeyUrl: string
  witnessProgramUrl: string
  wasm_supported: boolean
  setup: { type: string; contributions: number; transcript_sha256: string }
  verificationKeyUrl: string
  publicSignals: string[]
  selfAsserted: boolean
  proves: string
  checks: string[]
}

describe('GET /api/circuits', () => {
  let app: TestApp
  before(async () => {
    app = await sharedApp()
  })

  it('lists every circuit with what its proofs show and how its keys came about', async () => {
    const { apiKey } = await app.organisation()
    const { status, body } = await app.request<Listed[]>('GET', '/api/circuits', { bearer: apiKey })
    expect(status).to.equal(200)
    expect(body.map(({ id }) => id)).to.deep.equal(CIRCUITS.map(({ id }) => id))
    for (const { id, wasm_supported, setup, publicSignals, selfAsserted, checks, proves } of body) {
      const circuit = CIRCUITS.find((known) => known.id === id)
      expect({ wasm_supported, publicSignals, selfAsserted }).to.deep.equal({
        wasm_supported: true,
        publicSignals: circuit?.publicNames,
        selfAsserted: circuit?.selfAsserted,
      })
      expect(checks).to.be.an('array').that.is.not.empty
      expect(proves).to.match(/^(The prover|This attestor) /)
      if (id === 'yesno') expect(proves).to.match(/not proven inside/)
      if (id === 'simple_yesno') expect(proves).to.match(/service's own decision/)
      expect(setup.type).to.equal('single-party')
      expect(setup.contributions).to.be.at.least(1)
      expect(setup.transcript_sha256).to.match(/^[0-9a-f]{64}$/)
    }
  })

  it('needs a key of scope circuit or merchant', async () => {
    expect((await app.request('GET', '/api/circuits')).status).to.equal(401)
    const { apiKey } = await app.organisation()
    for (const [scope, status] of [
      ['merchant', 200],
      ['circuit', 200],
      ['verify', 403],
    ] as const) {
      const body = { scopes: [scope] }
      const made = await app.request<{ apiKey: string }>('POST', '/console/api/keys', { key: apiKey, body })
      const answer = await app.request('GET', '/api/circuits', { key: made.body.apiKey })
      expect(answer.status, scope).to.equal(status)
    }
  })

  it('gives every verification key to anybody, and says when it has not changed', async () => {
    for (const { id } of CIRCUITS) {
      const path = `/api/circuits/${id}/vkey`
      const { status, body, headers } = await app.request('GET', path)
      expect(status).to.equal(200)
      expect(body).to.deep.equal(artifacts[id].verificationKey)
      expect(headers.get('cache-control')).to.equal('public, max-age=3600')
      const etag = headers.get('etag') ?? ''
      const again = await app.request('GET', path, { headers: { 'if-none-match': etag } })
      expect([again.status, again.body, again.headers.get('etag')]).to.deep.equal([304, undefined, etag])
      const other = await app.request('GET', path, { headers: { 'if-none-match': '"other"' } })
      expect(other.status).to.equal(200)
    }
    for (const id of ['nothing', '__proto__', 'toString'])
      expect((await app.request('GET', `/api/circuits/${id}/vkey`)).status).to.equal(404)
  })

  it('gives the keys of versions that were replaced, which verify what was proved with those', async () => {
    const { apiKey } = await app.organisation()
    const listed = await app.request<Listed[]>('GET', '/api/circuits', { bearer: apiKey })
    for (const { id, version } of CIRCUITS) {
      const known = listed.body.find((one) => one.id === id)
      const path = `/api/circuits/${id}/vkey`
      const former = FORMER.some((one) => one === id) ? ['1.0.0'] : []
      expect(known?.version).to.equal(version)
      expect(known?.formerVersions).to.deep.equal(
        former.map((one) => ({ version: one, verificationKeyUrl: `${app.url}${path}?version=${one}` })),
      )
      const current = await app.request('GET', `${path}?version=${version}`)
      expect(current.body).to.deep.equal(artifacts[id].verificationKey)
      for (const one of former) {
        const answer = await app.request('GET', `${path}?version=${one}`)
        expect(answer.body).to.deep.equal(artifacts[id].formerKeys.get(one))
        expect(answer.body).to.not.deep.equal(current.body)
        expect(answer.headers.get('etag')).to.not.equal(current.headers.get('etag'))
        expect(answer.headers.get('cache-control')).to.equal('public, max-age=3600')
        const headers = { 'if-none-match': answer.headers.get('etag') ?? '' }
        expect((await app.request('GET', `${path}?version=${one}`, { headers })).status).to.equal(304)
      }
      for (const unknown of ['0.9.0', '2.0.1', '1.0.00', '01.0.0', '9999.0.0'])
        expect((await app.request('GET', `${path}?version=${unknown}`)).status, unknown).to.equal(404)
      for (const malformed of ['', '1', '1.0', 'v1.0.0', '1.0.0.0', '12345.0.0', 'latest'])
        expect((await app.request('GET', `${path}?version=${malformed}`)).status, malformed).to.equal(400)
    }
    expect((await app.request('GET', '/api/circuits/nothing/vkey?version=1.0.0')).status).to.equal(404)
  })

  it('has former keys that hold for proofs of their time, and for none of today', async () => {
    const proofs = formerProofs()
    for (const id of FORMER) {
      const { body: key } = await app.request<VerificationKey>(
        'GET',
        `/api/circuits/${id}/vkey?version=1.0.0`,
      )
      const { proof, public_signals: publicSignals } = proofs[id]
      expect(await verifyPairing(key, proof, publicSignals), id).to.deep.equal({ valid: true })
      const altered = publicSignals.with(0, '0')
      expect(await verifyPairing(key, proof, altered), id).to.have.property('reason', 'PROOF_INVALID')
      const today = await goodProof(id)
      expect((await verifyPairing(key, today.proof, today.publicSignals)).valid).to.equal(false)
      const { verificationKey } = artifacts[id]
      expect((await verifyPairing(verificationKey, proof, publicSignals)).valid).to.equal(false)
    }
  })

  it('gives proving keys and witness programs to anybody, for good where their hash is asked for', async () => {
    const { apiKey } = await app.organisation()
    const listed = await app.request<Listed[]>('GET', '/api/circuits', { bearer: apiKey })
    for (const { id, provingKeyUrl, witnessProgramUrl } of listed.body)
      for (const [kind, url, type] of [
        ['zkey', provingKeyUrl, 'application/octet-stream'],
        ['wasm', witnessProgramUrl, 'application/wasm'],
      ] as const) {
        const { bytes, headers } = await clientOf(url).request('GET', '', {
          headers: { origin: 'https://till.example' },
        })
        expect(bytes.equals(artifacts[id][kind]), url).to.equal(true)
        const sha256 = hash('sha256', bytes)
        expect(Object.fromEntries(headers)).to.include({
          'content-type': type,
          'content-length': String(bytes.length),
          etag: `"${sha256}"`,
          'cache-control': 'public, max-age=31536000, immutable',
          'access-control-allow-origin': '*',
        })
        expect(url).to.equal(`${app.url}/api/circuits/${id}/${kind}?sha256=${sha256}`)
        const again = await app.request('GET', `/api/circuits/${id}/${kind}`, {
          headers: { 'if-none-match': `"${sha256}"` },
        })
        expect([again.status, again.headers.get('cache-control')]).to.deep.equal([
          304,
          'public, max-age=3600',
        ])
      }
    const other = `/api/circuits/yesno/zkey?sha256=${'0'.repeat(64)}`
    expect((await app.request('GET', other)).status).to.equal(404)
    expect((await app.request('GET', '/api/circuits/yesno/zkey?sha256=x')).status).to.equal(400)
    for (const id of ['nothing', '__proto__', 'toString'])
      expect((await app.request('GET', `/api/circuits/${id}/wasm`)).status).to.equal(404)
  })

  it('does not start with keys that are not those of their record', async () => {
    const failure = await startTestApp({ env: { CIRCUITS_DIR: '/nowhere' } }).then(
      (started) => started.close(),
      (error: Error) => error,
    )
    expect(failure).to.have.property('name', 'ArtifactError')
  })
})
