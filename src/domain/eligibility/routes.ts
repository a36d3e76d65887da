/** Routes of eligibility. @module */
import type { ErrorCode } from '../../errors.ts'
import { Reply, route } from '../../http/route.ts'
import type { UsageService } from '../usage/service.ts'
import { CompositeCheck, EligibilityCheck } from './schemas.ts'
import { CompositeAnswer, EligibilityAnswer } from './schemas-answers.ts'
import type { EligibilityService } from './service.ts'

interface Services {
  readonly eligibility: EligibilityService
  readonly usage: UsageService
}

const tag = 'Eligibility'

const ERRORS: readonly ErrorCode[] = [
  'tree_too_large',
  'inputs_insufficient',
  'not_provable',
  'subscription_inactive',
  'free_allocation_used',
  'source_failed',
  'conflict',
  'prover_overloaded',
]

const COSTS =
  'Without an active subscription each answer uses one free result; X-Free-Remaining is the number left. The answer of a hermes source counts as a result of the organisation that created the route.'

const checkEligibility = route({
  name: 'checkEligibility',
  method: 'POST',
  path: '/api/eligibility/check',
  auth: 'key',
  scope: 'proof',
  tag,
  summary: 'Check a person against rules over several data sources',
  description: `All rules must hold; missing data is never a YES. The answer contains a zero-knowledge proof of the circuit eligibility (or composite if the rules do not fit it) and, if the person is eligible, a signed token. ${COSTS}`,
  body: EligibilityCheck,
  exactNumbers: true,
  commitsInSteps: true,
  response: { 200: EligibilityAnswer },
  errors: [...ERRORS, 'pass_signing_not_configured'],
  example: {
    body: {
      identifier: 'customer-1007',
      dataSources: [
        { id: 'application', type: 'inline', data: { age: 36, country: 'GB' } },
        { id: 'register', type: 'hermes', slug: '{slug}', criteria: { name: 'Ada' } },
      ],
      rules: [
        { source: 'application', field: 'age', op: 'gte', value: 18 },
        { source: 'register', field: 'verdict', op: 'eq', value: 'YES' },
      ],
      tokenConfig: { ttl: 600, audience: 'checkout', singleUse: true },
    },
  },
  handler: async ({ caller, body, requestId, ip }, { eligibility, usage }: Services) =>
    new Reply(
      200,
      await eligibility.check({ caller, requestId, ip }, body),
      await usage.headers(caller.organisation),
    ),
})

const checkComposite = route({
  name: 'checkComposite',
  method: 'POST',
  path: '/api/eligibility/composite',
  auth: 'key',
  scope: 'proof',
  tag,
  summary: 'Check a person against a tree of rules over several data sources',
  description: `With AND, OR, NOT, NAND and NOR. The proof, of the circuit composite, shows whether the whole tree holds for the committed data; it does not show which of its parts do. ${COSTS}`,
  body: CompositeCheck,
  exactNumbers: true,
  commitsInSteps: true,
  response: { 200: CompositeAnswer },
  errors: ERRORS,
  example: {
    body: {
      dataSources: [
        { id: 'application', type: 'inline', data: { income: 21_000, student: true } },
        { id: 'bureau', type: 'inline', data: { score: 610, defaults: 0 } },
      ],
      logicTree: {
        op: 'AND',
        children: [
          { source: 'bureau', field: 'defaults', op: 'eq', value: 0 },
          {
            op: 'OR',
            children: [
              { source: 'application', field: 'income', op: 'gte', value: 25_000 },
              { source: 'application', field: 'student', op: 'eq', value: true },
            ],
          },
          { op: 'NOT', child: { source: 'bureau', field: 'score', op: 'lt', value: 600 } },
        ],
      },
    },
  },
  handler: async ({ caller, body, requestId, ip }, { eligibility, usage }: Services) =>
    new Reply(
      200,
      await eligibility.composite({ caller, requestId, ip }, body),
      await usage.headers(caller.organisation),
    ),
})

export const eligibilityRoutes = [checkEligibility, checkComposite]
