/**
 * What the service knows of `kyc`: the credential's issuer is its own, the criteria are those that were asked, and the
 * credential is its person's still.
 * @module
 */
import Type, { type Static } from 'typebox'
import type { Caller } from '../../../caller.ts'
import { type KycCredential, kycMessage } from '../../../circuits/issuer-signature.ts'
import { filledCountries, KYC_COUNTRIES, kyc as kycCircuit } from '../../../circuits/mappers/kyc.ts'
import type { Issuer } from '../../../keys/issuer.ts'
import { ASKABLE_LEVELS, PersonParams } from '../../kyc/schemas.ts'
import type { KycService } from '../../kyc/service.ts'
import type { StatusesService } from '../../status/service.ts'
import { falseStatement, type IssuerLookup, type Statement } from '../statement.ts'
import { CLOSED, issuedSignals, Signal, signature } from './schemas.ts'
import {
  demandIssued,
  element,
  elements,
  isIssuedOver,
  keyReasons,
  mismatch,
  numbers,
  recipientOf,
  type Signed,
  signatureOf,
} from './signed.ts'

const MAX_AGE_YEARS = 150

/** What of the credential is shown. */
const shown = {
  unique: Type.Optional(
    Type.Boolean({
      description:
        'Whether the person can act only once for this purpose, whichever credential they show (default). If false, the proof cannot be consumed.',
    }),
  ),
  disclose: Type.Optional(
    Type.Boolean({
      description:
        'Whether the proof tells the status of the credential, so that a revoked one is refused (default). Two proofs that tell it are linkable.',
    }),
  ),
}

const KycSignals = Type.Object(
  {
    subject: Signal,
    birthDate: Signal,
    country: Signal,
    level: Signal,
    expiresAt: Signal,
    secret: Signal,
    ...issuedSignals,
    ...signature,
    minLevel: Signal,
    latestBirthDate: Signal,
    countries: Type.Optional(Type.Array(Signal, { minItems: 1, maxItems: KYC_COUNTRIES })),
    ...shown,
  },
  { title: 'KycSignals', description: 'A credential with its signature, and the criteria.' },
)
type KycSignals = Static<typeof KycSignals>
/** What may be asked of a person. */
export const askedOfPerson = {
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
  countries: Type.Optional(
    Type.Array(Type.String({ pattern: '^[A-Za-z]{2,3}$' }), {
      minItems: 1,
      maxItems: KYC_COUNTRIES,
      description: 'Accepted countries, ISO 3166-1 alpha-2 or alpha-3. Default: any.',
    }),
  ),
}
const KycOfPerson = Type.Object(
  {
    userId: PersonParams.properties.userId,
    ...askedOfPerson,
    ...shown,
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
  readonly kyc: Pick<KycService, 'forCircuit' | 'criteria' | 'sentence' | 'isChecked'>
  readonly statuses: Pick<StatusesService, 'isSet'>
  readonly issuerOf: IssuerLookup
}

interface Asked extends Signed {
  readonly credential: KycCredential
  readonly secret: bigint
  readonly minLevel: bigint
  /** yyyymmdd */
  readonly latestBirthDate: bigint
  readonly countries: readonly bigint[]
}

export const kycStatement = ({ issuer, kyc, statuses, issuerOf }: Deps): Statement => {
  const ofPerson = async (caller: Caller, { userId, ...asked }: KycOfPerson): Promise<Asked> => {
    const criteria = kyc.criteria(asked)
    const found = await kyc.forCircuit(caller, userId)
    if (found === undefined) throw falseStatement('The person is not verified, or has no credential.')
    return { ...found, ...criteria }
  }

  /** Whoever has a credential and its secret knows its signals. Only what was neither replaced nor revoked is proved. */
  const raw = async (caller: Caller, given: KycSignals, at: number): Promise<Asked> => {
    const credential = {
      ...elements(['subject', 'country'], given),
      ...numbers(['birthDate', 'level', 'expiresAt'], given),
      ...recipientOf(given),
    }
    const criteria = {
      ...numbers(['minLevel', 'latestBirthDate'], given),
      countries: (given.countries ?? []).map((country, i) => element(`countries/${i}`, country)),
    }
    const signed = await signatureOf(issuer, given)
    await demandIssued(issuer, caller, credential, kycMessage(credential), signed, at)
    if (await statuses.isSet(Number(credential.status)))
      throw falseStatement('The credential was replaced, or its person was erased.')
    return { credential, ...elements(['secret'], given), ...signed, ...criteria }
  }

  return {
    circuit: kycCircuit,
    decision: 'decision',
    spends: 'person',
    status: 'waivable',
    inputs: KycInputs,
    vouched: {
      issuer: async ({ publicSignals }) =>
        (await issuerOf(kycCircuit.id, kycCircuit.read(publicSignals).disclosedStatus))?.organisation,
      sentence: ({ publicSignals }) => kyc.sentence(kycCircuit.read(publicSignals)),
      isPerson: ({ publicSignals }) => kyc.isChecked(kycCircuit.read(publicSignals)),
    },

    async prepare(caller, inputs, at) {
      // They fit the schema.
      const { unique = true, disclose = true, ...given } = inputs as KycOfPerson | KycSignals
      const asked = await ('secret' in given ? raw(caller, given, at) : ofPerson(caller, given))
      const countries = filledCountries(asked.countries)
      return {
        statement: {
          minLevel: String(asked.minLevel),
          latestBirthDate: String(asked.latestBirthDate),
          countries: countries.map(String),
          unique: unique ? '1' : '0',
          disclose: disclose ? '1' : '0',
        },
        signals({ ctx, scope, now }) {
          const values = { ...asked, countries, unique, disclose, now, scope, ctx }
          return { publicSignals: kycCircuit.publicSignals(values), witness: kycCircuit.witnessInput(values) }
        },
      }
    },

    isOver: (publicSignals, now) =>
      isIssuedOver(issuerOf, kycCircuit.id, kycCircuit.read(publicSignals).disclosedStatus, now),

    async check({ publicSignals, statement, now }) {
      const { issuerX, issuerY, ...shown } = kycCircuit.read(publicSignals)
      const { minLevel, latestBirthDate, countries, unique } = shown
      const criteria = { minLevel, latestBirthDate, countries, unique }
      return [
        ...(await keyReasons(issuer, { x: issuerX, y: issuerY }, now, 'ISSUER_UNKNOWN')),
        ...mismatch(statement, criteria, 'CRITERIA_MISMATCH'),
      ]
    },
  }
}
