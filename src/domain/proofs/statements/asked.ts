/**
 * What can be asked in a challenge: of the circuits whose proofs an organisation vouches for, the question without a credential,
 * as `ctx` binds it. The files of the circuits know how it is checked.
 * @module
 */
import Type, { type Static, type TSchema } from 'typebox'
import { filledCountries } from '../../../circuits/mappers/kyc.ts'
import { h248 } from '../../../rules/encode.ts'
import { LogConsent } from '../../consent/schemas.ts'
import type { KycService } from '../../kyc/service.ts'
import type { Stated } from '../statement.ts'
import { askedOfPerson } from './kyc.ts'
import { CLOSED } from './schemas.ts'
import { Audience } from './token_validation.ts'

/** How far a challenge goes beside its question. */
export interface Demands {
  /** Whether revocation must be seen. */
  readonly disclose: boolean
  /** Whether one person counts once. */
  readonly unique: boolean
}

/** The question of one circuit. */
export interface Question<Inputs = never> {
  /** Whether it can be left open whether the credential was revoked, and how often one person answers. */
  readonly hasChoice: boolean
  readonly inputs: TSchema
  /** @param inputs fit the schema @throws AppError validation_failed, whose paths begin at the inputs */
  statement(inputs: Inputs, demands: Demands): Stated
  /** What whoever answers YES shows, in the service's own words: nobody can choose one of them. */
  sentence(statement: Stated): string
}

const KycQuestion = Type.Object(askedOfPerson, { ...CLOSED, title: 'KycQuestion' })
const TokenQuestion = Type.Object(
  { audience: Type.Optional(Audience) },
  { ...CLOSED, title: 'TokenQuestion' },
)
const ConsentQuestion = Type.Object(
  { purpose: LogConsent.properties.purposes.items, controller: LogConsent.properties.controller },
  { ...CLOSED, title: 'ConsentQuestion' },
)

const bit = (is: boolean): string => (is ? '1' : '0')
const signal = (value: unknown): bigint => BigInt(String(value))

/** @returns by the id of the circuit */
export const createQuestions = (kyc: Pick<KycService, 'criteria' | 'sentence'>) => {
  const ofKyc: Question<Static<typeof KycQuestion>> = {
    hasChoice: true,
    inputs: KycQuestion,
    statement(inputs, { disclose, unique }) {
      const { minLevel, latestBirthDate, countries } = kyc.criteria(inputs)
      return {
        minLevel: String(minLevel),
        latestBirthDate: String(latestBirthDate),
        countries: filledCountries(countries).map(String),
        unique: bit(unique),
        disclose: bit(disclose),
      }
    },
    sentence: ({ minLevel, latestBirthDate, countries }) =>
      kyc.sentence({
        minLevel: signal(minLevel),
        latestBirthDate: signal(latestBirthDate),
        countries: Array.isArray(countries) ? countries.map(signal) : [],
      }),
  }
  const ofToken: Question<Static<typeof TokenQuestion>> = {
    hasChoice: false,
    inputs: TokenQuestion,
    statement: ({ audience }) => ({
      audience: audience === undefined ? '0' : String(h248(audience)),
      disclose: bit(true),
    }),
    sentence: () => 'Holds a valid token.',
  }
  const ofConsent: Question<Static<typeof ConsentQuestion>> = {
    hasChoice: false,
    inputs: ConsentQuestion,
    statement: ({ controller, purpose }) => ({
      controller: String(h248(controller)),
      purpose_element: String(h248(purpose)),
      disclose: bit(true),
    }),
    sentence: () => 'Holds a consent that is in force.',
  }
  return new Map<string, Question>([
    ['kyc', ofKyc],
    ['token_validation', ofToken],
    ['consent_verification', ofConsent],
  ])
}
