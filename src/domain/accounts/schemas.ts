/** Wire forms of organisations, accounts, sessions, API keys and merchants. @module */
import Type, { type Static } from 'typebox'
import { ROLES, SCOPES } from '../../caller.ts'
import { NOT_BLANK } from '../../json/patterns.ts'
import { askedId, DateTime, idOf, NextCursor, orNull, pageLimit } from '../../json/schemas.ts'
import { Code } from './totp/schemas.ts'

const NullableDateTime = orNull(DateTime)
const Name = Type.String({ minLength: 1, maxLength: 100, pattern: NOT_BLANK })
const Label = Type.String({ maxLength: 100, description: 'Shown in lists.' })
const Scope = Type.Enum([...SCOPES])
const Subscription = Type.Enum(['active', 'inactive'])
const OrganisationId = idOf('org')
const MerchantId = idOf('mer')

export const Email = Type.String({ format: 'email', maxLength: 254 })
export const NewPassword = Type.String({ minLength: 10, maxLength: 1024 })

export const NewAccount = Type.Object(
  {
    email: Email,
    password: NewPassword,
    organisation: Type.String({ ...Name, description: 'Name of the new organisation.' }),
  },
  { title: 'NewAccount' },
)
export type NewAccount = Static<typeof NewAccount>

export const AccountCreated = Type.Object(
  { accountId: Type.String(), organisationId: OrganisationId, merchantId: MerchantId },
  { title: 'AccountCreated' },
)
export type AccountCreated = Static<typeof AccountCreated>

export const SignIn = Type.Object(
  {
    email: Type.String({ maxLength: 254 }),
    password: Type.String({ maxLength: 1024 }),
    code: Type.Optional(Code),
  },
  { title: 'SignIn' },
)
export type SignIn = Static<typeof SignIn>

export const SessionCreated = Type.Object(
  {
    csrfToken: Type.String({
      description: 'Send it as X-CSRF-Token with every request that changes something.',
    }),
  },
  { title: 'SessionCreated' },
)

export const PasswordChange = Type.Object(
  { currentPassword: Type.String({ maxLength: 1024 }), newPassword: NewPassword },
  { title: 'PasswordChange' },
)
export type PasswordChange = Static<typeof PasswordChange>

export const Session = Type.Object(
  {
    sessionId: idOf('ses'),
    createdAt: DateTime,
    expiresAt: DateTime,
    lastSeenAt: orNull(DateTime, {
      description: 'To the minute; null if it was not used since this is kept.',
    }),
    device: orNull(Type.String(), {
      description:
        'Browser and system, such as `Firefox on Linux`, as it told them; null if it told nothing.',
    }),
    current: Type.Boolean({ description: 'Whether it is the session of this request.' }),
  },
  { title: 'Session' },
)

export const SessionList = Type.Object({ sessions: Type.Array(Session) }, { title: 'SessionList' })
export type SessionList = Static<typeof SessionList>

export const SessionParams = Type.Object({ sessionId: Type.String() })

export const Me = Type.Object(
  {
    organisationId: OrganisationId,
    organisation: Type.String({ description: 'Name of the organisation.' }),
    merchantId: Type.String({ description: 'The merchant of payments that name none.' }),
    scopes: Type.Array(Scope, {
      description: 'What the credential may do; of a session, what it may read.',
    }),
    subscription: Subscription,
    rateLimitPerMinute: Type.Integer(),
    accountId: Type.Optional(Type.String({ description: 'The account that is signed in.' })),
    email: Type.Optional(Type.String({ description: 'Its e-mail address.' })),
    role: Type.Optional(Type.Enum([...ROLES], { description: 'Its role in the organisation.' })),
    csrfToken: Type.Optional(
      Type.String({ description: 'CSRF token of the session, for pages that were reloaded.' }),
    ),
  },
  { title: 'Me' },
)
export type Me = Static<typeof Me>

export const NewOrganisation = Type.Object({ name: Name }, { title: 'NewOrganisation' })
export type NewOrganisation = Static<typeof NewOrganisation>

