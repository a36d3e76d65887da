/** Routes of continuous screening, and of the findings that somebody must look at. @module */
import { route } from '../../http/route.ts'
import {
  Decide,
  Finding,
  FindingPage,
  FindingParams,
  FindingsQuery,
  ScreeningProgress,
  Subscribe,
  Subscription,
  SubscriptionEnded,
  SubscriptionParams,
} from './schemas-subscriptions.ts'
import type { ReviewService } from './subscriptions/review.ts'
import type { SubscriptionsService } from './subscriptions/service.ts'

interface Services {
  readonly amlSubscriptions: SubscriptionsService
  readonly amlReview: ReviewService
}

const tag = 'AML'
const params = { userId: '{screenedUserId}' }

const subscribe = route({
  name: 'subscribeToScreening',
  method: 'POST',
  path: '/api/aml/subscriptions',
  auth: 'key',
  scope: 'aml',
  tag,
  summary: 'Screen somebody now, and again whenever lists change',
  description:
    'What is found becomes findings, which wait for a decision. Name, attributes, findings and decisions are stored under a key of the person: the one that `DELETE /api/kyc/{userId}` destroys. Sent again, it replaces what is known of the person; if that changes what is compared, earlier findings and decisions are void.',
  body: Subscribe,
  response: { 201: Subscription },
  errors: ['lists_unavailable', 'conflict', 'not_found'],
  commitsInSteps: true,
  example: {
    body: { userId: 'user-81', name: 'Ivan Testov', dateOfBirth: '1961-04-12', country: 'RU' },
  },
  handler: ({ caller, body }, { amlSubscriptions }: Services) => amlSubscriptions.subscribe(caller, body),
})

const getSubscription = route({
  name: 'getScreeningSubscription',
  method: 'GET',
  path: '/api/aml/subscriptions/{userId}',
  auth: 'key',
  scope: 'aml',
  tag,
  summary: 'What is known of somebody who is screened again, and what was found',
  params: SubscriptionParams,
  response: { 200: Subscription },
  errors: ['not_found'],
  example: { params },
  handler: ({ caller, params }, { amlSubscriptions }: Services) =>
    amlSubscriptions.get(caller, params.userId),
})

const unsubscribe = route({
  name: 'endScreeningSubscription',
  method: 'DELETE',
  path: '/api/aml/subscriptions/{userId}',
  auth: 'key',
  scope: 'aml',
  tag,
  summary: 'Screen somebody no more',
  description:
    'What was known of the person is removed; findings and decisions stay until the person is erased with `DELETE /api/kyc/{userId}`.',
  params: SubscriptionParams,
  response: { 200: SubscriptionEnded },
  errors: ['not_found', 'conflict'],
  example: { params },
  handler: ({ caller, params }, { amlSubscriptions }: Services) =>
    amlSubscriptions.end(caller, params.userId),
})

const findings = {
  method: 'GET',
  scope: 'aml',
  tag,
  summary: 'List what was found, newest first',
  description:
    '`open` findings wait for a decision. `decided` ones have one that counts. `void` ones no longer count, since the entry or the person changed.',
  query: FindingsQuery,
  response: { 200: FindingPage },
  errors: [],
} as const

const listFindings = route({
  ...findings,
  name: 'listScreeningFindings',
  path: '/api/aml/findings',
  auth: 'key',
  handler: ({ caller, query }, { amlReview }: Services) => amlReview.list(caller, query),
})

const listConsoleFindings = route({
  ...findings,
  name: 'listConsoleScreeningFindings',
  path: '/console/api/findings',
  auth: 'console',
  handler: ({ caller, query }, { amlReview }: Services) => amlReview.list(caller, query),
})

const decision = {
  method: 'POST',
  scope: 'aml',
  tag,
  summary: 'Decide on a finding',
  description:
    'Confirms that the entry means this person, or not. The decision is signed, recorded in the log and remembered: the same entry does not come back as a finding until it changes. A later decision replaces an earlier one; both stay in the log. 409 if the finding is void, if its entry has changed since it was found, or if somebody else decided meanwhile, or since the `version` that you name.',
  params: FindingParams,
  body: Decide,
  response: { 200: Finding },
  errors: ['not_found', 'conflict'],
  commitsInSteps: true,
  example: {
    params: { findingId: '{findingId}' },
    body: { verdict: 'not_this_person', reason: 'Born in another country; the passport was seen.' },
  },
} as const

const decideFinding = route({
  ...decision,
  name: 'decideScreeningFinding',
  path: '/api/aml/findings/{findingId}/decision',
  auth: 'key',
  handler: ({ caller, params, body }, { amlReview }: Services) =>
    amlReview.decide(caller, params.findingId, body),
})

const decideConsoleFinding = route({
  ...decision,
  name: 'decideConsoleScreeningFinding',
  path: '/console/api/findings/{findingId}/decision',
  auth: 'console',
  handler: ({ caller, params, body }, { amlReview }: Services) =>
    amlReview.decide(caller, params.findingId, body),
})

const screeningProgress = route({
  name: 'getScreeningProgress',
  method: 'GET',
  path: '/console/api/screening',
  auth: 'console',
  scope: 'aml',
  tag,
  summary: 'How far screening again has come',
  response: { 200: ScreeningProgress },
  errors: [],
  handler: ({ caller }, { amlReview }: Services) => amlReview.progress(caller),
})

export const amlSubscriptionRoutes = [
  subscribe,
  getSubscription,
  unsubscribe,
  listFindings,
  listConsoleFindings,
  decideFinding,
  decideConsoleFinding,
  screeningProgress,
]
