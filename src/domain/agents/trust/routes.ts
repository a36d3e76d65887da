/** Routes by which agents come to be. @module */
import { route } from '../../../http/route.ts'
import { AgentCreated, AgentEnrolled, Enrolment, NewAgent } from '../enrol/schemas.ts'
import type { AgentsService } from '../enrol/service.ts'
import { FEATURE_HEADERS } from './feature-version.ts'

interface Services {
  readonly agents: AgentsService
}

const tag = 'Agent trust'
const scope = 'agent'

const EXAMPLE_PUBLIC_KEY = {
  kty: 'OKP',
  crv: 'Ed25519',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
}

const enrolAgent = route({
  name: 'enrolAgent',
  method: 'POST',
  path: '/ext/v1/agent-trust/enrol',
  auth: 'console',
  scope,
  tag,
  summary: 'Enrol an agent with its key',
  description:
    "Without `proof_of_possession` the agent is pending and the answer contains a challenge that is valid for an hour. Sign `message` with the key (and `message_pq` with the second key, if there is one) and send `agent_id` and `proof_of_possession` to the same route: the agent becomes active. Only an active agent reserves its key: enrolling the same key again returns 409, even after the agent was revoked. With `key_directory_url` or `agent_card_url` the service looks for the key at the agent's domain. If it is not published there, the agent becomes active all the same, and `trust_reasons` says why its trust level is not higher.",
  body: Enrolment,
  response: { 201: AgentEnrolled },
  queued: false,
  errors: ['not_found', 'conflict', 'key_registered'],
  answerHeaders: FEATURE_HEADERS,
  example: {
    body: {
      name: 'Shopping assistant',
      public_key: EXAMPLE_PUBLIC_KEY,
      capabilities: ['search', 'purchase'],
      principal: { type: 'person', reference: 'customer-42' },
      limits: {
        currency: 'GBP',
        per_transaction: 50,
        per_day: 200,
        allowed_actions: ['purchase'],
        allowed_payees: ['shop.example'],
      },
    },
  },
  handler: ({ caller, body }, { agents }: Services) => agents.enrol(caller, body),
})

const createAgent = route({
  name: 'createAgent',
  method: 'POST',
  path: '/v1/agents',
  auth: 'console',
  scope,
  tag,
  summary: 'Create an agent',
  description:
    'Creates the same record as enrolment. Without `public_key` the service generates an Ed25519 key pair: the agent is active at once with trust level `registered`, and `private_key` is shown once and never stored. With `public_key` the agent is pending until the challenge is answered at /ext/v1/agent-trust/enrol.',
  body: NewAgent,
  response: { 201: AgentCreated },
  errors: ['key_registered'],
  example: { body: { name: 'Night-shift buyer', capabilities: ['purchase'] } },
  handler: ({ caller, body }, { agents }: Services) => agents.create(caller, body),
})

export const agentEnrolmentRoutes = [enrolAgent, createAgent]
