/** The states of an agent and the levels of trust in it. @module */

/**
 * - `registered`: nobody has shown that the agent alone holds its key
 * - `key_verified`: it has signed the challenge
 * - `domain_verified`: moreover its domain publishes the same key
 */
export const TRUST_LEVELS = ['registered', 'key_verified', 'domain_verified'] as const
export type TrustLevel = (typeof TRUST_LEVELS)[number]

/**
 * - `pending`: the challenge is open, for an hour · `active` · `suspended`: closed for a while · `revoked`: closed for good
 * - `expired`: what it may do has ended, or the challenge was not answered in time
 */
export const AGENT_STATUSES = ['pending', 'active', 'suspended', 'revoked', 'expired'] as const
export type AgentStatus = (typeof AGENT_STATUSES)[number]
