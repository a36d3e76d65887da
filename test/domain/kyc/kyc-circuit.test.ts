/** Credentials of verified people: proven without showing them, here and by their holders, until they are replaced or erased. */
import { expect } from 'chai'
import { createProving, credentialValues, kyc as kycCircuit } from '../../../src/circuits/proving/proving.ts'
import { latestBirthDate } from '../../../src/domain/kyc/calendar-date.ts'
import type { PersonVerified } from '../../../src/domain/kyc/schemas.ts'
import type { ProofGenerated } from '../../../src/domain/proofs/schemas.ts'
import { newId } from '../../../src/ids.ts'
import { proofNonce } from '../../../src/protocol/envelope.ts'
import { encodeZk1, proofDigest } from '../../../src/protocol/zk1.ts'
import { contextElement, encodeValue, scopeElement } from '../../../src/rules/encode.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { artifacts } from '../../support/circuits/circuits.ts'
import { checkProof, postV1Verify } from '../../support/domain/eligibility.ts'
import { createAgent } from '../../support/domain/envelopes.ts'
import { annaWith, kycRoutesOf } from '../../support/domain/kyc.ts'
import { asPresented, postGenerate, postVerifyProof, reasonsOf } from '../../support/domain/proof-api.ts'
import { onEmbedded } from '../../support/servers/database.ts'

const PAYMENT = { identifier: 'customer-1007', context: { amount: 49.99, currency: 'GBP' } }
const SWEDISH_ADULT = { minLevel: 'basic', minAge: 18, countries: ['SE', 'NOR'] }

