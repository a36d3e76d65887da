/** A proof that somebody else made, verified without the service: each refusal has a reason of its own. */
import { expect } from 'chai'
import type { Circuit } from '../../src/circuits/circuit.ts'
import { holderCommitment } from '../../src/circuits/holder-commitment.ts'
import { type KycValues, kyc } from '../../src/circuits/mappers/kyc.ts'
import { type TokenValidationValues, tokenValidation } from '../../src/circuits/mappers/token_validation.ts'
import {
  type PresentedProof,
  type VerifyOptions,
  verifyProof,
} from '../../src/circuits/offline-verification.ts'
import { createProving, type Proving } from '../../src/circuits/proving/proving.ts'
import { statusListUri, statusPlace } from '../../src/protocol/status.ts'
import type { StatusList } from '../../src/protocol/status-list.ts'
import { contextElement, h248, type ProofContext, scopeElement } from '../../src/rules/encode.ts'
import { artifacts } from '../support/circuits/circuits.ts'
import { kycValues } from '../support/circuits/inputs/kyc.ts'
import { tokenValidationValues } from '../support/circuits/inputs/token_validation.ts'
import { ISSUING_ORGANISATION, issuedTo, STATUS } from '../support/circuits/issued.ts'
import { testIssuer } from '../support/circuits/issuer.ts'
import { randomElement } from '../support/elements.ts'
import { rejection } from '../support/rejection.ts'

const NOW = 1_800_000_000_000
const SECONDS = NOW / 1000
const AUD = 'https://shop.example'
const ASKER = 'org_asker'
const DAY_BEFORE = new Date(NOW - 86_400_000).toISOString()

const keys = {
  circuit: artifacts.kyc.verificationKey,
  issuer: {
    keys: [
      {
        x: String(testIssuer.point.x),
        y: String(testIssuer.point.y),
        validFrom: DAY_BEFORE,
        validUntil: null,
      },
    ],
  },
}
const statusList = (changes: Partial<StatusList> = {}): StatusList => ({
  uri: statusListUri('https://assay.example', statusPlace(Number(STATUS)).list),
  issuedAt: SECONDS - 60,
  expiresAt: SECONDS + 240,
  isSet: () => false,
  ...changes,
})
const expected = { audience: AUD, purpose: 'age', nonce: 'n-1', organisation: ASKER }
const options = (changes: Partial<VerifyOptions> = {}): VerifyOptions => ({
  keys,
  issuers: [ISSUING_ORGANISATION],
  expect: expected,
  statusList: statusList(),
  now: NOW,
  ...changes,
})

