/** Wire shapes of proxy routes, which are the routes that hermes answers at. @module */
import Type, { type Static } from 'typebox'
import { NOT_BLANK } from '../../json/patterns.ts'
import { askedId, DateTime, idOf, orNull } from '../../json/schemas.ts'

const MAX_USER_ID_CHARACTERS = 128
const MAX_DESTINATION_CHARACTERS = 2048

const Uri = (description: string) => Type.String({ format: 'uri', description })
const UserId = Type.String({
  minLength: 1,
  maxLength: MAX_USER_ID_CHARACTERS,
  pattern: NOT_BLANK,
  description: 'Chosen by the caller; required again to list or delete the route.',
})

export const NewProxy = Type.Object(
  {
    userId: UserId,
    destinationUrl: Type.String({
      minLength: 1,
      maxLength: MAX_DESTINATION_CHARACTERS,
      description:
        'http or https, without user and password. `{id}` in path or query is replaced by the id in a question.',
    }),
    requireToken: Type.Optional(
      Type.Boolean({ default: false, description: 'Whether asking requires a token.' }),
    ),
  },
  { title: 'NewProxyRoute' },
)
export type NewProxy = Static<typeof NewProxy>

const proxyFields = {
  success: Type.Literal(true),
  id: idOf('prx'),
  slug: Type.String(),
  sourceUrl: Uri('The same as `apiUrl`.'),
  destinationUrl: Type.String({
    description: 'The target. Path and query are shown only to the creator.',
  }),
  apiUrl: Uri('The address to ask at.'),
  createdAt: DateTime,
  requireToken: Type.Boolean(),
}

export const ProxyCreated = Type.Object(
  {
    ...proxyFields,
    token: Type.Optional(
      Type.String({ description: '`hmt_…`, needed to ask where `requireToken` is true. Shown once.' }),
    ),
    manageToken: Type.String({
      description: '`hmm_…`, proves that the caller created the route. Shown once.',
    }),
  },
  { title: 'ProxyRouteCreated' },
)
export type ProxyCreated = Static<typeof ProxyCreated>

const Count = (description: string) => Type.Integer({ minimum: 0, description })

export const ProxyRoute = Type.Object(
  {
    ...proxyFields,
    status: Type.Enum(['active', 'deleted']),
    deletedAt: orNull(DateTime),
    stats: Type.Object({
      total: Count('Questions that were sent to the target.'),
      yes: Count('Answered YES.'),
      no: Count('Answered NO.'),
      errors: Count('Questions without an answer, because the target failed.'),
      lastUsedAt: orNull(DateTime),
      avgLatencyMs: orNull(Type.Integer({ minimum: 0 }), {
        description: 'Average time that the target took.',
      }),
    }),
  },
  { title: 'ProxyRoute' },
)
export type ProxyRoute = Static<typeof ProxyRoute>

export const ProxyQuery = Type.Object({ userId: UserId })

export const ProxyList = Type.Object(
  {
    success: Type.Literal(true),
    count: Type.Integer({ minimum: 0 }),
    routes: Type.Array(ProxyRoute, { description: 'Newest first, at most 1,000, including deleted routes.' }),
  },
  { title: 'ProxyRouteList' },
)
export type ProxyList = Static<typeof ProxyList>

export const ProxyParams = Type.Object({ proxyId: askedId('prx') })

export const ProxyDeletion = Type.Object({ userId: UserId }, { title: 'ProxyRouteDeletion' })
export type ProxyDeletion = Static<typeof ProxyDeletion>

export const ProxyDeleted = Type.Object(
  {
    success: Type.Literal(true),
    id: Type.String(),
    status: Type.Literal('deleted'),
    deletedAt: DateTime,
  },
  { title: 'ProxyRouteDeleted' },
)
export type ProxyDeleted = Static<typeof ProxyDeleted>
