/** Agents. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../../store/database.ts'
import { table } from '../../../store/table.ts'
import type { AgentLimits } from './record.ts'
import type { TrustLevel } from './states.ts'

export interface AgentRow {
  id: string
  organisation: string
  name: string
  description: string | null
  url: string | null
  provider: string | null
  /** As it was set; time may have made it another. */
  status: 'pending' | 'active' | 'suspended' | 'revoked'
  /** Grows by one with each change of status or trust. */
  state_version: number
  trust_level: TrustLevel
  /** Why the trust level is no higher. */
  trust_reasons: readonly string[]
  /** RFC 7638 thumbprint of `jwk`. */
  kid: string
  jwk: object
  pq_kid: string | null
  pq_jwk: object | null
  key_directory_url: string | null
  agent_card_url: string | null
  capabilities: readonly string[]
  /** For whom it acts, sealed. */
  sealed_principal: Uint8Array | null
  limits: AgentLimits | null
  /** That of the limits. */
  expires_at: number | null
  created_at: number
  /** When its state changed last. */
  changed_at: number
}

/** A row that is written again changes the state of the agent and nothing else. */
export const agents = table<AgentRow>(
  'agents',
  [
    'id',
    'organisation',
    'name',
    'description',
    'url',
    'provider',
    'status',
    'state_version',
    'trust_level',
    'trust_reasons',
    'kid',
    'jwk',
    'pq_kid',
    'pq_jwk',
    'key_directory_url',
    'agent_card_url',
    'capabilities',
    'sealed_principal',
    'limits',
    'expires_at',
    'created_at',
    'changed_at',
  ],
  {
    key: ['id'],
    columns: {
      status: 'last',
      state_version: 'last',
      trust_level: 'last',
      trust_reasons: 'last',
      changed_at: 'last',
    },
  },
)

const MAX_LISTED = 1000

export const findAgent = ({ knex }: Database, id: string): Promise<AgentRow | undefined> =>
  knex<AgentRow>('agents').where({ id }).first()

/** An organisation's agents, the newest first. */
export const findAgents = ({ knex }: Database, organisation: string): Promise<AgentRow[]> =>
  knex<AgentRow>('agents').where({ organisation }).orderBy('id', 'desc').limit(MAX_LISTED)
