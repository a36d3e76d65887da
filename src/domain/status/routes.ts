/** The published status lists; anybody may read them. @module */
import Type from 'typebox'
import { fail } from '../../errors.ts'
import { Reply, route } from '../../http/route.ts'
import type { StatusesService } from './service.ts'

interface Services {
  readonly statuses: Pick<StatusesService, 'list'>
}

export const getStatusList = route({
  name: 'getStatusList',
  method: 'GET',
  path: '/status/{list}',
  auth: 'none',
  tag: 'Status lists',
  summary: 'Get a status list',
  description:
    'A status list token (draft-ietf-oauth-status-list-20, section 5.1): a JWT with typ `statuslist+jwt`, ES256 under a key of /.well-known/jwks.json, whose bits say what was revoked, withdrawn or replaced. JWTs and credentials name list and index in their claim `status`. It is published anew every minute, changed or not; supports If-None-Match (304).',
  params: Type.Object({ list: Type.String({ pattern: '^(0|[1-9][0-9]{0,8})$' }) }),
  query: Type.Object({
    time: Type.Optional(
      Type.String({ description: 'Earlier lists are not kept: any value returns 501 (section 8.4).' }),
    ),
  }),
  produces: 'application/statuslist+jwt',
  response: { 200: Type.String({ description: 'Compact JWS.' }), 304: null },
  errors: ['not_found', 'not_implemented'],
  example: { params: { list: '0' } },
  async handler({ params, query }, { statuses }: Services) {
    if (query.time !== undefined)
      fail('not_implemented', { message: 'Only the current list is kept; leave out "time".' })
    const { jwt, maxAgeSeconds } = await statuses.list(Number(params.list))
    return new Reply(200, jwt, { 'Cache-Control': `public, max-age=${maxAgeSeconds}` })
  },
})
