/** The mapper of kyc against the circuit. */
import { expect } from 'chai'
import { kyc } from '../../src/circuits/mappers/kyc.ts'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import { POSEIDON_TAGS } from '../../src/core/poseidon-tags.ts'
import { COUNTRIES, kycValues } from '../support/circuits/inputs/kyc.ts'
import { testIssuer } from '../support/circuits/issuer.ts'
import { type Changes, mapped } from '../support/circuits/mappers.ts'
import { createReferenceField } from '../support/reference/field.ts'

const { poseidon } = createReferenceField()
const MAX = (1n << 64n) - 1n
const { signals, hasNoWitness } = mapped(kyc)

describe('mapper of kyc', () => {
  it('decides by expiry, level, birth date and country, each at its boundary', async () => {
    const [first, second, , , , , , , ninth = 0n] = COUNTRIES
    for (const [what, changes, decision] of [
      ['a good one', {}, 1n],
      ['a second before its end', { now: 1_899_999_999n }, 1n],
      ['at its end', { now: 1_900_000_000n }, 0n],
      ['the level that is needed', { minLevel: 2n }, 1n],
      ['a level too low', { minLevel: 3n }, 0n],
      [
        'the greatest numbers',
        { credential: { level: MAX, expiresAt: MAX }, minLevel: MAX, now: MAX - 1n },
        1n,
      ],
      ['born on the last day', { latestBirthDate: 19901231n }, 1n],
      ['born a day later', { latestBirthDate: 19901230n }, 0n],
      ['the only country', { countries: [first] }, 1n],
      ['the last of eight countries', { countries: [...COUNTRIES.slice(1, 8), first] }, 1n],
      ['none of eight countries', { countries: COUNTRIES.slice(1, 9) }, 0n],
      ['a country repeated', { countries: [second, second, first, first] }, 1n],
      ['another country', { credential: { country: ninth } }, 0n],
      [
        'nothing that is asked',
        { credential: { country: ninth, level: 0n }, latestBirthDate: 0n, now: MAX },
        0n,
      ],
    ] as const)
      expect((await signals(kycValues(changes as object))).decision, what).to.equal(decision)
  })

  it('has the same nullifier for one subject and scope, whatever else differs', async () => {
    const [subject, scope] = [77n, 78n]
    const one = await signals(kycValues({ credential: { subject }, scope }))
    const other = await signals(kycValues({ credential: { subject, level: 9n }, scope, minLevel: 9n }))
    expect(one.nullifier).to.equal(poseidon(POSEIDON_TAGS.SUBJECT, [subject, scope]))
    expect(other.nullifier).to.equal(one.nullifier)
    expect((await signals(kycValues({ credential: { subject } }))).nullifier).to.not.equal(one.nullifier)
  })

  it('has no witness for fields that were not signed, or in each other’s place', async () => {
    const values = kycValues()
    const { subject, birthDate, country, level, expiresAt, secret } = values.credential
    for (const changes of [
      { subject: subject + 1n },
      { birthDate: birthDate - 1n },
      { country: COUNTRIES[1] ?? 0n },
      { level: level + 1n },
      { expiresAt: expiresAt + 1n },
      { secret: secret + 1n },
      { subject: secret, secret: subject },
      { birthDate: level, level: birthDate },
    ] as Changes[])
      await hasNoWitness(values, changes)
    expect(() => kyc.witnessInput({ ...values, credential: { ...values.credential, level: 3n } })).to.throw(
      RangeError,
    )
    expect(country).to.not.equal(0n)
  })

  it('has no witness for a signed credential without a birth date or a country', async () => {
    for (const missing of [{ birthDate: 0n }, { country: 0n }]) {
      const values = kycValues({ credential: missing })
      expect(() => kyc.publicSignals(values)).to.throw(RangeError, /birthDate and country/)
      const { r8x, r8y, s } = values.signature
      await hasNoWitness(kycValues(), { ...values.credential, r8x, r8y, s }, Object.keys(missing).join())
    }
    // Not even where an unused place for a country is 0 as well.
    const { credential, signature } = kycValues({ credential: { country: 0n } })
    const places = Array.from({ length: 8 }, (_, i) => (i === 0 ? (COUNTRIES[0] ?? 0n) : 0n))
    await hasNoWitness(kycValues(), { ...credential, ...signature, countries: places })
  })

  it('has no witness for numbers beyond 64 bits, where the field would wrap around', async () => {
    const values = kycValues()
    for (const name of ['now', 'minLevel', 'latestBirthDate'])
      for (const number of [MAX + 1n, R - 1n]) {
        expect(() => kyc.publicSignals({ ...values, [name]: number }), name).to.throw(RangeError, name)
        await hasNoWitness(values, { [name]: number })
      }
    for (const name of ['birthDate', 'level', 'expiresAt']) {
      const { credential, signature } = kycValues({ credential: { [name]: R - 1n } })
      expect(() => kyc.publicSignals({ ...values, credential, signature }), name).to.throw(RangeError, name)
      await hasNoWitness(values, { ...credential, ...signature }, name)
    }
  })

  it('takes one to eight countries', () => {
    expect(() => kycValues({ countries: [] })).to.not.throw()
    for (const countries of [[], COUNTRIES])
      expect(() => kyc.publicSignals(kycValues({ countries }))).to.throw(RangeError, 'countries')
    const issued = kyc.read(kyc.publicSignals(kycValues({ countries: COUNTRIES.slice(0, 1) })))
    expect(issued.countries).to.deep.equal(Array(8).fill(COUNTRIES[0]))
    expect(issued.issuerX).to.equal(testIssuer.point.x)
  })
})