export const OrganisationCreated = Type.Object(
  {
    organisationId: OrganisationId,
    merchantId: MerchantId,
    apiKey: Type.String({ description: 'Shown once. May create further keys.' }),
  },
  { title: 'OrganisationCreated' },
)
export type OrganisationCreated = Static<typeof OrganisationCreated>

export const OrganisationParams = Type.Object({ organisationId: OrganisationId })

export const Organisation = Type.Object(
  {
    organisationId: OrganisationId,
    name: Type.String(),
    merchantId: MerchantId,
    subscription: Subscription,
    rateLimitPerMinute: Type.Integer(),
    createdAt: DateTime,
  },
  { title: 'Organisation' },
)
export type Organisation = Static<typeof Organisation>

export const OrganisationsQuery = Type.Object({
  cursor: Type.Optional(askedId('org', { description: '`nextCursor` of the previous page.' })),
  limit: pageLimit(100, 50),
  subscription: Type.Optional(Subscription),
  name: Type.Optional(
    Type.String({ minLength: 1, maxLength: 100, description: 'How the name begins, in whatever case.' }),
  ),
})
export type OrganisationsQuery = Static<typeof OrganisationsQuery>

export const OrganisationPage = Type.Object(
  {
    organisations: Type.Array(
      Type.Object({
        ...Organisation.properties,
        accounts: Type.Integer({ description: 'How many it has.' }),
      }),
    ),
    nextCursor: NextCursor,
  },
  { title: 'OrganisationPage' },
)
export type OrganisationPage = Static<typeof OrganisationPage>

/** Members of an organisation that nobody changes. They may come back with a change, as they were. */
export const FIXED_OF_ORGANISATION = ['organisationId', 'name', 'merchantId', 'createdAt'] as const

export const OrganisationChange = Type.Object(
  {
    ...Type.Partial(Type.Pick(Organisation, [...FIXED_OF_ORGANISATION])).properties,
    accounts: Type.Optional(
      Type.Integer({ description: 'As listed. It goes on by itself, and is not compared.' }),
    ),
    subscription: Type.Optional(Subscription),
    rateLimitPerMinute: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 10_000_000, description: 'Requests per minute.' }),
    ),
  },
  { title: 'OrganisationChange' },
)
export type OrganisationChange = Static<typeof OrganisationChange>

export const NewKey = Type.Object(
  {
    label: Type.Optional(Label),
    scopes: Type.Optional(
      Type.Array(Scope, {
        minItems: 1,
        maxItems: SCOPES.length,
        uniqueItems: true,
        description:
          'At most the scopes of the caller. Default: all scopes of the caller except keys, egress:private and admin.',
      }),
    ),
  },
  { title: 'NewApiKey' },
)
export type NewKey = Static<typeof NewKey>

export const KeyCreated = Type.Object(
  {
    keyId: Type.String(),
    apiKey: Type.String({ description: 'Shown once.' }),
    label: Type.String(),
    scopes: Type.Array(Scope),
    createdAt: DateTime,
  },
  { title: 'ApiKeyCreated' },
)
export type KeyCreated = Static<typeof KeyCreated>

export const KeyParams = Type.Object({ keyId: Type.String() })

export const KeyRotation = Type.Object(
  {
    overlapSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 30 * 24 * 3600,
        default: 0,
        description: 'How long the old key stays valid.',
      }),
    ),
  },
  { title: 'ApiKeyRotation' },
)
export type KeyRotation = Static<typeof KeyRotation>

export const KeyRotated = Type.Object(
  { ...KeyCreated.properties, replaces: Type.String(), replacedUntil: DateTime },
  { title: 'ApiKeyRotated' },
)
export type KeyRotated = Static<typeof KeyRotated>

export const LeakedKey = Type.Object(
  {
    key: Type.String({
      minLength: 1,
      maxLength: 512,
      description: 'The key itself. Administrators can send its id, `key_…`, instead.',
    }),
  },
  { title: 'LeakedApiKey' },
)
export type LeakedKey = Static<typeof LeakedKey>

