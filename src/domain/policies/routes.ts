/** Routes of policies. @module */
import { route } from '../../http/route.ts'
import {
  PoliciesQuery,
  PolicyChange,
  PolicyPage,
  PolicyParams,
  PolicyTrial,
  PolicyTried,
  StoredPolicy,
} from './schemas.ts'
import type { PoliciesService } from './service.ts'

interface Services {
  readonly policies: PoliciesService
}

const tag = 'Policies'

const listPolicies = route({
  name: 'listPolicies',
  method: 'GET',
  path: '/console/api/policies',
  auth: 'console',
  scope: 'verify',
  tag,
  summary: 'List policies',
  description:
    'Those that your organisation has written, by name, each with the version in force. Circuits without one have their initial policy, resource types without one are decided by `default`.',
  query: PoliciesQuery,
  response: { 200: PolicyPage },
  errors: [],
  handler: ({ caller, query }, { policies }: Services) => policies.list(caller, query),
})

const getPolicy = route({
  name: 'getPolicy',
  method: 'GET',
  path: '/console/api/policies/{policyId}',
  auth: 'console',
  scope: 'verify',
  tag,
  summary: 'Get the policy for a circuit or a resource type',
  description:
    'Every circuit has an initial policy: it requires an identifier, and an amount above 0 and at most 10,000 in an ISO 4217 currency. `default` denies everything until it is replaced.',
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
    "Replaces the whole policy; every version is kept. Requires the scope `keys`, so that a key that only verifies can't change a policy. Takes effect on every server within a second.",
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

const tryPolicy = route({
  name: 'tryPolicy',
  method: 'POST',
  path: '/console/api/policies/{policyId}/try',
  auth: 'console',
  scope: 'verify',
  tag,
  summary: 'Try a policy on sample facts',
  description:
    'A dry run: nothing is signed, recorded or charged. With `rules` they decide, as if they were in force; otherwise the policy that is. The facts are those that a real decision sees: for a circuit `currency_known` is added, and `context.inputs` left out. Whether the circuit can prove the decision is not tried.',
  params: PolicyParams,
  body: PolicyTrial,
  exactNumbers: true,
  response: { 200: PolicyTried },
  errors: ['tree_too_large'],
  example: {
    params: { policyId: 'order' },
    body: {
      rules: [{ effect: 'permit', rules: [{ field: 'context.amount', op: 'lte', value: 100 }] }],
      facts: { context: { amount: 12.5 } },
    },
  },
  handler: ({ caller, params, body }, { policies }: Services) => policies.try(caller, params.policyId, body),
})

export const policyRoutes = [listPolicies, getPolicy, putPolicy, tryPolicy]
