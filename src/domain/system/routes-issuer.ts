/** The public keys under which circuits verify what this service issued. @module */
import { Type } from 'typebox'
import { iso } from '../../clock.ts'
import { Reply, route } from '../../http/route.ts'
import { DateTime, dateTime, orNull } from '../../json/schemas.ts'
import { KEYS_MAX_AGE_SECONDS } from '../../protocol/key-sets.ts'

interface IssuerKey {
  readonly kid: string
  readonly x: bigint
  readonly y: bigint
  readonly validFrom: number
  readonly validUntil?: number
}

interface Services {
  readonly issuer: { keys(): Promise<readonly IssuerKey[]> }
}

const Coordinate = Type.String({ pattern: '^(0|[1-9][0-9]{0,76})$', description: 'In decimal.' })

const PublishedIssuerKey = Type.Object(
  {
    kid: Type.String({ description: 'SHA-256 of the point, base64url: a key has the same id everywhere.' }),
    alg: Type.Literal('EdDSA-Poseidon', {
      description: "In the form of circomlib's EdDSAPoseidonVerifier, base point B8.",
    }),
    curve: Type.Literal('BabyJubJub', { description: 'EIP-2494, twisted Edwards form.' }),
    x: Coordinate,
    y: Coordinate,
    validFrom: dateTime(
      'When the key was made; a minute earlier where it signs at once, for those whose clocks are behind.',
    ),
    validUntil: orNull(DateTime, {
      description: 'Proofs under this key are accepted until then. Null for one that was not replaced.',
    }),
  },
  { title: 'IssuerKey' },
)

export const getIssuerKeys = route({
  name: 'getIssuerKeys',
  method: 'GET',
  path: '/.well-known/issuer-keys',
  auth: 'none',
  tag: 'System',
  summary: 'Get the public keys of the issuer',
  description:
    'The service signs what it issues for circuits (credentials, tokens, consents, aggregates of proofs) with one of these keys; a new one is the first here six minutes before it signs, and one that leaked is gone. A proof based on such a signature contains the key as issuerX and issuerY, or attestorX and attestorY, and is accepted only if the key is listed here and valid.',
  response: { 200: Type.Object({ keys: Type.Array(PublishedIssuerKey) }, { title: 'IssuerKeys' }) },
  errors: [],
  example: {},
  handler: async (_, { issuer }: Services) => {
    const keys = (await issuer.keys()).map(({ kid, x, y, validFrom, validUntil }) => ({
      kid,
      alg: 'EdDSA-Poseidon' as const,
      curve: 'BabyJubJub' as const,
      x: String(x),
      y: String(y),
      validFrom: iso(validFrom),
      validUntil: validUntil === undefined ? null : iso(validUntil),
    }))
    return new Reply(200, { keys }, { 'Cache-Control': `public, max-age=${KEYS_MAX_AGE_SECONDS}` })
  },
})
