/** Routes of results that were made: for anyone who has their address, and for their owner. @module */
import Type from 'typebox'
import { prefers } from '../../http/accept.ts'
import { QR_CONTENT_TYPES, type QrFormat } from '../../http/qr-code.ts'
import { Reply, route } from '../../http/route.ts'
import type { Pages } from '../system/pages.ts'
import {
  HashParams,
  PublicResult,
  QrQuery,
  ResultParams,
  Revoked,
  RevokeResult,
  StoredResult,
} from './schemas.ts'
import { ResultPage, ResultsQuery } from './schemas-list.ts'
import type { VerificationService } from './service.ts'

interface Services {
  readonly verification: VerificationService
  readonly pages: Pages
}

const tag = 'Verification'

/** The code only holds an address, which never changes. */
const CODE_MAX_AGE_SECONDS = 24 * 3600
const JSON_TYPE = 'application/json'
const HTML_TYPE = 'text/html'

/** The page looks the result up itself; it comes with 404 where it will find none. */
const resultPage = async (hash: string, { verification, pages }: Services) =>
  new Reply((await verification.isKnown(hash)) ? 200 : 404, pages.verify.body, pages.verify.headers)

const resultCode = async (hash: string, format: QrFormat, { verification }: Services) =>
  new Reply(200, await verification.qrCode(hash, format), {
    'Content-Type': QR_CONTENT_TYPES[format],
    'Cache-Control': `public, max-age=${CODE_MAX_AGE_SECONDS}`,
  })

const resultJson = async (hash: string, { verification }: Services) =>
  new Reply(200, await verification.lookUp(hash), { 'Cache-Control': 'no-cache', Vary: 'Accept' })

const lookUpResult = route({
  name: 'lookUpResult',
  method: 'GET',
  path: '/verify/qr/{hash}',
  auth: 'none',
  tag,
  summary: 'Look a signed result up',
  description:
    'By the address returned with the result or contained in its QR code. Browsers get a page that verifies the signature.',
  params: HashParams,
  query: QrQuery,
  produces: [JSON_TYPE, HTML_TYPE, QR_CONTENT_TYPES.svg, QR_CONTENT_TYPES.png],
  response: { 200: PublicResult, 404: Type.String({ description: 'The page, for browsers.' }) },
  errors: ['not_found'],
  handler: ({ params: { hash }, query: { format }, headers }, services: Services) => {
    if (format !== undefined) return resultCode(hash, format, services)
    const wantsPage = prefers(headers.accept, HTML_TYPE, JSON_TYPE)
    return wantsPage ? resultPage(hash, services) : resultJson(hash, services)
  },
})

const getResult = route({
  name: 'getResult',
  method: 'GET',
  path: '/verify/{verificationId}',
  auth: 'console',
  scope: 'verify',
  tag,
  summary: 'Get a signed result of your organisation again',
  description: 'With its proof, without its salt, which is not stored.',
  params: ResultParams,
  response: { 200: StoredResult },
  errors: ['not_found'],
  handler: ({ caller, params }, { verification }: Services) =>
    verification.find(caller, params.verificationId),
})

const revokeResult = route({
  name: 'revokeResult',
  method: 'POST',
  path: '/verify/revoke',
  auth: 'console',
  scope: 'verify',
  tag,
  summary: 'Revoke a signed result permanently',
  description:
    'Looking it up then returns REVOKED. The signature of its JWS can still be verified offline, so check the status online where revocation matters. A repeated request returns the first answer. You can send the complete result as the body.',
  body: RevokeResult,
  response: { 200: Revoked },
  errors: ['not_found', 'read_only'],
  example: { body: { verificationId: '{verificationId}' } },
  handler: ({ caller, body }, { verification }: Services) => verification.revoke(caller, body),
})

const listResults = route({
  name: 'listResults',
  method: 'GET',
  path: '/console/api/results',
  auth: 'console',
  scope: 'audit',
  tag,
  summary: 'List signed results',
  description:
    'All results of the organisation, newest first. `GET /verify/{verificationId}` has all of one, `POST /verify/revoke` withdraws it.',
  query: ResultsQuery,
  response: { 200: ResultPage },
  errors: [],
  example: { query: { decision: 'YES', from: '2026-01-01' } },
  handler: ({ caller, query }, { verification }: Services) => verification.list(caller, query),
})

export const resultRoutes = [lookUpResult, getResult, revokeResult, listResults]
