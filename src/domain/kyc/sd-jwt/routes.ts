/** Routes of credentials about people for wallets. @module */
import { Reply, route } from '../../../http/route.ts'
import { PersonParams } from '../schemas.ts'
import { CredentialNonce, IssuerMetadata, IssueSdJwt, SdJwtIssued, TypeMetadata } from './schemas.ts'
import type { SdJwtsService } from './service.ts'
import { TYPE_PATH } from './type-metadata.ts'

interface Services {
  readonly sdJwts: SdJwtsService
}

const tag = 'KYC'
const HOUR_SECONDS = 3600
const forAnHour = { 'Cache-Control': `public, max-age=${HOUR_SECONDS}` }

const credentialNonce = route({
  name: 'credentialNonce',
  method: 'POST',
  path: '/api/kyc/{userId}/credential/nonce',
  auth: 'key',
  scope: 'kyc',
  tag,
  summary: 'Get a nonce for a proof of possession',
  description:
    'The wallet signs it with its key, to get a credential of format `dc+sd-jwt`. It counts for one proof, for five minutes.',
  params: PersonParams,
  response: { 200: CredentialNonce },
  errors: ['not_found'],
  example: { params: { userId: '{verifiedUserId}' } },
  handler: ({ caller, params }, { sdJwts }: Services) => sdJwts.nonce(caller, params.userId),
})

const issueSdJwt = route({
  name: 'issuePersonCredential',
  method: 'POST',
  path: '/api/kyc/{userId}/credential',
  auth: 'key',
  scope: 'kyc',
  tag,
  summary: 'Issue a credential of a verified person for a wallet',
  description:
    "An SD-JWT VC (RFC 9901, draft-ietf-oauth-sd-jwt-vc-18) bound to the wallet's key: the holder chooses for each attribute, and for age_over_18 and age_over_21, whether to show it. It is revoked in its status list when the person is erased or checked again. Without a certificate of the operator it is signed with a key of /.well-known/jwks.json, and `note` says that wallets under HAIP need one.",
  params: PersonParams,
  body: IssueSdJwt,
  response: { 201: SdJwtIssued },
  errors: ['not_found', 'conflict', 'credential_certificate_expired'],
  // The credential is not kept, so a repeated request gets the same status in a text of its own.
  commitsInSteps: true,
  example: {
    params: { userId: '{verifiedUserId}' },
    body: {
      format: 'dc+sd-jwt',
      holder_jwk: { kty: 'EC', crv: 'P-256', x: '{holderX}', y: '{holderY}' },
      proof_of_possession: '{possessionProof}',
    },
  },
  handler: ({ caller, params, body }, { sdJwts }: Services) => sdJwts.issue(caller, params.userId, body),
})

const getTypeMetadata = route({
  name: 'getPersonCredentialType',
  method: 'GET',
  path: TYPE_PATH,
  auth: 'none',
  tag,
  summary: 'Get the type of the credential of a person',
  description: 'Type metadata of draft-ietf-oauth-sd-jwt-vc-18: what `vct` of the credential names.',
  response: { 200: TypeMetadata },
  errors: [],
  example: {},
  handler: (_, { sdJwts }: Services) => new Reply(200, sdJwts.type, forAnHour),
})

const getIssuerMetadata = route({
  name: 'getJwtVcIssuer',
  method: 'GET',
  path: '/.well-known/jwt-vc-issuer',
  auth: 'none',
  tag,
  summary: 'Get where the keys of the issuer of credentials are',
  description:
    'JWT VC issuer metadata of draft-ietf-oauth-sd-jwt-vc-18, for credentials without a certificate.',
  response: { 200: IssuerMetadata },
  errors: [],
  example: {},
  handler: (_, { sdJwts }: Services) => new Reply(200, sdJwts.issuer, forAnHour),
})

export const sdJwtRoutes = [credentialNonce, issueSdJwt, getTypeMetadata, getIssuerMetadata]
