/** What visitors ask for unbidden: whom to tell about a weakness, what crawlers may read, the icon. @module */
import Type from 'typebox'
import { fail } from '../../errors.ts'
import { Reply, route } from '../../http/route.ts'
import type { Pages } from './pages.ts'
import type { SystemService } from './service.ts'

interface Services {
  readonly system: Pick<SystemService, 'securityTxt'>
  readonly pages: Pick<Pages, 'icon'>
}

const MAX_AGE_SECONDS = 24 * 3600
const KEPT = { 'Cache-Control': `public, max-age=${MAX_AGE_SECONDS}` }

/** What belongs to somebody, or asks others, is no crawler's; documents, chat and keys are everybody's (RFC 9309). */
const ROBOTS_TXT = `User-agent: *
Disallow: /console
Disallow: /terminal
Disallow: /credentials
Disallow: /challenge/
Disallow: /verify/
Disallow: /hermes/
Disallow: /pod/
Disallow: /domain/
`

const file = {
  method: 'GET',
  auth: 'none',
  tag: 'System',
  response: { 200: Type.String() },
  example: {},
} as const

const getSecurityTxt = route({
  ...file,
  name: 'getSecurityTxt',
  path: '/.well-known/security.txt',
  summary: 'Get whom to tell about a weakness',
  description:
    'A file as RFC 9116 has it, with the contacts of the setting SECURITY_CONTACT; 404 where it is not set.',
  produces: 'text/plain; charset=utf-8',
  errors: ['not_found'],
  handler: (_, { system }: Services) => new Reply(200, system.securityTxt() ?? fail('not_found'), KEPT),
})

const getRobotsTxt = route({
  ...file,
  name: 'getRobotsTxt',
  path: '/robots.txt',
  summary: 'Get what crawlers may read',
  description: 'A file as RFC 9309 has it. Not rate limited.',
  cost: 0,
  produces: 'text/plain; charset=utf-8',
  errors: [],
  handler: () => new Reply(200, ROBOTS_TXT, KEPT),
})

const getFavicon = route({
  ...file,
  name: 'getFavicon',
  path: '/favicon.ico',
  summary: 'Get the icon of the service',
  description:
    'The same picture as that of the pages, for whoever asks at the usual address. Not rate limited.',
  cost: 0,
  produces: 'image/svg+xml',
  errors: [],
  handler: (_, { pages: { icon } }: Services) => new Reply(200, icon.body, { ...icon.headers, ...KEPT }),
})

export const wellKnownRoutes = [getSecurityTxt, getRobotsTxt, getFavicon]
