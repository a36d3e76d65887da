/** Inputs of statements about what is signed, attested or paid, as callers send them. @module */
import Type, { type Static } from 'typebox'
import { askedId } from '../../../json/schemas.ts'
import { LogConsent, Receipt, RevokeConsent } from '../../consent/schemas.ts'
import { ASKABLE_LEVELS, PersonParams } from '../../kyc/schemas.ts'

const KYC_COUNTRIES = 8
const MAX_AGE_YEARS = 150
const CONSENT_PURPOSES = 8
const AGGREGATE_MEMBERS = 8
const MAX_TOKEN_CHARACTERS = 8192
const MAX_AUDIENCE_CHARACTERS = 256
/** Longer than any proof of a payment; whatever is wrong with it is told by the payments' own reader. */
const MAX_PROOF_DATA_CHARACTERS = 256
const CLOSED = { additionalProperties: false } as const

/** That it is below the modulus is asked when it is read. */
const Signal = Type.String({
  pattern: '^(0|[1-9][0-9]{0,76})$',
  description: 'An element of the BN254 scalar field: a decimal without leading zeros.',
})

/** The signature of an issuer, and its key where that isn't the one that signs now. */
const signature = {
  r8x: Signal,
  r8y: Signal,
  s: Signal,
  issuerX: Type.Optional(Signal),
  issuerY: Type.Optional(Signal),
}
export interface SignatureSignals {
  readonly r8x: string
  readonly r8y: string
  readonly s: string
  readonly issuerX?: string
  readonly issuerY?: string
}

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
  { title: 'KycSignals', description: 'A credential with its signature, and what is asked of it.' },
)
export type KycSignals = Static<typeof KycSignals>
const KycOfPerson = Type.Object(
  {
    userId: PersonParams.properties.userId,
    minLevel: Type.Enum([...ASKABLE_LEVELS]),
    latestBirthDate: Type.Optional(
      Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$', description: 'Who was born later is refused.' }),
    ),
    minAge: Type.Optional(
      Type.Integer({ minimum: 0, maximum: MAX_AGE_YEARS, description: 'Instead: years, today in UTC.' }),
    ),
    countries: Type.Array(Type.String({ pattern: '^[A-Za-z]{2,3}$' }), {
      minItems: 1,
      maxItems: KYC_COUNTRIES,
      description: 'Those that are accepted, ISO 3166-1 alpha-2 or alpha-3.',
    }),
  },
  {
    ...CLOSED,
    title: 'KycOfPerson',
    description: 'A person whom the service has verified, and what is asked of them.',
  },
)
export type KycOfPerson = Static<typeof KycOfPerson>

/** The first is closed, so that inputs with a `secret` are signals. */
export const KycInputs = Type.Union([KycOfPerson, KycSignals])
export type KycInputs = Static<typeof KycInputs>

export const Token = Type.String({
  minLength: 1,
  maxLength: MAX_TOKEN_CHARACTERS,
  description: 'Compact JWS of POST /api/tokens/generate.',
})
export const TokenId = askedId('tok')
export const Audience = Type.String({
  minLength: 1,
  maxLength: MAX_AUDIENCE_CHARACTERS,
  description: 'Who asks. Without it only tokens for any audience are valid.',
})

export const TokenSignals = Type.Object(
  {
    tokenId: Signal,
    subject: Signal,
    tokenAudience: Signal,
    claims: Signal,
    issuedAt: Signal,
    expiresAt: Signal,
    secret: Signal,
    ...signature,
    audience: Type.Optional(Signal),
  },
  { title: 'TokenSignals', description: "A token's fields with their signature, and the audience." },
)
export const ByToken = Type.Object({ token: Token, audience: Type.Optional(Audience) }, CLOSED)
export const ByTokenId = Type.Object({ tokenId: TokenId, audience: Type.Optional(Audience) }, CLOSED)

/** The first two are closed, so that inputs with a `secret` are signals. */
export const TokenInputs = Type.Union([ByToken, ByTokenId, TokenSignals])
export type TokenInputs = Static<typeof TokenInputs>

/** Parts of a question about a kept consent, as the routes of consents take them. */
const CONSENT_QUESTION = {
  consentId: RevokeConsent.properties.consentId,
  receipt: Receipt,
  purpose: LogConsent.properties.purposes.items,
  controller: LogConsent.properties.controller,
  subjectId: LogConsent.properties.subjectId,
} as const

export const ConsentSignals = Type.Object(
  {
    subject: Signal,
    secret: Signal,
    consentController: Signal,
    purposes: Type.Array(Signal, {
      minItems: 1,
      maxItems: CONSENT_PURPOSES,
      description: 'In the order in which they were signed.',
    }),
    from: Signal,
    to: Signal,
    ...signature,
    controller: Signal,
    purpose: Signal,
  },
  { title: 'ConsentSignals', description: "A consent's fields with their signature, and what is asked." },
)
export type ConsentSignals = Static<typeof ConsentSignals>

const askedOfConsent = {
  purpose: CONSENT_QUESTION.purpose,
  controller: Type.Optional(CONSENT_QUESTION.controller),
  subjectId: Type.Optional(CONSENT_QUESTION.subjectId),
}
export const ByConsentId = Type.Object({ consentId: CONSENT_QUESTION.consentId, ...askedOfConsent }, CLOSED)
export const ByReceipt = Type.Object({ receipt: CONSENT_QUESTION.receipt, ...askedOfConsent }, CLOSED)

/** The first two are closed, so that inputs with a `secret` are signals. */
export const ConsentInputs = Type.Union([ByConsentId, ByReceipt, ConsentSignals])
export type ConsentInputs = Static<typeof ConsentInputs>

export const AggregationInputs = Type.Object(
  {
    proofIds: Type.Array(askedId('prf'), {
      minItems: 1,
      maxItems: AGGREGATE_MEMBERS,
      uniqueItems: true,
      description: 'Proofs of your organisation. Each is verified again before the aggregate is signed.',
    }),
  },
  { title: 'AggregationInputs' },
)
export type AggregationInputs = Static<typeof AggregationInputs>

/** A payment as it was presented. */
export const PresentedPayment = Type.Object(
  {
    proofData: Type.String({ minLength: 1, maxLength: MAX_PROOF_DATA_CHARACTERS }),
    amount: Type.Number({ exclusiveMinimum: 0, description: 'In major units.' }),
    currency: Type.Optional(Type.String({ description: 'ISO 4217 code; default GBP.' })),
    timestamp: Type.Optional(
      Type.Union([Type.String(), Type.Number()], {
        description: 'As it was presented; left out where the payment was presented without one.',
      }),
    ),
  },
  { ...CLOSED, title: 'PresentedPayment' },
)
export type PresentedPayment = Static<typeof PresentedPayment>

export const PaymentSignals = Type.Object(
  {
    cardNullifier: Signal,
    amount: Signal,
    time: Signal,
    salt: Signal,
    terminalSecret: Signal,
    limit: Signal,
    from: Signal,
    to: Signal,
  },
  { title: 'PaymentSignals', description: 'Of a payment that the service holds.' },
)
export type PaymentSignals = Static<typeof PaymentSignals>

/** The first is closed, so that inputs with a `salt` are signals. */
export const PaymentInputs = Type.Union([PresentedPayment, PaymentSignals])
export type PaymentInputs = Static<typeof PaymentInputs>
