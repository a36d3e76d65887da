/** Builds the services of agents, devices and their keys, in order. @module */
import { type AgentAudit, createAgentAudit } from './domain/agent-trust/audit.ts'
import { type AgentAuthorisations, createAgentAuthorisations } from './domain/agent-trust/authorise.ts'
import { type AgentBadges, createAgentBadges } from './domain/agent-trust/badge.ts'
import { stepEvent } from './domain/agent-trust/store-events.ts'
import { type AgentVerification, createAgentVerification } from './domain/agent-trust/verify.ts'
import { toWireLimits } from './domain/agents/limits.ts'
import { type AgentsService, createAgents } from './domain/agents/service.ts'
import { createDevices, type DevicesService } from './domain/devices/service.ts'
import { createHybridTokens, type HybridTokensService } from './domain/hybrid-tokens/service.ts'
import * as nullifiers from './domain/proofs/nullifiers.ts'
import { createRegisteredKeys, type RegisteredKeysService } from './domain/registered-keys/service.ts'
import { revocationItem } from './domain/tokens/revocation.ts'
import type { Foundations } from './services-foundations.ts'

export interface AgentServices {
  readonly registeredKeys: RegisteredKeysService
  readonly hybridTokens: HybridTokensService
  readonly agents: AgentsService
  readonly devices: DevicesService
  readonly agentBadges: AgentBadges
  readonly agentVerification: AgentVerification
  readonly agentAuthorisations: AgentAuthorisations
  readonly agentAudit: AgentAudit
}

export const createAgentServices = (foundations: Foundations): AgentServices => {
  const { config, database, clock } = foundations
  const registeredKeys = createRegisteredKeys({ database, clock })
  const agents = createAgents({
    ...foundations,
    registeredKeys,
    stepEvent,
    baseUrl: config.baseUrl,
    egressOpenProxy: config.egressOpenProxy,
  })
  const hybridTokens = createHybridTokens({
    ...foundations,
    registeredKeys,
    nullifiers,
    revocationItem,
    baseUrl: config.baseUrl,
  })
  const trust = { ...foundations, agents, registeredKeys, baseUrl: config.baseUrl }
  return {
    registeredKeys,
    hybridTokens,
    agents,
    devices: createDevices({ ...foundations, registeredKeys }),
    agentBadges: createAgentBadges(trust),
    agentVerification: createAgentVerification(trust),
    agentAuthorisations: createAgentAuthorisations({ ...trust, toWireLimits }),
    agentAudit: createAgentAudit(trust),
  }
}
