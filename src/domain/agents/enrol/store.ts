/** Agents. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../../store/database.ts'
import { bytes, integer, json, type RowOf, table, text } from '../../../store/table.ts'
import type { AgentLimits } from './record.ts'
import type { TrustLevel } from './states.ts'

/** A row that is written again changes the state of the agent and nothing else. */
export const agents = table('agents', {
  id: text().key(),
  organisation: text(),
  name: text(),
  description: text().null(),
  url: text().null(),
  provider: text().null(),
  /** As it was set; time may have made it another. */
  status: text<'pending' | 'active' | 'suspended' | 'revoked'>().merge('last'),
  /** Grows by one with each change of status or trust. */
  state_version: integer().merge('last'),
  trust_level: text<TrustLevel>().merge('last'),
  /** Why the trust level is no higher. */
  trust_reasons: json<readonly string[]>().merge('last'),
  /** RFC 7638 thumbprint of `jwk`. */
  kid: text(),
  jwk: json<object>(),
  pq_kid: text().null(),
  pq_jwk: json<object>().null(),
  key_directory_url: text().null(),
  agent_card_url: text().null(),
  capabilities: json<readonly string[]>(),
  /** For whom it acts, sealed. */
  sealed_principal: bytes().null(),
  limits: json<AgentLimits>().null(),
  /** That of the limits. */
  expires_at: integer().null(),
  created_at: integer(),
  /** When its state changed last. */
  changed_at: integer().merge('last'),
})

export type AgentRow = RowOf<typeof agents>

export const findAgent = ({ knex }: Database, id: string): Promise<AgentRow | undefined> =>
  knex<AgentRow>('agents').where({ id }).first()

/** Some of an organisation's agents, the newest first. @param before the last one of the page before */
export const findAgents = (
  { knex }: Database,
  organisation: string,
  { before, limit }: { readonly before?: string; readonly limit: number },
): Promise<AgentRow[]> => {
  const query = knex<AgentRow>('agents').where({ organisation }).orderBy('id', 'desc').limit(limit)
  return before === undefined ? query : query.where('id', '<', before)
}
