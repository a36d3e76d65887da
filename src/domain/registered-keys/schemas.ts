/** Wire shapes of public keys, and of private ones that are shown once. @module */
import Type, { type Static } from 'typebox'
import { OPEN } from '../../schema-marks.ts'

const MAX_COORDINATE_CHARACTERS = 64
/** Base64url of 1,952 bytes. */
const MAX_ML_DSA_CHARACTERS = 2603

const Coordinate = Type.String({ maxLength: MAX_COORDINATE_CHARACTERS, description: 'Base64url.' })

const members = {
  kty: Type.String({ maxLength: 8, description: 'OKP, EC or AKP.' }),
  crv: Type.Optional(Type.String({ maxLength: 16, description: 'Ed25519 or P-256.' })),
  x: Type.Optional(Coordinate),
  y: Type.Optional(Coordinate),
  alg: Type.Optional(Type.String({ maxLength: 16, description: 'Of AKP: ML-DSA-44 or ML-DSA-65.' })),
  pub: Type.Optional(Type.String({ maxLength: MAX_ML_DSA_CHARACTERS, description: 'Of AKP, base64url.' })),
}

/** A public key as somebody sends it. */
export const PublicJwk = Type.Object(members, {
  ...OPEN,
  title: 'RegisteredPublicJwk',
  description:
    'JSON Web Key (RFC 7517) of a public key. A key that holds its private part, or a point of small order, is refused.',
})

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
  public_key_pq: Type.Optional(
    Type.Object(members, { ...OPEN, description: 'A second key, ML-DSA-44 or ML-DSA-65 (kty AKP).' }),
  ),
}

export const KeyId = Type.String({ description: 'RFC 7638 thumbprint of the public key, 43 characters.' })
