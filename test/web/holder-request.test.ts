/** What the holder's page says of a request: who learns what, by what was asked, and nothing that the asker wrote. */
import { expect } from 'chai'
import type { Credential } from '../../src/circuits/credential.ts'
import {
  type ChallengeRequest,
  credentialWords,
  fits,
  learnt,
  neededWords,
} from '../../src/web/holder/request.ts'

const ISSUER = 'org_issuer'
const credential = (changes: Partial<Credential> = {}): Credential => ({
  circuit: 'kyc',
  binding: 'holder',
  organisation: ISSUER,
  fields: { level: '2', expiresAt: '1900000000', birthDate: '19740812' },
  signature: { r8x: '1', r8y: '1', s: '1', issuerX: '1', issuerY: '1' },
  ...changes,
})
const request = (
  statement: Readonly<Record<string, string>> = {},
  circuit_id: ChallengeRequest['circuit_id'] = 'kyc',
): ChallengeRequest => ({
  state: 'open',
  asker: { organisation: 'org_asker', name: 'Shop', domain: null },
  circuit_id,
  question: 'Was born early enough.',
  context: {
    aud: 'https://assay.example',
    org: 'org_asker',
    circuit: circuit_id,
    statement: { purpose: 'Win a prize!', unique: '0', disclose: '0', ...statement },
    nonce: 'n',
  },
  issuers: [ISSUER],
  expires_at: '2030-01-01T00:00:00Z',
  answer_url: 'https://assay.example/answer',
})
const said = (...args: Parameters<typeof learnt>): string => {
  const { learns, learnsNot } = learnt(...args)
  return [...learns, '|', ...learnsNot].join('\n')
}

describe('what the holder’s page says', () => {
  it('of an answer that shows least: no list, no second number, and a number for this asker alone', () => {
    const text = said(request(), credential())
    expect(text).to.include('in this question:').and.to.include('birth date')
    expect(text).not.to.include('revoked').and.not.to.include('count once').and.not.to.include('prize')
  })

  it('that showings are linked where the status is disclosed, and that one counts once where that is asked', () => {
    expect(said(request({ disclose: '1' }), credential())).to.include('the same wherever')
    expect(said(request({ unique: '1' }), credential())).to.include('count once')
  })

  it('whether the issuer made the secret', () => {
    expect(said(request(), credential())).to.include('only somebody with your secret')
    expect(said(request(), credential({ binding: 'bearer' }))).to.include('the issuer made its secret')
  })

  it('of tokens and consents what is in those', () => {
    const token = credential({ circuit: 'token_validation' })
    expect(said(request({ disclose: '1' }, 'token_validation'), token)).to.include('Whom the token is about')
    const consent = credential({ circuit: 'consent_verification' })
    expect(said(request({ disclose: '1' }, 'consent_verification'), consent)).to.include(
      'whoever gave the consent',
    )
  })

  it('of a credential nothing that others should not read', () => {
    expect(credentialWords(credential())).to.equal('Identity check, level standard, valid until 17 Mar 2030')
    const { fields, ...consent } = credential({ circuit: 'consent_verification' })
    expect(credentialWords({ ...consent, fields: { to: '1900000000' } })).to.equal(
      'Consent, valid until 17 Mar 2030',
    )
    expect(credentialWords({ ...consent, fields: { to: '18446744073709551615' } })).to.equal('Consent')
    expect(Object.keys(fields)).to.include('birthDate')
  })

  it('that a credential fits by circuit and issuer', () => {
    expect(fits(request(), credential())).to.equal(true)
    expect(fits(request({}, 'token_validation'), credential())).to.equal(false)
    expect(fits(request(), credential({ organisation: 'org_other' }))).to.equal(false)
    expect(neededWords(request())).to.equal(`Identity check issued by ${ISSUER}`)
  })
})
