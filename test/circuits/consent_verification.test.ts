/** The mapper of consent_verification against the circuit. */
import { expect } from 'chai'
import {
  type ConsentVerificationValues,
  consentVerification,
} from '../../src/circuits/mappers/consent_verification.ts'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import { POSEIDON_TAGS } from '../../src/core/poseidon-tags.ts'
import { organisationElement } from '../../src/rules/encode.ts'
import {
  BILLING,
  CONTROLLER,
  consentVerificationValues,
  RESEARCH,
} from '../support/circuits/inputs/consent_verification.ts'
import { ISSUING_ORGANISATION, STATUS } from '../support/circuits/issued.ts'
import { type Changes, mapped } from '../support/circuits/mappers.ts'
import { createReferenceField } from '../support/reference/field.ts'

const { poseidon } = createReferenceField()
const MAX = (1n << 64n) - 1n
const { signals, hasNoWitness } = mapped(consentVerification)

/** What the prover puts in of a consent. */
const givenOf = ({ consent, secret, signature }: ConsentVerificationValues): Changes => {
  const { holder: _, controller: consentController, ...fields } = consent
  return { ...fields, consentController, secret, ...signature }
}

const OTHER = 0x07e4n
const eight = [1n, 2n, 3n, 4n, 5n, 6n, BILLING, RESEARCH]

describe('mapper of consent_verification', () => {
  it('decides by controller, purpose and time, each at its boundary', async () => {
    for (const [what, changes, verified] of [
      ['a good one', {}, 1n],
      ['the first purpose', { purpose: BILLING }, 1n],
      ['the last of eight', { consent: { purposes: eight } }, 1n],
      ['a purpose that was not consented to', { purpose: OTHER }, 0n],
      ['no purpose at all', { consent: { purposes: Array(8).fill(0n) } }, 0n],
      ['a purpose twice', { consent: { purposes: Array(8).fill(RESEARCH) } }, 1n],
      ['another controller', { controller: CONTROLLER + 1n }, 0n],
      ['in its first second', { now: 1_799_999_000n }, 1n],
      ['a second before', { now: 1_799_998_999n }, 0n],
      ['in its last second', { now: 1_800_000_999n }, 1n],
      ['when it is over', { now: 1_800_001_000n }, 0n],
      ['for ever', { consent: { from: 0n, to: MAX }, now: MAX - 1n }, 1n],
      ['nothing that is asked', { controller: OTHER, purpose: OTHER, now: 0n }, 0n],
    ] as const)
      expect((await signals(consentVerificationValues(changes))).consent_verified, what).to.equal(verified)
  })

  it('shows a subject only in a scope, and a consent always', async () => {
    const values = consentVerificationValues()
    const handle = (scope: bigint) => poseidon(POSEIDON_TAGS.SUBJECT, [values.consent.subject, scope])
    const nullifier = poseidon(POSEIDON_TAGS.CREDENTIAL, [values.secret, STATUS])
    for (const scope of [1n, 2n]) {
      const shown = await signals({ ...values, scope, now: scope })
      expect(shown.subject_handle).to.equal(handle(scope))
      expect(shown.nullifier).to.equal(nullifier)
      expect(shown.disclosedStatus).to.equal(STATUS)
    }
    expect(handle(1n)).to.not.equal(handle(2n))
    const hidden = await signals({ ...values, disclose: false })
    expect([hidden.disclose, hidden.disclosedStatus, hidden.nullifier]).to.deep.equal([0n, 0n, nullifier])
    for (const disclose of [2n, R - 1n]) await hasNoWitness(values, { disclose })
  })

  it('has no witness for another’s secret, another organisation, or a bearer who holds it', async () => {
    const values = consentVerificationValues()
    await hasNoWitness(values, { secret: values.secret + 1n })
    await hasNoWitness(values, { organisation: organisationElement('org_other', 'holder') })
    await hasNoWitness(values, { organisation: organisationElement(ISSUING_ORGANISATION, 'bearer') })
    await hasNoWitness(values, { status: STATUS + 1n })
    expect(() => consentVerification.publicSignals({ ...values, secret: 1n })).to.throw(RangeError, 'secret')
  })

  it('has no witness for fields that were not signed, or in each other’s place', async () => {
    const values = consentVerificationValues()
    const { subject, purposes, from, to, status } = values.consent
    for (const changes of [
      { subject: subject + 1n },
      { status: status + 1n },
      { consentController: OTHER, controller: OTHER },
      { purposes: purposes.with(2, OTHER), purpose: OTHER },
      { purposes: [RESEARCH, BILLING, ...purposes.slice(2)] },
      { from: from - 1n },
      { to: to + 1n },
      { subject: status, status: subject },
      { from: to, to: from },
    ] as Changes[])
      await hasNoWitness(values, changes)
    const altered = { ...values, consent: { ...values.consent, to: to + 1n } }
    expect(() => consentVerification.publicSignals(altered)).to.throw(RangeError, 'signature')
  })

  it('has no witness for the purpose 0, which stands in every unused place', async () => {
    const values = consentVerificationValues()
    expect(() => consentVerification.publicSignals({ ...values, purpose: 0n })).to.throw(
      RangeError,
      'purpose',
    )
    await hasNoWitness(values, { purpose: 0n })
  })

  it('takes eight places for purposes', () => {
    const values = consentVerificationValues()
    for (const purposes of [[RESEARCH], [...eight, OTHER]])
      expect(() =>
        consentVerification.publicSignals({ ...values, consent: { ...values.consent, purposes } }),
      ).to.throw(RangeError, 'purposes')
  })

  it('has no witness for times beyond 64 bits, where the field would wrap around', async () => {
    const values = consentVerificationValues()
    for (const now of [MAX + 1n, R - 1n]) {
      expect(() => consentVerification.publicSignals({ ...values, now })).to.throw(RangeError, 'now')
      await hasNoWitness(values, { now })
    }
    for (const name of ['from', 'to']) {
      const beyond = consentVerificationValues({ consent: { [name]: R - 1n } })
      expect(() => consentVerification.publicSignals(beyond)).to.throw(RangeError, name)
      await hasNoWitness(values, givenOf(beyond), name)
    }
  })
})
