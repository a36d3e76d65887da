/** The mapper of kyc against the circuit. */
import { expect } from 'chai'
import { type KycValues, kyc } from '../../src/circuits/mappers/kyc.ts'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import { POSEIDON_TAGS } from '../../src/core/poseidon-tags.ts'
import { organisationElement } from '../../src/rules/encode.ts'
import { COUNTRIES, kycValues } from '../support/circuits/inputs/kyc.ts'
import { ISSUING_ORGANISATION, STATUS } from '../support/circuits/issued.ts'
import { testIssuer } from '../support/circuits/issuer.ts'
import { type Changes, mapped } from '../support/circuits/mappers.ts'
import { createReferenceField } from '../support/reference/field.ts'

const { poseidon } = createReferenceField()
const MAX = (1n << 64n) - 1n
const { signals, hasNoWitness } = mapped(kyc)

/** What the prover puts in of a credential. */
const givenOf = ({ credential, secret, signature }: KycValues): Changes => {
  const { holder: _, ...fields } = credential
  return { ...fields, secret, ...signature }
}

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
      ['any country', { credential: { country: ninth }, countries: [] }, 1n],
      ['any country, before others', { credential: { country: ninth }, countries: [0n, first] }, 1n],
      ['a named country, before others', { countries: [0n, first] }, 1n],
      ['none of those that are named, and 0 behind them', { countries: [second, 0n] }, 0n],
      ['any country, and too young', { countries: [], latestBirthDate: 19901230n }, 0n],
      [
        'nothing that is asked',
        { credential: { country: ninth, level: 0n }, latestBirthDate: 0n, now: MAX },
        0n,
      ],
    ] as const)
      expect((await signals(kycValues(changes as object))).decision, what).to.equal(decision)
  })

  it('knows a secret by its nullifier and a subject as person, both only in a scope', async () => {
    const [subject, secret, scope] = [77n, 79n, 78n]
    const one = await signals(kycValues({ credential: { subject }, secret, scope }))
    const other = await signals(
      kycValues({ credential: { subject, level: 9n }, secret: 80n, scope, minLevel: 9n }),
    )
    expect(one.nullifier).to.equal(poseidon(POSEIDON_TAGS.NULLIFIER, [secret, scope]))
    expect(one.person).to.equal(poseidon(POSEIDON_TAGS.SUBJECT, [subject, scope]))
    // Two secrets of one person are one person.
    expect(other.nullifier).to.not.equal(one.nullifier)
    expect(other.person).to.equal(one.person)
    const elsewhere = await signals(kycValues({ credential: { subject }, secret }))
    expect(elsewhere.nullifier).to.not.equal(one.nullifier)
    expect(elsewhere.person).to.not.equal(one.person)
  })

  it('shows person and status where that is asked, and 0 otherwise', async () => {
    for (const unique of [true, false])
      for (const disclose of [true, false]) {
        const values = kycValues({ unique, disclose })
        const shown = await signals(values)
        expect(shown.unique).to.equal(unique ? 1n : 0n)
        expect(shown.disclose).to.equal(disclose ? 1n : 0n)
        expect(shown.person === 0n).to.equal(!unique)
        expect(shown.disclosedStatus).to.equal(disclose ? STATUS : 0n)
        for (const name of ['unique', 'disclose'])
          for (const other of [2n, R - 1n]) await hasNoWitness(values, { [name]: other })
      }
  })

  it('has no witness for another’s secret, another organisation, or a bearer who holds it', async () => {
    const values = kycValues()
    const { organisation } = values.credential
    await hasNoWitness(values, { secret: values.secret + 1n })
    await hasNoWitness(values, { organisation: organisationElement('org_other', 'holder') })
    await hasNoWitness(values, { organisation: organisationElement(ISSUING_ORGANISATION, 'bearer') })
    await hasNoWitness(values, { organisation: 0n })
    await hasNoWitness(values, { status: STATUS + 1n })
    await hasNoWitness(values, { status: 0n })
    expect(() => kyc.publicSignals({ ...values, secret: values.secret + 1n })).to.throw(RangeError, 'secret')
    const credential = { ...values.credential, organisation: organisation + 1n }
    expect(() => kyc.publicSignals({ ...values, credential })).to.throw(RangeError, 'secret')
    const moved = { ...values.credential, status: STATUS + 1n }
    expect(() => kyc.publicSignals({ ...values, credential: moved })).to.throw(RangeError, 'signature')
  })

  it('has no witness for fields that were not signed, or in each other’s place', async () => {
    const values = kycValues()
    const { subject, birthDate, country, level, expiresAt, status } = values.credential
    for (const changes of [
      { subject: subject + 1n },
      { birthDate: birthDate - 1n },
      { country: COUNTRIES[1] ?? 0n },
      { level: level + 1n },
      { expiresAt: expiresAt + 1n },
      { status: status + 1n },
      { subject: values.secret, secret: subject },
      { subject: status, status: subject },
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
      await hasNoWitness(kycValues(), givenOf(values), Object.keys(missing).join())
    }
    // Not even where an unused place for a country is 0 as well.
    const without = kycValues({ credential: { country: 0n } })
    const places = Array.from({ length: 8 }, (_, i) => (i === 0 ? (COUNTRIES[0] ?? 0n) : 0n))
    await hasNoWitness(kycValues(), { ...givenOf(without), countries: places })
    await hasNoWitness(kycValues(), { ...givenOf(without), countries: Array<bigint>(8).fill(0n) })
  })

  it('has no witness for numbers beyond 64 bits, where the field would wrap around', async () => {
    const values = kycValues()
    for (const name of ['now', 'minLevel', 'latestBirthDate'])
      for (const number of [MAX + 1n, R - 1n]) {
        expect(() => kyc.publicSignals({ ...values, [name]: number }), name).to.throw(RangeError, name)
        await hasNoWitness(values, { [name]: number })
      }
    for (const name of ['birthDate', 'level', 'expiresAt']) {
      const beyond = kycValues({ credential: { [name]: R - 1n } })
      expect(() => kyc.publicSignals(beyond), name).to.throw(RangeError, name)
      await hasNoWitness(values, givenOf(beyond), name)
    }
  })

  it('takes eight countries at most', () => {
    expect(() => kyc.publicSignals(kycValues({ countries: COUNTRIES }))).to.throw(RangeError, 'countries')
    expect(kyc.read(kyc.publicSignals(kycValues({ countries: [] }))).countries).to.deep.equal(
      Array(8).fill(0n),
    )
    const issued = kyc.read(kyc.publicSignals(kycValues({ countries: COUNTRIES.slice(0, 1) })))
    expect(issued.countries).to.deep.equal(Array(8).fill(COUNTRIES[0]))
    expect(issued.issuerX).to.equal(testIssuer.point.x)
  })
})
