/** Wire forms of terminals. @module */
import Type, { type Static } from 'typebox'
import { askedId, DateTime, idOf, NextCursor, orNull, pageLimit } from '../../json/schemas.ts'
import { Limits } from '../accounts/schemas.ts'

const NullableNumber = orNull(Type.Number())
const TerminalId = idOf('ter')
const MerchantId = idOf('mer')

export const NewTerminal = Type.Object(
  {
    label: Type.String({ minLength: 1, maxLength: 100 }),
    merchantId: Type.Optional(
      Type.String({ maxLength: 64, description: 'Default: the default merchant of the organisation.' }),
    ),
    limits: Type.Optional(Limits),
  },
  { title: 'NewTerminal' },
)
export type NewTerminal = Static<typeof NewTerminal>

export const TerminalCreated = Type.Object(
  {
    terminalId: TerminalId,
    terminalSecret: Type.String({ description: 'Shown once.' }),
    merchantId: MerchantId,
    apiKey: Type.String({ description: 'API key of scope merchant, for this merchant only. Shown once.' }),
    keyId: Type.String(),
    limits: Limits,
    pairing: Type.Object(
      {
        url: Type.String({
          description:
            'Address of the till; the secrets stand behind its #, which browsers keep to themselves.',
        }),
        qr: Type.String({ description: 'The address as a QR code, SVG.' }),
      },
      { description: 'Makes a device with a browser this terminal. Shown once.' },
    ),
  },
  { title: 'TerminalCreated' },
)
export type TerminalCreated = Static<typeof TerminalCreated>

const MAX_VERSION_CHARACTERS = 64
const MAX_CURRENCIES = 200
/** The last moment that a date can name. */
const MAX_CLOCK_MS = 8_640_000_000_000_000

const Queued = Type.Object({
  count: Type.Integer({ minimum: 0, maximum: 2_147_483_647 }),
  sum: Type.Array(
    Type.Object({
      currency: Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217 code.' }),
      amount: Type.Number({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'In major units of the currency.',
      }),
    }),
    { maxItems: MAX_CURRENCIES, description: 'By currency.' },
  ),
})

/** What terminals tell of themselves with what they ask. */
export const told = {
  queued: Type.Optional(
    Type.Object(Queued.properties, {
      description: 'Payments that wait on the terminal, besides those of this request.',
    }),
  ),
  version: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_VERSION_CHARACTERS,
      description: 'Version of the program of the terminal.',
    }),
  ),
  clock: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_CLOCK_MS,
      description: "The terminal's clock when it asked, Unix milliseconds.",
    }),
  ),
}
const Told = Type.Object(told)
export type Told = Static<typeof Told>

const STATUSES = ['active', 'revoked'] as const

export const Terminal = Type.Object(
  {
    terminalId: TerminalId,
    label: Type.String(),
    merchantId: MerchantId,
    limits: Limits,
    status: Type.Enum(STATUSES),
    createdAt: DateTime,
    revokedAt: orNull(DateTime),
    lastSeenAt: orNull(DateTime, {
      description: 'When it last asked something with its secret or token, to the minute; null if never.',
    }),
    queued: orNull(Queued, {
      description:
        'Payments that waited on it when it last told, which only it can know; null if it never did.',
    }),
    version: orNull(Type.String(), { description: 'Of its program, as it last told.' }),
    clockSkewMs: orNull(Type.Integer(), {
      description:
        'By how much its clock was ahead of that of the service when it last told, in ms; negative: behind. Includes what the request took to arrive.',
    }),
  },
  { title: 'Terminal' },
)
export type Terminal = Static<typeof Terminal>

/** A page is as long as the whole list was before it had pages, and so is the page of those who ask for none. */
export const MAX_PAGE_TERMINALS = 1000

export const TerminalsQuery = Type.Object({
  status: Type.Optional(Type.Enum(STATUSES, { description: 'Default: both.' })),
  cursor: Type.Optional(askedId('ter', { description: '`nextCursor` of the previous page.' })),
  limit: pageLimit(MAX_PAGE_TERMINALS, MAX_PAGE_TERMINALS),
})
export type TerminalsQuery = Static<typeof TerminalsQuery>

export const TerminalList = Type.Object(
  { terminals: Type.Array(Terminal), nextCursor: NextCursor },
  { title: 'TerminalList' },
)
export type TerminalList = Static<typeof TerminalList>

export const TerminalParams = Type.Object({ terminalId: TerminalId })

export const TerminalCredentials = Type.Object(
  {
    terminalId: Type.String({ minLength: 1, maxLength: 128 }),
    terminalSecret: Type.String({ minLength: 1, maxLength: 256 }),
    ...told,
  },
  { title: 'TerminalCredentials' },
)
export type TerminalCredentials = Static<typeof TerminalCredentials>

export const TerminalToken = Type.Object(
  {
    token: Type.String({ description: 'Bearer credential for /api/merchant/* routes.' }),
    expiresAt: DateTime,
    terminalId: TerminalId,
    merchantId: MerchantId,
    organisationId: Type.String({ description: '`org_…`; proofs of the terminal are bound to it.' }),
    config: Type.Object({
      floorLimit: NullableNumber,
      storedSumLimit: NullableNumber,
      maxOfflineAgeMs: Type.Integer(),
      minAssurance: Type.Enum(['structural', 'mac']),
    }),
  },
  { title: 'TerminalToken' },
)
export type TerminalToken = Static<typeof TerminalToken>
