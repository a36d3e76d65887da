/** Routes by which an organisation looks after its agents. @module */
import { route } from '../../../http/route.ts'
import { Agent, AgentList, AgentParams, AgentsQuery } from '../enrol/schemas.ts'
import type { AgentsService } from '../enrol/service.ts'
import type { AgentAudit } from './audit.ts'
import { AgentAuditPage, AgentHistoryQuery } from './schemas-audit.ts'

interface Services {
  readonly agents: AgentsService
  readonly agentAudit: AgentAudit
}

const tag = 'Agent trust'

const listAgents = route({
  name: 'listAgents',
  method: 'GET',
  path: '/console/api/agents',
  auth: 'console',
  scope: 'agent',
  tag,
  summary: 'List agents',
  description: 'In any state, newest first.',
  query: AgentsQuery,
  response: { 200: AgentList },
  errors: [],
  handler: ({ caller, query }, { agents }: Services) => agents.list(caller, query),
})

/** What the routes of one agent have in common. */
const ofOneAgent = {
  auth: 'console',
  scope: 'agent',
  tag,
  params: AgentParams,
  response: { 200: Agent },
} as const

const getAgent = route({
  ...ofOneAgent,
  name: 'getAgent',
  method: 'GET',
  path: '/console/api/agents/{agentId}',
  summary: 'Get an agent',
  errors: ['not_found'],
  handler: ({ caller, params }, { agents }: Services) => agents.read(caller, params.agentId),
})

const getAgentHistory = route({
  name: 'getAgentHistory',
  method: 'GET',
  path: '/console/api/agents/{agentId}/history',
  auth: 'console',
  scope: 'agent',
  tag,
  summary: 'What is on record about an agent',
  description:
    'The same as POST /ext/v1/agent-trust/audit, for those who only read: state changes, verifications and authorisations, newest first.',
  params: AgentParams,
  query: AgentHistoryQuery,
  response: { 200: AgentAuditPage },
  errors: ['not_found'],
  handler: ({ caller, params, query }, { agentAudit }: Services) =>
    agentAudit.list(caller, { ...query, agent_id: params.agentId }),
})

const suspendAgent = route({
  ...ofOneAgent,
  name: 'suspendAgent',
  method: 'POST',
  path: '/console/api/agents/{agentId}/suspend',
  summary: 'Suspend an agent',
  description:
    'Takes effect on every server at once: nothing that the agent signs is accepted until it is resumed. Only an active agent can be suspended; suspending it again changes nothing.',
  errors: ['not_found', 'conflict'],
  handler: ({ caller, params }, { agents }: Services) => agents.suspend(caller, params.agentId),
})

const resumeAgent = route({
  ...ofOneAgent,
  name: 'resumeAgent',
  method: 'POST',
  path: '/console/api/agents/{agentId}/resume',
  summary: 'Resume a suspended agent',
  description: 'Only a suspended agent can be resumed; resuming it again changes nothing.',
  errors: ['not_found', 'conflict'],
  example: { params: { agentId: '{suspendedAgentId}' } },
  handler: ({ caller, params }, { agents }: Services) => agents.resume(caller, params.agentId),
})

const revokeAgent = route({
  ...ofOneAgent,
  name: 'revokeAgent',
  method: 'POST',
  path: '/console/api/agents/{agentId}/revoke',
  summary: 'Revoke an agent',
  description:
    'Permanent; takes effect on every server at once. The key of an agent that was active can never be enrolled again. Revoking it again changes nothing.',
  errors: ['not_found', 'conflict'],
  handler: ({ caller, params }, { agents }: Services) => agents.revoke(caller, params.agentId),
})

const checkAgentDomain = route({
  ...ofOneAgent,
  name: 'checkAgentDomain',
  method: 'POST',
  path: '/console/api/agents/{agentId}/check-domain',
  summary: "Check again whether the agent's domain publishes its key",
  description:
    'Raises or lowers the trust level according to the current key directory. For active or suspended agents that have proven possession of their key; of others nothing is asked. 409 where the agent was changed meanwhile, as by another check; 429 while eight directories are asked for your organisation.',
  queued: false,
  errors: ['not_found', 'conflict'],
  handler: ({ caller, params }, { agents }: Services) => agents.checkDomain(caller, params.agentId),
})

export const agentConsoleRoutes = [
  listAgents,
  getAgent,
  getAgentHistory,
  suspendAgent,
  resumeAgent,
  revokeAgent,
  checkAgentDomain,
]
