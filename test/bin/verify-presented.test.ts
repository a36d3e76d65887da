/** `assay verify-proof` of a proof that somebody else made: by files alone, as the service would judge it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { examine, type Flags } from '../../src/bin/proofs/verify-proof.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../support/app.ts'
import { kycRoutesOf } from '../support/domain/kyc.ts'
import {
  AGE_QUESTION,
  challengeRoutesOf,
  type Keeper,
  keeperOf,
  type Presented,
  proveKyc,
} from '../support/domain/presentations.ts'
import { rejection } from '../support/rejection.ts'
import { runCli } from '../support/run-cli.ts'

describe('npx assay verify-proof of a proof made elsewhere', function () {
  this.timeout(60_000)
  let folder: string
  let files = 0
  let ahead = 0
  let app: TestApp
  let issuer: TestOrganisation
  let asker: TestOrganisation
  let keeper: Keeper
  let made: Presented
  let flags: Flags
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'assay-presented-'))
    app = await startTestApp({ clock: { now: () => Date.now() + ahead } })
    issuer = await app.organisation()
    asker = await app.organisation()
    keeper = await keeperOf(app, issuer)
    const challenge = await challengeRoutesOf(app, asker.apiKey).asked({
      ...AGE_QUESTION,
      issuers: [issuer.organisationId],
    })
    made = await proveKyc(keeper, challenge.context, Date.now())
    flags = {
      issuerKeys: await fetched('/.well-known/issuer-keys'),
      jwks: await fetched('/.well-known/jwks.json'),
      statusList: await statusList(),
      service: app.url,
      issuers: `org_other,${issuer.organisationId}`,
      challenge: await file(JSON.stringify(challenge)),
    }
  })
  after(async () => {
    await app.close()
    await rm(folder, { recursive: true })
  })

  const file = async (content: string | Buffer): Promise<string> => {
    const path = join(folder, String(++files))
    await writeFile(path, content)
    return path
  }
  const fetched = async (path: string) => file((await app.request('GET', path)).bytes)
  const statusList = () => fetched('/status/0')
  const read = (changes: Flags = {}, proof: object = made) =>
    examine(JSON.stringify(proof), { ...flags, ...changes })
  const reasons = async (...asked: Parameters<typeof read>) => (await read(...asked)).reasons

  it('holds by the challenge, the issuer’s key, the accepted issuers and the status list', async () => {
    const report = await read()
    expect(report).to.deep.include({ holds: true, reasons: [], says: 'YES' })
    expect(report.setup).to.equal('single-party')
    expect(report.presented).to.deep.include({ issuer: issuer.organisationId, binding: 'holder' })
    expect(report.checked.join('\n')).to.match(/not revoked by the status list of \d{4}-/)
    expect(report.notChecked.join('\n')).to.contain('single-party setup').and.to.contain('relayed')
  })

  it('refuses with the words of the service', async () => {
    const { nonce, aud, org } = made.context
    const expected = { audience: aud, organisation: org, purpose: 'age-check', nonce }
    const asked = (changes: object) => ({
      challenge: undefined,
      expect: JSON.stringify({ ...expected, ...changes }),
    })
    expect(await reasons(asked({}))).to.deep.equal([])
    expect(await reasons(asked({ nonce: 'n-2' }))).to.deep.equal(['EXPECTATION_NONCE'])
    expect(await reasons(asked({ purpose: undefined }))).to.deep.equal(['EXPECTATION_MISSING'])
    expect(await reasons({ issuers: 'org_other' })).to.deep.equal(['ISSUER_NOT_ACCEPTED'])
    expect(await reasons({ issuerKeys: await file('{"keys": []}') })).to.deep.equal(['ISSUER_UNKNOWN'])
    expect(await reasons({ statusList: undefined })).to.deep.equal(['STATUS_LIST_MISSING'])
    expect(await reasons({ statusList: await file('no.list.') })).to.deep.equal(['STATUS_LIST_MALFORMED'])
    expect(await reasons({ service: 'https://other.example' })).to.deep.equal(['STATUS_LIST_ISSUER_MISMATCH'])
    const other = { ...made, context: { ...made.context, nonce: 'n-2' } }
    expect(await reasons({ challenge: await file(JSON.stringify(other.context)) })).to.deep.equal([
      'CHALLENGE_MISMATCH',
    ])
  })

  it('refuses what was accepted before, by the lines that are printed of it', async () => {
    const options = Object.entries(flags).flatMap(([name, value]) => [
      `--${name.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`)}`,
      String(value),
    ])
    const answer = await file(JSON.stringify(made))
    const { output, errors } = await runCli(['verify-proof', ...options, answer])
    const printed = output.split('\n').filter((line) => line.startsWith('uses'))
    expect(printed, errors).to.have.length.above(0)
    const uses = (await read()).presented?.uses ?? []
    for (const seen of [printed.join('\n'), `${printed.join('\r\n')}\r\n`, `\n${uses.join('\n')}\n`])
      expect(await reasons({ seen: await file(seen) }), seen).to.deep.equal(['CHALLENGE_ANSWERED'])
    expect(await reasons({ seen: await file('') })).to.deep.equal([])
    for (const seen of [JSON.stringify(uses), output, 'uses'])
      expect(String(await rejection(read({ seen: await file(seen) })))).to.match(/Line \d+ of .+ is neither/)
  })

  it('says what is missing before it could be said', async () => {
    const message = async (...asked: Parameters<typeof read>) => String(await rejection(read(...asked)))
    expect(await message({ issuers: undefined })).to.contain('--issuers')
    expect(await message({ jwks: undefined })).to.contain('--jwks')
    expect(await message({}, { ...made, context: undefined })).to.contain('no context')
    expect(await message({ issuerKeys: await file('[]') })).to.contain('no JSON object')
    expect(await message({ challenge: await file('{}') })).to.contain('no challenge')
    expect(await message({ expect: '{"status": "used", "surprise": 1}' })).to.contain('surprise')
  })

  it('ignores no option, also where the file names no circuit', async () => {
    const nameless = { ...made, circuit_id: undefined }
    const key = join(import.meta.dirname, '../../circuits/keys/kyc.vkey.json')
    expect(await reasons({ key, circuit: 'kyc' }, nameless)).to.deep.equal([])
    expect(String(await rejection(read({ key }, nameless)))).to.contain('--circuit')
    const seen = await file('')
    for (const [name, value] of Object.entries({ ...flags, seen })) {
      const error = await rejection(examine(JSON.stringify(made), { [name]: value }))
      expect(String(error), name).to.contain('give --issuer-keys and --issuers')
    }
  })

  it('refuses what was revoked by the next list', async () => {
    await kycRoutesOf(app, issuer.apiKey).erase(keeper.userId)
    ahead = 61_000
    expect(await reasons({ statusList: await statusList() })).to.deep.equal(['CREDENTIAL_REVOKED'])
  })
})
