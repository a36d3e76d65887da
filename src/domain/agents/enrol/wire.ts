/** Agents as they come and as they are sent. @module */
import { iso } from '../../../clock.ts'
import type { Enrolled } from './enrolment.ts'
import { readDirectoryUrl, readUrl } from './key-directory.ts'
import { toWireLimits } from './limits.ts'
import type { Challenge } from './possession.ts'
import type { AgentRecord } from './record.ts'
import type { Agent, AgentEnrolled, NewAgent } from './schemas.ts'

const optional = <T, U>(value: T | undefined, read: (value: T) => U): U | null =>
  value === undefined ? null : read(value)

/** What an agent says of itself, as it is kept. @throws AppError validation_failed */
export const readProfile = (input: NewAgent) => ({
  name: input.name,
  description: input.description ?? null,
  url: optional(input.url, (text) => readUrl('url', text)),
  provider: input.provider ?? null,
  key_directory_url: optional(input.key_directory_url, readDirectoryUrl),
  agent_card_url: optional(input.agent_card_url, (text) => readUrl('agent_card_url', text)),
  capabilities: input.capabilities ?? [],
})

/** What an agent is known by and how far it is trusted. */
const stateOf = (record: AgentRecord) => ({
  agent_id: record.id,
  name: record.name,
  status: record.status,
  trust_level: record.trust_level,
  trust_reasons: [...record.trust_reasons],
  kid: record.kid,
  pq_kid: record.pq_kid,
  created_at: iso(record.created_at),
})

/** An agent as its organisation sees it. */
export const toAgent = (record: AgentRecord): Agent => ({
  ...stateOf(record),
  description: record.description,
  url: record.url,
  provider: record.provider,
  // As they were read: kept keys are sound ones of these kinds.
  public_key: record.jwk as Agent['public_key'],
  public_key_pq: record.pq_jwk as Agent['public_key_pq'],
  key_directory_url: record.key_directory_url,
  agent_card_url: record.agent_card_url,
  capabilities: [...record.capabilities],
  principal: record.principal,
  limits: record.limits && toWireLimits(record.limits),
  changed_at: iso(record.changed_at),
})

const toChallenge = ({ messagePq, expiresAt, ...challenge }: Challenge) => ({
  ...challenge,
  message_pq: messagePq ?? null,
  expires_at: iso(expiresAt),
})

/** What came of an enrolment beside the agent. */
export const toChallengeAndGrant = ({
  challenge,
  grant,
}: Enrolled): Pick<AgentEnrolled, 'challenge' | 'free_allocation'> => ({
  challenge: challenge === undefined ? null : toChallenge(challenge),
  free_allocation: grant === undefined ? null : { granted: grant.granted, expires_at: iso(grant.expiresAt) },
})

export const toEnrolled = (enrolled: Enrolled): AgentEnrolled => ({
  ...stateOf(enrolled.record),
  ...toChallengeAndGrant(enrolled),
})
