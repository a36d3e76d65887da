/** Routes that recognise agents, and tell what is on record about them. @module */
import { route } from '../../../http/route.ts'
import type { AgentAudit } from './audit.ts'
import { FEATURE_HEADERS } from './feature-version.ts'
import { AgentAuditPage, AgentAuditQuery } from './schemas-audit.ts'
import { AgentVerdict, VerifyAgent } from './schemas-verify.ts'
import type { AgentVerification } from './verify.ts'

interface Services {
  readonly agentVerification: AgentVerification
  readonly agentAudit: AgentAudit
}

const tag = 'Agent trust'

const verifyAgent = route({
  name: 'verifyAgent',
  method: 'POST',
  path: '/ext/v1/agent-trust/verify',
  auth: 'key',
  scope: 'agent',
  tag,
  summary: 'Verify that a request, token or card was signed by one of your agents',
  description:
    'Send one of: `http`, a request with an HTTP Message Signature (RFC 9421; Web Bot Auth); `jws`, a compact JWS with `aud`, `iat`, `exp` and `nonce`; `agent_card`, a signed A2A agent card. Fails closed: it is verified only if an enrolled key of an active agent signed it for this audience, with a lifetime of at most 480 seconds and a nonce that was not used before. Otherwise the answer is 200 with `reasons`. An agent card shows who created it, not who presents it or when.',
  body: VerifyAgent,
  // The canonical form of a card has none that a double would round (RFC 8785 §3.2.2.3).
  exactNumbers: true,
  response: { 200: AgentVerdict },
  queued: false,
  errors: ['not_found'],
  answerHeaders: FEATURE_HEADERS,
  example: { body: { agent_id: '{agentId}', jws: '{agentProof}' } },
  handler: ({ caller, body }, { agentVerification }: Services) => agentVerification.verify(caller, body),
})

const auditAgent = route({
  name: 'auditAgent',
  method: 'POST',
  path: '/ext/v1/agent-trust/audit',
  auth: 'console',
  scope: 'agent',
  tag,
  summary: 'List the history of an agent',
  description:
    'State changes, verifications and authorisations, newest first. Each has its index in the log and the hash of its entry, whose inclusion the audit routes prove. Failed verifications that did not name the agent are not listed.',
  body: AgentAuditQuery,
  response: { 200: AgentAuditPage },
  errors: ['not_found'],
  answerHeaders: FEATURE_HEADERS,
  example: { body: { agent_id: '{agentId}', actions: ['authorise'], limit: 10 } },
  handler: ({ caller, body }, { agentAudit }: Services) => agentAudit.list(caller, body),
})

export const agentVerificationRoutes = [verifyAgent, auditAgent]
