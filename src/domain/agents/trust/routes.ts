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
  auth: 'key',
  scope,
  tag,
  summary: 'Enrol an agent with its key',
  description:
    'Without `proof_of_possession` the agent is pending and the answer holds a challenge, open for an hour: sign `message` with the key (and `message_pq` with the second key, if there is one), and send `agent_id` and `proof_of_possession` to the same route, and the agent is active. Only an active agent reserves its key: the same key again is 409, even after the agent was revoked. With `key_directory_url` or `agent_card_url` its domain is asked for the key; when it does not show it, the agent is active all the same, and `trust_reasons` says why it is trusted no more.',
  body: Enrolment,
  response: { 201: AgentEnrolled },
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
  auth: 'key',
  scope,
  tag,
  summary: 'Create an agent',
  description:
    'The same record as enrolling makes. Without `public_key` an Ed25519 pair is made: the agent is active at once with trust level `registered`, and `private_key` is shown once and never stored. With a key of its own it is pending until the challenge is answered at /ext/v1/agent-trust/enrol.',
  body: NewAgent,
  response: { 201: AgentCreated },
  errors: ['key_registered'],
  example: { body: { name: 'Night-shift buyer', capabilities: ['purchase'] } },
  handler: ({ caller, body }, { agents }: Services) => agents.create(caller, body),
})

export const agentEnrolmentRoutes = [enrolAgent, createAgent]
