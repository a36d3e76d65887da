/** Wire shapes of KYC. @module */
import Type, { type Static } from 'typebox'
import { DateTime, dateTime, idOf, OfLog, orNull } from '../../json/schemas.ts'
import { BindingSchema, Holder, KycCredentialJson } from '../holders/schemas.ts'

/** What a level is worth inside the circuit: its place here. */
export const KYC_LEVELS = ['none', 'basic', 'standard', 'enhanced'] as const
export type KycLevel = (typeof KYC_LEVELS)[number]
export const ASKABLE_LEVELS = ['basic', 'standard', 'enhanced'] as const
export type AskableLevel = (typeof ASKABLE_LEVELS)[number]
const KYC_STATUSES = ['verified', 'pending', 'rejected', 'review'] as const
export type KycStatus = (typeof KYC_STATUSES)[number]
const DOCUMENT_TYPES = ['passport', 'identity_card', 'residence_permit', 'driving_licence', 'other'] as const
const CHECK_RESULTS = ['passed', 'failed', 'skipped'] as const
const SOURCES = ['self_asserted', 'provider'] as const

/** Checks plausibility only, here; all other providers are configured. */
export const INTERNAL_PROVIDER = 'internal'

const MAX_USER_ID_CHARACTERS = 256
const MAX_NAME_CHARACTERS = 200
const MAX_ADDRESS_CHARACTERS = 200
const MAX_DOCUMENT_NUMBER_CHARACTERS = 40
/** Three lines of 30 or two of 44, with their ends; anything longer is none that ICAO 9303 knows. */
const MAX_MRZ_CHARACTERS = 120
const MAX_PROVIDER_CHARACTERS = 32
const MAX_CHECKS = 50
const MAX_CHECK_NAME_CHARACTERS = 64
const MAX_REASON_CHARACTERS = 200
const MAX_PROVIDER_REFERENCE_CHARACTERS = 200

/** Whether there is such a day is a check, not a matter of form. */
const Day = (description: string) => Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$', description })
const Country = Type.String({
  pattern: '^[A-Za-z]{1,3}$',
  description: 'ISO 3166-1 alpha-2 or alpha-3, or as written in a machine-readable zone.',
})

/** Clients take `.` and `..` out of paths: such a person could never be asked about again, nor erased. */
const NO_DOTS_ALONE = '^([^.\\n\\r][^\\n\\r]*|[.][^.\\n\\r][^\\n\\r]*|[.]{2}[^\\n\\r]+)$'
const UserId = Type.String({
  minLength: 1,
  maxLength: MAX_USER_ID_CHARACTERS,
  pattern: NO_DOTS_ALONE,
  description: 'Your own id of the person. Only a keyed hash of it is stored unencrypted.',
})
const name = Type.String({ minLength: 1, maxLength: MAX_NAME_CHARACTERS })
const addressPart = Type.Optional(Type.String({ maxLength: MAX_ADDRESS_CHARACTERS }))

export const KycData = Type.Object(
  {
    givenName: Type.Optional(name),
    familyName: Type.Optional(name),
    dateOfBirth: Type.Optional(Day('`yyyy-mm-dd`')),
    address: Type.Optional(
      Type.Object({
        line1: addressPart,
        line2: addressPart,
        city: addressPart,
        region: addressPart,
        postalCode: addressPart,
        country: Type.Optional(Country),
      }),
    ),
    document: Type.Optional(
      Type.Object({
        type: Type.Optional(Type.Enum([...DOCUMENT_TYPES])),
        number: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_DOCUMENT_NUMBER_CHARACTERS })),
        country: Type.Optional(Country),
        expiresAt: Type.Optional(Day('The last day on which it is valid, `yyyy-mm-dd`.')),
        mrz: Type.Optional(
          Type.String({
            maxLength: MAX_MRZ_CHARACTERS,
            description: 'Machine-readable zone (ICAO 9303: TD1, TD2 or TD3), its lines one after another.',
          }),
        ),
      }),
    ),
  },
  {
    title: 'KycData',
    description: 'Missing data is not an error: the answer is `review` and names the failed checks.',
  },
)
export type KycData = Static<typeof KycData>

export const VerifyPerson = Type.Object(
  {
    userId: UserId,
    provider: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_PROVIDER_CHARACTERS,
        default: INTERNAL_PROVIDER,
        description: 'The provider that checks: `internal`, or one configured by the operator.',
      }),
    ),
    data: KycData,
    holder: Holder,
    level: Type.Optional(
      Type.Enum([...ASKABLE_LEVELS], {
        description:
          'The level to reach. Default: basic with `internal`, which reaches no higher level; otherwise standard.',
      }),
    ),
  },
  { title: 'VerifyPerson' },
)
export type VerifyPerson = Static<typeof VerifyPerson>

