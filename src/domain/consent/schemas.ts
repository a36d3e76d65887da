/** Wire shapes of consents. @module */
import Type, { type Static } from 'typebox'
import { ONE_LINE } from '../../json/patterns.ts'
import { askedId, DateTime, idOf, Nullable, orNull } from '../../json/schemas.ts'

/** The circuit consent_verification has as many places. */
const MAX_PURPOSES = 8
const MAX_PURPOSE_CHARACTERS = 128
const MAX_DATA_CATEGORIES = 16
const MAX_DATA_CATEGORY_CHARACTERS = 128
const MAX_SUBJECT_CHARACTERS = 256
const MAX_CONTROLLER_CHARACTERS = 256
const MAX_LEGAL_BASIS_CHARACTERS = 128
const MAX_METHOD_CHARACTERS = 128
const MAX_URL_CHARACTERS = 2048
const MAX_LANGUAGE_CHARACTERS = 35
const MAX_REASON_CHARACTERS = 200
/** More than any receipt has that was made here, all texts at their longest and each character four bytes. */
const MAX_RECEIPT_CHARACTERS = 65_536

const name = (maxLength: number, description?: string) =>
  Type.String({ minLength: 1, maxLength, pattern: ONE_LINE, ...(description && { description }) })

const ConsentId = idOf('cns')
const AskedConsentId = askedId('cns', { description: '`cns_…`' })
const SubjectId = Type.String({
  minLength: 1,
  maxLength: MAX_SUBJECT_CHARACTERS,
  description: 'Who consents. Only a keyed hash of it is kept.',
})
export const Receipt = Type.String({
  minLength: 1,
  maxLength: MAX_RECEIPT_CHARACTERS,
  description: 'Compact JWS of POST /api/consent/log.',
})
const Controller = name(MAX_CONTROLLER_CHARACTERS, 'Who may use the data: a name or a URI, compared as text.')
const Purpose = name(MAX_PURPOSE_CHARACTERS, 'What the data may be used for, compared as text.')
const DataCategories = Type.Array(name(MAX_DATA_CATEGORY_CHARACTERS), {
  minItems: 1,
  maxItems: MAX_DATA_CATEGORIES,
  uniqueItems: true,
})

const ConsentAnswer = Type.Enum(['given', 'refused'], { default: 'given' })
const ConsentStatus = Type.Enum(['given', 'refused', 'withdrawn', 'expired', 'superseded'], {
  description:
    'Where several are true, the first of withdrawn, superseded (for all its purposes), expired counts.',
})
export type ConsentStatus = Static<typeof ConsentStatus>

export const LogConsent = Type.Object(
  {
    subjectId: SubjectId,
    controller: Controller,
    purposes: Type.Array(Purpose, {
      minItems: 1,
      maxItems: MAX_PURPOSES,
      uniqueItems: true,
      description:
        'For each of them this record takes the place of earlier ones of the same subject and controller.',
    }),
    dataCategories: Type.Optional(DataCategories),
    status: Type.Optional(ConsentAnswer),
    legalBasis: Nullable(name(MAX_LEGAL_BASIS_CHARACTERS, 'Such as `consent` or `explicit_consent`.')),
    noticeUrl: Nullable(
      Type.String({
        minLength: 1,
        maxLength: MAX_URL_CHARACTERS,
        description: 'https URL of the notice that was shown. It is not called.',
      }),
    ),
    noticeHash: Nullable(
      Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256 of that notice, lower-case hex.' }),
    ),
    method: Nullable(name(MAX_METHOD_CHARACTERS, 'How it was asked, such as `web_form`.')),
    jurisdiction: Nullable(
      Type.String({
        pattern: '^[A-Z]{2}(-[A-Z0-9]{1,3})?$',
        description: 'ISO 3166-1 alpha-2 code of a country, or ISO 3166-2 code of a part of it.',
      }),
    ),
    expiresAt: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'In the future. Absent: until it is withdrawn or superseded.',
      }),
    ),
    language: Nullable(
      Type.String({
        minLength: 2,
        maxLength: MAX_LANGUAGE_CHARACTERS,
        description: 'Of the notice, a BCP 47 tag.',
      }),
    ),
  },
  { title: 'LogConsent' },
)
export type LogConsent = Static<typeof LogConsent>

export const ConsentLogged = Type.Object(
  {
    consentId: ConsentId,
    status: Type.Enum(['given', 'refused']),
    version: Type.Integer({
      minimum: 1,
      description: 'The how-manieth record it is of this subject and controller.',
    }),
    recordedAt: DateTime,
    receipt: Type.String({
      description:
        'Compact JWS: EdDSA, typ `cr+jws`, a key of /.well-known/jwks.json. The payload has the terms of ISO/IEC TS 27560.',
    }),
    digest: Type.String({ description: 'SHA-256 of the receipt, lower-case hex.' }),
    leafHash: Type.String({ description: 'Of its entry in the ledger, lower-case hex.' }),
    leafIndex: Type.Integer({ minimum: 0 }),
  },
  { title: 'ConsentLogged' },
)
export type ConsentLogged = Static<typeof ConsentLogged>

