/** Routes of pods. @module */
import { route } from '../../http/route.ts'
import { VerificationResult, VerifyData } from '../verification/schemas.ts'
import {
  NewPod,
  OwnPod,
  OwnPodList,
  PodChange,
  PodCreated,
  PodInfo,
  PodParams,
  PodStatsAnswer,
  PodsQuery,
} from './schemas.ts'
import type { PodsService } from './service.ts'

interface Services {
  readonly pods: PodsService
}

const POD_REQUESTS_PER_HOUR = 1000
const HOUR_SECONDS = 3600

const tag = 'Pods'

const listPods = route({
  name: 'listPods',
  method: 'GET',
  path: '/console/api/pods',
  auth: 'console',
  scope: 'pod',
  tag,
  summary: 'List pods',
  description: 'Newest first, each with the domains bound to it. The keys are never shown again.',
  query: PodsQuery,
  response: { 200: OwnPodList },
  errors: [],
  handler: ({ caller, query }, { pods }: Services) => pods.list(caller, query),
})

const createPod = route({
  name: 'createPod',
  method: 'POST',
  path: '/console/api/pods',
  auth: 'console',
  scope: 'pod',
  tag,
  summary: 'Create a pod',
  description:
    'The key is shown once. With `rules` or `logic` the pod has a policy that decides each verification. The pod is ACTIVE if the subscription is active, otherwise PENDING. Only the operator can create pods that charge less than 0.35.',
  body: NewPod,
  exactNumbers: true,
  response: { 201: PodCreated },
  errors: ['amount_precision', 'tree_too_large'],
  example: {
    body: {
      name: 'Age check',
      chargePerVerification: 0.35,
      rules: [{ field: 'age', op: 'gte', value: 18 }],
    },
  },
  handler: ({ caller, body }, { pods }: Services) => pods.create(caller, body),
})

const updatePod = route({
  name: 'updatePod',
  method: 'PATCH',
  path: '/console/api/pods/{podId}',
  auth: 'console',
  scope: 'pod',
  tag,
  summary: 'Change a pod',
  description:
    "The owner can change name and policy (`rules` and `logic` are replaced together, `rules: []` alone removes both); the operator, with scope `admin`, also status and charge. Transitions: PENDING to ACTIVE, ACTIVE to SUSPENDED and back, and any state to ARCHIVED, which is permanent: an archived pod can't be changed. Takes effect on every server within a second.",
  params: PodParams,
  body: PodChange,
  exactNumbers: true,
  response: { 200: OwnPod },
  errors: ['not_found', 'conflict', 'amount_precision', 'tree_too_large', 'read_only'],
  example: { params: { podId: '{podId}' }, body: { name: 'Age check, 18 or over' } },
  handler: ({ caller, params, body }, { pods }: Services) => pods.change(caller, params.podId, body),
})

const getPod = route({
  name: 'getPod',
  method: 'GET',
  path: '/pod/{podId}',
  auth: 'none',
  tag,
  summary: 'Get a pod',
  description: 'A domain bound to the pod gives the same answer at `/`.',
  params: PodParams,
  response: { 200: PodInfo },
  errors: ['not_found'],
  handler: ({ params }, { pods }: Services) => pods.info(params.podId),
})

const verifyInPod = route({
  name: 'verifyInPod',
  method: 'POST',
  path: '/pod/{podId}/verify',
  auth: 'pod',
  scope: 'pod',
  tag,
  summary: 'Verify data in a pod',
  description:
    'The body is the data itself. The policy of the pod decides. A signed NO is a result and is charged; an error is not. Send the key of the pod or an API key of its owner. A domain bound to the pod gives the same answer at `/verify`. 409 where the pod got another policy or charge while the proof was made.',
  params: PodParams,
  body: VerifyData,
  exactNumbers: true,
  response: { 200: VerificationResult },
  errors: [
    'not_found',
    'pod_pending',
    'pod_suspended',
    'pod_archived',
    'conflict',
    'subscription_inactive',
    'free_allocation_used',
    'tree_too_large',
    'not_provable',
    'prover_overloaded',
  ],
  addressLimit: { requests: POD_REQUESTS_PER_HOUR, windowSeconds: HOUR_SECONDS },
  example: { params: { podId: '{podId}' }, body: { name: 'Ada', age: 36 } },
  handler: ({ caller, params, body }, { pods }: Services) => pods.verify(caller, params.podId, body),
})

const getPodStats = route({
  name: 'getPodStats',
  method: 'GET',
  path: '/pod/{podId}/stats',
  auth: 'console',
  scope: 'pod',
  tag,
  summary: 'Get the statistics of a pod',
  description:
    'For the owner of the pod, by key or in a console session. Days are UTC days, weeks begin on Monday.',
  params: PodParams,
  response: { 200: PodStatsAnswer },
  errors: ['not_found', 'forbidden'],
  handler: ({ caller, params }, { pods }: Services) => pods.statistics(caller, params.podId),
})

export const podRoutes = [listPods, createPod, updatePod, getPod, verifyInPod, getPodStats]
