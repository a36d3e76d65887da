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
import { TokenPage, TokensQuery } from './schemas-list.ts'
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
    'A JWT that anyone can verify with /.well-known/jwks.json; `type` qr, nfc or pass ensures that it fits that medium. The service also keeps a signature for the circuit token_validation.',
  body: NewToken,
  exactNumbers: true,
  response: { 201: TokenIssued },
  errors: ['pass_signing_not_configured', 'conflict'],
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
  summary: 'Validate a token of your organisation',
  description:
    'Fails closed: only a token that this service signed for your organisation can be valid; otherwise `reasonCodes` say why. With `consume` a valid single-use token is used; a second use returns 409 with reason TOKEN_USED. You can send the complete answer that issued the token.',
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
  auth: 'console',
  scope: 'token',
  tag,
  summary: 'Revoke a token permanently',
  description:
    'Also revokes hybrid tokens (`hyt_…`). The signature of a revoked token can still be verified offline, so check its status list, or ask here, where revocation matters. Its proofs are rejected too. A repeated request returns the first answer. You can send the complete answer that issued the token.',
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
  auth: 'console',
  scope: 'token',
  tag,
  summary: 'Get the status of a token of your organisation',
  params: TokenParams,
  response: { 200: TokenStanding },
  errors: ['not_found'],
  handler: ({ caller, params: { tokenId } }, services: Services) =>
    keeperOf(tokenId, services).status(caller, tokenId),
})

const listTokens = route({
  name: 'listTokens',
  method: 'GET',
  path: '/console/api/tokens',
  auth: 'console',
  scope: { all: ['audit', 'token'] },
  tag,
  summary: 'List tokens',
  description:
    'All tokens of the organisation, hybrid ones among them, newest first. Never their text. `POST /api/tokens/revoke` revokes one.',
  query: TokensQuery,
  response: { 200: TokenPage },
  errors: [],
  example: { query: { subject: 'member-7', status: 'active' } },
  handler: ({ caller, query }, { tokens }: Services) => tokens.list(caller, query),
})

export const tokenRoutes = [generateToken, validateToken, revokeToken, tokenStatus, listTokens]
