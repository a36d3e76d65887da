/** The files that the pages are made of. @module */
import Type from 'typebox'
import { Reply, route } from '../../http/route.ts'
import type { Pages } from './pages.ts'

interface Services {
  readonly pages: Pages
}

export const getAsset = route({
  name: 'getAsset',
  method: 'GET',
  path: '/assets/{asset}',
  auth: 'none',
  tag: 'System',
  summary: 'Get a script, stylesheet or image of the pages',
  description: 'The name changes with the content, so it can be cached permanently. Not rate limited.',
  cost: 0,
  params: Type.Object({ asset: Type.String() }),
  produces: ['text/javascript', 'text/css', 'image/svg+xml', 'image/png', 'application/manifest+json'],
  response: { 200: Type.String() },
  errors: ['not_found'],
  example: { params: { asset: '{asset}' } },
  handler: ({ params }, { pages }: Services) => {
    const { body, headers } = pages.asset(params.asset)
    return new Reply(200, body, headers)
  },
})