/** Members of the answer that recorded a consent, which may come back with its id as they were. */
export const AS_LOGGED = [
  'status',
  'version',
  'recordedAt',
  'receipt',
  'digest',
  'leafHash',
  'leafIndex',
] as const
/** The same as optional members of a question. */
export const asLogged = Type.Partial(Type.Pick(ConsentLogged, [...AS_LOGGED])).properties

const askedOfConsent = {
  controller: Type.Optional(Controller),
  dataCategories: Type.Optional(DataCategories),
  at: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'Answers as of then, not after now. Absent: now.',
    }),
  ),
}
export const VerifyConsent = Type.Union(
  [
    Type.Object({
      ...asLogged,
      consentId: AskedConsentId,
      subjectId: Type.Optional(SubjectId),
      purpose: Type.Optional(Purpose),
      ...askedOfConsent,
    }),
    Type.Object({ subjectId: SubjectId, purpose: Purpose, ...askedOfConsent }),
  ],
  {
    title: 'VerifyConsent',
    description:
      '`consentId`, beside which all of what POST /api/consent/log answered may stand; or `subjectId` with `purpose`.',
  },
)
export type VerifyConsent = Static<typeof VerifyConsent>

/** Why a consent does not hold, with a sentence for people. */
export const CONSENT_REASONS = {
  no_consent: 'Nothing is recorded of this subject and purpose, or was not by then.',
  refused: 'It was asked and refused.',
  withdrawn: 'It was withdrawn.',
  expired: 'Its time is over.',
  superseded: 'A later record of the same subject and controller decides about this.',
  subject_mismatch: 'It is the consent of somebody else.',
  controller_mismatch: 'It was given to another controller.',
  controller_required: 'Several controllers asked for this purpose; say in `controller` for whom.',
  purpose_mismatch: 'It is for other purposes.',
  purpose_required: 'It was superseded for some of its purposes; say in `purpose` for which.',
  data_category_mismatch: 'It does not name all of the data categories.',
} as const satisfies Record<string, string>
export type ConsentReason = keyof typeof CONSENT_REASONS

export const ConsentVerdict = Type.Object(
  {
    valid: Type.Boolean(),
    consentId: orNull(ConsentId),
    status: orNull(ConsentStatus),
    purpose: orNull(Type.String({ description: 'Which was asked, or its only one.' })),
    expiresAt: orNull(DateTime),
    reason: Type.Optional(
      Type.Enum(Object.keys(CONSENT_REASONS) as ConsentReason[], { description: 'Why it is not valid.' }),
    ),
  },
  { title: 'ConsentVerdict', description: 'Of a consent of somebody else only its id is told.' },
)
export type ConsentVerdict = Static<typeof ConsentVerdict>

export const ConsentParams = Type.Object({ consentId: AskedConsentId })

const ConsentEvent = Type.Object(
  {
    status: ConsentStatus,
    at: DateTime,
    purposes: Type.Array(Type.String(), { description: 'Which of its purposes this is about.' }),
    supersededBy: Type.Optional(Type.String({ description: '`cns_…` of the later record.' })),
    reason: Type.Optional(Type.String({ description: 'Of the withdrawal.' })),
  },
  { title: 'ConsentEvent' },
)
export type ConsentEvent = Static<typeof ConsentEvent>

export const ConsentStanding = Type.Object(
  {
    consentId: ConsentId,
    status: ConsentStatus,
    version: ConsentLogged.properties.version,
    purposes: Type.Array(Type.String()),
    history: Type.Array(ConsentEvent, { description: 'What became of it, the oldest first.' }),
  },
  { title: 'ConsentStanding' },
)
export type ConsentStanding = Static<typeof ConsentStanding>

export const RevokeConsent = Type.Object(
  {
    ...asLogged,
    consentId: AskedConsentId,
    reason: Nullable(
      Type.String({
        minLength: 1,
        maxLength: MAX_REASON_CHARACTERS,
        description: 'For yourselves: told again by its status, never in the ledger.',
      }),
    ),
  },
  { title: 'RevokeConsent' },
)
export type RevokeConsent = Static<typeof RevokeConsent>

export const ConsentWithdrawn = Type.Object(
  { consentId: ConsentId, status: Type.Literal('withdrawn'), withdrawnAt: DateTime },
  { title: 'ConsentWithdrawn' },
)
export type ConsentWithdrawn = Static<typeof ConsentWithdrawn>
