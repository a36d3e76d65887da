/**
 * What the service knows of `kyc`: the credential's issuer is its own, the criteria are those that were asked, and the
 * credential is its person's still.
 * @module
 */
import Type, { type Static } from 'typebox'
import type { Caller } from '../../../caller.ts'
import { type KycCredential, kycMessage } from '../../../circuits/issuer-signature.ts'
import {
  filledCountries,
  KYC_COUNTRIES,
  kyc as kycCircuit,
  kycDecision,
  kycNullifier,
} from '../../../circuits/mappers/kyc.ts'
import type { Issuer } from '../../../keys/issuer.ts'
import { ASKABLE_LEVELS, PersonParams } from '../../kyc/schemas.ts'
import type { KycService } from '../../kyc/service.ts'
import { falseStatement, type ReasonCode, type Stated, type Statement } from '../statement.ts'
import { CLOSED, Signal, signature } from './schemas.ts'
import {
  demandIssued,
  element,
  elements,
  keyReasons,
  mismatch,
  numbers,
  type Signed,
  signatureOf,
} from './signed.ts'

const MAX_AGE_YEARS = 150

const KycSignals = Type.Object(
  {
    subject: Signal,
    birthDate: Signal,
    country: Signal,
    level: Signal,
    expiresAt: Signal,
    secret: Signal,
    ...signature,
    minLevel: Signal,
    latestBirthDate: Signal,
    countries: Type.Array(Signal, { minItems: 1, maxItems: KYC_COUNTRIES }),
  },
  { title: 'KycSignals', description: 'A credential with its signature, and the criteria.' },
)
type KycSignals = Static<typeof KycSignals>
const KycOfPerson = Type.Object(
  {
    userId: PersonParams.properties.userId,
    minLevel: Type.Enum([...ASKABLE_LEVELS]),
    latestBirthDate: Type.Optional(
      Type.String({
        pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$',
        description: 'The latest accepted birth date.',
      }),
    ),
    minAge: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_AGE_YEARS,
        description: 'Alternative to latestBirthDate: minimum age in years, today in UTC.',
      }),
    ),
    countries: Type.Array(Type.String({ pattern: '^[A-Za-z]{2,3}$' }), {
      minItems: 1,
      maxItems: KYC_COUNTRIES,
      description: 'Accepted countries, ISO 3166-1 alpha-2 or alpha-3.',
    }),
  },
  {
    ...CLOSED,
    title: 'KycOfPerson',
    description: 'A person verified by the service, and the criteria.',
  },
)
type KycOfPerson = Static<typeof KycOfPerson>

/** The first is closed, so that inputs with a `secret` are signals. */
const KycInputs = Type.Union([KycOfPerson, KycSignals])

interface Deps {
  readonly issuer: Pick<Issuer, 'current' | 'isValid'>
  readonly kyc: Pick<
    KycService,
    'forCircuit' | 'issued' | 'referenced' | 'criteria' | 'sentence' | 'isChecked'
  >
}

interface Asked extends Signed {
  readonly credential: KycCredential
  readonly minLevel: bigint
  /** yyyymmdd */
  readonly latestBirthDate: bigint
  readonly countries: readonly bigint[]
  /** Names the credential in the statement. */
  readonly reference: string
}

export const kycStatement = ({ issuer, kyc }: Deps): Statement => {
  const ofPerson = async (caller: Caller, { userId, ...asked }: KycOfPerson): Promise<Asked> => {
    const criteria = kyc.criteria(asked)
    const found = await kyc.forCircuit(caller, userId)
    if (found === undefined) throw falseStatement('The person is not verified, or has no credential.')
    return { ...found, ...criteria }
  }

  /** Whoever holds a credential knows its signals. Only one that was issued and neither replaced nor erased can be proved. */
  const raw = async (given: KycSignals, at: number): Promise<Asked> => {
    const credential = {
      ...elements(['subject', 'country', 'secret'], given),
      ...numbers(['birthDate', 'level', 'expiresAt'], given),
    }
    const criteria = {
      ...numbers(['minLevel', 'latestBirthDate'], given),
      countries: given.countries.map((country, i) => element(`countries/${i}`, country)),
    }
    const signed = await signatureOf(issuer, given)
    await demandIssued(issuer, kycMessage(credential), signed, at)
    const issued = await kyc.issued(credential)
    if (issued === undefined) throw falseStatement('This credential was not issued here.')
    if (!issued.isCurrent) throw falseStatement('The credential was replaced, or its person was erased.')
    return { credential, ...signed, ...criteria, reference: issued.reference }
  }

  /** All credentials of a person have one nullifier: a proof of an old one may name the new one, and is held to it. */
  const credentialReasons = async (
    { credential }: Stated,
    shown: ReturnType<typeof kycCircuit.read>,
  ): Promise<ReasonCode[]> => {
    const named = await kyc.referenced(credential)
    if (named === undefined || kycNullifier(named.subject, shown.scope) !== shown.nullifier)
      return ['CREDENTIAL_UNKNOWN']
    const { current } = named
    const counts = current !== undefined && kycDecision(current, shown) === shown.decision
    return counts ? [] : ['CREDENTIAL_REVOKED']
  }

  return {
    circuit: kycCircuit,
    decision: 'decision',
    nullifier: 'nullifier',
    inputs: KycInputs,
    vouched: {
      issuer: async ({ statement }) => (await kyc.referenced(statement.credential))?.organisation,
      sentence: ({ publicSignals }) => kyc.sentence(kycCircuit.read(publicSignals)),
      isPerson: ({ publicSignals }) => kyc.isChecked(kycCircuit.read(publicSignals)),
    },

    async prepare(caller, inputs, at) {
      // They fit the schema.
      const given = inputs as KycOfPerson | KycSignals
      const { reference, ...asked } = await ('secret' in given ? raw(given, at) : ofPerson(caller, given))
      const countries = filledCountries(asked.countries)
      return {
        statement: {
          minLevel: String(asked.minLevel),
          latestBirthDate: String(asked.latestBirthDate),
          countries: countries.map(String),
          credential: reference,
        },
        signals({ ctx, scope, now }) {
          const values = { ...asked, countries, now, scope, ctx }
          return { publicSignals: kycCircuit.publicSignals(values), witness: kycCircuit.witnessInput(values) }
        },
      }
    },

    async check({ publicSignals, statement, now }) {
      const shown = kycCircuit.read(publicSignals)
      const { issuerX, issuerY, minLevel, latestBirthDate, countries } = shown
      return [
        ...(await keyReasons(issuer, { x: issuerX, y: issuerY }, now, 'ISSUER_UNKNOWN')),
        ...mismatch(statement, { minLevel, latestBirthDate, countries }, 'CRITERIA_MISMATCH'),
        ...(await credentialReasons(statement, shown)),
      ]
    },
  }
}
