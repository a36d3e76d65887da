/** Wire shapes of credentials about people for wallets. @module */
import Type, { type Static } from 'typebox'
import { DateTime, orNull } from '../../../json/schemas.ts'

export const SD_JWT_FORMAT = 'dc+sd-jwt'
const MAX_PROOF_CHARACTERS = 4096

const coordinate = Type.String({ pattern: '^[A-Za-z0-9_-]{43}$', description: '32 bytes, base64url.' })

export const HolderJwk = Type.Object(
  { kty: Type.Literal('EC'), crv: Type.Literal('P-256'), x: coordinate, y: coordinate },
  { title: 'HolderJwk', description: "The public key of the holder's wallet, and nothing else of it." },
)
export type HolderJwk = Static<typeof HolderJwk>

export const IssueSdJwt = Type.Object(
  {
    format: Type.Literal(SD_JWT_FORMAT),
    holder_jwk: HolderJwk,
    proof_of_possession: Type.String({
      minLength: 1,
      maxLength: MAX_PROOF_CHARACTERS,
      description:
        'A JWT signed by the wallet, as OpenID4VCI 1.0 defines it (appendix F.1): header `{"alg": "ES256", "typ": "openid4vci-proof+jwt", "jwk"}`, payload `{"aud", "iat", "nonce"}` with audience and nonce of `POST …/credential/nonce`.',
    }),
  },
  { title: 'IssueSdJwt' },
)
export type IssueSdJwt = Static<typeof IssueSdJwt>

export const CredentialNonce = Type.Object(
  {
    nonce: Type.String({ description: 'For one proof.' }),
    audience: Type.String({ description: 'The `aud` of the proof.' }),
    expires_at: DateTime,
  },
  { title: 'CredentialNonce' },
)
export type CredentialNonce = Static<typeof CredentialNonce>

export const SdJwtIssued = Type.Object(
  {
    format: Type.Literal(SD_JWT_FORMAT),
    credential: Type.String({
      description:
        'SD-JWT (RFC 9901) with all disclosures: a credential by draft-ietf-oauth-sd-jwt-vc-18. It is not kept; give it to its holder.',
    }),
    vct: Type.String({ description: 'The type of the credential, and the address of its metadata.' }),
    issuer: Type.String(),
    issued_at: DateTime,
    expires_at: DateTime,
    issuer_key: Type.Enum(['x5c', 'jwks'], {
      description:
        'Where verifiers find the key: in the certificate in its header, or in /.well-known/jwks.json.',
    }),
    note: orNull(Type.String({ description: 'What may keep wallets from taking it.' })),
  },
  { title: 'SdJwtIssued' },
)
export type SdJwtIssued = Static<typeof SdJwtIssued>

export const TypeMetadata = Type.Object(
  {
    vct: Type.String(),
    name: Type.String(),
    description: Type.String(),
    display: Type.Array(Type.Object({ locale: Type.String(), name: Type.String() })),
    claims: Type.Array(
      Type.Object({
        path: Type.Array(Type.String()),
        display: Type.Array(Type.Object({ locale: Type.String(), label: Type.String() })),
        sd: Type.Enum(['always', 'never']),
        mandatory: Type.Optional(Type.Literal(true)),
      }),
    ),
  },
  { title: 'TypeMetadata' },
)
export type TypeMetadata = Static<typeof TypeMetadata>

export const IssuerMetadata = Type.Object(
  { issuer: Type.String(), jwks_uri: Type.String() },
  { title: 'JwtVcIssuerMetadata' },
)