describe('a proof made elsewhere, verified offline', function () {
  this.timeout(120_000)
  let proving: Proving<KycValues>
  let good: PresentedProof
  const secret = randomElement()

  const contextOf = (
    values: Pick<KycValues, 'minLevel' | 'latestBirthDate' | 'countries' | 'unique' | 'disclose'>,
    changes: Partial<ProofContext> = {},
    purpose = 'age',
  ): ProofContext => ({
    aud: AUD,
    org: ASKER,
    circuit: 'kyc',
    statement: {
      minLevel: String(values.minLevel),
      latestBirthDate: String(values.latestBirthDate),
      countries: Array.from({ length: 8 }, (_, i) =>
        String(values.countries[i] ?? values.countries[0] ?? 0n),
      ),
      unique: values.unique ? '1' : '0',
      disclose: values.disclose ? '1' : '0',
      purpose,
    },
    nonce: 'n-1',
    exp: SECONDS + 300,
    ...changes,
  })

  interface Asked {
    readonly values?: Partial<KycValues>
    readonly context?: Partial<ProofContext>
    readonly purpose?: string
    /** Default: that of the context and the purpose. */
    readonly scope?: bigint
  }
  const prove = async ({
    values: own = {},
    context: changes,
    purpose = 'age',
    scope: other,
  }: Asked = {}): Promise<PresentedProof> => {
    const values = kycValues({ secret, now: BigInt(SECONDS), ...own })
    const context = contextOf(values, changes, purpose)
    const scope = scopeElement({ aud: context.aud, org: context.org, purpose })
    const made = await proving.prove({ ...values, scope: other ?? scope, ctx: contextElement(context) })
    return { circuit_id: 'kyc', proof: made.proof, public_signals: made.publicSignals, context }
  }
  const reasonsOf = async (proof: PresentedProof, changes: Partial<VerifyOptions> = {}) =>
    (await verifyProof(proof, options(changes))).reasons

  before(async () => {
    proving = await createProving(kyc as Circuit<string, KycValues>, artifacts.kyc)
    good = await prove()
  })

  it('is verified by who issued, whoever presents it, and says what it uses up', async () => {
    const verified = await verifyProof(good, options())
    expect(verified).to.deep.include({
      valid: true,
      verified: true,
      decision: 1,
      reasons: [],
      issuer: ISSUING_ORGANISATION,
      binding: 'holder',
    })
    const { person } = kyc.read(good.public_signals ?? [])
    expect(verified.uses).to.deep.equal(['nonce/n-1', `kyc/${person}`])
    expect(
      (await verifyProof(good, options({ expect: undefined, challenge: good.context }))).verified,
    ).to.equal(true)
  })

  it('of a credential without a holder says so', async () => {
    const bearer = await prove({
      values: kycValues({ secret, now: BigInt(SECONDS), credential: issuedTo(secret, 'bearer') }),
    })
    expect(await verifyProof(bearer, options())).to.deep.include({ verified: true, binding: 'bearer' })
  })

  it('does not count without an expectation of audience, purpose, nonce and who asks, or a challenge', async () => {
    for (const name of Object.keys(expected))
      expect(await reasonsOf(good, { expect: { ...expected, [name]: undefined } }), name).to.deep.equal([
        'EXPECTATION_MISSING',
      ])
    expect(await reasonsOf(good, { expect: undefined })).to.deep.equal(['EXPECTATION_MISSING'])
  })

  for (const [name, value] of Object.entries({
    audience: 'https://other.example',
    purpose: 'other',
    nonce: 'n-2',
    organisation: 'org_other',
    decision: 0,
    min_level: 'enhanced',
  }))
    it(`with another ${name} than was expected is not verified`, async () => {
      expect(await reasonsOf(good, { expect: { ...expected, [name]: value } })).to.deep.equal([
        `EXPECTATION_${name.toUpperCase()}`,
      ])
    })

  it('that has another shape than its type says is malformed, and nothing is thrown', async () => {
    const { context } = good
    const no = { toString: 1 }
    for (const changes of [
      { context: undefined },
      { context: { ...context, nonce: no } },
      { context: { ...context, statement: { x: Number.POSITIVE_INFINITY } } },
      { public_signals: 'x' },
      { public_signals: [no] },
      { circuit_id: no },
    ])
      expect(await reasonsOf({ ...good, ...changes } as unknown as PresentedProof)).to.deep.equal([
        'PROOF_MALFORMED',
      ])
  })

  it('answers no other challenge', async () => {
    for (const changes of [
      { nonce: 'n-2' },
      { org: 'org_other' },
      { aud: 'https://other.example' },
      { exp: SECONDS + 1 },
    ])
      expect(await reasonsOf(good, { challenge: { ...good.context, ...changes } })).to.deep.equal([
        'CHALLENGE_MISMATCH',
      ])
  })

  it('of an issuer that nobody asked for is not accepted', async () => {
    expect(await reasonsOf(good, { issuers: ['org_other', AUD] })).to.deep.equal(['ISSUER_NOT_ACCEPTED'])
    expect(await reasonsOf(good, { issuers: [] })).to.deep.equal(['ISSUER_NOT_ACCEPTED'])
  })

  it('whose organisation says neither holder nor bearer is nobody’s, even where it is signed', async () => {
    const issued = issuedTo(secret)
    for (const more of [1n, 2n, 16n]) {
      const organisation = issued.organisation + (more << 248n)
      const credential = { ...issued, organisation, holder: holderCommitment(secret, organisation) }
      const odd = await prove({ values: kycValues({ secret, now: BigInt(SECONDS), credential }) })
      expect(await verifyProof(odd, options())).to.deep.include({
        valid: true,
        verified: false,
        reasons: ['ISSUER_NOT_ACCEPTED'],
        issuer: null,
      })
    }
  })

  it('under a key that the issuing service does not publish, or that has ended, is of an unknown issuer', async () => {
    const [key] = keys.issuer.keys
    for (const published of [[], [{ ...key, x: '1' }], [{ ...key, validUntil: DAY_BEFORE }]])
      expect(
        await reasonsOf(good, { keys: { ...keys, issuer: { keys: published as typeof keys.issuer.keys } } }),
      ).to.deep.equal(['ISSUER_UNKNOWN'])
  })

  it('can not be made with another holder’s secret, nor for another organisation', async () => {
    const values = kycValues({ secret, now: BigInt(SECONDS) })
    const others = issuedTo(secret, 'holder', 'org_other')
    for (const changed of [
      { ...values, secret: randomElement() },
      { ...values, credential: { ...values.credential, organisation: others.organisation } },
    ])
      expect(await rejection(proving.prove({ ...changed, scope: 1n, ctx: 1n }))).to.be.instanceOf(RangeError)
    const names = kyc.publicNames
    const altered = (good.public_signals ?? []).with(
      names.indexOf('organisation'),
      String(others.organisation),
    )
    expect(await reasonsOf({ ...good, public_signals: altered })).to.deep.equal(['PROOF_INVALID'])
  })

  it('whose context is not the one that it binds shows nothing of it', async () => {
    for (const changes of [{ nonce: 'n-2' }, { exp: SECONDS + 301 }])
      expect(await reasonsOf({ ...good, context: { ...good.context, ...changes } })).to.include(
        'CONTEXT_MISMATCH',
      )
  })

  it('whose signals are not those of its statement answers another question', async () => {
    const values = kycValues({ secret, now: BigInt(SECONDS) })
    const statement = contextOf(values).statement as object
    for (const other of [
      { minLevel: '3' },
      { latestBirthDate: '20001231' },
      { unique: '0' },
      { countries: [] },
    ])
      expect(
        await reasonsOf(await prove({ values, context: { statement: { ...statement, ...other } } })),
      ).to.deep.equal(['CRITERIA_MISMATCH'])
    expect(await reasonsOf(await prove({ scope: 5n }))).to.deep.equal([
      'EXPECTATION_PURPOSE',
      'SCOPE_MISMATCH',
    ])
  })

  it('ends with its context, and is for showing at once unless an age is expected', async () => {
    expect(await reasonsOf(good, { now: NOW + 120_000 })).to.deep.equal([])
    const later = { now: NOW + 121_000 }
    expect(await reasonsOf(good, later)).to.deep.equal(['NOW_OUT_OF_RANGE'])
    expect(await reasonsOf(good, { ...later, expect: { ...expected, max_age_seconds: 200 } })).to.deep.equal(
      [],
    )
    expect(await reasonsOf(good, { ...later, expect: { ...expected, max_age_seconds: 100 } })).to.deep.equal([
      'EXPECTATION_MAX_AGE_SECONDS',
    ])
    const ended = { now: NOW + 300_000, statusList: statusList({ expiresAt: SECONDS + 600 }) }
    expect(await reasonsOf(good, { ...ended, expect: { ...expected, max_age_seconds: 600 } })).to.deep.equal([
      'EXPIRED',
    ])
  })

  it('of what was revoked is not verified by the list that says so, nor without a list, nor by an old or another one', async () => {
    const { index } = statusPlace(Number(STATUS))
    const revoked = statusList({ isSet: (one) => one === index })
    expect(await reasonsOf(good, { statusList: revoked })).to.deep.equal(['CREDENTIAL_REVOKED'])
    expect(await reasonsOf(good, { statusList: undefined })).to.deep.equal(['STATUS_LIST_MISSING'])
    expect(await reasonsOf(good, { statusList: statusList({ expiresAt: SECONDS }) })).to.deep.equal([
      'STATUS_STALE',
    ])
    const other = statusList({ uri: statusListUri('https://assay.example', 9) })
    expect(await reasonsOf(good, { statusList: other })).to.deep.equal(['STATUS_LIST_OTHER'])
  })

  it('that does not disclose its status counts only where that was not required', async () => {
    const hidden = await prove({ values: { disclose: false } })
    expect(await reasonsOf(hidden)).to.deep.equal(['STATUS_UNDISCLOSED'])
    expect(await reasonsOf(hidden, { expect: { ...expected, status: 'not_required' } })).to.deep.equal([])
    const asked = { challenge: hidden.context, expect: undefined }
    expect(await reasonsOf(hidden, asked)).to.deep.equal([])
  })

  it('has the status that was expected, which asks for no less than a challenge', async () => {
    const hidden = await prove({ values: { disclose: false } })
    const status = (own: string) => ({ expect: { ...expected, status: own } })
    const challenge = hidden.context
    for (const asked of [status('required'), { challenge, ...status('required') }])
      expect(await reasonsOf(hidden, asked)).to.deep.equal(['STATUS_UNDISCLOSED'])
    expect(await reasonsOf(hidden, { challenge, ...status('not_required') })).to.deep.equal([])
    const statement = { ...(hidden.context.statement as object), disclose: '1' }
    const other = await prove({ values: { disclose: false }, context: { statement } })
    expect(await reasonsOf(other, { challenge: other.context, ...status('not_required') })).to.deep.equal([
      'STATUS_UNDISCLOSED',
    ])
    for (const word of ['active', 'used', 'expired', 'revoked'])
      for (const asked of [status(word), { challenge: good.context, ...status(word) }])
        expect(await reasonsOf(good, asked), word).to.deep.equal(['EXPECTATION_STATUS'])
    for (const word of ['required', 'not_required'])
      expect(await reasonsOf(good, status(word)), word).to.deep.equal([])
  })

  it('counts once: neither a challenge, nor a person with another secret, is accepted again', async () => {
    const { uses } = await verifyProof(good, options())
    expect(await reasonsOf(good, { seen: uses })).to.deep.equal(['CHALLENGE_ANSWERED'])
    const values = kycValues({ secret, now: BigInt(SECONDS) })
    const first = await prove({ values })
    const mine = await verifyProof(first, options())
    const otherSecret = randomElement()
    const { subject } = values.credential
    const again = await prove({
      values: kycValues({
        secret: otherSecret,
        now: BigInt(SECONDS),
        credential: { subject, ...issuedTo(otherSecret) },
      }),
      context: { nonce: 'n-3' },
    })
    const asked = { expect: { ...expected, nonce: 'n-3' }, seen: mine.uses }
    expect(await reasonsOf(again, asked)).to.deep.equal(['DOUBLE_SPEND'])
    const twice = await prove({ values: { ...values, unique: false }, context: { nonce: 'n-3' } })
    expect(await reasonsOf(twice, asked)).to.deep.equal([])
  })

  it('that is none is refused', async () => {
    const { public_signals: signals = [] } = good
    expect(await reasonsOf({ ...good, proof: 'zk1.AAAA' })).to.deep.equal(['PROOF_MALFORMED'])
    expect(await reasonsOf({ ...good, public_signals: signals.slice(1) })).to.deep.equal(['SIGNAL_COUNT'])
    expect(await reasonsOf({ ...good, public_signals: signals.with(0, '0') })).to.deep.equal([
      'PROOF_INVALID',
    ])
    expect(await reasonsOf({ ...good, circuit_id: 'yesno' })).to.deep.equal(['SIGNAL_COUNT'])
  })

  /** A proof of a token, and the key that it is verified with. */
  const proveToken = async ({ audience = 0n, disclose = true }): Promise<PresentedProof> => {
    const made = await createProving(
      tokenValidation as Circuit<string, TokenValidationValues>,
      artifacts.token_validation,
    )
    const values = tokenValidationValues({ now: BigInt(SECONDS), audience, disclose })
    const statement = { audience: String(audience), disclose: disclose ? '1' : '0', purpose: 'age' }
    const context = { aud: AUD, org: ASKER, circuit: 'token_validation', statement, nonce: 'n-1' }
    const { proof, publicSignals } = await made.prove({ ...values, ctx: contextElement(context) })
    return { proof, public_signals: publicSignals, context }
  }
  const ofToken = { keys: { ...keys, circuit: artifacts.token_validation.verificationKey } }

  it('of a token is for its audience', async () => {
    for (const audience of [h248(AUD), 0n])
      expect(await reasonsOf(await proveToken({ audience }), ofToken)).to.deep.equal([])
    const other = await proveToken({ audience: h248('https://other.example') })
    expect(await reasonsOf(other, ofToken)).to.deep.equal(['EXPECTATION_AUDIENCE'])
  })

  it('of a token tells its status, whatever was asked, since it is used up by that', async () => {
    const hidden = await proveToken({ disclose: false })
    const waived = { expect: { ...expected, status: 'not_required' } }
    for (const asked of [waived, { ...waived, challenge: hidden.context }])
      expect(await reasonsOf(hidden, { ...ofToken, ...asked })).to.deep.equal(['STATUS_UNDISCLOSED'])
    const { uses } = await verifyProof(await proveToken({}), options({ ...ofToken, ...waived }))
    expect(uses).to.deep.equal(['nonce/n-1', `token_validation/${STATUS}`])
  })
})
