/** Routes that make signed results. @module */
import { prefers } from '../../http/accept.ts'
import { Reply, route } from '../../http/route.ts'
import type { Pages } from '../system/pages.ts'
import type { UsageService } from '../usage/service.ts'
import { BatchRequest, BatchResult, VerificationInfo, VerificationResult, VerifyRequest } from './schemas.ts'
import type { VerificationService } from './service.ts'

interface Services {
  readonly verification: VerificationService
  readonly usage: UsageService
  readonly pages: Pages
}

const tag = 'Verification'
const JSON_TYPE = 'application/json'
const HTML_TYPE = 'text/html'

const getVerification = route({
  name: 'getVerification',
  method: 'GET',
  path: '/verify',
  auth: 'none',
  tag,
  summary: 'Check whether verification is available',
  description: 'JSON, or for browsers the page that checks what somebody was given, without uploading it.',
  produces: [JSON_TYPE, HTML_TYPE],
  response: { 200: VerificationInfo },
  errors: [],
  example: {},
  handler: ({ headers }, { verification, pages: { check } }: Services) =>
    prefers(headers.accept, HTML_TYPE, JSON_TYPE)
      ? new Reply(200, check.body, check.headers)
      : new Reply(200, verification.info(), { Vary: 'Accept' }),
})

const verify = route({
  name: 'verify',
  method: 'POST',
  path: '/verify',
  auth: 'console',
  scope: 'verify',
  tag,
  summary: 'Verify data and get a signed result with a zero-knowledge proof',
  description:
    'Without rules the result attests what was submitted and when. With rules it says whether they hold: a NO is a signed result as well and costs as much as a YES. Without an active subscription each result uses one free result; X-Free-Remaining is the number left.',
  body: VerifyRequest,
  exactNumbers: true,
  response: { 200: VerificationResult },
  errors: [
    'tree_too_large',
    'not_provable',
    'subscription_inactive',
    'free_allocation_used',
    'prover_overloaded',
  ],
  example: {
    body: {
      data: { name: 'Ada', age: 36 },
      options: { rules: [{ field: 'age', op: 'gte', value: 18 }], ttl: 3600, nonce: 'n-0001' },
    },
  },
  handler: async ({ caller, body }, { verification, usage }: Services) =>
    new Reply(
      200,
      await verification.verify(caller, body, { category: 'verify' }),
      await usage.headers(caller.organisation),
    ),
})

const verifyBatch = route({
  name: 'verifyBatch',
  method: 'POST',
  path: '/verify/batch',
  auth: 'key',
  scope: 'verify',
  tag,
  summary: 'Verify up to 100 items and get a signed result for each',
  description:
    'In the order of the items; without zero-knowledge proofs. An error of one item is reported in its place. The answer is 402 only if no item could be paid for. Send an Idempotency-Key: without it an item can be reported as `unavailable` and still have been recorded; with it the whole request returns 503 and can be repeated.',
  body: BatchRequest,
  bodyLimit: 'batch',
  commitsInSteps: true,
  exactNumbers: true,
  response: { 200: BatchResult },
  errors: ['batch_too_large', 'subscription_inactive', 'free_allocation_used'],
  example: {
    body: {
      items: [
        {
          data: { sku: 'A-1', weight: 12.5 },
          options: { rules: [{ field: 'weight', op: 'lt', value: 20 }] },
        },
        { sku: 'A-2', weight: 30 },
      ],
    },
  },
  handler: async ({ caller, body }, { verification, usage }: Services) =>
    new Reply(200, await verification.batch(caller, body), await usage.headers(caller.organisation)),
})

export const verificationRoutes = [getVerification, verify, verifyBatch]
