/** Routes of hybrid tokens. @module */
import type { Caller } from '../../caller.ts'
import type { ErrorCode } from '../../errors.ts'
import { Reply, route } from '../../http/route.ts'
import {
  HYBRID_TOKEN_EXAMPLE,
  HybridTokenIssued,
  HybridTokenPrepared,
  HybridTokenVerdict,
  NewHybridToken,
  PrepareQuery,
  ValidateHybridToken,
} from './schemas.ts'
import type { HybridTokensService } from './service.ts'

interface Services {
  readonly hybridTokens: HybridTokensService
}

interface Asked {
  readonly caller: Caller
  readonly query: PrepareQuery
  readonly body: NewHybridToken
}

/** Of both routes that issue. */
const issuing = {
  method: 'POST',
  auth: 'key',
  scope: 'token',
  tag: 'Tokens',
  query: PrepareQuery,
  body: NewHybridToken,
  exactNumbers: true,
  response: { 201: HybridTokenIssued, 202: HybridTokenPrepared },
  errors: ['conflict', 'signature_invalid', 'read_only'] as readonly ErrorCode[],
  example: {
    body: {
      subject: 'member-7',
      claims: { decision: 1, level: 'gold' },
      alg_classical: 'Ed25519',
      alg_pq: 'Dilithium2',
      verification_policy: 'hybrid_required',
      exp: '{laterNumber}',
    },
  },
  handler: async ({ caller, query, body }: Asked, { hybridTokens }: Services) =>
    query.prepare === '1'
      ? // Nothing is issued yet.
        new Reply(202, await hybridTokens.prepare(caller, body))
      : hybridTokens.generate(caller, body),
} as const

const DESCRIPTION =
  'Both signatures cover the same bytes, which name the algorithms, the keys and the policy. Without signatures the service signs, with both of its keys. With `sig_…` and `kid_…` of keys that your agents or devices registered, it verifies them over the bytes that `?prepare=1` returns; a signature that the verification_policy does not require can be left out together with its key id. As JSON a token has 3.7 to 6 KB: send it in a body or in cookies below 4 KB, never in Authorization.'

const generateHybridToken = route({
  ...issuing,
  name: 'generateHybridToken',
  path: '/v1/tokens/generate-quantum-safe',
  summary: 'Issue a token with a classical and a post-quantum signature',
  description: DESCRIPTION,
})

const generateQuantumSafeToken = route({
  ...issuing,
  name: 'generateQuantumSafeToken',
  path: '/api/tokens/generate-quantum-safe',
  summary: 'Issue a post-quantum signed token',
  description: `The same as POST /v1/tokens/generate-quantum-safe. ${DESCRIPTION}`,
})

const validateHybridToken = route({
  name: 'validateHybridToken',
  method: 'POST',
  path: '/v1/tokens/validate-quantum-safe',
  auth: 'key',
  scope: 'token',
  tag: 'Tokens',
  summary: 'Validate a hybrid token of your organisation',
  description:
    'Fails closed: a token is valid only if it is exactly what your organisation issued and has every signature required by its own policy or by yours; otherwise `reason_codes` say why. Signatures of agents and devices are accepted only if `accept_signers` names them, which is not possible if the token itself is the body. Send the token as `token`, as the body itself, or in the cookies `assay_ht_0`, `assay_ht_1`, ….',
  headers: { Cookie: 'Parts of the token as percent-encoded JSON, if the body has no token.' },
  body: ValidateHybridToken,
  response: { 200: HybridTokenVerdict },
  errors: [],
  example: {
    body: {
      token: HYBRID_TOKEN_EXAMPLE,
      required_policy: 'pq_only',
    },
  },
  handler: ({ caller, body, headers }, { hybridTokens }: Services) =>
    hybridTokens.validate(caller, body, headers.cookie as string | undefined),
})

export const hybridTokenRoutes = [generateHybridToken, generateQuantumSafeToken, validateHybridToken]
