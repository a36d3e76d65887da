/** Routes of proxy routes. @module */
import { route } from '../../http/route.ts'
import type { ProxiesService } from './proxies.ts'
import {
  NewProxy,
  ProxyCreated,
  ProxyDeleted,
  ProxyDeletion,
  ProxyList,
  ProxyParams,
  ProxyQuery,
  ProxyRoute,
} from './schemas-proxies.ts'

interface Services {
  readonly proxies: ProxiesService
}

const CREATIONS_PER_HOUR = 60
const HOUR_SECONDS = 3600

const tag = 'Hermes'
const auth = 'optional'
const scope = 'verify'

const createProxy = route({
  name: 'createProxy',
  method: 'POST',
  path: '/proxy',
  auth,
  scope,
  tag,
  summary: 'Create a route that answers questions about a target',
  description:
    'No credential is required. With an API key the route belongs to its organisation, which pays for the verdicts; deleting the route then requires a key of that organisation. Only routes created with a key of scope `egress:private` or `admin` can reach the private networks that the operator has opened.',
  body: NewProxy,
  response: { 201: ProxyCreated },
  errors: [],
  addressLimit: { requests: CREATIONS_PER_HOUR, windowSeconds: HOUR_SECONDS },
  example: { body: { userId: 'user-1', destinationUrl: 'https://api.example.org/members' } },
  handler: ({ caller, body, requestId }, { proxies }: Services) =>
    proxies.create({ caller, requestId }, body),
})

const listProxies = route({
  name: 'listProxies',
  method: 'GET',
  path: '/proxy',
  auth,
  scope,
  tag,
  summary: "List a user's routes",
  description: 'Routes created without a key. With an API key also those of its organisation.',
  query: ProxyQuery,
  response: { 200: ProxyList },
  errors: [],
  example: { query: { userId: 'user-1' } },
  handler: ({ caller, query, requestId }, { proxies }: Services) =>
    proxies.list({ caller, requestId }, query.userId),
})

const getProxy = route({
  name: 'getProxy',
  method: 'GET',
  path: '/proxy/{proxyId}',
  auth,
  scope,
  tag,
  summary: 'Get a route and its statistics',
  params: ProxyParams,
  response: { 200: ProxyRoute },
  errors: ['not_found'],
  handler: ({ caller, params, requestId }, { proxies }: Services) =>
    proxies.find({ caller, requestId }, params.proxyId),
})

const deleteProxy = route({
  name: 'deleteProxy',
  method: 'DELETE',
  path: '/proxy/{proxyId}',
  auth,
  scope,
  tag,
  summary: 'Delete a route',
  description:
    'Permanent; earlier answers remain on record. Requires the `userId` that the route was created with. A route created with an API key also requires a key of that organisation, or the manage token.',
  params: ProxyParams,
  body: ProxyDeletion,
  response: { 200: ProxyDeleted },
  errors: ['not_found', 'already_deleted'],
  example: { body: { userId: '{userId}' } },
  handler: ({ caller, params, body, requestId }, { proxies }: Services) =>
    proxies.remove({ caller, requestId }, params.proxyId, body.userId),
})

export const proxyRoutes = [createProxy, listProxies, getProxy, deleteProxy]
