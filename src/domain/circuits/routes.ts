/** Routes of the circuit catalogue. @module */
import { Reply, route } from '../../http/route.ts'
import { CircuitList, CircuitParams, VerificationKeyJson } from './schemas.ts'
import type { CircuitsService } from './service.ts'

interface Services {
  readonly circuits: CircuitsService
}

/** A key changes only when its operator holds another setup. */
const MAX_AGE_SECONDS = 3600

const listCircuits = route({
  name: 'listCircuits',
  method: 'GET',
  path: '/api/circuits',
  auth: 'key',
  scope: 'circuit',
  tag: 'Circuits',
  summary: 'List circuits',
  description:
    'What a proof of each circuit shows by itself, and what whoever relies on it must check besides.',
  response: { 200: CircuitList },
  errors: [],
  example: {},
  handler: (_, { circuits }: Services) => circuits.list(),
})

const getVerificationKey = route({
  name: 'getVerificationKey',
  method: 'GET',
  path: '/api/circuits/{circuitId}/vkey',
  auth: 'none',
  tag: 'Circuits',
  summary: 'The key with which anybody verifies proofs of a circuit',
  description:
    'In the form that `snarkjs groth16 verify` takes. May be kept for an hour; 304 answers If-None-Match.',
  params: CircuitParams,
  response: { 200: VerificationKeyJson, 304: null },
  errors: ['not_found'],
  example: {},
  handler: ({ params, headers }, { circuits }: Services) => {
    const { key, etag } = circuits.verificationKey(params.circuitId)
    const caching = { ETag: etag, 'Cache-Control': `public, max-age=${MAX_AGE_SECONDS}` }
    return headers['if-none-match'] === etag
      ? new Reply(304, undefined, caching)
      : new Reply(200, key, caching)
  },
})

export const circuitRoutes = [listCircuits, getVerificationKey]
