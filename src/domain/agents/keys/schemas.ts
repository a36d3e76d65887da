/** Wire shapes of public keys, and of private ones that are shown once. @module */
import Type, { type Static } from 'typebox'
import { OPEN, together } from '../../../json/schemas.ts'

/** Base64url of 32 bytes. */
const Coordinate = Type.String({
  pattern: '^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$',
  description: 'Base64url of 32 bytes.',
})

/** Base64url of that many bytes. */
const Encoded = (bytes: number) => {
  const characters = Math.ceil((bytes * 4) / 3)
  return Type.String({
    minLength: characters,
    maxLength: characters,
    pattern: '^[A-Za-z0-9_-]+$',
    description: `Base64url of ${bytes} bytes.`,
  })
}

/** Whoever sends a private key has lost it. */
const WITHOUT_PRIVATE_PART = { ...OPEN, not: { anyOf: [together('d'), together('priv')] } }

/** A public key as somebody sends it. */
export const PublicJwk = Type.Union(
  [
    Type.Object(
      { kty: Type.Literal('OKP'), crv: Type.Literal('Ed25519'), x: Coordinate },
      { ...WITHOUT_PRIVATE_PART, title: 'Ed25519PublicJwk', description: 'RFC 8037.' },
    ),
    Type.Object(
      { kty: Type.Literal('EC'), crv: Type.Literal('P-256'), x: Coordinate, y: Coordinate },
      { ...WITHOUT_PRIVATE_PART, title: 'P256PublicJwk', description: 'RFC 7518 §6.2.' },
    ),
  ],
  {
    title: 'RegisteredPublicJwk',
    description:
      'JSON Web Key (RFC 7517) of a public key. A key with its private part, or with a point of small order, is rejected.',
  },
)

const mlDsaJwk = <const Alg extends string>(alg: Alg, title: string, bytes: number) =>
  Type.Object(
    { kty: Type.Literal('AKP'), alg: Type.Literal(alg), pub: Encoded(bytes) },
    { ...WITHOUT_PRIVATE_PART, title },
  )

/** A post-quantum public key as somebody sends it. */
export const PublicPqJwk = Type.Union(
  [mlDsaJwk('ML-DSA-44', 'MlDsa44PublicJwk', 1312), mlDsaJwk('ML-DSA-65', 'MlDsa65PublicJwk', 1952)],
  {
    title: 'RegisteredPublicPqJwk',
    description: 'JSON Web Key of a second, post-quantum public key, beside `public_key`.',
  },
)

/** A key pair that was made here. */
export const PrivateJwk = Type.Object(
  {
    kty: Type.Literal('OKP'),
    crv: Type.Literal('Ed25519'),
    x: Coordinate,
    d: Type.String({ description: 'The private part, base64url of 32 bytes.' }),
  },
  { title: 'PrivateJwk', description: 'Shown once and never stored (RFC 8037).' },
)
export type PrivateJwk = Static<typeof PrivateJwk>

/** What names its keys: agents and devices alike. */
export const keyInput = {
  public_key: Type.Optional(PublicJwk),
  /** Only beside `public_key`: see `readKeys`. */
  public_key_pq: Type.Optional(PublicPqJwk),
}

export const KeyId = Type.String({ description: 'RFC 7638 thumbprint of the public key, 43 characters.' })
