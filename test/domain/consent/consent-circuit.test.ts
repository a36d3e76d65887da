/** Consents and the proofs of them: what is proved, of whom, and what becomes of a proof when the consent goes. */
import { expect } from 'chai'
import { systemCaller } from '../../../src/caller.ts'
import { consentMessage, issuerSignatureHolds } from '../../../src/circuits/issuer-signature.ts'
import {
  consentSubjectHandle,
  consentVerification,
} from '../../../src/circuits/mappers/consent_verification.ts'
import { h248 } from '../../../src/rules/encode.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import {
  type Answered,
  asking,
  countEntries,
  expectProven,
  expectUnproven,
  movedClock,
} from '../../support/circuits/circuit-questions.ts'
import { CONTROLLER, consentRoutesOf } from '../../support/domain/consents.ts'
import {
  asPresented,
  generated,
  postGenerate,
  postVerifyProof,
  reasonsOf,
} from '../../support/domain/proof-api.ts'
import { base64url, payloadOf } from '../../support/domain/tokens.ts'
import { rejection } from '../../support/rejection.ts'
import { onEmbedded } from '../../support/servers/database.ts'

const FIELD = 'consent_verified'
const DAY_MS = 86_400_000
const purpose = 'newsletter'

describe('proofs of consents', function () {
  this.timeout(120_000)
  const clock = movedClock()
  let app: TestApp
  let owner: TestOrganisation
  let consents: ReturnType<typeof consentRoutesOf>
  let ask: (body: object, key?: string) => ReturnType<ReturnType<typeof asking>>
  before(async () => {
    app = await startTestApp({ clock })
    owner = await app.organisation()
    consents = consentRoutesOf(app, owner.apiKey)
    ask = (body, key = owner.apiKey) => asking(app, 'consent-verification')(key, body)
  })
  after(() => app.close())

  const proven = async (body: object, value = true): Promise<Answered> =>
    expectProven(app, await ask(body), FIELD, value)
  const reasonsLater = ({ circuit_id, proofId, proof, publicInputs }: Answered) =>
    reasonsOf(app, owner.apiKey, {
      circuit_id,
      proof_id: proofId,
      proof,
      public_signals: publicInputs,
    })

  it('show that a kept consent covers purpose and controller, for somebody with a handle', async () => {
    const { consentId, receipt } = await consents.logged({
      subjectId: 'ada',
      purposes: ['analytics', purpose],
    })
    const byId = await proven({ consentId, purpose })
    const signals = consentVerification.read(byId.publicInputs ?? [])
    const { pii_principal_id } = payloadOf(receipt).header as { pii_principal_id: string }
    const handleIn = (scope: bigint) => consentSubjectHandle({ subject: h248(pii_principal_id) }, scope)
    expect(signals).to.deep.include({
      controller: h248(CONTROLLER),
      purpose: h248(purpose),
      subject_handle: handleIn(signals.scope),
    })
    expect(await reasonsLater(byId)).to.deep.equal([])
    const byReceipt = await proven({
      receipt,
      purpose: 'analytics',
      controller: CONTROLLER,
      subjectId: 'ada',
    })
    // Another question has another scope, and so another handle of the same person.
    const others = consentVerification.read(byReceipt.publicInputs ?? [])
    expect(others.scope).not.to.equal(signals.scope)
    expect(others).to.include({
      nullifier: signals.nullifier,
      subject_handle: handleIn(others.scope),
    })
  })

  it('show that it covers no other purpose or controller', async () => {
    const { consentId } = await consents.logged({ subjectId: 'bea' })
    const no = await proven({ consentId, purpose: 'profiling' }, false)
    await proven({ consentId, purpose, controller: 'https://other.example' }, false)
    // A proof of a NO stands for as long as the status of the consent does.
    await consents.logged({ subjectId: 'bea', purposes: ['profiling'] })
    expect(await reasonsLater(no)).to.deep.equal([])
    await consents.logged({ subjectId: 'bea' })
    expect(await reasonsLater(no)).to.deep.equal(['CREDENTIAL_REVOKED'])
  })

  it('are not made of a consent of somebody else, and a handle of somebody else does not pass', async () => {
    const ada = await consents.logged({ subjectId: 'carol' })
    const bob = await consents.logged({ subjectId: 'dan' })
    const before = await countEntries(app, owner.organisationId, 'verify')
    for (const body of [{ consentId: ada.consentId }, { receipt: ada.receipt }]) {
      const answer = await ask({ ...body, purpose, subjectId: 'dan' })
      expectUnproven(answer, FIELD)
      expect(answer.body.message).to.equal('The consent is that of somebody else.')
    }
    expect(await countEntries(app, owner.organisationId, 'verify')).to.equal(before)
    const made = await proven({ consentId: ada.consentId, purpose, subjectId: 'carol' })
    const other = await proven({ consentId: bob.consentId, purpose })
    const { subject_handle, scope, ...rest } = consentVerification.read(made.publicInputs ?? [])
    const foreign = consentVerification.read(other.publicInputs ?? []).subject_handle
    expect(subject_handle).not.to.equal(foreign)
    const refusal = (subjectHandle: bigint, status = rest.disclosedStatus) =>
      app.services.consents.refusalOf(owner.organisationId, ada.consentId, {
        purpose: rest.purpose,
        subjectHandle,
        scope,
        status,
      })
    expect(await refusal(subject_handle)).to.equal(undefined)
    expect(await refusal(foreign)).to.equal('subject_mismatch')
    expect(await refusal(subject_handle, rest.disclosedStatus + 1n)).to.equal('unknown')
  })

  it('are refused once the consent is withdrawn, and no more are made', async () => {
    const { consentId, receipt } = await consents.logged({ subjectId: 'eve' })
    const made = await proven({ consentId, purpose })
    expect(await reasonsLater(made)).to.deep.equal([])
    await consents.revoke(consentId)
    expect(await reasonsLater(made)).to.deep.equal(['CONSENT_WITHDRAWN', 'CREDENTIAL_REVOKED'])
    for (const body of [{ consentId }, { receipt }]) {
      const answer = await ask({ ...body, purpose })
      expectUnproven(answer, FIELD)
      expect(answer.body.message).to.equal('The consent was withdrawn.')
    }
  })

  it('are neither verified nor spent by whoever checked them just before the withdrawal', async () => {
    const { consentId, credential } = await consents.logged({ subjectId: 'fay' })
    const made = await generated(app, owner.apiKey, {
      circuit_id: 'consent_verification',
      inputs: { consentId, purpose },
    })
    await consents.revoke(consentId)
    // What a check sees that began earlier.
    const { knex } = app.services.database
    await knex('revoked_statuses')
      .where({ status: Number(credential?.fields.status) })
      .del()
    await knex('consent_withdrawals').where({ organisation: owner.organisationId }).del()
    for (const consume of [false, true]) {
      const { status, body } = await postVerifyProof(app, owner.apiKey, { ...asPresented(made), consume })
      expect([status, body.valid, body.verified]).to.deep.equal([200, true, false])
      expect(body.reason_codes).to.deep.equal(['CREDENTIAL_REVOKED'])
    }
  })

  it('are refused once a later record decides about the purpose, and stand for the others', async () => {
    const { consentId } = await consents.logged({ subjectId: 'gil', purposes: [purpose, 'analytics'] })
    const [of, other] = [
      await proven({ consentId, purpose }),
      await proven({ consentId, purpose: 'analytics' }),
    ]
    const later = await consents.logged({ subjectId: 'gil', status: 'refused' })
    expect(await reasonsLater(of)).to.deep.equal(['CONSENT_SUPERSEDED'])
    expect(await reasonsLater(other)).to.deep.equal([])
    const superseded = await ask({ consentId, purpose })
    expectUnproven(superseded, FIELD)
    expect(superseded.body.message).to.contain('supersedes')
    const refused = await ask({ consentId: later.consentId, purpose })
    expectUnproven(refused, FIELD)
    expect(refused.body.message).to.equal('The consent was refused.')
  })

  it('are not made for a purpose about which a later record decides, neither by signals nor where that is recorded meanwhile', async () => {
    const subjectId = 'ida'
    const { consentId } = await consents.logged({ subjectId, purposes: [purpose, 'analytics'] })
    const { consents: kept, proofs } = app.services
    const caller = systemCaller(owner.organisationId, 'test')
    const found = await kept.forCircuit(caller, { consent: { consentId }, purpose })
    if ('refused' in found) throw new Error(found.refused)
    const { controller: consentController, purposes, holder: _, ...fields } = found.consent
    const { r8x, r8y, s } = found.signature
    const signals = { ...fields, consentController, purposes, r8x, r8y, s, secret: found.secret }
    const inputs = JSON.parse(
      JSON.stringify({ ...signals, controller: consentController }, (_, value) =>
        typeof value === 'bigint' ? String(value) : value,
      ),
    )
    const generate = (named: string) =>
      postGenerate(app, owner.apiKey, {
        circuit_id: 'consent_verification',
        inputs: { ...inputs, purpose: String(h248(named)) },
      })
    expect((await generate(purpose)).body.decision).to.equal(1)
    const prepared = await proofs.prepare(caller, 'consent_verification', { consentId, purpose })
    await consents.logged({ subjectId, status: 'refused' })
    const { status, body } = await generate(purpose)
    expect([status, body.error, body.reason]).to.deep.equal([422, 'not_provable', 'STATEMENT_FALSE'])
    const ask = { circuitId: 'consent_verification', prepared, category: 'proof' } as const
    const overtaken = proofs.generate(caller, ask, (made) => made)
    expect(await rejection(overtaken)).to.include({ code: 'not_provable', reason: 'STATEMENT_FALSE' })
    expect((await generate('analytics')).body.decision, 'of which it still decides').to.equal(1)
    expect((await generate('profiling')).body.decision, 'which it never covered').to.equal(0)
  })

  onEmbedded.it('say NO of a consent that is over, and those made before do not count any more', async () => {
    const expiresAt = new Date(app.services.clock.now() + DAY_MS).toISOString()
    const { consentId } = await consents.logged({ subjectId: 'hal', expiresAt })
    clock.offsetMs = DAY_MS - 60_000
    const made = await proven({ consentId, purpose })
    clock.offsetMs = DAY_MS + 1000
    expect(await reasonsLater(made)).to.deep.equal(['CONSENT_EXPIRED'])
    await proven({ consentId, purpose }, false)
  })

  onEmbedded.it(
    'need a receipt that this service signed for the organisation, as it was signed',
    async () => {
      const { receipt, consentId } = await consents.logged({ subjectId: 'ida' })
      const [head = '', body = '', tail = ''] = receipt.split('.')
      const { kid, sign } = await app.services.signers.current('tokens', 'Ed25519')
      const covered = `${base64url({ alg: 'EdDSA', kid, typ: 'cr+jws' })}.${body}`
      const results = await app.services.signers.current('results', 'Ed25519')
      const resigned = (header: object, payload: string) => {
        const text = `${base64url({ alg: 'EdDSA', kid: results.kid, typ: 'cr+jws', ...header })}.${payload}`
        return `${text}.${base64url(results.sign(Buffer.from(text)))}`
      }
      // The bytes are signed as before, so this one passes.
      await expectProven(app, await ask({ receipt: `${head}.${body}.${tail}`, purpose }), FIELD)
      for (const forged of [
        'nonsense',
        `${head}.${body}.${tail.slice(0, -4)}AAAA`,
        `${head}.${base64url({ ...payloadOf(receipt), org: 'org_x' })}.${tail}`,
        `${covered}.${base64url(sign(Buffer.from(covered)))}`,
        resigned({ typ: 'vr+jws' }, body),
        resigned({ jku: 'https://evil.example/' }, body),
        resigned({ alg: 'none' }, body),
        // Signed with our own key, but not what was issued.
        resigned({}, base64url({ ...payloadOf(receipt), iat: 1 })),
      ])
        expectUnproven(await ask({ receipt: forged, purpose }), FIELD)
      const stranger = await app.organisation()
      expectUnproven(await ask({ receipt, purpose }, stranger.apiKey), FIELD)
      expect((await ask({ consentId, purpose }, stranger.apiKey)).status).to.equal(404)
    },
  )

  it('rest on a signature over exactly what was recorded', async () => {
    const expiresAt = '2030-01-01T00:00:00.999Z'
    const { consentId, recordedAt } = await consents.logged({ subjectId: 'jan', expiresAt })
    const found = await app.services.consents.forCircuit(systemCaller(owner.organisationId, 'test'), {
      consent: { consentId },
      purpose,
    })
    if ('refused' in found) throw new Error(found.refused)
    const { consent, signature, issuer } = found
    expect(issuerSignatureHolds(consentMessage(consent), signature, issuer)).to.equal(true)
    expect(issuerSignatureHolds(consentMessage({ ...consent, subject: 1n }), signature, issuer)).to.equal(
      false,
    )
    expect(consent).to.deep.include({
      controller: h248(CONTROLLER),
      purposes: [h248(purpose), ...Array(7).fill(0n)],
      from: BigInt(Math.floor(Date.parse(recordedAt) / 1000)),
      to: BigInt(Date.parse('2030-01-01') / 1000),
    })
    const rows = await app.services.database.knex('consents').where({ id: consentId }).select('sealed')
    expect(Buffer.from(rows[0].sealed).toString('latin1')).not.to.contain(String(found.secret))
  })
})