describe('KYC credentials', function () {
  this.timeout(120_000)
  let app: TestApp
  let owner: TestOrganisation
  let kyc: ReturnType<typeof kycRoutesOf>
  before(async () => {
    app = await sharedApp()
  })
  beforeEach(async () => {
    owner = await app.organisation()
    kyc = kycRoutesOf(app, owner.apiKey)
  })
  const ask = (inputs: object, key = owner.apiKey, context?: object) =>
    postGenerate(app, key, { circuit_id: 'kyc', inputs, ...(context && { context }) })
  const proven = async (inputs: object = {}, context?: object): Promise<ProofGenerated> => {
    const made = await ask({ userId: 'user-7', ...SWEDISH_ADULT, ...inputs }, owner.apiKey, context)
    expect(made.status, JSON.stringify(made.body)).to.equal(200)
    return made.body
  }
  const reasons = (made: ProofGenerated) => reasonsOf(app, owner.apiKey, asPresented(made))

  onEmbedded.it('prove age, country and level in the circuit without revealing them', async () => {
    await kyc.verified('user-7')
    const before = Date.now()
    const made = await proven()
    expect(made.decision).to.equal(1)
    expect(await reasons(made)).to.deep.equal([])
    const { signals } = (await kyc.credential('user-7')).body
    const shown = kycCircuit.read(made.public_signals)
    expect(shown).to.include({
      decision: 1n,
      minLevel: 1n,
    })
    // Another day may have begun meanwhile.
    expect([before, Date.now()].map((at) => BigInt(latestBirthDate(18, at)))).to.include(
      shown.latestBirthDate,
    )
    expect(shown.countries.slice(0, 3)).to.deep.equal([
      encodeValue('SE'),
      encodeValue('NO'),
      encodeValue('SE'),
    ])
    const { subject, birthDate, expiresAt, secret, r8x, r8y, s } = signals
    for (const [name, value] of Object.entries({ subject, birthDate, expiresAt, secret, r8x, r8y, s }))
      expect(made.public_signals, name).not.to.include(value)
    const told = JSON.stringify(made)
    for (const hidden of ['user-7', 'Anna', '19740812', '1974-08-12', subject, secret])
      expect(told).not.to.contain(hidden)
  })

  onEmbedded.it('show a NO for an age, a country or a level that they have not', async () => {
    await kyc.verified('user-7')
    const no: readonly object[] = [
      { minAge: 99 },
      { minAge: undefined, latestBirthDate: '1974-08-11' },
      { countries: ['NO', 'FI'] },
      { minLevel: 'standard' },
    ]
    for (const inputs of no) expect((await proven(inputs)).decision, JSON.stringify(inputs)).to.equal(0)
    const exact = await proven({ minAge: undefined, latestBirthDate: '1974-08-12', countries: ['swe'] })
    expect(exact.decision).to.equal(1)
  })

  it('are asked for by who may ask, of somebody who is verified, and in one way', async () => {
    const of = async (inputs: object, key?: string) => {
      const { status, body } = await ask({ userId: 'user-7', ...SWEDISH_ADULT, ...inputs }, key)
      return `${status} ${body.error} ${body.details?.[0]?.path ?? body.reason ?? ''}`.trim()
    }
    expect(await of({})).to.equal('404 not_found')
    await kyc.verify({ userId: 'user-7', data: {} })
    expect(await of({})).to.equal('422 not_provable STATEMENT_FALSE')
    await kyc.verified('user-7')
    expect(await of({ latestBirthDate: '2000-01-01' })).to.equal('422 validation_failed /inputs')
    expect(await of({ minAge: undefined })).to.equal('422 validation_failed /inputs')
    expect(await of({ minAge: undefined, latestBirthDate: '2001-02-29' })).to.equal(
      '422 validation_failed /inputs/latestBirthDate',
    )
    expect(await of({ countries: ['SE', 'XX'] })).to.equal('422 validation_failed /inputs/countries/1')
    expect(await of({}, (await app.organisation()).apiKey)).to.equal('404 not_found')
    const { body } = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      key: owner.apiKey,
      body: { label: 'proofs alone', scopes: ['proof'] },
    })
    expect(await of({}, body.apiKey)).to.equal('403 insufficient_scope')
  })

  onEmbedded.it(
    'are proven by POST /v1/verify of the person in context.inputs, whose NO is no YES there',
    async () => {
      await kyc.verified('user-7')
      const verify = (
        inputs: { readonly userId: string; readonly countries?: string[] },
        key = owner.apiKey,
      ) =>
        postV1Verify(app, key, {
          circuit_id: 'kyc',
          identifier: inputs.userId,
          context: { ...PAYMENT.context, inputs },
        })
      const { status, body } = await verify({ userId: 'user-7', ...SWEDISH_ADULT })
      expect(status, JSON.stringify(body)).to.equal(200)
      expect([body.circuit_id, body.decision, body.verdict]).to.deep.equal(['kyc', 1, 'YES'])
      expect((await checkProof(app, owner.apiKey, body)).verified).to.equal(true)
      expect(JSON.stringify(body)).not.to.contain('user-7')
      const no = await verify({ userId: 'user-7', ...SWEDISH_ADULT, countries: ['FI'] })
      expect([no.status, no.body.decision, no.body.verdict]).to.deep.equal([200, 0, 'NO'])
      for (const [userId, key] of [
        ['user-8', owner.apiKey],
        ['user-7', (await app.organisation()).apiKey],
      ] as const) {
        const refused = await verify({ userId, ...SWEDISH_ADULT }, key)
        expect([refused.status, refused.body.error]).to.deep.equal([422, 'inputs_insufficient'])
      }
    },
  )

  it('are spent by POST /v1/verify once for each question about a person, whatever else the policy was asked', async () => {
    await kyc.verified('user-7')
    const asked = { userId: 'user-7', minLevel: 'basic', latestBirthDate: '2000-01-01' }
    const verify = async (inputs: object, amount = 1) => {
      const context = { amount, currency: 'GBP', inputs: { ...asked, ...inputs } }
      const body = { circuit_id: 'kyc', identifier: 'user-7', context }
      return (await postV1Verify(app, owner.apiKey, body)).body
    }
    const { circuit_id, proof_id, proof, public_signals, context } = await verify({})
    const presented = { circuit_id, proof_id, proof, public_signals }
    expect(context.statement.purpose).to.equal(
      (await proven({ ...asked, minAge: undefined, countries: undefined })).context.statement.purpose,
    )
    const spent = await postVerifyProof(app, owner.apiKey, { ...presented, consume: true })
    expect(spent.body.consumed, JSON.stringify(spent.body)).to.equal(true)
    const other = await verify({ latestBirthDate: '2001-01-01' })
    expect([other.decision, other.reason_codes]).to.deep.equal([1, ['DEFAULT_POLICY', 'RULE_PERMITS']])
    const again = await verify({}, 2)
    expect([again.decision, again.verdict]).to.deep.equal([0, 'NO'])
    expect(again.reason_codes).to.include('DOUBLE_SPEND')
  })

  it('of one person are spent once in a scope, also when the person is verified anew', async () => {
    await kyc.verified('user-7')
    const personIn = ({ public_signals }: ProofGenerated) => kycCircuit.read(public_signals).person
    const [vote, other] = [await proven({}, { purpose: 'vote' }), await proven({}, { purpose: 'other' })]
    expect(personIn(vote)).not.to.equal(personIn(other))
    const spent = await postVerifyProof(app, owner.apiKey, { ...asPresented(vote), consume: true })
    expect(spent.body.verified).to.equal(true)
    await kyc.verified('user-7')
    const again = await proven({}, { purpose: 'vote' })
    expect(personIn(again)).to.equal(personIn(vote))
    const second = await postVerifyProof(app, owner.apiKey, { ...asPresented(again), consume: true })
    expect([second.status, second.body.reason]).to.deep.equal([409, 'DOUBLE_SPEND'])
  })

  onEmbedded.it('are spent once for each question, not once for all, where no purpose is named', async () => {
    await kyc.verified('user-7')
    await kyc.verified('user-8')
    const spend = async (made: ProofGenerated) => {
      const { status } = await postVerifyProof(app, owner.apiKey, { ...asPresented(made), consume: true })
      return status
    }
    const adult = await proven()
    expect(adult.context.statement.purpose).to.match(/^kyc\/[0-9a-f]{16}$/)
    expect(await spend(adult)).to.equal(200)
    expect(await spend(await proven())).to.equal(409)
    expect(await spend(await proven({ countries: ['SE'] }))).to.equal(200)
    expect(await spend(await proven({ userId: 'user-8' }))).to.equal(200)
  })

  it('that were replaced are not verified any more, and the new ones are', async () => {
    await kyc.verified('user-7')
    const old = await proven()
    const { signals } = (await kyc.credential('user-7')).body
    expect(await reasons(old)).to.deep.equal([])
    await kyc.verified('user-7')
    expect(await reasons(old)).to.deep.equal(['CREDENTIAL_REVOKED'])
    expect(await reasons(await proven())).to.deep.equal([])
    const criteria = { minLevel: '1', latestBirthDate: '20000101', countries: [String(encodeValue('SE'))] }
    const raw = await ask({ ...signals, ...criteria })
    expect([raw.status, raw.body.reason]).to.deep.equal([422, 'STATEMENT_FALSE'])
    await kyc.verify({ userId: 'user-7', data: annaWith({ expiresAt: '2020-01-01' }) })
    expect((await ask({ userId: 'user-7', ...SWEDISH_ADULT })).body.reason).to.equal('STATEMENT_FALSE')
  })

  it('of somebody who was erased are not verified any more, in any scope, though their proofs still pair', async () => {
    await kyc.verified('user-7')
    const [made, scoped] = [await proven(), await proven({}, { purpose: 'verify' })]
    const { signals } = (await kyc.credential('user-7')).body
    await kyc.erase('user-7')
    const { body } = await postVerifyProof(app, owner.apiKey, asPresented(made))
    expect(body).to.include({ valid: true, verified: false })
    expect(body.reason_codes).to.deep.equal(['CREDENTIAL_REVOKED'])
    expect(await reasons(scoped)).to.deep.equal(['CREDENTIAL_REVOKED'])
    const criteria = { minLevel: '1', latestBirthDate: '20000101', countries: [String(encodeValue('SE'))] }
    expect((await ask({ ...signals, ...criteria })).body.reason).to.equal('STATEMENT_FALSE')
    await kyc.verified('user-7')
    expect(await reasons(await proven())).to.deep.equal([])
    expect(await reasons(made)).to.deep.equal(['CREDENTIAL_REVOKED'])
  })

  describe('in the hands of their holders', () => {
    /** As assay/proving makes a proof in a browser. */
    const proveElsewhere = async (
      { credential }: Pick<PersonVerified, 'credential'>,
      nonce: string,
      purpose?: string,
      changes: { readonly org?: string; readonly unique?: boolean; readonly disclose?: boolean } = {},
    ) => {
      const { org = owner.organisationId, unique = true, disclose = true } = changes
      const criteria = { minLevel: 1n, latestBirthDate: 20_000_101n }
      const countries = Array<bigint>(8).fill(encodeValue('SE'))
      const statement = {
        minLevel: String(criteria.minLevel),
        latestBirthDate: String(criteria.latestBirthDate),
        countries: countries.map(String),
        unique: unique ? '1' : '0',
        disclose: disclose ? '1' : '0',
        ...(purpose !== undefined && { purpose }),
      }
      const context = { aud: app.url, org, circuit: 'kyc', statement, nonce }
      const { proof, publicSignals } = await (await proving).prove({
        ...credentialValues(credential ?? expect.fail('no credential')),
        ...criteria,
        countries,
        unique,
        disclose,
        now: BigInt(Math.floor(Date.now() / 1000)),
        scope: scopeElement({ aud: app.url, org, purpose: purpose ?? 'proof' }),
        ctx: contextElement(context),
      })
      return { circuit_id: 'kyc', proof, public_signals: [...publicSignals], context }
    }
    let proving: ReturnType<typeof createProving<Parameters<typeof kycCircuit.witnessInput>[0]>>
    before(() => {
      proving = createProving(kycCircuit, artifacts.kyc)
    })
    let count = 0
    const post = async (
      credential: Pick<PersonVerified, 'credential'>,
      changes?: Parameters<typeof proveElsewhere>[3],
    ) => {
      const agent = createAgent(app)
      const id = `kyc-holder-${owner.organisationId}-${++count}`
      const proof = await proveElsewhere(credential, proofNonce(agent.fingerprint, id), 'chat', changes)
      return agent.post({ id, proof: proof as never })
    }

    it('are believed until they are erased', async () => {
      const credential = await kyc.verified('user-7')
      expect((await post(credential)).status).to.equal(201)
      await kyc.erase('user-7')
      expect((await post(credential)).body).to.include({ reason: 'CREDENTIAL_REVOKED' })
    })

    onEmbedded.it('are held to what their newest credential says: the one before is revoked', async () => {
      const former = await kyc.verified('user-7')
      const newest = await kyc.verified('user-7', annaWith({ country: 'NO' }))
      const { status, body } = await post(former)
      expect([status, body.reason]).to.deep.equal([400, 'CREDENTIAL_REVOKED'])
      // Of the new one the same question is answered with NO, which is believed and is no YES.
      expect((await post(newest)).body.reason).to.equal('DECISION_NO')
    })

    onEmbedded.it('speak in the scope of their issuer, once, and with their status', async () => {
      const credential = await kyc.verified('user-7')
      const { organisationId: org } = await app.organisation()
      for (const [changes, reason] of [
        [{ org }, 'SCOPE_MISMATCH'],
        [{ unique: false }, 'NOT_UNIQUE'],
        [{ disclose: false }, 'CREDENTIAL_UNKNOWN'],
      ] as const) {
        const { status, body } = await post(credential, changes)
        expect([status, body.reason], reason).to.deep.equal([400, reason])
      }
    })

    it('stay good for the purpose that they were made for, where they are on record without one', async () => {
      const { circuit_id, proof, public_signals, context } = await proveElsewhere(
        await kyc.verified('user-7'),
        'n-1',
      )
      const proof_id = newId('prf', Date.now())
      await app.services.database.knex('proofs').insert({
        id: proof_id,
        organisation: owner.organisationId,
        entry_index: 0,
        circuit_id,
        digest: proofDigest(circuit_id, public_signals),
        proof: encodeZk1(proof, public_signals),
        public_signals: JSON.stringify(public_signals),
        context: JSON.stringify({ statement: context.statement, nonce: context.nonce }),
        created_at: Date.now(),
        expires_at: null,
      })
      const consumed = async (body: object) =>
        (await postVerifyProof(app, owner.apiKey, { ...body, consume: true })).status
      expect(await consumed({ proof_id, proof, public_signals })).to.equal(200)
      expect(await consumed(asPresented(await proven({}, { purpose: 'proof' })))).to.equal(409)
      expect(await consumed(asPresented(await proven()))).to.equal(200)
    })
  })
})
