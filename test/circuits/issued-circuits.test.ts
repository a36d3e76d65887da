/**
 * The circuits of what is issued, hunted in every branch that their bits and zeros open: what is disclosed or isn't, one person or
 * not, holder or bearer, any country, YES and NO.
 */
import { expect } from 'chai'
import type { CircuitId } from '../../src/circuits/catalogue.ts'
import type { Circuit } from '../../src/circuits/circuit.ts'
import { consentVerification } from '../../src/circuits/mappers/consent_verification.ts'
import { kyc } from '../../src/circuits/mappers/kyc.ts'
import { tokenValidation } from '../../src/circuits/mappers/token_validation.ts'
import { FIELD_MODULUS as R } from '../../src/core/field.ts'
import { artifacts } from '../support/circuits/circuits.ts'
import { huntIn } from '../support/circuits/hunt.ts'
import { consentVerificationValues } from '../support/circuits/inputs/consent_verification.ts'
import { COUNTRIES, kycValues } from '../support/circuits/inputs/kyc.ts'
import { tokenValidationValues } from '../support/circuits/inputs/token_validation.ts'
import { issuedTo } from '../support/circuits/issued.ts'
import { mapped } from '../support/circuits/mappers.ts'
import { randomElement } from '../support/elements.ts'

/** What a circuit may have at most, with its public signals and the constant. */
const DOMAIN = 8192
const HELD = 1n << 248n

/** A circuit with values of each branch, by what it is. */
interface Branches<V> {
  readonly mapper: Circuit<CircuitId, V>
  readonly values: Readonly<Record<string, V>>
  /** Questions whose answer is the same for another of these, in some branch: behind the country that is found, or of a token for anybody. */
  readonly alike?: RegExp
  /** The first of the values; each of these must have no witness. */
  readonly never: readonly (readonly [what: string, changes: Readonly<Record<string, bigint | bigint[]>>])[]
}

const secret = randomElement()
const bearer = issuedTo(secret, 'bearer')
const unlisted = { ...issuedTo(secret), status: 0n }
const other = COUNTRIES[8] ?? 0n
const organisation = issuedTo(secret).organisation

/** What may never be another than what was issued, in each of the circuits. */
const NEVER = [
  ['another binding', { organisation: organisation - HELD }],
  ['a binding that is no bit', { organisation: organisation + HELD }],
  ['an organisation beyond both', { organisation: (organisation + (HELD << 5n)) % R }],
  ['no organisation', { organisation: 0n }],
  ['another secret', { secret: secret + 1n }],
  ['no secret', { secret: 0n }],
  ['no status', { status: 0n }],
  ['no status, undisclosed', { status: 0n, disclose: 0n }],
  ['another status, undisclosed', { status: 1n, disclose: 0n }],
  ['a part of a status', { disclose: (R + 1n) / 2n }],
  ['twice a status', { disclose: 2n }],
  ['the opposite of a status', { disclose: R - 1n }],
] as const

const branches = [
  {
    mapper: kyc,
    alike: /^countries\[[1-7]\]$/,
    values: {
      'all shown': kycValues({ secret }),
      'nobody in particular': kycValues({ secret, unique: false }),
      'no status': kycValues({ secret, disclose: false }),
      'neither of both': kycValues({ secret, unique: false, disclose: false }),
      'a bearer': kycValues({ secret, credential: bearer }),
      'a status of 0': kycValues({ secret, credential: unlisted }),
      'any country': kycValues({ secret, credential: { country: other }, countries: [] }),
      'any country, and the same': kycValues({ secret, countries: [0n, ...COUNTRIES.slice(0, 7)] }),
      'another country': kycValues({ secret, credential: { country: other } }),
      'too young': kycValues({ secret, latestBirthDate: 19901230n }),
      'too low': kycValues({ secret, minLevel: 3n }),
      'too late': kycValues({ secret, now: 1_900_000_000n }),
    },
    never: [
      ...NEVER,
      ['half a person', { unique: (R + 1n) / 2n }],
      ['twice a person', { unique: 2n }],
      ['the opposite of a person', { unique: R - 1n }],
      ['another subject, who is nobody in particular', { subject: 1n, unique: 0n }],
      ['no country, where any will do', { country: 0n, countries: Array<bigint>(8).fill(0n) }],
      ['another country, where any will do', { country: other, countries: Array<bigint>(8).fill(0n) }],
    ],
  } satisfies Branches<ReturnType<typeof kycValues>>,
  {
    mapper: tokenValidation,
    alike: /^audience$/,
    values: {
      'all shown': tokenValidationValues({ secret }),
      'no status': tokenValidationValues({ secret, disclose: false }),
      'a bearer': tokenValidationValues({ secret, token: bearer }),
      'a status of 0': tokenValidationValues({ secret, token: unlisted }),
      'for anybody': tokenValidationValues({ secret, token: { audience: 0n }, audience: 0n }),
      'another audience': tokenValidationValues({ secret, audience: 1n }),
      'too early': tokenValidationValues({ secret, now: 0n }),
      'too late': tokenValidationValues({ secret, now: 1_800_001_000n }),
    },
    never: NEVER,
  } satisfies Branches<ReturnType<typeof tokenValidationValues>>,
  {
    mapper: consentVerification,
    values: {
      'all shown': consentVerificationValues({ secret }),
      'no status': consentVerificationValues({ secret, disclose: false }),
      'a bearer': consentVerificationValues({ secret, consent: bearer }),
      'a status of 0': consentVerificationValues({ secret, consent: unlisted }),
      'another purpose': consentVerificationValues({ secret, purpose: 1n }),
      'another controller': consentVerificationValues({ secret, controller: 1n }),
      'too early': consentVerificationValues({ secret, now: 0n }),
      'too late': consentVerificationValues({ secret, now: 1_800_001_000n }),
    },
    never: [...NEVER, ['another subject', { subject: 1n }]],
  } satisfies Branches<ReturnType<typeof consentVerificationValues>>,
]

for (const { mapper, values, never, alike = /^$/ } of branches as readonly Branches<unknown>[]) {
  const { id, publicNames, secretNames } = mapper
  describe(`circuit ${id}`, function () {
    this.timeout(60_000)
    const { signals, hasNoWitness, compiled } = mapped(mapper)
    const hunt = huntIn(id)

    it(`has at most ${DOMAIN} constraints, with its public signals`, () => {
      expect(artifacts[id].constraints).to.equal(compiled.system.constraints.length)
      expect(artifacts[id].constraints + publicNames.length + 1).to.be.at.most(DOMAIN)
    })

    for (const [branch, given] of Object.entries(values))
      it(`leaves its prover nothing to choose: ${branch}`, async () => {
        await signals(given)
        const input = mapper.witnessInput(given)
        const witness = await compiled.witness(input)
        const outputs = publicNames.length + secretNames.length - Object.values(input).flat().length
        expect(hunt.holds(witness)).to.equal(true)
        expect(hunt.movable(witness), 'movable').to.deep.equal([])
        const changeable = hunt.changeable(witness).filter((name) => !alike.test(name))
        expect(changeable, 'changeable').to.deep.equal([])
        expect(hunt.free(witness, outputs), 'free').to.deep.equal([])
      })

    for (const [what, changes] of never)
      it(`has no witness: ${what}`, () => hasNoWitness(Object.values(values)[0], changes, what))
  })
}