const Check = Type.Object({
  name: Type.String({ maxLength: MAX_CHECK_NAME_CHARACTERS }),
  result: Type.Enum([...CHECK_RESULTS]),
  reason: Type.Optional(
    Type.String({ maxLength: MAX_REASON_CHARACTERS, description: 'Why it failed, as text.' }),
  ),
})
export type Check = Static<typeof Check>

const Level = Type.Enum([...KYC_LEVELS], {
  description: 'The level reached: `none` unless the person is verified.',
})
const Source = Type.Enum([...SOURCES], {
  description: '`self_asserted`: the data was not compared with a person or a document.',
})
const Reference = idOf('kyc')

const found = {
  level: Level,
  source: Source,
  provider: Type.String(),
  reference: Reference,
  providerReference: orNull(Type.String({ description: "The provider's own reference." })),
  verifiedAt: orNull(dateTime('Null unless the person is verified.')),
  expiresAt: orNull(dateTime('Until when the verification is valid.')),
  checks: Type.Array(Check),
  credentialIssued: Type.Boolean({ description: 'Whether there is a credential for the circuit `kyc`.' }),
}

export const PersonVerified = Type.Object(
  {
    status: Type.Enum([...KYC_STATUSES]),
    ...found,
    checkedAt: DateTime,
    credential: orNull(KycCredentialJson, {
      description:
        'Null where none was issued, or its person was erased since. Told once, and to whoever repeats the request.',
    }),
    digest: Type.String({
      description: 'Salted commitment to all of it, as in the ledger; lower-case hex.',
    }),
    leafHash: Type.String({ description: 'Leaf hash of the ledger entry, lower-case hex.' }),
    log: OfLog,
    leafIndex: Type.Integer({ minimum: 0 }),
  },
  { title: 'PersonVerified' },
)
export type PersonVerified = Static<typeof PersonVerified>

/** What a provider answers. Unknown members are ignored. */
export const ProviderAnswer = Type.Object({
  status: Type.Enum([...KYC_STATUSES]),
  level: Type.Enum([...KYC_LEVELS]),
  reference: Type.Optional(Type.String({ maxLength: MAX_PROVIDER_REFERENCE_CHARACTERS })),
  expiresAt: Type.Optional(DateTime),
  checks: Type.Optional(Type.Array(Check, { maxItems: MAX_CHECKS })),
  attributes: Type.Optional(
    Type.Object({
      dateOfBirth: Type.Optional(Day('The date of birth as the provider found it.')),
      country: Type.Optional(Country),
    }),
  ),
})
export type ProviderAnswer = Static<typeof ProviderAnswer>

export const PersonParams = Type.Object({ userId: UserId })

export const PersonStanding = Type.Object(
  {
    status: Type.Enum([...KYC_STATUSES, 'expired'], {
      description:
        'The status of the newest check that verified or rejected the person; if there is none, of the newest check.',
    }),
    ...found,
    checkedAt: DateTime,
  },
  { title: 'PersonStanding' },
)
export type PersonStanding = Static<typeof PersonStanding>

export const PersonHeld = Type.Object(
  {
    userId: Type.String(),
    checks: Type.Array(
      Type.Object({
        committed: Type.Record(Type.String(), Type.Unknown(), {
          description: 'Input and result of the check; the digest in the ledger is a commitment to both.',
        }),
        salt: Type.String({ description: 'base64url, 32 bytes: opens the commitment.' }),
        digest: Type.String({ description: 'Lower-case hex.' }),
        log: OfLog,
        leafIndex: Type.Integer({ minimum: 0 }),
        credentialIssued: Type.Boolean(),
      }),
      { description: 'Newest first, at most 100.' },
    ),
  },
  { title: 'PersonHeld' },
)
export type PersonHeld = Static<typeof PersonHeld>

export const PersonErased = Type.Object(
  { success: Type.Literal(true), status: Type.Literal('erased'), erasedAt: DateTime },
  { title: 'PersonErased' },
)
export type PersonErased = Static<typeof PersonErased>

const Signal = Type.String({ description: 'Canonical decimal.' })

export const PersonCredential = Type.Object(
  {
    reference: Reference,
    country: Type.String({ description: 'ISO 3166-1 alpha-2.' }),
    level: Level,
    expiresAt: DateTime,
    binding: BindingSchema,
    signals: Type.Object(
      {
        subject: Signal,
        birthDate: Signal,
        country: Signal,
        level: Signal,
        expiresAt: Signal,
        secret: Type.Optional(Signal),
        organisation: Signal,
        status: Signal,
        r8x: Signal,
        r8y: Signal,
        s: Signal,
        issuerX: Signal,
        issuerY: Signal,
      },
      {
        description:
          'The inputs of the circuit `kyc`. Without `secret` where the credential is bound to a holder, who alone can make proofs; otherwise anyone who has them can.',
      },
    ),
  },
  { title: 'PersonCredential' },
)
export type PersonCredential = Static<typeof PersonCredential>
