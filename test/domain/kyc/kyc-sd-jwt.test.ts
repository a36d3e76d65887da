/** Credentials about people for wallets, checked by implementations that the service doesn't have. */

import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { createRemoteJWKSet, decodeProtectedHeader, importX509 } from 'jose'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { ANNA, annaWith, kycRoutesOf } from '../../support/domain/kyc.ts'
import { isRevokedOutside } from '../../support/domain/statuses.ts'
import { payloadOf } from '../../support/domain/tokens.ts'
import {
  createWallet,
  disclosuresOf,
  possessionProof,
  sdJwtRoutesOf,
  shown,
  verifiedClaims,
  type Wallet,
} from '../../support/domain/wallets.ts'
import { precede } from '../../support/precede.ts'
import { startProgram } from '../../support/programs.ts'
import { createCertificates } from '../../support/servers/certificates.ts'

const MINUTE_MS = 60_000
const ATTRIBUTES = ['given_name', 'family_name', 'birthdate', 'country', 'age_over_18', 'age_over_21']
const USER = 'user 1'

describe('credentials for wallets', () => {
  let app: TestApp
  let owner: TestOrganisation
  let kyc: ReturnType<typeof kycRoutesOf>
  let credentials: ReturnType<typeof sdJwtRoutesOf>
  let wallet: Wallet
  let ahead = 0
  const now = () => Date.now() + ahead
  before(async () => {
    app = await startTestApp({ clock: { now } })
    wallet = await createWallet()
  })
  beforeEach(async () => {
    owner = await app.organisation()
    kyc = kycRoutesOf(app, owner.apiKey)
    credentials = sdJwtRoutesOf(app, owner.apiKey)
    await kyc.verified(USER)
  })
  after(() => app.close())
  const keys = () => createRemoteJWKSet(new URL(`${app.url}/.well-known/jwks.json`))
  const inSeconds = () => Math.floor(now() / 1000)
  const proofNow = async (payload: object = {}, header: object = {}, by = wallet): Promise<string> =>
    possessionProof(by, await credentials.nonce(USER), payload, header)
  const isRevoked = (sdJwt: string): Promise<boolean> => {
    ahead += MINUTE_MS
    return isRevokedOutside(app, payloadOf(sdJwt), new Date(now()))
  }

  it('say all attributes with all disclosures, and nothing else but what they are worth', async () => {
    const issued = await credentials.issued(USER, wallet)
    const { credential, vct } = issued
    expect(issued).to.include({ format: 'dc+sd-jwt', issuer: app.url, issuer_key: 'jwks' })
    expect(issued.note).to.include('HAIP')
    const claims = await verifiedClaims(credential, keys())
    expect(claims).to.deep.include({
      iss: app.url,
      vct: `${app.url}/credentials/person/1`,
      cnf: { jwk: wallet.jwk },
      level: 'basic',
      source: 'self_asserted',
      given_name: ANNA.givenName,
      family_name: ANNA.familyName,
      birthdate: ANNA.dateOfBirth,
      country: 'SE',
      age_over_18: true,
      age_over_21: true,
    })
    expect(claims.exp).to.equal(Math.floor(Date.parse(issued.expires_at) / 1000))
    const jwt = credential.split('~')[0] ?? ''
    expect(decodeProtectedHeader(jwt)).to.have.all.keys('alg', 'kid', 'typ')
    expect(decodeProtectedHeader(jwt)).to.include({ alg: 'ES256', typ: 'dc+sd-jwt' })
    const open = payloadOf(jwt)
    expect(open).to.have.all.keys([
      'iss',
      'iat',
      'exp',
      'vct',
      'cnf',
      'status',
      'level',
      'source',
      '_sd',
      '_sd_alg',
    ])
    expect(Object.keys(disclosuresOf(credential))).to.have.members(ATTRIBUTES)
    const digests = open._sd as string[]
    expect(digests).to.deep.equal(digests.toSorted())
    const { body: metadata } = await app.request<{ vct: string; claims: { path: string[]; sd: string }[] }>(
      'GET',
      vct.replace(app.url, ''),
    )
    expect(metadata.vct).to.equal(vct)
    const selective = metadata.claims.filter(({ sd }) => sd === 'always').map(({ path }) => path[0])
    expect(selective).to.have.members(ATTRIBUTES)
    const { body: issuer } = await app.request('GET', '/.well-known/jwt-vc-issuer')
    expect(issuer).to.deep.equal({ issuer: app.url, jwks_uri: `${app.url}/.well-known/jwks.json` })
  })

  it('show what their holder chooses, bound to a question, and no more', async () => {
    const { credential } = await credentials.issued(USER, wallet)
    const question = { aud: 'https://bar.example', nonce: 'n-1' }
    const presentation = await shown(credential, ['age_over_18'], wallet, question)
    const claims = await verifiedClaims(presentation, keys())
    expect(claims.age_over_18).to.equal(true)
    expect(claims).to.not.have.any.keys('given_name', 'family_name', 'birthdate', 'country', 'age_over_21')
    expect(Buffer.from(presentation.split('.')[1] ?? '', 'base64url').toString()).to.not.match(
      /1974|Anna|Eriks/,
    )
    const stranger = await createWallet()
    const stolen = await shown(credential, ['age_over_18'], stranger, question)
    await verifiedClaims(stolen, keys()).then(
      () => expect.fail('a stranger showed it'),
      () => undefined,
    )
    const forged = presentation.replace(
      disclosuresOf(credential).age_over_18 ?? '',
      'WyJ4IiwiYWdlX292ZXJfMTgiLHRydWVd',
    )
    await verifiedClaims(forged, keys()).then(
      (forgedClaims) => expect(forgedClaims).to.not.have.property('age_over_18'),
      () => undefined,
    )
  })

  it('say that somebody is not 18, and nothing of an age that nobody found', async () => {
    const year = new Date(now()).getUTCFullYear()
    await kyc.verified('child', { ...ANNA, dateOfBirth: `${year - 20}-01-01` })
    const { credential } = await credentials.issued('child', wallet)
    expect(await verifiedClaims(credential, keys())).to.include({ age_over_18: true, age_over_21: false })
  })

  it('can be told apart by nobody who sees two of them, but for their key and status', async () => {
    const [one, two] = [
      await credentials.issued(USER, wallet),
      await credentials.issued(USER, await createWallet()),
    ]
    const [first = {}, second = {}] = [one, two].map(({ credential }) => payloadOf(credential))
    const digests = [...(first._sd as string[]), ...(second._sd as string[])]
    expect(new Set(digests).size).to.equal(2 * ATTRIBUTES.length)
    expect(first.status).to.not.deep.equal(second.status)
  })

  it('are revoked when the person is checked again, and when they are erased', async () => {
    const first = await credentials.issued(USER, wallet)
    const again = await credentials.issued(USER, await createWallet())
    for (const { credential } of [first, again]) expect(await isRevoked(credential)).to.equal(false)
    await kyc.verify({ userId: USER, data: { givenName: 'Anna' } })
    expect(await isRevoked(first.credential), 'by a check that settles nothing').to.equal(false)
    await kyc.verified(USER, annaWith({ number: 'X1234567' }))
    for (const { credential } of [first, again]) expect(await isRevoked(credential)).to.equal(true)
    const second = await credentials.issued(USER, wallet)
    expect(await isRevoked(second.credential)).to.equal(false)
    const proof = await proofNow()
    await kyc.erase(USER)
    expect(await isRevoked(second.credential)).to.equal(true)
    const gone = await credentials.issue(USER, { holder_jwk: wallet.jwk, proof_of_possession: proof })
    expect(gone.status).to.equal(404)
  })

  it('are given to nobody who was rejected, verified anew or erased while one was issued', async () => {
    const expired = annaWith({ expiresAt: '2001-01-01' })
    for (const [act, status] of [
      [() => kyc.verify({ userId: USER, data: expired }), 409],
      [() => kyc.verified(USER), 409],
      [() => kyc.erase(USER), 404],
    ] as const) {
      await kyc.verified(USER)
      const body = { holder_jwk: wallet.jwk, proof_of_possession: await proofNow() }
      precede(app.services.ledger, 'append', act)
      expect((await credentials.issue(USER, body)).status).to.equal(status)
    }
    const issued = await app.services.database
      .knex('kyc_sd_jwts')
      .where({ organisation: owner.organisationId })
    expect(issued).to.deep.equal([])
    await kyc.verified(USER)
    // What settles nothing is in nobody's way.
    const body = { holder_jwk: wallet.jwk, proof_of_possession: await proofNow() }
    precede(app.services.ledger, 'append', () => kyc.verify({ userId: USER, data: { givenName: 'Anna' } }))
    expect((await credentials.issue(USER, body)).status).to.equal(201)
  })

  it('are for verified people of the organisation alone', async () => {
    await kyc.verify({ userId: 'unclear', data: { givenName: 'Anna' } })
    for (const userId of ['unclear', 'nobody']) {
      const proof = await proofNow()
      const { status } = await credentials.issue(userId, {
        holder_jwk: wallet.jwk,
        proof_of_possession: proof,
      })
      expect(status, userId).to.equal(404)
    }
    const { apiKey } = await app.organisation()
    const other = sdJwtRoutesOf(app, apiKey)
    await kycRoutesOf(app, apiKey).verified('their own')
    const proof = await possessionProof(wallet, await other.nonce('their own'))
    const { status } = await other.issue(USER, { holder_jwk: wallet.jwk, proof_of_possession: proof })
    expect(status).to.equal(404)
  })

  it('need a proof of the key, which counts once', async () => {
    const proof = await proofNow()
    const ask = () => credentials.issue(USER, { holder_jwk: wallet.jwk, proof_of_possession: proof })
    const answers = await Promise.all([ask(), ask(), ask()])
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 409, 409])
    const late = await ask()
    expect([late.status, late.body.reason]).to.deep.equal([409, 'NONCE_USED'])
  })

  it('are not given to whoever proves it wrongly, and say why', async () => {
    const stranger = await createWallet()
    const strange = await possessionProof(stranger, await credentials.nonce(USER))
    const { apiKey } = await app.organisation()
    await kycRoutesOf(app, apiKey).verified(USER)
    const nonceOfOther = await sdJwtRoutesOf(app, apiKey).nonce(USER)
    const wrong: Record<string, string> = {
      malformed: 'no.jws',
      header: await proofNow({}, { typ: 'JWT' }),
      'header ': await proofNow({}, { kid: 'k' }),
      key_mismatch: strange,
      signature_invalid: await proofNow({}, {}, { ...wallet, privateKey: stranger.privateKey }),
      audience: await proofNow({ aud: 'https://other.example' }),
      'audience ': await proofNow({ aud: [app.url] }),
      iat: await proofNow({ iat: inSeconds() - 400 }),
      'iat ': await proofNow({ iat: inSeconds() + 100 }),
      'iat  ': await proofNow({ iat: undefined }),
      nonce_unknown: await proofNow({ nonce: 'AAAA' }),
      'nonce_unknown ': await proofNow({ nonce: undefined }),
      'nonce_unknown  ': await proofNow({ nonce: nonceOfOther.nonce }),
    }
    for (const [code, proof] of Object.entries(wrong)) {
      const { status, body } = await credentials.issue(USER, {
        holder_jwk: wallet.jwk,
        proof_of_possession: proof,
      })
      expect(status, code).to.equal(422)
      expect(body.details?.[0], code).to.include({ path: '/proof_of_possession', code: code.trim() })
    }
    const old = await credentials.nonce(USER)
    ahead += 5 * MINUTE_MS
    const late = await possessionProof(wallet, old)
    const { body } = await credentials.issue(USER, { holder_jwk: wallet.jwk, proof_of_possession: late })
    expect(body.details?.[0]).to.include({ code: 'nonce_expired' })
  })

  it('take a public key on P-256 and nothing more of it', async () => {
    const proof = await proofNow()
    const { x, y } = wallet.jwk
    for (const [jwk, path] of [
      [{ ...wallet.jwk, y: x }, /^.holder_jwk$/],
      [{ ...wallet.jwk, d: y }, /^.holder_jwk.d$/],
      [{ ...wallet.jwk, crv: 'P-384' }, /^.holder_jwk.crv$/],
      [{ kty: 'OKP', crv: 'Ed25519', x }, /^.holder_jwk./],
    ] as const) {
      const { status, body } = await credentials.issue(USER, { holder_jwk: jwk, proof_of_possession: proof })
      expect(status).to.equal(422)
      expect(body.details?.[0]?.path).to.match(path)
    }
  })

  it('are not kept: a repeated request gets the same status in another text', async () => {
    const body = { holder_jwk: wallet.jwk, proof_of_possession: await proofNow() }
    const headers = { 'idempotency-key': 'once' }
    const [first, second] = [
      await credentials.issue(USER, body, headers),
      await credentials.issue(USER, body, headers),
    ]
    expect([first.status, second.status]).to.deep.equal([201, 201])
    const [one, two] = [first, second].map((answer) => payloadOf(answer.body.credential))
    expect(two?.status).to.deep.equal(one?.status)
    expect(second.body.credential).to.not.equal(first.body.credential)
    const stored = await app.services.database.knex('idempotent_answers').pluck('sealed_answer')
    for (const sealed of stored) expect(Buffer.from(sealed).length).to.be.below(200)
  })

  it('are repeated once the nonce is over, too, and never with a status that is revoked', async () => {
    const body = { holder_jwk: wallet.jwk, proof_of_possession: await proofNow() }
    const ask = (key: string) => credentials.issue(USER, body, { 'idempotency-key': key })
    const first = await ask('once')
    ahead += 7 * MINUTE_MS
    const late = await ask('once')
    expect([late.status, late.headers.get('idempotency-replayed')]).to.deep.equal([201, 'true'])
    expect(late.body.issued_at).to.equal(first.body.issued_at)
    expect(payloadOf(late.body.credential).status).to.deep.equal(payloadOf(first.body.credential).status)
    expect(await isRevoked(late.body.credential)).to.equal(false)
    expect((await ask('another')).status).to.equal(422)
    await kyc.verified(USER, annaWith({ number: 'X1234567' }))
    const over = await ask('once')
    expect([over.status, over.body.error]).to.deep.equal([409, 'conflict'])
    await kyc.erase(USER)
    expect((await ask('once')).status).to.equal(404)
  })
})