export const KeyRevoked = Type.Object(
  { keyId: Type.String(), revokedAt: DateTime },
  { title: 'ApiKeyRevoked' },
)
export type KeyRevoked = Static<typeof KeyRevoked>

const KEY_STATUSES = ['active', 'expired', 'revoked'] as const

export const Key = Type.Object(
  {
    keyId: Type.String(),
    label: Type.String(),
    hint: Type.String({
      description: 'The first characters of the key; empty for keys chosen by the operator.',
    }),
    scopes: Type.Array(Scope),
    merchantId: orNull(Type.String(), { description: 'The only merchant that this key can act for.' }),
    terminalId: orNull(Type.String(), { description: 'The terminal that this key was created for.' }),
    status: Type.Enum(KEY_STATUSES),
    createdAt: DateTime,
    expiresAt: NullableDateTime,
    revokedAt: NullableDateTime,
    lastUsedAt: orNull(DateTime, {
      description: 'When a request last came with it, to the minute; null if none did since this is kept.',
    }),
  },
  { title: 'ApiKey' },
)
export type Key = Static<typeof Key>

/** A page is as long as the whole list was before it had pages, and so is the page of those who ask for none. */
export const MAX_PAGE_KEYS = 1000

export const KeysQuery = Type.Object({
  status: Type.Optional(Type.Enum(KEY_STATUSES, { description: 'Default: all.' })),
  cursor: Type.Optional(askedId('key', { description: '`nextCursor` of the previous page.' })),
  limit: pageLimit(MAX_PAGE_KEYS, MAX_PAGE_KEYS),
})
export type KeysQuery = Static<typeof KeysQuery>

export const KeyList = Type.Object({ keys: Type.Array(Key), nextCursor: NextCursor }, { title: 'ApiKeyList' })
export type KeyList = Static<typeof KeyList>

const amountLimit = (description: string) =>
  Type.Optional(
    Type.Union([Type.Number({ minimum: 0 }), Type.Literal('none')], {
      description: `${description}, in major units of each currency, or \`none\`.`,
    }),
  )

/**
 * What a merchant or a terminal may do while offline. What a terminal says nothing about is decided by its merchant;
 * amounts that neither says are the defaults of a new terminal.
 */
export const Limits = Type.Object(
  {
    floorLimit: amountLimit('Greatest single offline payment (default of terminals: 250)'),
    storedSumLimit: amountLimit(
      'Greatest sum of payments waiting to be uploaded (default of terminals: 5,000)',
    ),
    maxOfflineAgeMs: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 365 * 24 * 3_600_000, description: 'Greatest age at upload.' }),
    ),
    minAssurance: Type.Optional(Type.Enum(['structural', 'mac'])),
  },
  { title: 'PaymentLimits' },
)
export type Limits = Static<typeof Limits>

export const NewMerchant = Type.Object(
  { name: Name, limits: Type.Optional(Limits) },
  { title: 'NewMerchant' },
)
export type NewMerchant = Static<typeof NewMerchant>

export const MerchantCreated = Type.Object({ merchantId: MerchantId }, { title: 'MerchantCreated' })
export type MerchantCreated = Static<typeof MerchantCreated>

export const Merchant = Type.Object(
  {
    merchantId: MerchantId,
    name: Type.String(),
    default: Type.Boolean(),
    limits: Limits,
    createdAt: DateTime,
  },
  { title: 'Merchant' },
)
export type Merchant = Static<typeof Merchant>

/** As long as the whole list was before it had pages. */
export const MAX_PAGE_MERCHANTS = 1000

export const MerchantsQuery = Type.Object({
  cursor: Type.Optional(askedId('mer', { description: '`nextCursor` of the previous page.' })),
  limit: pageLimit(MAX_PAGE_MERCHANTS, MAX_PAGE_MERCHANTS),
})
export type MerchantsQuery = Static<typeof MerchantsQuery>

export const MerchantList = Type.Object(
  { merchants: Type.Array(Merchant), nextCursor: NextCursor },
  { title: 'MerchantList' },
)
export type MerchantList = Static<typeof MerchantList>
