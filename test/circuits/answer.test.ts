/** What a holder proves to answer a challenge: the question's values from its context, and nothing else. */
import { expect } from 'chai'
import { type AskedContext, answerOf } from '../../src/circuits/answer.ts'
import { CircuitFilesError } from '../../src/circuits/artifacts/artifact-files.ts'
import { type Credential, type SignedFields, writeCredential } from '../../src/circuits/credential.ts'
import { consentVerification } from '../../src/circuits/mappers/consent_verification.ts'
import { kyc } from '../../src/circuits/mappers/kyc.ts'
import { tokenValidation } from '../../src/circuits/mappers/token_validation.ts'
import { verifyProof } from '../../src/circuits/offline-verification.ts'
import { createProofMaker } from '../../src/circuits/proving/groth16.ts'
import { createProving, proveAnswer } from '../../src/circuits/proving/proving.ts'
import { contextElement, scopeElement } from '../../src/rules/encode.ts'
import { artifacts } from '../support/circuits/circuits.ts'
import {
  CONTROLLER,
  consentVerificationValues,
  RESEARCH,
} from '../support/circuits/inputs/consent_verification.ts'
import { COUNTRIES, kycValues } from '../support/circuits/inputs/kyc.ts'
import { AUDIENCE, tokenValidationValues } from '../support/circuits/inputs/token_validation.ts'
import { ISSUING_ORGANISATION, STATUS } from '../support/circuits/issued.ts'
import { randomElement } from '../support/elements.ts'
import { rejection } from '../support/rejection.ts'

const NOW = 1_800_000_000n
const SECRET = randomElement()
const AUD = 'https://assay.example'
const ORG = 'org_asker'
const PURPOSE = 'age-check'
const ANY = Array.from({ length: 8 }, () => '0')

const written = <C extends keyof SignedFields>(
  circuit: C,
  fields: SignedFields[C],
  made: Parameters<typeof writeCredential>[3],
): Credential<C> => writeCredential(circuit, ISSUING_ORGANISATION, fields, made, undefined)

const kycCredential = (changes: Parameters<typeof kycValues>[0] = {}): Credential<'kyc'> => {
  const values = kycValues({ secret: SECRET, ...changes })
  return written('kyc', values.credential, values)
}
const tokenCredential = (): Credential<'token_validation'> => {
  const values = tokenValidationValues({ secret: SECRET })
  return written('token_validation', values.token, values)
}
const consentCredential = (): Credential<'consent_verification'> => {
  const values = consentVerificationValues({ secret: SECRET })
  return written('consent_verification', values.consent, values)
}

const asking = (circuit: string, statement: object): AskedContext => ({
  aud: AUD,
  org: ORG,
  circuit,
  statement: { purpose: PURPOSE, disclose: '1', ...statement },
  nonce: 'n-1',
  exp: Number(NOW) + 300,
})
const forAge = (changes: object = {}): AskedContext =>
  asking('kyc', { minLevel: '1', latestBirthDate: '20081121', countries: ANY, unique: '1', ...changes })

const SECTION_HEADER_BYTES = 12
const G1_BYTES = 64
/** In the section of the header: two field sizes with their moduli, the number of wires, that of public signals. */
const PUBLIC_COUNT_OFFSET = 2 * (4 + 32) + 4

/** The proving key of a service that wants to see more: the wire behind the public signals, a secret, counts as one of them. */
const greedyKey = (zkey: Uint8Array): Uint8Array => {
  const greedy = new Uint8Array(zkey)
  const view = new DataView(greedy.buffer)
  for (let at = 12; at < greedy.length; ) {
    const [section, size] = [view.getUint32(at, true), Number(view.getBigUint64(at + 4, true))]
    at += SECTION_HEADER_BYTES
    const count = at + PUBLIC_COUNT_OFFSET
    if (section === 2) view.setUint32(count, view.getUint32(count, true) + 1, true)
    // The points of secret wires, of which there is one less.
    if (section === 8) greedy.fill(0, at + size - G1_BYTES, at + size)
    at += size
  }
  return greedy
}

