/** Wire shapes of what an agent presents. @module */
import Type, { type Static } from 'typebox'
import { together } from '../../../../json/schemas.ts'

export const MAX_URL_CHARACTERS = 2048
export const MAX_HEADERS = 64
/** Names and values of all occurrences together, in UTF-8. */
export const MAX_HEADER_BYTES = 16 * 1024
export const MAX_HTTP_BODY_BYTES = 64 * 1024
const MAX_OCCURRENCES = 16
const MAX_LABEL_CHARACTERS = 64
const MAX_JWS_CHARACTERS = 16 * 1024
const MAX_AUDIENCE_CHARACTERS = 256
/** Base64 of the greatest body. */
const MAX_BODY_CHARACTERS = Math.ceil(MAX_HTTP_BODY_BYTES / 3) * 4

const HeaderValue = Type.Union([
  Type.String(),
  Type.Array(Type.String(), { minItems: 1, maxItems: MAX_OCCURRENCES }),
])

export const SignedHttpRequest = Type.Object(
  {
    method: Type.String({ pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$" }),
    url: Type.String({
      minLength: 1,
      maxLength: MAX_URL_CHARACTERS,
      description:
        'Absolute, as you received it, without user and fragment. Its host must be your own host name, not a value copied from the Host field.',
    }),
    headers: Type.Record(Type.String(), HeaderValue, {
      maxProperties: MAX_HEADERS,
      description: `Header fields by name (case-insensitive); a list has the values of repeated fields in their order. Together at most ${MAX_HEADER_BYTES} bytes.`,
    }),
    body: Type.Optional(
      Type.String({
        maxLength: MAX_BODY_CHARACTERS,
        description: `The body as UTF-8 text; at most ${MAX_HTTP_BODY_BYTES} bytes.`,
      }),
    ),
    body_base64: Type.Optional(
      Type.String({
        maxLength: MAX_BODY_CHARACTERS,
        description: 'Instead of `body` if the body is not text: base64 with padding (RFC 4648 §4).',
      }),
    ),
    label: Type.Optional(
      Type.String({
        pattern: `^[a-z*][a-z0-9_.*-]{0,${MAX_LABEL_CHARACTERS - 1}}$`,
        description: 'The label of the signature to verify, if several signatures have a supported tag.',
      }),
    ),
  },
  {
    title: 'SignedHttpRequest',
    not: together('body', 'body_base64'),
    description: 'A request with an HTTP Message Signature (RFC 9421).',
  },
)
export type SignedHttpRequest = Static<typeof SignedHttpRequest>

export const CompactJws = Type.String({ minLength: 1, maxLength: MAX_JWS_CHARACTERS })

export const ExpectedAudience = Type.String({
  minLength: 1,
  maxLength: MAX_AUDIENCE_CHARACTERS,
  description:
    'The audience that the agent must have signed for: for requests a host, `host:port` or origin; for a JWS its `aud` as text. Default: this service.',
})
