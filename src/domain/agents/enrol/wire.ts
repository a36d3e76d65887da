/** Agents as they are sent. @module */
import { iso } from '../../../clock.ts'
import type { Enrolled } from './enrolment.ts'
import { toWireLimits } from './limits.ts'
import type { Challenge } from './possession.ts'
import type { AgentRecord } from './record.ts'
import type { Agent, AgentEnrolled } from './schemas.ts'

/** What an agent is known by and how far it is trusted. */
const stateOf = (record: AgentRecord) => ({
  agent_id: record.id,
  name: record.name,
  status: record.status,
  trust_level: record.trustLevel,
  trust_reasons: [...record.trustReasons],
  kid: record.kid,
  pq_kid: record.pqKid ?? null,
  created_at: iso(record.createdAt),
})

/** An agent as its organisation sees it. */
export const toAgent = (record: AgentRecord): Agent => ({
  ...stateOf(record),
  description: record.description ?? null,
  url: record.url ?? null,
  provider: record.provider ?? null,
  // As they were read: kept keys are sound ones of these kinds.
  public_key: record.jwk as Agent['public_key'],
  public_key_pq: (record.pqJwk ?? null) as Agent['public_key_pq'],
  key_directory_url: record.keyDirectoryUrl ?? null,
  agent_card_url: record.agentCardUrl ?? null,
  capabilities: [...record.capabilities],
  principal: record.principal ?? null,
  limits: record.limits === undefined ? null : toWireLimits(record.limits),
  changed_at: iso(record.changedAt),
})

const toChallenge = ({ messagePq, expiresAt, ...challenge }: Challenge) => ({
  ...challenge,
  message_pq: messagePq ?? null,
  expires_at: iso(expiresAt),
})

/** What came of an enrolment beside the agent. */
export const toOutcome = ({
  challenge,
  grant,
}: Enrolled): Pick<AgentEnrolled, 'challenge' | 'free_allocation'> => ({
  challenge: challenge === undefined ? null : toChallenge(challenge),
  free_allocation: grant === undefined ? null : { granted: grant.granted, expires_at: iso(grant.expiresAt) },
})

export const toEnrolled = (enrolled: Enrolled): AgentEnrolled => ({
  ...stateOf(enrolled.record),
  ...toOutcome(enrolled),
})
