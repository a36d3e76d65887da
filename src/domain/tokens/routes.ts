/** Routes of signed tokens. @module */
import { route } from '../../http/route.ts'
import { isHybridTokenId } from '../../protocol/hybrid-token.ts'
import type { HybridTokensService } from '../hybrid-tokens/service.ts'
import {
  NewToken,
  RevokeToken,
  TokenIssued,
  TokenParams,
  TokenRevoked,
  TokenStanding,
  TokenVerdict,
  ValidateToken,
} from './schemas.ts'
import type { TokensService } from './service.ts'

interface Services {
  readonly tokens: TokensService
  readonly hybridTokens: Pick<HybridTokensService, 'revoke' | 'revokeIssued' | 'status'>
}

/** The service that knows tokens of this id's kind. */
const keeperOf = (id: string, { tokens, hybridTokens }: Services) =>
  isHybridTokenId(id) ? hybridTokens : tokens

const tag = 'Tokens'

const generateToken = route({
  name: 'generateToken',
  method: 'POST',
  path: '/api/tokens/generate',
  auth: 'key',
  scope: 'token',
  tag,
  summary: 'Issue a signed token that expires',
  description:
    'A JWT that anyone verifies with /.well-known/jwks.json, whatever carries it: `type` qr, nfc or pass makes sure that it fits. Beside it the service keeps a signature for the circuit token_validation.',
  body: NewToken,
  exactNumbers: true,
  response: { 201: TokenIssued },
  errors: ['pass_signing_not_configured'],
  example: {
    body: {
      subject: 'member-7',
      claims: { level: 'gold', seats: 2 },
      ttl: 3600,
      audience: 'https://gate.example',
      singleUse: true,
    },
  },
  handler: ({ caller, body }, { tokens }: Services) => tokens.issue(caller, body),
})

const validateToken = route({
  name: 'validateToken',
  method: 'POST',
  path: '/api/tokens/validate',
  auth: 'key',
  scope: 'token',
  tag,
  summary: 'Whether a token of your organisation counts now',
  description:
    'Fails closed: whatever is not a token that this service signed for your organisation is not valid, and `reasonCodes` say why. With `consume` a valid single-use token is used up; the second time is 409 with reason TOKEN_USED. The answer that issued it may come back whole.',
  body: ValidateToken,
  response: { 200: TokenVerdict },
  errors: ['token_used', 'read_only'],
  example: { body: { token: '{token}', audience: 'https://gate.example', consume: true } },
  handler: ({ caller, body }, { tokens }: Services) => tokens.validate(caller, body),
})

const revokeToken = route({
  name: 'revokeToken',
  method: 'POST',
  path: '/api/tokens/revoke',
  auth: 'key',
  scope: 'token',
  tag,
  summary: 'Revoke a token for good',
  description:
    'Also one of `hyt_…`. It still verifies offline, so ask where that matters. Its proofs are refused as well. Again: the first answer. The answer that issued it may come back whole.',
  body: RevokeToken,
  response: { 200: TokenRevoked },
  errors: ['not_found', 'read_only'],
  example: { body: { tokenId: '{tokenId}', reason: 'lost' } },
  handler({ caller, body }, services: Services) {
    if ('token_id' in body) return services.hybridTokens.revokeIssued(caller, body)
    return keeperOf(body.tokenId, services).revoke(caller, body)
  },
})

const tokenStatus = route({
  name: 'tokenStatus',
  method: 'GET',
  path: '/api/tokens/{tokenId}/status',
  auth: 'key',
  scope: 'token',
  tag,
  summary: 'What has become of a token of your organisation',
  params: TokenParams,
  response: { 200: TokenStanding },
  errors: ['not_found'],
  handler: ({ caller, params: { tokenId } }, services: Services) =>
    keeperOf(tokenId, services).status(caller, tokenId),
})

export const tokenRoutes = [generateToken, validateToken, revokeToken, tokenStatus]
