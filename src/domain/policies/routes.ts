/** Routes of policies and their decisions. @module */
import { Reply, route } from '../../http/route.ts'
import type { UsageService } from '../usage/service.ts'
import { PolicyChange, PolicyParams, StoredPolicy } from './schemas.ts'
import { DecisionAnswer, DecisionRequest } from './schemas-decisions.ts'
import type { PoliciesService } from './service.ts'

interface Services {
  readonly policies: PoliciesService
  readonly usage: UsageService
}

const tag = 'Policies'

const getPolicy = route({
  name: 'getPolicy',
  method: 'GET',
  path: '/console/api/policies/{policyId}',
  auth: 'console',
  scope: 'verify',
  tag,
  summary: 'The policy that decides for a circuit or a type of resource',
  description:
    'Every circuit has one from the start: an identifier, and an amount above 0 and at most 10,000 in a currency of ISO 4217. `default` denies everything until it is replaced.',
  params: PolicyParams,
  response: { 200: StoredPolicy },
  errors: ['not_found'],
  example: { params: { policyId: '{policyId}' } },
  handler: ({ caller, params }, { policies }: Services) => policies.find(caller, params.policyId),
})

const putPolicy = route({
  name: 'putPolicy',
  method: 'PUT',
  path: '/console/api/policies/{policyId}',
  auth: 'console',
  scope: 'keys',
  tag,
  summary: 'Replace a policy',
  description:
    'As a whole; every version stays on record. Needs the scope `keys`: a key that only has things verified does not change what decides. Holds on every server within a second.',
  params: PolicyParams,
  body: PolicyChange,
  exactNumbers: true,
  response: { 200: StoredPolicy },
  errors: ['not_found', 'conflict', 'tree_too_large', 'read_only'],
  example: {
    params: { policyId: '{policyId}' },
    body: {
      version: 1,
      rules: [
        {
          effect: 'permit',
          reason: 'ADULT',
          rules: [{ field: 'context.age', op: 'gte', value: 18 }],
          obligations: [{ id: 'log', parameters: { level: 'full' } }],
        },
        { effect: 'deny', reason: 'BLOCKED', rules: [{ field: 'context.blocked', op: 'eq', value: true }] },
      ],
    },
  },
  handler: ({ caller, params, body }, { policies }: Services) =>
    policies.replace(caller, params.policyId, body),
})

const decidePolicy = route({
  name: 'decidePolicy',
  method: 'POST',
  path: '/v1/nior/policy/decide',
  auth: 'key',
  scope: 'verify',
  tag,
  summary: 'Ask whether a subject may do something',
  description:
    'In the shape of the AuthZEN Authorization API 1.0. The policy is the one of `resource.type`, else `default`; its rules read `subject.…`, `action.…`, `resource.…` and `context.…`. A denial is an answer (200) as well, signed and recorded. Without an active subscription each answer uses up a free one; X-Free-Remaining says how many are left.',
  body: DecisionRequest,
  exactNumbers: true,
  response: { 200: DecisionAnswer },
  errors: ['subscription_inactive', 'free_allocation_used'],
  example: {
    body: {
      subject: { type: 'user', id: 'ada@shop.example' },
      action: { name: 'refund' },
      resource: { type: 'order', id: 'A-1007' },
      context: { amount: 12.5 },
    },
  },
  handler: async ({ caller, body }, { policies, usage }: Services) =>
    new Reply(200, await policies.decide(caller, body), await usage.headers(caller.organisation)),
})

export const policyRoutes = [getPolicy, putPolicy, decidePolicy]
