/** Holders and what is issued to them, as browsers have them. */
import { expect } from 'chai'
import { CompactEncrypt, decodeProtectedHeader } from 'jose'
import { type Credential, credentialValues, writeCredential } from '../../src/circuits/credential.ts'
import { createHolder, exportHolder, HolderImportError, importHolder } from '../../src/circuits/holder.ts'
import { holderCommitment } from '../../src/circuits/holder-commitment.ts'
import { kycMessage } from '../../src/circuits/issuer-signature.ts'
import { kyc } from '../../src/circuits/mappers/kyc.ts'
import { POSEIDON_TAGS } from '../../src/core/poseidon-tags.ts'
import { organisationElement } from '../../src/rules/encode.ts'
import { consentVerificationValues } from '../support/circuits/inputs/consent_verification.ts'
import { kycValues } from '../support/circuits/inputs/kyc.ts'
import { tokenValidationValues } from '../support/circuits/inputs/token_validation.ts'
import { ISSUING_ORGANISATION, issuedTo } from '../support/circuits/issued.ts'
import { testIssuer } from '../support/circuits/issuer.ts'
import { createReferenceField } from '../support/reference/field.ts'
import { rejection } from '../support/rejection.ts'

const { poseidon } = createReferenceField()
const PASSPHRASE = 'three blue horses'

const kycOf = (secret: bigint, binding: 'bearer' | 'holder' = 'holder'): Credential<'kyc'> => {
  const { credential: fields } = kycValues({ secret })
  const credential = { ...fields, ...issuedTo(secret, binding) }
  const signed = { signature: testIssuer.sign(kycMessage(credential)), issuer: testIssuer.point }
  return writeCredential(
    'kyc',
    ISSUING_ORGANISATION,
    credential,
    signed,
    binding === 'bearer' ? secret : undefined,
  )
}

describe('a holder', () => {
  it('is known by another commitment to each organisation, of 248 random bits', () => {
    const [one, other] = [createHolder({ organisation: 'org_1' }), createHolder({ organisation: 'org_1' })]
    expect(one.secret).to.not.equal(other.secret)
    expect(one.secret < 2n ** 248n).to.equal(true)
    const element = organisationElement('org_1', 'holder')
    expect(BigInt(`0x${one.holder}`)).to.equal(poseidon(POSEIDON_TAGS.HOLDER, [one.secret, element]))
    expect(one.holder).to.match(/^[0-9a-f]{64}$/)
    for (const another of [organisationElement('org_2', 'holder'), organisationElement('org_1', 'bearer')])
      expect(holderCommitment(one.secret, another)).to.not.equal(BigInt(`0x${one.holder}`))
  })

  it('comes back from its export with its credentials, under the same passphrase only', async () => {
    const holder = createHolder({ organisation: ISSUING_ORGANISATION })
    const credentials = [kycOf(holder.secret)]
    const text = await exportHolder(holder, PASSPHRASE, credentials)
    expect(decodeProtectedHeader(text)).to.include({
      alg: 'PBES2-HS512+A256KW',
      enc: 'A256GCM',
      p2c: 600_000,
    })
    expect(text).to.not.contain(String(holder.secret))
    expect(await importHolder(text, PASSPHRASE)).to.deep.equal({ holder, credentials })
    for (const [other, passphrase] of [
      [text, 'three blue horsas'],
      [`${text.slice(0, -2)}AA`, PASSPHRASE],
      ['', PASSPHRASE],
    ] as const)
      expect(await rejection(importHolder(other, passphrase))).to.be.instanceOf(HolderImportError)
    expect(await rejection(exportHolder(holder, 'eleven char'))).to.be.instanceOf(RangeError)
    expect(await rejection(importHolder(text, 'eleven char'))).to.be.instanceOf(RangeError)
  })

  it('takes no text that would keep it busy, and none of another type', async () => {
    const made = async (header: object, count: number) =>
      new CompactEncrypt(new TextEncoder().encode('{}'))
        .setProtectedHeader({ alg: 'PBES2-HS512+A256KW', enc: 'A256GCM', ...header })
        .setKeyManagementParameters({ p2c: count })
        .encrypt(new TextEncoder().encode(PASSPHRASE))
    const typ = 'assay-holder'
    for (const [header, count] of [
      [{ typ }, 2_000_001],
      [{ typ: 'JWT' }, 2000],
      [{ typ, alg: 'PBES2-HS256+A128KW' }, 2000],
      [{ typ, enc: 'A128CBC-HS256' }, 2000],
    ] as const)
      expect(await rejection(importHolder(await made(header, count), PASSPHRASE))).to.be.instanceOf(
        HolderImportError,
      )
  }).timeout(240_000)
})

describe('a credential', () => {
  it('brings what its mapper takes, of each circuit', () => {
    const [person, token, consent] = [kycValues(), tokenValidationValues(), consentVerificationValues()]
    const { credential, secret, signature, issuer } = person
    const written = writeCredential('kyc', ISSUING_ORGANISATION, credential, person, undefined)
    expect(credentialValues(written, secret)).to.deep.equal({ credential, secret, signature, issuer })
    const ofToken = writeCredential('token_validation', ISSUING_ORGANISATION, token.token, token, undefined)
    expect(credentialValues(ofToken, token.secret).token).to.deep.equal(token.token)
    const ofConsent = writeCredential(
      'consent_verification',
      ISSUING_ORGANISATION,
      consent.consent,
      consent,
      undefined,
    )
    expect(credentialValues(ofConsent, consent.secret).consent).to.deep.equal(consent.consent)
    expect(JSON.parse(JSON.stringify(ofConsent))).to.deep.equal(ofConsent)
  })

  it('of a bearer brings its secret, and that of a holder does not', () => {
    const secret = 5n
    expect(credentialValues(kycOf(secret, 'bearer')).secret).to.equal(secret)
    const held = kycOf(secret)
    expect([held.binding, held.secret]).to.deep.equal(['holder', undefined])
    expect(() => credentialValues(held)).to.throw(RangeError, 'takes the secret')
    const values = { ...kycValues(), ...credentialValues(held, secret) }
    expect(kyc.read(kyc.publicSignals(values)).organisation).to.equal(
      organisationElement(ISSUING_ORGANISATION, 'holder'),
    )
  })

  it('is refused with another secret, organisation, binding, field or signature', () => {
    const secret = 5n
    const good = kycOf(secret)
    const { subject: _, ...fewer } = good.fields
    for (const [what, credential, own] of [
      ['another secret', good, 6n],
      ['another organisation', { ...good, organisation: 'org_other' }, secret],
      ['another binding', { ...good, binding: 'bearer' }, secret],
      ['another birth date', { ...good, fields: { ...good.fields, birthDate: '19900101' } }, secret],
      ['another status', { ...good, fields: { ...good.fields, status: '1' } }, secret],
      ['a field too many', { ...good, fields: { ...good.fields, more: '1' } }, secret],
      ['a field too few', { ...good, fields: fewer }, secret],
      ['no decimal', { ...good, fields: { ...good.fields, level: '02' } }, secret],
      ['another signature', { ...good, signature: { ...good.signature, s: '1' } }, secret],
    ] as const)
      expect(() => credentialValues(credential as Credential<'kyc'>, own), what).to.throw(RangeError)
  })
})
