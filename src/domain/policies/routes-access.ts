/**
 * Decisions at the addresses of the AuthZEN Authorization API 1.0 (OpenID), so that its clients find them, and at the
 * address that the service had before.
 * @module
 */
import Type from 'typebox'
import type { Caller } from '../../caller.ts'
import { Reply, route } from '../../http/route.ts'
import type { UsageService } from '../usage/service.ts'
import {
  AuthzenConfiguration,
  DecisionAnswer,
  DecisionRequest,
  EvaluationsAnswer,
  EvaluationsRequest,
} from './schemas-decisions.ts'
import type { PoliciesService } from './service.ts'

interface Services {
  readonly policies: PoliciesService
  readonly usage: UsageService
}

/** What the configuration says changes with BASE_URL alone. */
const CONFIGURATION_MAX_AGE_SECONDS = 3600

/** A hundred evaluations, each of which is decided, committed to and signed. */
const EVALUATIONS_COST = 10

const PAID =
  'A denial is also returned with 200, signed and recorded. Without an active subscription each decision uses one free result; X-Free-Remaining is the number left.'

const decision = {
  method: 'POST',
  auth: 'key',
  scope: 'verify',
  tag: 'Policies',
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
} as const

const decide = async (
  { caller, body }: { readonly caller: Caller; readonly body: DecisionRequest },
  { policies, usage }: Services,
) => new Reply(200, await policies.decide(caller, body), await usage.headers(caller.organisation))

const evaluateAccess = route({
  ...decision,
  name: 'evaluateAccess',
  path: '/access/v1/evaluation',
  summary: 'Decide whether a subject may perform an action',
  description: `The Access Evaluation API of AuthZEN 1.0. The policy is the one named after \`resource.type\`, otherwise \`default\`; its rules read \`subject.…\`, \`action.…\`, \`resource.…\` and \`context.…\`. ${PAID} What is missing or misshapen is 400, whatever it is.`,
  badRequest: true,
  handler: decide,
})

const evaluateAccessAll = route({
  ...decision,
  name: 'evaluateAccessAll',
  path: '/access/v1/evaluations',
  summary: 'Decide up to 100 questions in one request',
  description: `The Access Evaluations API of AuthZEN 1.0: in the order of the request, and with \`deny_on_first_deny\` or \`permit_on_first_permit\` none after the first such decision. An evaluation that lacks something is denied in its place, with the error in its \`context\`, recorded nowhere and free. All decisions are recorded together, or none (402 if they can't all be paid). Without \`evaluations\` it answers as \`POST /access/v1/evaluation\`. Evaluations that have more than 4 MiB of JSON together, each with what it takes from beside them, are 422 \`batch_too_large\`. Counts as ten requests. ${PAID}`,
  body: EvaluationsRequest,
  bodyLimit: 'batch',
  badRequest: true,
  cost: EVALUATIONS_COST,
  errors: [...decision.errors, 'batch_too_large'],
  response: { 200: Type.Union([DecisionAnswer, EvaluationsAnswer]) },
  example: {
    body: {
      subject: { type: 'user', id: 'ada@shop.example' },
      action: { name: 'refund' },
      evaluations: [
        { resource: { type: 'order', id: 'A-1007' }, context: { amount: 12.5 } },
        { resource: { type: 'order', id: 'A-1008' }, context: { amount: 900 } },
      ],
    },
  },
  handler: async ({ caller, body }, { policies, usage }: Services) =>
    new Reply(200, await policies.decideAll(caller, body), await usage.headers(caller.organisation)),
})

const getAuthzenConfiguration = route({
  name: 'getAuthzenConfiguration',
  method: 'GET',
  path: '/.well-known/authzen-configuration',
  auth: 'none',
  tag: 'Policies',
  summary: 'Get where access decisions are made',
  description: 'Metadata of the policy decision point (AuthZEN Authorization API 1.0, section 9).',
  response: { 200: AuthzenConfiguration },
  errors: [],
  example: {},
  handler: (_, { policies }: Services) =>
    new Reply(200, policies.configuration(), {
      'Cache-Control': `public, max-age=${CONFIGURATION_MAX_AGE_SECONDS}`,
    }),
})

const decidePolicy = route({
  ...decision,
  name: 'decidePolicy',
  path: '/v1/nior/policy/decide',
  summary: 'Decide whether a subject may perform an action (earlier address)',
  description: `As \`POST /access/v1/evaluation\`, which new programs should use, but for faults of the request: they are 415 and 422 as elsewhere. ${PAID}`,
  handler: decide,
})

export const accessRoutes = [evaluateAccess, evaluateAccessAll, getAuthzenConfiguration, decidePolicy]
