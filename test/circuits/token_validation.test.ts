/** The mapper of token_validation against the circuit. */
import { expect } from 'chai'
import { type TokenValidationValues, tokenValidation } from '../../src/circuits/mappers/token_validation.ts'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import { POSEIDON_TAGS } from '../../src/core/poseidon-tags.ts'
import { organisationElement } from '../../src/rules/encode.ts'
import { AUDIENCE, tokenValidationValues } from '../support/circuits/inputs/token_validation.ts'
import { ISSUING_ORGANISATION, STATUS } from '../support/circuits/issued.ts'
import { type Changes, mapped } from '../support/circuits/mappers.ts'
import { createReferenceField } from '../support/reference/field.ts'

const { poseidon } = createReferenceField()
const MAX = (1n << 64n) - 1n
const { signals, hasNoWitness } = mapped(tokenValidation)

/** What the prover puts in of a token. */
const givenOf = ({ token, secret, signature }: TokenValidationValues): Changes => {
  const { holder: _, audience: tokenAudience, ...fields } = token
  return { ...fields, tokenAudience, secret, ...signature }
}

describe('mapper of token_validation', () => {
  it('decides by time and audience, each at its boundary', async () => {
    for (const [what, changes, valid] of [
      ['a good one', {}, 1n],
      ['in its first second', { now: 1_799_999_000n }, 1n],
      ['a second before', { now: 1_799_998_999n }, 0n],
      ['in its last second', { now: 1_800_000_999n }, 1n],
      ['at its end', { now: 1_800_001_000n }, 0n],
      ['the whole range', { token: { issuedAt: 0n, expiresAt: MAX }, now: 0n }, 1n],
      ['an end before its beginning', { token: { issuedAt: 9n, expiresAt: 3n }, now: 5n }, 0n],
      ['another audience', { audience: AUDIENCE + 1n }, 0n],
      ['no audience, for a token that has one', { audience: 0n }, 0n],
      ['any audience', { token: { audience: 0n } }, 1n],
      ['any audience, asked for none', { token: { audience: 0n }, audience: 0n }, 1n],
      ['neither time nor audience', { now: 0n, audience: 1n }, 0n],
    ] as const)
      expect((await signals(tokenValidationValues(changes))).token_valid, what).to.equal(valid)
  })

  it('has one nullifier and one status for a token, wherever and whenever it is shown', async () => {
    const values = tokenValidationValues()
    const nullifier = poseidon(POSEIDON_TAGS.CREDENTIAL, [values.secret, STATUS])
    for (const changes of [{}, { now: 1n }, { audience: 5n }]) {
      const shown = await signals({ ...values, ...changes })
      expect(shown.nullifier).to.equal(nullifier)
      expect(shown.disclosedStatus).to.equal(STATUS)
    }
    const hidden = await signals({ ...values, disclose: false })
    expect([hidden.disclose, hidden.disclosedStatus, hidden.nullifier]).to.deep.equal([0n, 0n, nullifier])
    for (const disclose of [2n, R - 1n]) await hasNoWitness(values, { disclose })
  })

  it('has no witness for another’s secret, another organisation, or a bearer who holds it', async () => {
    const values = tokenValidationValues()
    await hasNoWitness(values, { secret: values.secret + 1n })
    await hasNoWitness(values, { organisation: organisationElement('org_other', 'holder') })
    await hasNoWitness(values, { organisation: organisationElement(ISSUING_ORGANISATION, 'bearer') })
    await hasNoWitness(values, { status: STATUS + 1n })
    expect(() => tokenValidation.publicSignals({ ...values, secret: 1n })).to.throw(RangeError, 'secret')
  })

  it('has no witness for fields that were not signed, or in each other’s place', async () => {
    const values = tokenValidationValues()
    const { tokenId, subject, audience, claims, issuedAt, expiresAt, status } = values.token
    for (const changes of [
      { tokenId: tokenId + 1n },
      { subject: subject + 1n },
      { tokenAudience: 0n },
      { claims: claims + 1n },
      { issuedAt: issuedAt - 1n },
      { expiresAt: expiresAt + 1n },
      { status: status + 1n },
      { subject: status, status: subject },
      { tokenId: subject, subject: tokenId },
      { issuedAt: expiresAt, expiresAt: issuedAt },
      { tokenAudience: claims, claims: audience },
    ] as Changes[])
      await hasNoWitness(values, changes)
    const altered = { ...values, token: { ...values.token, audience: 0n } }
    expect(() => tokenValidation.publicSignals(altered)).to.throw(RangeError, 'signature')
  })

  it('has no witness for times beyond 64 bits, where the field would wrap around', async () => {
    const values = tokenValidationValues()
    for (const now of [MAX + 1n, R - 1n]) {
      expect(() => tokenValidation.publicSignals({ ...values, now })).to.throw(RangeError, 'now')
      await hasNoWitness(values, { now })
    }
    for (const name of ['issuedAt', 'expiresAt']) {
      const beyond = tokenValidationValues({ token: { [name]: R - 1n } })
      expect(() => tokenValidation.publicSignals(beyond)).to.throw(RangeError, name)
      await hasNoWitness(values, givenOf(beyond), name)
    }
  })
})
