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
  summary: 'Whether what was presented comes from an agent of yours',
  description:
    'Send one of: `http`, a request with an HTTP Message Signature (RFC 9421; Web Bot Auth); `jws`, a compact JWS with `aud`, `iat`, `exp` and `nonce`; `agent_card`, a signed A2A agent card. Fails closed: verified is only what an enrolled key of an active agent signed, for this audience, for at most 480 seconds, with a nonce that was not used before; else 200 with `reasons`. An agent card says who made it, not who shows it or when.',
  body: VerifyAgent,
  // The canonical form of a card has none that a double would round (RFC 8785 §3.2.2.3).
  exactNumbers: true,
  response: { 200: AgentVerdict },
  errors: ['not_found'],
  answerHeaders: FEATURE_HEADERS,
  example: { body: { agent_id: '{agentId}', jws: '{agentProof}' } },
  handler: ({ caller, body }, { agentVerification }: Services) => agentVerification.verify(caller, body),
})

const auditAgent = route({
  name: 'auditAgent',
  method: 'POST',
  path: '/ext/v1/agent-trust/audit',
  auth: 'key',
  scope: 'agent',
  tag,
  summary: 'What became of an agent, what it presented and wanted to do',
  description:
    'The newest first, each with its place in the log and the hash of its entry, which the audit routes prove. What somebody presented in vain without naming the agent is not on its record.',
  body: AgentAuditQuery,
  response: { 200: AgentAuditPage },
  errors: ['not_found'],
  answerHeaders: FEATURE_HEADERS,
  example: { body: { agent_id: '{agentId}', actions: ['authorise'], limit: 10 } },
  handler: ({ caller, body }, { agentAudit }: Services) => agentAudit.list(caller, body),
})

export const agentVerificationRoutes = [verifyAgent, auditAgent]
