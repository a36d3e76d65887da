/** Wire shapes of signed tokens. @module */
import Type, { type Static } from 'typebox'
import { DateTime, Nullable, orNull } from '../../json/schemas.ts'
import { EXPECTATION_REASONS, Expect } from '../../rules/schemas.ts'
import { HybridTokenIssued } from '../hybrid-tokens/schemas.ts'

/** Every one is the same JWT; all but the first promise that it fits what it is made for. */
const TOKEN_TYPES = ['jwt', 'qr', 'nfc', 'pass'] as const
export type TokenType = (typeof TOKEN_TYPES)[number]
const TOKEN_STATUSES = ['active', 'used', 'expired', 'revoked'] as const

/** Of the canonical JSON (RFC 8785) in UTF-8. */
export const MAX_CLAIMS_BYTES = 2048
/** More than any token has that was made here. */
export const MAX_TOKEN_CHARACTERS = 8192
export const DEFAULT_TTL_SECONDS = 300
const MAX_TTL_SECONDS = 30 * 24 * 3600
const MAX_SUBJECT_CHARACTERS = 256
const MAX_AUDIENCE_CHARACTERS = 256
const MAX_CLAIMS = 64
const MAX_REASON_CHARACTERS = 200

const TokenId = Type.String({ description: '`tok_…`, or `hyt_…` of a hybrid token.' })
const TokenTypeSchema = Type.Enum([...TOKEN_TYPES])
const Claims = Type.Record(Type.String(), Type.Unknown())
const AskedAudience = Type.String({ minLength: 1, maxLength: MAX_AUDIENCE_CHARACTERS })

export const NewToken = Type.Object(
  {
    type: Type.Optional(
      Type.Enum([...TOKEN_TYPES], {
        default: 'jwt',
        description:
          'How it is carried. A `qr` or `pass` token has at most 997 characters, an `nfc` token fits an NTAG216 tag; `pass` needs a service that can sign passes.',
      }),
    ),
    subject: Type.String({
      minLength: 1,
      maxLength: MAX_SUBJECT_CHARACTERS,
      description: 'Whom the token is about; its `sub`.',
    }),
    claims: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        maxProperties: MAX_CLAIMS,
        description: `What the token says of its subject; its \`claims\`. At most ${MAX_CLAIMS_BYTES} bytes of canonical JSON. Whoever has the token can read it.`,
      }),
    ),
    ttl: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_TTL_SECONDS,
        default: DEFAULT_TTL_SECONDS,
        description: 'Seconds until it expires.',
      }),
    ),
    audience: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_AUDIENCE_CHARACTERS,
        description: 'Who may accept it; its `aud`. Absent: anyone.',
      }),
    ),
    singleUse: Type.Optional(Type.Boolean({ description: 'Whether it can be used up by `consume`.' })),
  },
  { title: 'NewToken' },
)
export type NewToken = Static<typeof NewToken>

export const TokenIssued = Type.Object(
  {
    tokenId: TokenId,
    type: TokenTypeSchema,
    token: Type.String({
      description:
        'Compact JWS: EdDSA, typ `vt+jwt`, a key of /.well-known/jwks.json. Claims `iss`, `sub`, `aud`, `iat`, `exp`, `jti`, `single_use`, `claims`.',
    }),
    issuedAt: DateTime,
    expiresAt: DateTime,
    qrUrl: Type.String({ description: 'Its QR code, for your API key.' }),
    nfcUrl: Type.String({ description: 'What to write on an NFC tag, for your API key.' }),
    passUrl: Type.Optional(
      Type.String({ description: 'Its pass for a wallet; absent where no passes can be signed.' }),
    ),
  },
  { title: 'TokenIssued' },
)
export type TokenIssued = Static<typeof TokenIssued>

/** Why a token is not valid, with a sentence for people. */
export const TOKEN_REASONS = {
  TOKEN_MALFORMED: 'It is no compact JWS whose header and payload are JSON objects.',
  HEADER_REFUSED: 'Its header is not exactly {alg: "EdDSA", kid, typ: "vt+jwt"}.',
  KEY_UNKNOWN: "Its `kid` is none of this service's keys for tokens.",
  SIGNATURE_INVALID: 'The key did not sign it.',
  TOKEN_UNKNOWN: 'Your organisation did not issue it.',
  TOKEN_EXPIRED: 'Its time is over.',
  TOKEN_REVOKED: 'It was revoked.',
  TOKEN_USED: 'It is for a single use and was used.',
  AUDIENCE_REQUIRED: 'It is for one audience; say in `audience` who you are.',
  AUDIENCE_MISMATCH: 'It is for another audience.',
  ...EXPECTATION_REASONS,
} as const satisfies Record<string, string>
export type TokenReason = keyof typeof TOKEN_REASONS

