/** The table of contents: every domain's routes in one list. @module */

import { oidcRoutes } from '../domain/accounts/oidc/routes.ts'
import { accountRoutes } from '../domain/accounts/routes.ts'
import { keyRoutes } from '../domain/accounts/routes-keys.ts'
import { sessionRoutes } from '../domain/accounts/routes-sessions.ts'
import { memberRoutes } from '../domain/accounts/team/routes.ts'
import { invitationRoutes } from '../domain/accounts/team/routes-invitations.ts'
import { totpRoutes } from '../domain/accounts/totp/routes.ts'
import { deviceRoutes } from '../domain/agents/devices/routes.ts'
import { agentBadgeRoutes } from '../domain/agents/trust/badge/routes-badge.ts'
import { agentEnrolmentRoutes } from '../domain/agents/trust/routes.ts'
import { agentAuthorisationRoutes } from '../domain/agents/trust/routes-authorise.ts'
import { agentConsoleRoutes } from '../domain/agents/trust/routes-console.ts'
import { agentVerificationRoutes } from '../domain/agents/trust/routes-verify.ts'
import { amlRoutes } from '../domain/aml/routes.ts'
import { amlSubscriptionRoutes } from '../domain/aml/routes-subscriptions.ts'
import { auditRoutes } from '../domain/audit/routes.ts'
import { logRoutes } from '../domain/audit/routes-log.ts'
import { zkpRoutes } from '../domain/audit/routes-zkp.ts'
import { promptRoutes } from '../domain/chat/prompts/routes-prompts.ts'
import { messageRoutes } from '../domain/chat/routes.ts'
import { getAgentsTxt } from '../domain/chat/routes-agents.ts'
import { moderationRoutes } from '../domain/chat/routes-console.ts'
import { removeOwnMessage } from '../domain/chat/routes-removal.ts'
import { streamRoutes } from '../domain/chat/stream/routes-stream.ts'
import { circuitRoutes } from '../domain/circuits/routes.ts'
import { circuitQuestionRoutes } from '../domain/circuits/routes-questions.ts'
import { consentRoutes } from '../domain/consent/routes.ts'
import { eligibilityRoutes } from '../domain/eligibility/routes.ts'
import { exportRoutes } from '../domain/exports/routes.ts'
import { hermesRoutes } from '../domain/hermes/routes.ts'
import { proxyRoutes } from '../domain/hermes/routes-proxies.ts'
import { hybridTokenRoutes } from '../domain/hybrid-tokens/routes.ts'
import { kycRoutes } from '../domain/kyc/routes.ts'
import { sdJwtRoutes } from '../domain/kyc/sd-jwt/routes.ts'
import { mcpRoutes } from '../domain/mcp/routes.ts'
import { paymentRoutes } from '../domain/payments/routes.ts'
import { podRoutes } from '../domain/pods/routes.ts'
import { domainRoutes } from '../domain/pods/routes-domains.ts'
import { policyRoutes } from '../domain/policies/routes.ts'
import { accessRoutes } from '../domain/policies/routes-access.ts'
import { challengeRoutes } from '../domain/proofs/challenges/routes.ts'
import { proofRoutes } from '../domain/proofs/routes.ts'
import { reviewRoutes } from '../domain/reviews/routes.ts'
import { securityRoutes } from '../domain/security/routes.ts'
import { getStatusList } from '../domain/status/routes.ts'
import { systemRoutes } from '../domain/system/routes.ts'
import { getAsset } from '../domain/system/routes-assets.ts'
import { createBackup } from '../domain/system/routes-backup.ts'
import { getIssuerKeys } from '../domain/system/routes-issuer.ts'
import { jwksRoutes } from '../domain/system/routes-jwks.ts'
import { pageRoutes } from '../domain/system/routes-pages.ts'
import { wellKnownRoutes } from '../domain/system/routes-well-known.ts'
import { terminalRoutes } from '../domain/terminals/routes.ts'
import { ticketRoutes } from '../domain/tickets/routes.ts'
import { tokenRoutes } from '../domain/tokens/routes.ts'
import { tokenFormRoutes } from '../domain/tokens/routes-forms.ts'
import { usageRoutes } from '../domain/usage/routes.ts'
import { verificationRoutes } from '../domain/verification/routes.ts'
import { resultRoutes } from '../domain/verification/routes-results.ts'
import { policyVerificationRoutes } from '../domain/verification/routes-v1.ts'
import { webhookRoutes } from '../domain/webhooks/routes.ts'
import type { Route } from '../http/route.ts'
import type { Services } from '../services/services.ts'

export const routes: readonly Route<Services>[] = [
  ...systemRoutes,
  createBackup,
  ...jwksRoutes,
  getIssuerKeys,
  getStatusList,
  getAsset,
  ...pageRoutes,
  ...wellKnownRoutes,
  getAgentsTxt,
  ...promptRoutes,
  ...messageRoutes,
  ...streamRoutes,
  removeOwnMessage,
  ...moderationRoutes,
  ...accountRoutes,
  ...sessionRoutes,
  ...memberRoutes,
  ...invitationRoutes,
  ...totpRoutes,
  ...oidcRoutes,
  ...keyRoutes,
  ...terminalRoutes,
  ...securityRoutes,
  ...auditRoutes,
  ...logRoutes,
  ...zkpRoutes,
  ...paymentRoutes,
  ...circuitRoutes,
  ...circuitQuestionRoutes,
  ...verificationRoutes,
  ...resultRoutes,
  ...policyVerificationRoutes,
  ...proofRoutes,
  ...challengeRoutes,
  ...policyRoutes,
  ...accessRoutes,
  ...eligibilityRoutes,
  ...consentRoutes,
  ...tokenRoutes,
  ...hybridTokenRoutes,
  ...tokenFormRoutes,
  ...ticketRoutes,
  ...kycRoutes,
  ...sdJwtRoutes,
  ...reviewRoutes,
  ...amlRoutes,
  ...amlSubscriptionRoutes,
  ...agentEnrolmentRoutes,
  ...agentConsoleRoutes,
  ...agentBadgeRoutes,
  ...deviceRoutes,
  ...agentVerificationRoutes,
  ...agentAuthorisationRoutes,
  ...usageRoutes,
  ...podRoutes,
  ...domainRoutes,
  ...hermesRoutes,
  ...proxyRoutes,
  ...mcpRoutes,
  ...webhookRoutes,
  ...exportRoutes,
]
