/** Badges: what the service says of an agent, signed as of now, and current wherever it is looked up. @module */
import type { Caller } from '../../../../caller.ts'
import { type Clock, iso } from '../../../../clock.ts'
import { fail } from '../../../../errors.ts'
import { newId } from '../../../../ids.ts'
import type { Signers } from '../../../../keys/signers.ts'
import type { Ledger } from '../../../../ledger/ledger.ts'
import { writeJws } from '../../../../protocol/jws.ts'
import type { Database } from '../../../../store/database.ts'
import { directoryUrlOf } from '../../enrol/key-directory.ts'
import type { AgentRecord, AgentsService } from '../../enrol/service.ts'
import { badgeImage } from './badge-image.ts'
import type { Badge, BadgeIssued, NewBadge } from './schemas-badge.ts'
import { type BadgeRow, badges, findBadge } from './store-badges.ts'

export const BADGE_TYP = 'agent-badge+jwt'
const VALID_MS = 7 * 24 * 3_600_000
const MS_PER_SECOND = 1000

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'append'>
  readonly signers: Pick<Signers, 'current'>
  readonly agents: Pick<AgentsService, 'find' | 'changed'>
  readonly clock: Clock
  readonly baseUrl: string
}

/** The host that publishes the key: what was verified is that host, whatever the agent is called. */
const domainOf = (agent: AgentRecord): string | null => {
  const url = agent.trust_level === 'domain_verified' ? directoryUrlOf(agent) : undefined
  return url === undefined ? null : new URL(url).host
}

export type AgentBadges = ReturnType<typeof createAgentBadges>

export const createAgentBadges = ({ database, ledger, signers, agents, clock, baseUrl }: Deps) => {
  const toBadge = (row: BadgeRow, agent: AgentRecord, now: number): Badge => ({
    badge_id: row.id,
    agent_id: agent.id,
    name: agent.name,
    kid: agent.kid,
    // An agent that was revoked stays so, whatever became of the badge.
    status: agent.status !== 'revoked' && row.expires_at <= now ? 'expired' : agent.status,
    trust_level: agent.trust_level,
    domain: domainOf(agent),
    issued_at: iso(row.issued_at),
    expires_at: iso(row.expires_at),
    verify_url: `${baseUrl}/ext/v1/agent-trust/badge/${row.id}`,
  })

  const sign = async (row: BadgeRow, agent: AgentRecord): Promise<string> => {
    const signer = await signers.current('results', 'Ed25519')
    const payload = {
      iss: baseUrl,
      jti: row.id,
      sub: agent.id,
      org: row.organisation,
      name: agent.name,
      agent_kid: agent.kid,
      status: agent.status,
      trust_level: agent.trust_level,
      domain: domainOf(agent),
      iat: Math.floor(row.issued_at / MS_PER_SECOND),
      exp: Math.floor(row.expires_at / MS_PER_SECOND),
    }
    return writeJws({ alg: 'EdDSA', kid: signer.kid, typ: BADGE_TYP }, payload, signer.sign)
  }

  const read = async (badgeId: string): Promise<Badge> => {
    const row = (await findBadge(database, badgeId)) ?? fail('not_found')
    const agent = await agents.find(row.organisation, row.agent)
    if (agent === undefined) throw new Error(`The agent of ${row.id} is gone.`)
    return toBadge(row, agent, clock.now())
  }

  return {
    /**
     * A badge for an active agent, for seven days, and no longer than the agent may act.
     * @throws AppError not_found; conflict for an agent that is not active
     */
    async issue(caller: Caller, { agent_id, format = 'json' }: NewBadge): Promise<BadgeIssued> {
      const { organisation } = caller
      const agent = (await agents.find(organisation, agent_id)) ?? fail('not_found')
      if (agent.status !== 'active')
        fail('conflict', { message: `A badge requires an active agent; this one is ${agent.status}.` })
      const now = clock.now()
      const row: BadgeRow = {
        id: newId('bdg', now),
        organisation,
        agent: agent.id,
        issued_at: now,
        expires_at: Math.min(now + VALID_MS, agent.limits?.expiresAt ?? Number.POSITIVE_INFINITY),
      }
      const badge = toBadge(row, agent, now)
      const jws = await sign(row, agent)
      const { badge_id, status, trust_level, domain, issued_at, expires_at, verify_url } = badge
      return ledger.append(caller, (tx) => {
        if (tx.holder(...agents.changed(agent))) fail('conflict')
        tx.append({
          type: 'attest',
          subject: ['agent', agent.id],
          data: { event: 'agent.badge_issued', agentId: agent.id, badgeId: row.id, trustLevel: trust_level },
        })
        tx.write(badges.row(row))
        return {
          badge_id,
          status,
          trust_level,
          domain,
          issued_at,
          expires_at,
          verify_url,
          svg: format === 'jws' ? null : badgeImage(badge),
          jws: format === 'svg' ? null : jws,
        }
      })
    },

    /** What a badge says now, to anyone. @throws AppError not_found */
    read,

    /** The image of the same. @throws AppError not_found */
    async image(badgeId: string): Promise<string> {
      return badgeImage(await read(badgeId))
    },
  }
}
