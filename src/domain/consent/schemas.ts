/** Wire shapes of consents. @module */
import Type, { type Static } from 'typebox'
import { ONE_LINE } from '../../json/patterns.ts'
import { askedId, DateTime, idOf, Nullable, OfLog, orNull } from '../../json/schemas.ts'
import { ConsentCredentialJson, Holder } from '../holders/schemas.ts'

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
  description: 'The person who consents. Only a keyed hash of it is stored.',
})
export const Receipt = Type.String({
  minLength: 1,
  maxLength: MAX_RECEIPT_CHARACTERS,
  description: 'Compact JWS of POST /api/consent/log.',
})
const Controller = name(
  MAX_CONTROLLER_CHARACTERS,
  'The party that may use the data: a name or a URI, compared as text.',
)
const Purpose = name(MAX_PURPOSE_CHARACTERS, 'What the data may be used for, compared as text.')
const DataCategories = Type.Array(name(MAX_DATA_CATEGORY_CHARACTERS), {
  minItems: 1,
  maxItems: MAX_DATA_CATEGORIES,
  uniqueItems: true,
})

const ConsentAnswer = Type.Enum(['given', 'refused'], { default: 'given' })
const ConsentStatus = Type.Enum(['given', 'refused', 'withdrawn', 'expired', 'superseded'], {
  description:
    'If several apply, the first of withdrawn, superseded (for all its purposes), expired is reported.',
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
      description: 'For each purpose this record replaces earlier ones of the same subject and controller.',
    }),
    dataCategories: Type.Optional(DataCategories),
    status: Type.Optional(ConsentAnswer),
    legalBasis: Nullable(name(MAX_LEGAL_BASIS_CHARACTERS, 'Such as `consent` or `explicit_consent`.')),
    noticeUrl: Nullable(
      Type.String({
        minLength: 1,
        maxLength: MAX_URL_CHARACTERS,
        description: 'https URL of the notice that was shown. The service does not fetch it.',
      }),
    ),
    noticeHash: Nullable(
      Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256 of that notice, lower-case hex.' }),
    ),
    method: Nullable(name(MAX_METHOD_CHARACTERS, 'How the consent was obtained, such as `web_form`.')),
    jurisdiction: Nullable(
      Type.String({
        pattern: '^[A-Z]{2}(-[A-Z0-9]{1,3})?$',
        description: 'ISO 3166-1 alpha-2 code of a country, or ISO 3166-2 code of a part of it.',
      }),
    ),
    expiresAt: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'In the future. Default: valid until it is withdrawn or superseded.',
      }),
    ),
    holder: Holder,
    language: Nullable(
      Type.String({
        minLength: 2,
        maxLength: MAX_LANGUAGE_CHARACTERS,
        description: 'Language of the notice, a BCP 47 tag.',
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
      description: 'Number of this record among those of the same subject and controller, from 1.',
    }),
    recordedAt: DateTime,
    receipt: Type.String({
      description:
        'Compact JWS: EdDSA, typ `cr+jws`, a key of /.well-known/jwks.json. The payload has the terms of ISO/IEC TS 27560.',
    }),
    credential: Type.Optional(
      orNull(ConsentCredentialJson, { description: 'Null where the consent was refused.' }),
    ),
    digest: Type.String({ description: 'SHA-256 of the receipt, lower-case hex.' }),
    leafHash: Type.String({ description: 'Leaf hash of its ledger entry, lower-case hex.' }),
    log: OfLog,
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
  'credential',
  'digest',
  'leafHash',
  'log',
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
      description: 'Check the state at this time, not in the future. Default: now.',
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
      '`consentId`, or the complete answer of POST /api/consent/log; or `subjectId` with `purpose`.',
  },
)
export type VerifyConsent = Static<typeof VerifyConsent>

/** Why a consent does not hold, with a sentence for people. */
export const CONSENT_REASONS = {
  no_consent: 'There is no record for this subject and purpose, or there was none at that time.',
  refused: 'The consent was refused.',
  withdrawn: 'The consent was withdrawn.',
  expired: 'The consent has expired.',
  superseded: 'A later record of the same subject and controller has replaced it.',
  subject_mismatch: 'The consent was given by another person.',
  controller_mismatch: 'The consent was given to another controller.',
  controller_required: 'Several controllers have a record for this purpose; name one in `controller`.',
  purpose_mismatch: 'The consent is for other purposes.',
  purpose_required: 'The consent was superseded for some of its purposes; name one in `purpose`.',
  data_category_mismatch: 'The consent does not cover all of the data categories.',
} as const satisfies Record<string, string>
export type ConsentReason = keyof typeof CONSENT_REASONS

export const ConsentVerdict = Type.Object(
  {
    valid: Type.Boolean(),
    consentId: orNull(ConsentId),
    status: orNull(ConsentStatus),
    purpose: orNull(Type.String({ description: 'The purpose that was checked, or the only one.' })),
    expiresAt: orNull(DateTime),
    reason: Type.Optional(
      Type.Enum(Object.keys(CONSENT_REASONS) as ConsentReason[], { description: 'Why it is not valid.' }),
    ),
  },
  { title: 'ConsentVerdict', description: 'For a consent of another person only its id is returned.' },
)
export type ConsentVerdict = Static<typeof ConsentVerdict>

export const ConsentParams = Type.Object({ consentId: AskedConsentId })

const ConsentEvent = Type.Object(
  {
    status: ConsentStatus,
    at: DateTime,
    purposes: Type.Array(Type.String(), { description: 'The purposes that this event is about.' }),
    supersededBy: Type.Optional(Type.String({ description: '`cns_…` of the later record.' })),
    reason: Type.Optional(Type.String({ description: 'Reason of the withdrawal.' })),
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
    history: Type.Array(ConsentEvent, { description: 'Events, oldest first.' }),
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
        description: 'For your own use: returned with the status, never written to the ledger.',
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
