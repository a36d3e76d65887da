/** Wire shapes of pods. @module */
import Type, { type Static } from 'typebox'
import { NOT_BLANK } from '../../json/patterns.ts'
import { askedId, DateTime, idOf, NextCursor, orNull, pageLimit } from '../../json/schemas.ts'
import { Logic, Rules } from '../../rules/schemas.ts'

export const POD_STATUSES = ['PENDING', 'ACTIVE', 'SUSPENDED', 'ARCHIVED'] as const
export type PodStatus = (typeof POD_STATUSES)[number]

const MAX_NAME_CHARACTERS = 100
/** Major units. */
const MAX_CHARGE = 10_000

const PodId = idOf('pod')
const Name = Type.String({ minLength: 1, maxLength: MAX_NAME_CHARACTERS, pattern: NOT_BLANK })
const Status = Type.Enum([...POD_STATUSES], {
  description:
    'PENDING: not activated yet. SUSPENDED: temporarily disabled. ARCHIVED: permanently closed. Only ACTIVE pods verify.',
})
const Charge = Type.Number({
  minimum: 0,
  maximum: MAX_CHARGE,
  description:
    'Charge per verification, in units of the currency, at most two decimals; default 0.35. Only the operator can set less.',
})
const Currency = Type.String({ description: 'ISO 4217.' })

export const PodParams = Type.Object({ podId: askedId('pod') })

/** The rules of a pod: what the data of a verification must fulfil. */
const policy = { rules: Type.Optional(Rules), logic: Type.Optional(Logic) }

export const NewPod = Type.Object(
  { name: Name, chargePerVerification: Type.Optional(Charge), ...policy },
  { title: 'NewPod' },
)
export type NewPod = Static<typeof NewPod>

export const PodCreated = Type.Object(
  {
    podId: PodId,
    podKey: Type.String({ description: '`pk_pod_…`, shown once. Valid for this pod only.' }),
    status: Status,
  },
  { title: 'PodCreated' },
)
export type PodCreated = Static<typeof PodCreated>

const PodDomain = Type.Object(
  {
    domain: Type.String({ description: 'In lower case, international names as A-labels (`xn--…`).' }),
    status: Type.Enum(['bound', 'lapsed'], {
      description:
        'bound: requests to it mean the pod. lapsed: its records are gone, and it means the pod again once they are back.',
    }),
    boundAt: DateTime,
    unseenSince: orNull(DateTime, {
      description:
        'Since when its records were not seen, because they are gone or DNS fails; after seven days it is not bound any more. Null: they were there at the last look.',
    }),
  },
  { title: 'PodDomain' },
)
export type PodDomain = Static<typeof PodDomain>

const Domains = Type.Array(PodDomain, {
  description: 'The domains bound to the pod, the one bound last first. POST /domain/verify binds them.',
})

/** Members of a pod that nobody changes; they may come back with the values that they have. */
const asAnswered = {
  podId: Type.Optional(Type.String()),
  currency: Type.Optional(Type.String()),
  createdAt: Type.Optional(Type.String()),
  // What DNS says goes on while somebody writes a change: they come back as they were read, and are not compared.
  domains: Type.Optional(Domains),
}

export const PodChange = Type.Object(
  {
    name: Type.Optional(Name),
    status: Type.Optional(Status),
    chargePerVerification: Type.Optional(Charge),
    rules: Type.Optional(orNull(Rules)),
    logic: Type.Optional(orNull(Logic)),
    ...asAnswered,
  },
  { title: 'PodChange' },
)
export type PodChange = Static<typeof PodChange>

/** A pod as its owner sees it. */
export const OwnPod = Type.Object(
  {
    podId: PodId,
    name: Type.String(),
    status: Status,
    chargePerVerification: Type.Number(),
    currency: Currency,
    rules: orNull(Rules),
    logic: orNull(Logic),
    createdAt: DateTime,
    domains: Domains,
  },
  { title: 'OwnPod' },
)
export type OwnPod = Static<typeof OwnPod>

const MAX_PAGE_PODS = 1000

export const PodsQuery = Type.Object({
  cursor: Type.Optional(askedId('pod', { description: '`nextCursor` of the previous page.' })),
  limit: pageLimit(MAX_PAGE_PODS, MAX_PAGE_PODS),
})
export type PodsQuery = Static<typeof PodsQuery>
export const DEFAULT_PAGE_PODS = MAX_PAGE_PODS

export const OwnPodList = Type.Object(
  { pods: Type.Array(OwnPod), nextCursor: NextCursor },
  { title: 'OwnPodList' },
)
export type OwnPodList = Static<typeof OwnPodList>

/** A pod as anyone sees it. */
export const Pod = Type.Object(
  {
    id: PodId,
    name: Type.String(),
    status: Status,
    customDomain: orNull(Type.String(), {
      description: 'The most recently bound domain that still points here.',
    }),
    verificationCount: Type.Integer({ minimum: 0 }),
    createdAt: DateTime,
    endpoints: Type.Object({
      verify: Type.String({ format: 'uri' }),
      info: Type.String({ format: 'uri' }),
    }),
  },
  { title: 'Pod' },
)

export const PodInfo = Type.Object({ success: Type.Literal(true), pod: Pod }, { title: 'PodInfo' })
export type PodInfo = Static<typeof PodInfo>

export const PodStats = Type.Object(
  {
    podId: PodId,
    podName: Type.String(),
    totalVerifications: Type.Integer({ minimum: 0 }),
    successfulVerifications: Type.Integer({
      minimum: 0,
      description: 'Results that were a YES, or all results if the pod has no rules.',
    }),
    successRate: Type.String({ description: 'Such as `98.50%`; `0.00%` while there is none.' }),
    todayVerifications: Type.Integer({ minimum: 0, description: 'During this UTC day.' }),
    weeklyCharges: Type.Number({
      minimum: 0,
      description: 'Since Monday 00:00 UTC, in units of the currency.',
    }),
    currency: Currency,
    status: Status,
  },
  { title: 'PodStats' },
)

export const PodStatsAnswer = Type.Object(
  { success: Type.Literal(true), stats: PodStats },
  { title: 'PodStatsAnswer' },
)
export type PodStatsAnswer = Static<typeof PodStatsAnswer>
