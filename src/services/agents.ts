/** Builds the services of agents, devices and their keys, in order. @module */

import { createDevices, type DevicesService } from '../domain/agents/devices/service.ts'
import { toWireLimits } from '../domain/agents/enrol/limits.ts'
import { type AgentsService, createAgents } from '../domain/agents/enrol/service.ts'
import { createRegisteredKeys, type RegisteredKeysService } from '../domain/agents/keys/service.ts'
import { type AgentAudit, createAgentAudit } from '../domain/agents/trust/audit.ts'
import { type AgentAuthorisations, createAgentAuthorisations } from '../domain/agents/trust/authorise.ts'
import { type AgentBadges, createAgentBadges } from '../domain/agents/trust/badge/badge.ts'
import { stepEvent } from '../domain/agents/trust/store-events.ts'
import { type AgentVerification, createAgentVerification } from '../domain/agents/trust/verify.ts'
import { createHybridTokens, type HybridTokensService } from '../domain/hybrid-tokens/service.ts'
import * as nullifiers from '../domain/proofs/spending/nullifiers.ts'
import { revocation } from '../domain/tokens/revocation.ts'
import type { Foundations } from './foundations.ts'

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
    revocation,
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
