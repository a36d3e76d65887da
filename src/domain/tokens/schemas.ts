/** Wire shapes of signed tokens. @module */
import Type, { type Static } from 'typebox'
import { DateTime, Nullable, orNull } from '../../json/schemas.ts'
import { EXPECTATION_REASONS, Expect } from '../../rules/schemas.ts'
import { Holder, TokenCredentialJson } from '../holders/schemas.ts'
import { HybridTokenIssued } from '../hybrid-tokens/schemas.ts'

/** Every one is the same JWT; all but the first promise that it fits what it is made for. */
export const TOKEN_TYPES = ['jwt', 'qr', 'nfc', 'pass'] as const
export type TokenType = (typeof TOKEN_TYPES)[number]
export const TOKEN_STATUSES = ['active', 'used', 'expired', 'revoked'] as const

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
          'The medium of the token. A `qr` or `pass` token has at most 997 characters, an `nfc` token fits an NTAG216 tag; `pass` needs a service that can sign passes.',
      }),
    ),
    subject: Type.String({
      minLength: 1,
      maxLength: MAX_SUBJECT_CHARACTERS,
      description: 'The subject of the token; its `sub`.',
    }),
    claims: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        maxProperties: MAX_CLAIMS,
        description: `Claims about the subject; its \`claims\`. At most ${MAX_CLAIMS_BYTES} bytes of canonical JSON. Anyone who has the token can read them.`,
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
        description: 'The verifier that can accept it; its `aud`. Default: any.',
      }),
    ),
    holder: Holder,
    singleUse: Type.Optional(
      Type.Boolean({ description: 'Whether it can be used only once, by `consume`.' }),
    ),
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
        'Compact JWS: EdDSA, typ `vt+jwt`, a key of /.well-known/jwks.json. Claims `iss`, `sub`, `aud`, `iat`, `exp`, `jti`, `single_use`, `status` (draft-ietf-oauth-status-list-20), `claims`.',
    }),
    issuedAt: DateTime,
    expiresAt: DateTime,
    credential: Type.Optional(TokenCredentialJson),
    qrUrl: Type.String({ description: 'Address of its QR code, with your API key.' }),
    nfcUrl: Type.String({ description: 'Address of the content of an NFC tag, with your API key.' }),
    passUrl: Type.Optional(
      Type.String({ description: "Address of its wallet pass; absent if the service can't sign passes." }),
    ),
  },
  { title: 'TokenIssued' },
)
export type TokenIssued = Static<typeof TokenIssued>

/** Why a token is not valid, with a sentence for people. */
export const TOKEN_REASONS = {
  TOKEN_MALFORMED: 'It is not a compact JWS with JSON objects as header and payload.',
  HEADER_REFUSED: 'Its header is not exactly {alg: "EdDSA", kid, typ: "vt+jwt"}.',
  KEY_UNKNOWN: "Its `kid` is not one of this service's keys for tokens.",
  SIGNATURE_INVALID: 'Its signature is wrong.',
  TOKEN_UNKNOWN: 'Your organisation did not issue it.',
  TOKEN_EXPIRED: 'It has expired.',
  TOKEN_REVOKED: 'It was revoked.',
  TOKEN_USED: 'It is a single-use token and was used before.',
  AUDIENCE_REQUIRED: 'It is for a particular audience; name yours in `audience`.',
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
  'credential',
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
      Type.Boolean({ description: 'Uses a valid single-use token. Other tokens are not changed.' }),
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
      description: 'Every reason why it is not valid; empty if it is valid.',
    }),
    consumed: Type.Boolean({ description: 'Whether this call used the token.' }),
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
    description: 'The content of the token is null unless this service signed it for your organisation.',
  },
)
export type TokenVerdict = Static<typeof TokenVerdict>

const AskedTokenId = Type.String({ pattern: '^(tok|hyt)_[0-9a-z]{26}$' })

const revocationReason = Nullable(
  Type.String({
    minLength: 1,
    maxLength: MAX_REASON_CHARACTERS,
    description: 'For your own use: returned with the status, never written to the ledger.',
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
      '`tokenId`, or the complete answer of POST /api/tokens/generate; or a hybrid token as it was issued.',
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
      description: 'If several apply, the last one in this order is reported: expired, used, revoked.',
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
