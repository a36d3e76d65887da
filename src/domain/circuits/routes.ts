/** Routes of the circuit catalogue. @module */
import Type from 'typebox'
import { fail } from '../../errors.ts'
import { Reply, route } from '../../http/route.ts'
import { CircuitList, CircuitParams, FileQuery, KeyQuery, VerificationKeyJson } from './schemas.ts'
import type { CircuitFileKind, CircuitsService } from './service.ts'

interface Services {
  readonly circuits: CircuitsService
}

/** A key changes only when its operator holds another setup. */
const MAX_AGE_SECONDS = 3600
/** A year, which stands for ever (RFC 9111 has no word for it). */
const IMMUTABLE_MAX_AGE_SECONDS = 31_536_000

const cacheControl = (isNamedByHash: boolean): string =>
  isNamedByHash
    ? `public, max-age=${IMMUTABLE_MAX_AGE_SECONDS}, immutable`
    : `public, max-age=${MAX_AGE_SECONDS}`

const listCircuits = route({
  name: 'listCircuits',
  method: 'GET',
  path: '/api/circuits',
  auth: 'merchant',
  // Terminals and merchants look here for what they prove with.
  scope: ['circuit', 'merchant'],
  tag: 'Circuits',
  summary: 'List circuits',
  description: 'What a proof of each circuit shows by itself, and what a verifier must check in addition.',
  response: { 200: CircuitList },
  errors: [],
  example: {},
  handler({ caller: { credential } }, { circuits }: Services) {
    // What such a terminal may still do is upload what it has queued.
    if (credential.kind === 'terminal' && credential.keyRevoked) fail('unauthorized')
    return circuits.list()
  },
})

const getVerificationKey = route({
  name: 'getVerificationKey',
  method: 'GET',
  path: '/api/circuits/{circuitId}/vkey',
  auth: 'none',
  tag: 'Circuits',
  summary: 'Get the verification key of a circuit',
  description:
    'In the format of `snarkjs groth16 verify`. With `version` the key of a version that was replaced, for proofs that were made of it. Can be cached for an hour; supports If-None-Match (304).',
  params: CircuitParams,
  query: KeyQuery,
  response: { 200: VerificationKeyJson, 304: null },
  errors: ['not_found'],
  example: {},
  handler: ({ params, query }, { circuits }: Services) => {
    const { key, etag } = circuits.verificationKey(params.circuitId, query.version)
    return new Reply(200, key, { ETag: etag, 'Cache-Control': `public, max-age=${MAX_AGE_SECONDS}` })
  },
})

const fileRoute = (kind: CircuitFileKind, name: string, summary: string, type: string) =>
  route({
    name,
    method: 'GET',
    path: `/api/circuits/{circuitId}/${kind}`,
    auth: 'none',
    tag: 'Circuits',
    summary,
    description:
      'For proofs made outside of the service, such as on a terminal; the service itself uses the same file. Some megabytes. With `sha256` the answer can be cached permanently, without it for an hour; supports If-None-Match (304).',
    params: CircuitParams,
    query: FileQuery,
    produces: type,
    response: { 200: Type.String(), 304: null },
    errors: ['not_found'],
    handler: async ({ params, query }, { circuits }: Services) => {
      const { bytes, sha256 } = await circuits.file(params.circuitId, kind, query.sha256)
      return new Reply(200, bytes, {
        ETag: `"${sha256}"`,
        'Cache-Control': cacheControl(query.sha256 !== undefined),
      })
    },
  })

const getProvingKey = fileRoute(
  'zkey',
  'getProvingKey',
  'Get the proving key of a circuit',
  'application/octet-stream',
)
const getWitnessProgram = fileRoute(
  'wasm',
  'getWitnessProgram',
  'Get the witness generator of a circuit',
  'application/wasm',
)

export const circuitRoutes = [listCircuits, getVerificationKey, getProvingKey, getWitnessProgram]
