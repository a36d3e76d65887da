/** Issuing to holders: to whom, to whom not, and what the service knows of it afterwards. */
import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { type Credential, credentialValues } from '../../../src/circuits/credential.ts'
import { createHolder } from '../../../src/circuits/holder.ts'
import { FIELD_MODULUS } from '../../../src/core/field.ts'
import { organisationElement } from '../../../src/rules/encode.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { consentRoutesOf } from '../../support/domain/consents.ts'
import { ANNA, kycRoutesOf } from '../../support/domain/kyc.ts'
import { postGenerate } from '../../support/domain/proof-api.ts'
import { tokenRoutesOf } from '../../support/domain/tokens.ts'

/** What the three routes answer, as far as it is looked at here. */
interface Issued {
  readonly error?: string
  readonly reason?: string
  readonly details?: readonly { readonly path: string }[]
  readonly tokenId: string
  readonly consentId: string
  readonly reference?: string
  readonly status?: string
  readonly credential: Credential
}
interface Answer {
  readonly status: number
  readonly body: Issued
}
type Issue = (person: string, holder?: string, headers?: Readonly<Record<string, string>>) => Promise<Answer>

const hex = (element: bigint): string => element.toString(16).padStart(64, '0')

describe('holders', function () {
  this.timeout(120_000)
  let app: TestApp
  let owner: TestOrganisation
  let issue: Record<'kyc' | 'token' | 'consent', Issue>
  before(async () => {
    app = await sharedApp()
  })
  beforeEach(async () => {
    owner = await app.organisation()
    const post = (path: string, body: object, headers?: Readonly<Record<string, string>>) =>
      app.request<Issued>('POST', path, { key: owner.apiKey, body, headers })
    const withHolder = (holder?: string) => (holder === undefined ? {} : { holder })
    issue = {
      kyc: (userId, holder, headers) =>
        post('/api/kyc/verify', { userId, data: ANNA, ...withHolder(holder) }, headers),
      token: (subject, holder, headers) =>
        post('/api/tokens/generate', { subject, singleUse: true, ...withHolder(holder) }, headers),
      consent: (subjectId, holder, headers) =>
        post(
          '/api/consent/log',
          { subjectId, controller: 'shop', purposes: ['newsletter'], ...withHolder(holder) },
          headers,
        ),
    }
  })

  it('get credentials that only their secret opens; without one, whoever bears it', async () => {
    for (const [what, to] of Object.entries(issue)) {
      const { organisationId: organisation } = owner
      const { secret, holder } = createHolder({ organisation })
      const { status, body } = await to('ada', holder)
      expect(status, `${what} ${JSON.stringify(body)}`).to.be.below(300)
      const { credential } = body
      expect(credential, what).to.include({ binding: 'holder', organisation })
      expect(credential).to.not.have.property('secret')
      expect(credentialValues(credential, secret).secret).to.equal(secret)
      expect(credential.fields.holder).to.equal(String(BigInt(`0x${holder}`)))
      expect(credential.fields.organisation).to.equal(String(organisationElement(organisation, 'holder')))
      expect(() => credentialValues(credential, secret + 1n)).to.throw(RangeError)
      const borne = (await to('bob')).body.credential
      expect(borne, what).to.include({ binding: 'bearer', organisation })
      credentialValues(borne)
      expect(borne.fields.status).to.not.equal(credential.fields.status)
    }
  })

  it('are refused where the commitment is none: not canonical, 0, or of another form', async () => {
    for (const to of Object.values(issue))
      for (const holder of [
        hex(0n),
        hex(FIELD_MODULUS),
        'f'.repeat(64),
        '1',
        hex(1n).toUpperCase().replace('1', 'A'),
        `${hex(1n)}0`,
      ]) {
        const { status, body } = await to('ada', holder)
        expect([status, body.details?.[0]?.path], holder).to.deep.equal([422, '/holder'])
      }
  })

  it('are one person of an organisation, whatever is issued to them; another organisation knows nothing of it', async () => {
    const { holder } = createHolder({ organisation: owner.organisationId })
    for (const to of Object.values(issue)) expect((await to('ada', holder)).status).to.be.below(300)
    for (const to of Object.values(issue)) {
      const { status, body } = await to('bob', holder)
      expect([status, body.error, body.reason]).to.deep.equal([409, 'conflict', 'HOLDER_TAKEN'])
    }
    const other = tokenRoutesOf(app, (await app.organisation()).apiKey)
    expect((await other.generate({ subject: 'bob', holder })).status).to.equal(201)
    // One person may have several secrets.
    const second = createHolder({ organisation: owner.organisationId })
    for (const to of Object.values(issue)) expect((await to('ada', second.holder)).status).to.be.below(300)
  })

  it('of whom two get one commitment at once: one does', async () => {
    const { holder } = createHolder({ organisation: owner.organisationId })
    const answers = await Promise.all(['ada', 'bob', 'cid'].map((one) => issue.token(one, holder)))
    expect(answers.map((answer) => answer.status).sort()).to.deep.equal([201, 409, 409])
  })

  it('alone can prove: the service has no secret to do so', async () => {
    const { holder } = createHolder({ organisation: owner.organisationId })
    const [token, consent] = [await issue.token('ada', holder), await issue.consent('ada', holder)]
    await issue.kyc('ada', holder)
    const key = owner.apiKey
    for (const ask of [
      { circuit_id: 'kyc', inputs: { userId: 'ada', minLevel: 'basic', minAge: 18 } },
      { circuit_id: 'token_validation', inputs: { tokenId: token.body.tokenId } },
      {
        circuit_id: 'consent_verification',
        inputs: { consentId: consent.body.consentId, purpose: 'newsletter' },
      },
    ]) {
      const { status, body } = await postGenerate(app, key, ask)
      expect([status, body.error, body.reason], ask.circuit_id).to.deep.equal([
        422,
        'inputs_insufficient',
        'HOLDER_BOUND',
      ])
    }
    const { body } = await kycRoutesOf(app, key).credential('ada')
    expect(body.binding).to.equal('holder')
    expect(body.signals).to.not.have.property('secret')
  })

  it('whose token, consent or verification ends have its status revoked, at once', async () => {
    const { holder } = createHolder({ organisation: owner.organisationId })
    const statusOf = (answer: Answer) => Number(answer.body.credential.fields.status)
    const isSet = (status: number) => app.services.statuses.isSet(status)
    const token = await issue.token('ada', holder)
    const consent = await issue.consent('ada', holder)
    const [first, second] = [await issue.kyc('ada', holder), await issue.kyc('ada', holder)]
    expect(await isSet(statusOf(first)), 'replaced').to.equal(true)
    for (const answer of [token, consent, second]) expect(await isSet(statusOf(answer))).to.equal(false)
    await tokenRoutesOf(app, owner.apiKey).revoke(token.body.tokenId)
    await consentRoutesOf(app, owner.apiKey).revoke(consent.body.consentId)
    await kycRoutesOf(app, owner.apiKey).erase('ada')
    for (const answer of [token, consent, second]) expect(await isSet(statusOf(answer))).to.equal(true)
  })

  it('verified several times at once keep one credential that is not revoked', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => issue.kyc('ada')))
    expect(answers.map((answer) => answer.status)).to.deep.equal(Array(5).fill(200))
    const set = await Promise.all(
      answers.map((answer) => app.services.statuses.isSet(Number(answer.body.credential.fields.status))),
    )
    expect(set.filter((isSet) => !isSet)).to.have.length(1)
  })

  it('who repeat a request get the same credential, until they are erased: nothing else holds it', async () => {
    const headers = { 'Idempotency-Key': randomUUID() }
    const first = await issue.kyc('ada', undefined, headers)
    const again = await issue.kyc('ada', undefined, headers)
    expect(first.status).to.equal(200)
    expect(again.body).to.deep.equal(first.body)
    await kycRoutesOf(app, owner.apiKey).erase('ada')
    const { credential, ...rest } = (await issue.kyc('ada', undefined, headers)).body
    expect(credential).to.equal(null)
    expect(rest).to.deep.include({ status: 'verified', reference: first.body.reference })
  })
})
