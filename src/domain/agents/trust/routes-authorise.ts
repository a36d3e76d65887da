/** The route that decides whether an agent may do something. @module */
import { route } from '../../../http/route.ts'
import type { AgentAuthorisations } from './authorise.ts'
import { FEATURE_HEADERS } from './feature-version.ts'
import { AgentAuthorisation, AuthoriseAgent } from './schemas-authorise.ts'

interface Services {
  readonly agentAuthorisations: AgentAuthorisations
}

const authoriseAgent = route({
  name: 'authoriseAgent',
  method: 'POST',
  path: '/ext/v1/agent-trust/authorise',
  auth: 'key',
  scope: 'agent',
  tag: 'Agent trust',
  summary: 'Authorise an action of an agent, optionally with an amount to spend',
  description:
    "ALLOW only if the agent itself signed exactly this action, resource, amount, currency and payee (in `jws`, or in the JSON body of `http`, whose tag is then `agent-payer-auth` where an amount is spent), is active, and stays within its limits. If only the agent's signature is missing, the decision is STEP_UP; otherwise it is DENY, with every reason. An allowed amount counts against the limit of the UTC day even if it is not spent. Amounts are in units of the currency. The token is valid for 300 seconds.",
  body: AuthoriseAgent,
  exactNumbers: true,
  response: { 200: AgentAuthorisation },
  queued: false,
  errors: ['not_found'],
  answerHeaders: FEATURE_HEADERS,
  example: {
    body: {
      agent_id: '{agentId}',
      action: 'order.pay',
      amount: 12.5,
      currency: 'GBP',
      payee: 'shop.example',
      jws: '{agentRequest}',
    },
  },
  handler: ({ caller, body }, { agentAuthorisations }: Services) =>
    agentAuthorisations.authorise(caller, body),
})

export const agentAuthorisationRoutes = [authoriseAgent]
