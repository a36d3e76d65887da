/** Routes of agents' badges. @module */
import { prefers } from '../../../../http/accept.ts'
import { Reply, route } from '../../../../http/route.ts'
import { FEATURE_HEADERS } from '../feature-version.ts'
import type { AgentBadges } from './badge.ts'
import { Badge, BadgeIssued, BadgeParams, NewBadge } from './schemas-badge.ts'

interface Services {
  readonly agentBadges: AgentBadges
}

const tag = 'Agent trust'
const JSON_TYPE = 'application/json'
const SVG_TYPE = 'image/svg+xml'

/** Status may change at any time, so nobody may show what was true before. */
const CURRENT = { 'Cache-Control': 'no-cache', Vary: 'Accept' }
/** Opened as a document the image may do nothing at all; other sites may embed it. */
const IMAGE = {
  'Content-Type': SVG_TYPE,
  'Content-Security-Policy': "default-src 'none'; sandbox",
  'Cross-Origin-Resource-Policy': 'cross-origin',
}

const issueBadge = route({
  name: 'issueAgentBadge',
  method: 'POST',
  path: '/ext/v1/agent-trust/badge',
  auth: 'console',
  scope: 'agent',
  tag,
  summary: 'Issue a badge for an agent',
  description:
    'For an active agent; 409 otherwise. Valid for 7 days, but not longer than the agent. `verify_url` always returns the current state; the image and the JWS state what was true when they were issued.',
  body: NewBadge,
  response: { 201: BadgeIssued },
  errors: ['not_found', 'conflict'],
  answerHeaders: FEATURE_HEADERS,
  example: { body: { agent_id: '{agentId}', format: 'json' } },
  handler: ({ caller, body }, { agentBadges }: Services) => agentBadges.issue(caller, body),
})

const getBadge = route({
  name: 'getAgentBadge',
  method: 'GET',
  path: '/ext/v1/agent-trust/badge/{badgeId}',
  auth: 'none',
  tag,
  summary: 'Get the current state of a badge',
  description:
    'Public. A client that prefers images in its Accept header gets an SVG. A badge of a suspended or revoked agent shows that at once.',
  params: BadgeParams,
  produces: [JSON_TYPE, SVG_TYPE],
  response: { 200: Badge },
  errors: ['not_found'],
  answerHeaders: FEATURE_HEADERS,
  handler: async ({ params: { badgeId }, headers }, { agentBadges }: Services) =>
    prefers(headers.accept, SVG_TYPE, JSON_TYPE)
      ? new Reply(200, await agentBadges.image(badgeId), { ...CURRENT, ...IMAGE })
      : new Reply(200, await agentBadges.read(badgeId), CURRENT),
})

export const agentBadgeRoutes = [issueBadge, getBadge]
