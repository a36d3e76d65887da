/** Routes of hermes. @module */
import type { ErrorCode } from '../../errors.ts'
import { route } from '../../http/route.ts'
import { SlugParams, TextAnswer, TextQuestion, TypedAnswer, TypedQuestion } from './schemas.ts'
import type { HermesService } from './service.ts'

interface Services {
  readonly hermes: HermesService
}

const tag = 'Hermes'

const ERRORS: readonly ErrorCode[] = [
  'route_deleted',
  'criteria_required',
  'tree_too_large',
  'subscription_inactive',
  'free_allocation_used',
  'egress_blocked',
  'upstream_unreachable',
  'upstream_status',
  'upstream_too_large',
  'upstream_invalid',
  'upstream_timeout',
  'prover_overloaded',
]

const LIMITS =
  'Without a token of the route or a key of the organisation that created it, at most 30 questions a minute from one address.'

const askHermes = route({
  name: 'askHermes',
  method: 'POST',
  path: '/hermes/{slug}',
  auth: 'optional',
  scope: 'verify',
  tag,
  summary: 'Ask whether the data of a target contains a matching object',
  description: `YES if one object in the answer of the target, at any depth, satisfies every criterion; otherwise NO. A failure of the target is an error, never a verdict. ${LIMITS} \`contains\`, \`startsWith\` and \`matches\` also require such a token or key.`,
  params: SlugParams,
  body: TypedQuestion,
  exactNumbers: true,
  response: { 200: TypedAnswer },
  errors: ERRORS,
  example: { body: { name: 'Ada', age: { gte: 18 } } },
  handler: ({ caller, params, body, requestId, ip }, { hermes }: Services) =>
    hermes.askTyped({ caller, requestId, ip }, params.slug, body),
})

const askHermesByQuery = route({
  name: 'askHermesByQuery',
  method: 'GET',
  path: '/hermes/{slug}',
  auth: 'optional',
  scope: 'verify',
  tag,
  summary: 'The same, with criteria as query parameters',
  description: `Each parameter except \`id\` is a criterion: the field equals that text, or the number or boolean written that way. ${LIMITS}`,
  params: SlugParams,
  query: TextQuestion,
  response: { 200: TextAnswer },
  errors: ['validation_failed', ...ERRORS],
  example: { query: { name: 'Ada' } },
  handler: ({ caller, params, query, requestId, ip }, { hermes }: Services) =>
    hermes.askText({ caller, requestId, ip }, params.slug, query),
})

export const hermesRoutes = [askHermes, askHermesByQuery]