describe('credentials under a certificate', () => {
  const folder = mkdtempSync(join(tmpdir(), 'assay-credential-'))
  const file = join(folder, 'credential.pem')
  let app: TestApp
  const made = createCertificates({ names: ['assay.example'] })
  before(async () => {
    writeFileSync(file, made.key + made.cert + made.ca)
    const env = { CREDENTIAL_CERTIFICATE: file, BASE_URL: 'https://assay.example' }
    app = await startTestApp({ env })
  })
  after(async () => {
    await app.close()
    rmSync(folder, { recursive: true })
  })

  it('carry it without its authority, and are signed by its key', async () => {
    const { apiKey } = await app.organisation()
    await kycRoutesOf(app, apiKey).verified(USER)
    const wallet = await createWallet()
    const issued = await sdJwtRoutesOf(app, apiKey).issued(USER, wallet)
    expect(issued).to.include({ issuer: 'https://assay.example', issuer_key: 'x5c', note: null })
    const header = decodeProtectedHeader(issued.credential.split('~')[0] ?? '')
    expect(header).to.have.all.keys('alg', 'typ', 'x5c')
    expect(header.x5c).to.have.length(1)
    const leaf = new X509Certificate(Buffer.from(header.x5c?.[0] ?? '', 'base64'))
    expect(leaf.verify(new X509Certificate(made.ca).publicKey)).to.equal(true)
    expect(leaf.checkHost('assay.example')).to.equal('assay.example')
    const { keys } = (
      await app.request<{ keys: { x5c?: string[]; kid: string }[] }>('GET', '/.well-known/jwks.json')
    ).body
    const certified = keys.filter(({ x5c }) => x5c !== undefined)
    expect(certified.map(({ x5c }) => x5c)).to.deep.equal([header.x5c])
    const jwk = leaf.publicKey.export({ format: 'jwk' })
    expect(certified[0]).to.deep.include({ kty: 'EC', crv: 'P-256', x: jwk.x, y: jwk.y, alg: 'ES256' })
    const key = await importX509(leaf.toString(), 'ES256')
    expect(await verifiedClaims(issued.credential, key)).to.include({
      iss: 'https://assay.example',
      age_over_18: true,
    })
  })

  it('are given to the wallet of the examples', async () => {
    const { apiKey } = await app.organisation()
    await kycRoutesOf(app, apiKey).verified(USER)
    const file = join(import.meta.dirname, '../../../examples/wallet-credential.ts')
    const env = { ASSAY_URL: app.url, ASSAY_API_KEY: apiKey }
    const example = startProgram(file, [USER], { env })
    expect(await example.ended(), example.errors()).to.equal(0)
    const { credential } = JSON.parse(example.lines.join('')) as { credential: string }
    const key = await importX509(made.cert, 'ES256')
    expect(await verifiedClaims(credential, key)).to.include({ given_name: ANNA.givenName })
  })
})