/** Members of the answer that issued a token, which may come back with it as they were. */
export const AS_ISSUED = [
  'tokenId',
  'type',
  'token',
  'issuedAt',
  'expiresAt',
  'qrUrl',
  'nfcUrl',
  'passUrl',
] as const
/** The same as optional members of a question. */
export const asIssued = Type.Partial(TokenIssued).properties

export const ValidateToken = Type.Object(
  {
    ...asIssued,
    token: Type.String({ minLength: 1, maxLength: MAX_TOKEN_CHARACTERS }),
    audience: Type.Optional(AskedAudience),
    consume: Type.Optional(
      Type.Boolean({ description: 'Uses a valid single-use token up. Others stay as they are.' }),
    ),
    expect: Type.Optional(Expect),
  },
  { title: 'ValidateToken' },
)
export type ValidateToken = Static<typeof ValidateToken>

export const TokenVerdict = Type.Object(
  {
    valid: Type.Boolean(),
    reasonCodes: Type.Array(Type.Enum(Object.keys(TOKEN_REASONS) as TokenReason[]), {
      description: 'Every reason why it is not valid; empty when it is.',
    }),
    consumed: Type.Boolean({ description: 'Whether this call used the token up.' }),
    status: orNull(Type.Enum([...TOKEN_STATUSES])),
    tokenId: orNull(TokenId),
    type: orNull(TokenTypeSchema),
    subject: orNull(Type.String()),
    audience: orNull(Type.String()),
    claims: orNull(Claims),
    singleUse: orNull(Type.Boolean()),
    issuedAt: orNull(DateTime),
    expiresAt: orNull(DateTime),
  },
  {
    title: 'TokenVerdict',
    description: 'What the token says is null unless this service signed it for your organisation.',
  },
)
export type TokenVerdict = Static<typeof TokenVerdict>

const AskedTokenId = Type.String({ pattern: '^(tok|hyt)_[0-9a-z]{26}$' })

const revocationReason = Nullable(
  Type.String({
    minLength: 1,
    maxLength: MAX_REASON_CHARACTERS,
    description: 'For yourselves: told again by its status, never in the ledger.',
  }),
)

export const RevokeToken = Type.Union(
  [
    Type.Object({ ...asIssued, tokenId: AskedTokenId, reason: revocationReason }),
    Type.Object({ ...HybridTokenIssued.properties, reason: revocationReason }),
  ],
  {
    title: 'RevokeToken',
    description:
      '`tokenId`, beside which all of what POST /api/tokens/generate answered may stand; or a hybrid token as it was issued.',
  },
)
export type RevokeToken = Static<typeof RevokeToken>
/** A token that is revoked by its id. */
export type RevokedToken = Extract<RevokeToken, { tokenId: string }>

export const TokenRevoked = Type.Object(
  { success: Type.Literal(true), tokenId: TokenId, status: Type.Literal('revoked'), revokedAt: DateTime },
  { title: 'TokenRevoked' },
)
export type TokenRevoked = Static<typeof TokenRevoked>

export const TokenParams = Type.Object({ tokenId: AskedTokenId })

export const TokenStanding = Type.Object(
  {
    tokenId: TokenId,
    type: Type.Enum([...TOKEN_TYPES, 'hybrid']),
    status: Type.Enum([...TOKEN_STATUSES], {
      description: 'What came last in this order counts: expired, used, revoked.',
    }),
    singleUse: Type.Boolean(),
    issuedAt: DateTime,
    expiresAt: DateTime,
    usedAt: orNull(DateTime),
    revokedAt: orNull(DateTime),
    revocationReason: orNull(Type.String()),
    checkedAt: DateTime,
  },
  { title: 'TokenStanding' },
)
export type TokenStanding = Static<typeof TokenStanding>
export type TokenStatus = TokenStanding['status']
