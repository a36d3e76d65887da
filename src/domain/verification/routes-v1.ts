/** Verification by policy. @module */
import { Reply, route } from '../../http/route.ts'
import type { UsageService } from '../usage/service.ts'
import type { PolicyVerificationService } from './policy-verification.ts'
import { PolicyVerification, PolicyVerifyRequest } from './schemas-v1.ts'

interface Services {
  readonly policyVerification: PolicyVerificationService
  readonly usage: UsageService
}

const verifyByPolicy = route({
  name: 'verifyByPolicy',
  method: 'POST',
  path: '/v1/verify',
  auth: 'key',
  scope: 'verify',
  tag: 'Verification',
  summary: 'Get a signed and proven decision by your policy for a circuit',
  description:
    'The facts are `identifier`, `context.…` and `currency_known` (whether `context.currency` is an ISO 4217 code). Until you write your own policy, the default policy decides, with the reason DEFAULT_POLICY. simple_yesno, yesno, eligibility and composite prove that decision; the other circuits prove their own statement about `context.inputs`, and a YES then requires both. For the first four, `commits` in `context.statement` says whether the proof commits to the facts or only to the decision; with simple_yesno, and with yesno unless the policy is a single comparison, it is the decision. The proof is always of the requested circuit. A NO is a signed result as well and costs as much as a YES. 409 where the policy was replaced while the proof was made.',
  body: PolicyVerifyRequest,
  exactNumbers: true,
  response: { 200: PolicyVerification },
  errors: [
    'not_found',
    'conflict',
    'inputs_insufficient',
    'not_provable',
    'subscription_inactive',
    'free_allocation_used',
    'prover_overloaded',
    'proof_service_unavailable',
  ],
  example: {
    body: {
      circuit_id: 'yesno',
      identifier: 'customer-1007',
      context: { amount: 49.99, currency: 'GBP' },
    },
  },
  handler: async ({ caller, body }, { policyVerification, usage }: Services) =>
    new Reply(200, await policyVerification.verify(caller, body), await usage.headers(caller.organisation)),
})

export const policyVerificationRoutes = [verifyByPolicy]