describe('an answer to a challenge', () => {
  const signals = (made: ReturnType<typeof answerOf>, name: string): unknown => made.witness[name]

  it('of kyc has the criteria, the scope of asker and purpose, and what may be recognised, as asked', () => {
    const context = forAge()
    const made = answerOf(kycCredential(), SECRET, context, NOW)
    expect(made).to.include({ circuit: 'kyc', decision: true })
    expect(signals(made, 'ctx')).to.equal(String(contextElement(context)))
    expect(signals(made, 'scope')).to.equal(String(scopeElement({ aud: AUD, org: ORG, purpose: PURPOSE })))
    expect([signals(made, 'unique'), signals(made, 'disclose'), signals(made, 'now')]).to.deep.equal([
      '1',
      '1',
      String(NOW),
    ])
    const quiet = answerOf(kycCredential(), SECRET, forAge({ unique: '0', disclose: '0' }), NOW)
    expect([signals(quiet, 'unique'), signals(quiet, 'disclose')]).to.deep.equal(['0', '0'])
  })

  it('says NO before anything is proved, by age, level, country and time', () => {
    const decision = (changes: object, now = NOW): boolean =>
      answerOf(kycCredential(), SECRET, forAge(changes), now).decision
    const only = (at: number): string[] => Array.from({ length: 8 }, () => String(COUNTRIES[at]))
    expect(decision({})).to.equal(true)
    expect(decision({ countries: only(0) })).to.equal(true)
    expect(decision({ countries: only(1) })).to.equal(false)
    expect(decision({ latestBirthDate: '19801231' })).to.equal(false)
    expect(decision({ minLevel: '3' })).to.equal(false)
    expect(decision({}, 1_900_000_000n)).to.equal(false)
  })

  it('of a token and of a consent has what those are asked', () => {
    const token = answerOf(
      tokenCredential(),
      SECRET,
      asking('token_validation', { audience: String(AUDIENCE) }),
      NOW,
    )
    expect(token).to.include({ circuit: 'token_validation', decision: true })
    const nobody = asking('token_validation', { audience: '0' })
    expect(answerOf(tokenCredential(), SECRET, nobody, NOW).decision).to.equal(false)
    const stated = { controller: String(CONTROLLER), purpose_element: String(RESEARCH) }
    const consent = answerOf(consentCredential(), SECRET, asking('consent_verification', stated), NOW)
    expect(consent).to.include({ circuit: 'consent_verification', decision: true })
    const otherwise = asking('consent_verification', { ...stated, purpose_element: '7' })
    expect(answerOf(consentCredential(), SECRET, otherwise, NOW).decision).to.equal(false)
    expect(Object.keys(token.witness)).to.have.members([
      ...tokenValidation.publicNames.slice(3),
      ...tokenValidation.secretNames,
    ])
    expect(consentVerification.publicNames).to.include('controller')
  })

  it('is proved, and verifies offline for this challenge alone', async () => {
    const context = forAge()
    const values = kycValues({ secret: SECRET })
    const credential = written('kyc', values.credential, values)
    const { proof, publicSignals } = await proveAnswer(
      answerOf(credential, SECRET, context, NOW),
      artifacts.kyc,
    )
    expect(kyc.read(publicSignals).disclosedStatus).to.equal(STATUS)
    const key = { x: String(values.issuer.x), y: String(values.issuer.y) }
    const keys = {
      circuit: artifacts.kyc.verificationKey,
      issuer: { keys: [{ ...key, validFrom: '2000-01-01T00:00:00Z', validUntil: null }] },
    }
    const verdict = (challenge: AskedContext) =>
      verifyProof(
        { circuit_id: 'kyc', proof, public_signals: publicSignals, context: challenge },
        { keys, issuers: [ISSUING_ORGANISATION], challenge, now: Number(NOW) * 1000 },
      )
    // Its status can't be looked up without a list; all else holds.
    expect((await verdict(context)).reasons).to.deep.equal(['STATUS_LIST_MISSING'])
    expect((await verdict({ ...context, nonce: 'n-2' })).reasons).to.include('CHALLENGE_MISMATCH')
  }).timeout(60_000)

  it('is never proved with files that would show a secret', async () => {
    const credential = kycCredential()
    const answer = answerOf(credential, SECRET, forAge(), NOW)
    const files = { ...artifacts.kyc, zkey: greedyKey(artifacts.kyc.zkey) }
    const { publicSignals } = await (await createProofMaker(files))(answer.witness)
    expect(publicSignals.slice(0, -1)).to.deep.equal(answer.publicSignals)
    expect(Object.values(answer.witness)).to.include(publicSignals.at(-1))
    expect(await rejection(proveAnswer(answer, files))).to.be.instanceOf(CircuitFilesError)
    const proving = await createProving(kyc, files)
    expect(await rejection(proving.prove(kycValues({ secret: SECRET })))).to.be.instanceOf(CircuitFilesError)
    // As many as there are, of which one is another.
    const other = { ...answer, publicSignals: answer.publicSignals.with(0, '0') }
    expect(await rejection(proveAnswer(other, artifacts.kyc))).to.be.instanceOf(CircuitFilesError)
  }).timeout(60_000)

  it('is refused with a RangeError: another circuit, another secret, a credential that was altered, no question', () => {
    const refused = (context: AskedContext, secret = SECRET, credential: Credential = kycCredential()) =>
      expect(() => answerOf(credential, secret, context, NOW)).to.throw(RangeError)
    refused(asking('token_validation', { audience: '0' }))
    refused(forAge(), SECRET + 1n)
    const { fields, ...rest } = kycCredential()
    refused(forAge(), SECRET, { ...rest, fields: { ...fields, birthDate: '19000101' } })
    for (const statement of [
      { minLevel: 1 },
      { minLevel: '01' },
      { countries: '0' },
      { countries: ['x'] },
      { purpose: 7 },
      { disclose: undefined },
    ])
      refused(forAge(statement))
  })
})
