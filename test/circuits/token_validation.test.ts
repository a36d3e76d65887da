/** The mapper of token_validation against the circuit. */
import { expect } from 'chai'
import { tokenNullifier, tokenValidation } from '../../src/circuits/mappers/token_validation.ts'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import { POSEIDON_TAGS } from '../../src/core/poseidon-tags.ts'
import { AUDIENCE, tokenValidationValues } from '../support/circuits/inputs/token_validation.ts'
import { type Changes, mapped } from '../support/circuits/mappers.ts'
import { createReferenceField } from '../support/reference/field.ts'

const { poseidon } = createReferenceField()
const MAX = (1n << 64n) - 1n
const { signals, hasNoWitness } = mapped(tokenValidation)

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

  it('has one nullifier for a token, wherever and whenever it is shown', async () => {
    const { token } = tokenValidationValues()
    const nullifier = poseidon(POSEIDON_TAGS.NULLIFIER, [token.secret, 0n])
    expect(tokenNullifier(token)).to.equal(nullifier)
    for (const changes of [{}, { now: 1n }, { audience: 5n }])
      expect((await signals(tokenValidationValues({ token, ...changes }))).nullifier).to.equal(nullifier)
  })

  it('has no witness for fields that were not signed, or in each other’s place', async () => {
    const values = tokenValidationValues()
    const { tokenId, subject, audience, claims, issuedAt, expiresAt, secret } = values.token
    for (const changes of [
      { tokenId: tokenId + 1n },
      { subject: subject + 1n },
      { tokenAudience: 0n },
      { claims: claims + 1n },
      { issuedAt: issuedAt - 1n },
      { expiresAt: expiresAt + 1n },
      { secret: secret + 1n },
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
      const { token, signature } = tokenValidationValues({ token: { [name]: R - 1n } })
      expect(() => tokenValidation.publicSignals({ ...values, token, signature })).to.throw(RangeError, name)
      const { audience, ...fields } = token
      await hasNoWitness(values, { ...fields, tokenAudience: audience, ...signature }, name)
    }
  })
})
