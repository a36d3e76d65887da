/** Wire shapes of policies. @module */
import Type, { type Static } from 'typebox'
import { DateTime, NextCursor, orNull, pageLimit } from '../../json/schemas.ts'
import { Logic, Rules } from '../../rules/schemas.ts'

export const MAX_POLICY_RULES = 16
const MAX_OBLIGATIONS = 8
const MAX_OBLIGATION_ID_CHARACTERS = 64
const MAX_PARAMETERS = 16
const MAX_SAMPLE_PROPERTIES = 200

/** What a policy can be called. Resource types that are no such name have no policy of their own. */
export const POLICY_NAME = '^[A-Za-z][A-Za-z0-9_.:-]{0,63}$'

export const PolicyParams = Type.Object({
  policyId: Type.String({
    pattern: POLICY_NAME,
    description: 'A circuit id, a resource type, or `default`.',
  }),
})

export const Obligation = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: MAX_OBLIGATION_ID_CHARACTERS }),
    parameters: Type.Optional(
      Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]), {
        maxProperties: MAX_PARAMETERS,
      }),
    ),
  },
  {
    title: 'Obligation',
    description: 'Obligations for the party that enforces the decision; returned unchanged.',
  },
)
export type Obligation = Static<typeof Obligation>

export const PolicyRule = Type.Object(
  {
    effect: Type.Enum(['permit', 'deny']),
    reason: Type.Optional(
      Type.String({
        pattern: '^[A-Z][A-Z0-9_]{0,63}$',
        description: 'Added to the `reason_codes` if this rule decides.',
      }),
    ),
    rules: Type.Optional(Rules),
    logic: Type.Optional(Logic),
    obligations: Type.Optional(Type.Array(Obligation, { maxItems: MAX_OBLIGATIONS })),
  },
  {
    title: 'PolicyRule',
    description: 'A condition in the rule language (`rules`, `logic` or both) and its effect.',
  },
)
export type PolicyRule = Static<typeof PolicyRule>

const PolicyRules = Type.Array(PolicyRule, {
  maxItems: MAX_POLICY_RULES,
  description:
    'The decision is YES if a permitting rule holds and no denying rule does; a denying rule whose data is missing counts as holding. Without rules everything is denied.',
})
export type PolicyRules = readonly PolicyRule[]

export const PolicyVersion = Type.Integer({
  minimum: 0,
  description: '0: the initial policy.',
})

export const StoredPolicy = Type.Object(
  {
    policyId: Type.String(),
    version: PolicyVersion,
    seeded: Type.Boolean({
      description: 'Whether it is the initial policy, not written by the organisation.',
    }),
    rules: PolicyRules,
    hash: Type.String({ description: 'SHA-256 of the canonical JSON of `rules`, lower-case hex.' }),
    updatedAt: orNull(DateTime),
  },
  { title: 'Policy' },
)
export type StoredPolicy = Static<typeof StoredPolicy>

const MAX_PAGE_POLICIES = 200
export const DEFAULT_PAGE_POLICIES = 100

export const PoliciesQuery = Type.Object({
  cursor: Type.Optional(
    Type.String({ pattern: POLICY_NAME, description: '`nextCursor` of the previous page.' }),
  ),
  limit: pageLimit(MAX_PAGE_POLICIES, DEFAULT_PAGE_POLICIES),
})
export type PoliciesQuery = Static<typeof PoliciesQuery>

const ListedPolicy = Type.Object(
  {
    policyId: Type.String(),
    version: Type.Integer({ minimum: 1, description: 'The version in force.' }),
    ruleCount: Type.Integer({ minimum: 0, description: 'Without a rule everything is denied.' }),
    updatedAt: DateTime,
  },
  { title: 'ListedPolicy' },
)

export const PolicyPage = Type.Object(
  { policies: Type.Array(ListedPolicy), nextCursor: NextCursor },
  { title: 'PolicyPage' },
)
export type PolicyPage = Static<typeof PolicyPage>

/** Members that only the service sets. They may come back with a change, as they were. */
export const AS_STORED = ['policyId', 'seeded', 'hash', 'updatedAt'] as const

export const PolicyChange = Type.Object(
  {
    ...Type.Partial(Type.Pick(StoredPolicy, [...AS_STORED])).properties,
    rules: PolicyRules,
    version: Type.Optional(
      Type.Integer({
        minimum: 0,
        description:
          'The version to replace, 0 for the initial policy; 409 if the current version is another one. Without it, any version is replaced.',
      }),
    ),
  },
  { title: 'PolicyChange' },
)
export type PolicyChange = Static<typeof PolicyChange>

/** Any part of what decisions are made about; `defaults.ts` says which parts a policy sees. */
const Sample = (description?: string) =>
  Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), { maxProperties: MAX_SAMPLE_PROPERTIES, description }),
  )

export const PolicyTrial = Type.Object(
  {
    rules: Type.Optional(PolicyRules),
    facts: Type.Object(
      {
        identifier: Type.Optional(Type.String()),
        subject: Sample(),
        action: Sample(),
        resource: Sample(),
        context: Sample('Of a circuit without `inputs`, which are not part of the facts.'),
      },
      {
        title: 'SampleFacts',
        description:
          'What the policy sees: of a circuit `identifier` and `context`, else `subject`, `action`, `resource` and `context`. Any of these can be left out; others are 422, since no real decision sees them.',
      },
    ),
  },
  { title: 'PolicyTrial' },
)
export type PolicyTrial = Static<typeof PolicyTrial>

export const PolicyTried = Type.Object(
  {
    decision: Type.Enum(['YES', 'NO']),
    reasonCodes: Type.Array(Type.String()),
    obligations: Type.Array(Obligation),
    policyId: Type.String({
      description: 'The policy that decided; `default` where there is none of that name.',
    }),
    version: orNull(PolicyVersion, { description: 'Null if the rules of the request decided.' }),
  },
  { title: 'PolicyTried' },
)
export type PolicyTried = Static<typeof PolicyTried>
