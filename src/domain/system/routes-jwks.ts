/** The service's public signing keys. @module */
import { Type } from 'typebox'
import { Reply, route } from '../../http/route.ts'

interface Services {
  readonly signers: { jwks(): Promise<object> }
}

/** Verifiers may keep the keys this long; a rotated key signs from its first moment, so it is short. */
const MAX_AGE_SECONDS = 300

const PublicJwk = Type.Object(
  {
    kty: Type.Enum(['OKP', 'EC', 'AKP']),
    alg: Type.Enum(['EdDSA', 'ES256', 'ML-DSA-44', 'ML-DSA-65']),
    use: Type.Literal('sig'),
    kid: Type.String({ description: 'RFC 7638 thumbprint; its first 8 characters for keys of tickets.' }),
    crv: Type.Optional(Type.String()),
    x: Type.Optional(Type.String()),
    y: Type.Optional(Type.String()),
    pub: Type.Optional(Type.String({ description: 'Public key of an ML-DSA key, base64url.' })),
  },
  { title: 'PublicJwk' },
)

export const getJwks = route({
  name: 'getJwks',
  method: 'GET',
  path: '/.well-known/jwks.json',
  auth: 'none',
  tag: 'System',
  summary: 'Public signing keys',
  description:
    'Current and replaced keys, the newest first. Replaced keys stay, so that what they signed can be verified.',
  response: { 200: Type.Object({ keys: Type.Array(PublicJwk) }, { title: 'JwkSet' }) },
  errors: [],
  example: {},
  handler: async (_, { signers }: Services) =>
    new Reply(200, await signers.jwks(), { 'Cache-Control': `public, max-age=${MAX_AGE_SECONDS}` }),
})
