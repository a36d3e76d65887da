/**
 * The service's public signing keys, in two documents: what JWT libraries know, and ML-DSA, at which some of them refuse the
 * whole set.
 * @module
 */
import { type Static, type TSchema, Type } from 'typebox'
import { Reply, route } from '../../http/route.ts'
import { KEYS_MAX_AGE_SECONDS } from '../../protocol/key-sets.ts'

interface PublishedKey {
  readonly kty: string
}

interface Services {
  /** All keys, of both documents. */
  readonly signers: { jwks(): Promise<{ readonly keys: readonly PublishedKey[] }> }
  /** The operator's key for credentials, with its certificate; where there is one. */
  readonly sdJwts: { readonly certified: readonly ClassicalJwk[] }
}

const named = {
  use: Type.Literal('sig'),
  kid: Type.String({ description: 'RFC 7638 thumbprint; its first 8 characters for keys of tickets.' }),
}

const ClassicalJwk = Type.Object(
  {
    kty: Type.Enum(['OKP', 'EC']),
    alg: Type.Enum(['EdDSA', 'ES256']),
    ...named,
    crv: Type.Enum(['Ed25519', 'P-256']),
    x: Type.String(),
    y: Type.Optional(Type.String({ description: 'Of P-256.' })),
    x5c: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Certificates of the key that signs credentials for wallets, as their headers have them, where the operator configured one.',
      }),
    ),
  },
  { title: 'PublicJwk' },
)
type ClassicalJwk = Static<typeof ClassicalJwk>

const PqJwk = Type.Object(
  {
    kty: Type.Literal('AKP'),
    alg: Type.Enum(['ML-DSA-44', 'ML-DSA-65']),
    ...named,
    pub: Type.String({ description: 'Public key, base64url.' }),
  },
  { title: 'PublicPqJwk' },
)
type PqJwk = Static<typeof PqJwk>

const KEPT =
  'Newest first: keys that will sign, which are listed six minutes before, current and replaced ones. Replaced keys stay listed, so that old signatures can be verified; one that leaked is gone. Keep the document for five minutes at most.'

const isPostQuantum = (key: PublishedKey): key is PqJwk => key.kty === 'AKP'
const isClassical = (key: PublishedKey): key is ClassicalJwk => !isPostQuantum(key)

const keySet = <K extends TSchema>(keys: K, title: string) =>
  ({
    method: 'GET',
    auth: 'none',
    tag: 'System',
    response: { 200: Type.Object({ keys: Type.Array(keys) }, { title }) },
    errors: [],
    example: {},
  }) as const

const answerKeys = async <K extends PublishedKey>(
  { signers }: Pick<Services, 'signers'>,
  isListed: (key: PublishedKey) => key is K,
  others: readonly K[] = [],
) => {
  const { keys } = await signers.jwks()
  return new Reply(
    200,
    { keys: [...keys.filter(isListed), ...others] },
    { 'Cache-Control': `public, max-age=${KEYS_MAX_AGE_SECONDS}` },
  )
}

const getJwks = route({
  ...keySet(ClassicalJwk, 'JwkSet'),
  name: 'getJwks',
  path: '/.well-known/jwks.json',
  summary: 'Get the public signing keys: Ed25519 and P-256',
  description: `${KEPT} ML-DSA keys are at \`/.well-known/jwks-pq.json\`.`,
  handler: (_, services: Services) => answerKeys(services, isClassical, services.sdJwts.certified),
})

const getPqJwks = route({
  ...keySet(PqJwk, 'PqJwkSet'),
  name: 'getPqJwks',
  path: '/.well-known/jwks-pq.json',
  summary: 'Get the public signing keys: ML-DSA',
  description: `${KEPT} For the second signature of hybrid tokens and the cosignature of checkpoints. A verifier that requires this signature and has no key must reject, not fall back to the first signature.`,
  handler: (_, services: Services) => answerKeys(services, isPostQuantum),
})

export const jwksRoutes = [getJwks, getPqJwks]
