/** Agents of an organisation: enrolled with their keys, found, suspended, revoked. @module */
import type { Caller } from '../../../caller.ts'
import type { Clock } from '../../../clock.ts'
import type { Core } from '../../../core/index.ts'
import { fail } from '../../../errors.ts'
import type { Sealing } from '../../../keys/sealing.ts'
import type { Claim } from '../../../ledger/claim-kinds.ts'
import type { Ledger } from '../../../ledger/ledger.ts'
import type { SafeFetch } from '../../../net/safe-fetch.ts'
import type { Database } from '../../../store/database.ts'
import type { OpenRecent } from '../../../store/recent.ts'
import type { AccountsService } from '../../accounts/service.ts'
import type { RegisteredKeysService } from '../keys/service.ts'
import type { stepEvent } from '../trust/store-events.ts'
import { createEnrolment } from './enrolment.ts'
import { createKeyDirectories } from './key-directory.ts'
import { createPossessions } from './possession.ts'
import { type AgentRecord, statusAt, toRecord } from './record.ts'
import {
  type Agent,
  type AgentCreated,
  type AgentEnrolled,
  type AgentList,
  type AgentsQuery,
  DEFAULT_PAGE_AGENTS,
  type Enrolment,
  type NewAgent,
} from './schemas.ts'
import type { AgentStatus } from './states.ts'
import * as store from './store.ts'
import { changeState, stateClaim, type Transition } from './transition.ts'
import { toAgent, toChallengeAndGrant, toEnrolled } from './wire.ts'

export type { AgentLimits, AgentRecord } from './record.ts'

export interface AgentsDeps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'append'>
  readonly sealing: Sealing
  readonly clock: Clock
  readonly core: Pick<Core, 'base64urlDecode'>
  readonly accounts: Pick<AccountsService, 'organisations'>
  readonly registeredKeys: Pick<RegisteredKeysService, 'read' | 'demandFree' | 'register'>
  readonly safeFetch: SafeFetch
  readonly openRecent: OpenRecent
  /** Puts a step on the record of its agent. */
  readonly stepEvent: typeof stepEvent
  readonly baseUrl: string
  /** Whether everybody's key directories may be at what the operator opened. */
  readonly egressOpenProxy: boolean
}

const refuseFrom = (status: AgentStatus): never =>
  fail('conflict', { message: `This change is not possible while the agent is ${status}.` })

/** @throws AppError conflict unless the agent is active or suspended, and has shown that it holds its key */
const demandCheckable = (row: store.AgentRow, at: number): void => {
  const status = statusAt(row, at)
  if (status !== 'active' && status !== 'suspended') refuseFrom(status)
  if (row.trust_level === 'registered')
    fail('conflict', { message: 'The agent has not proven possession of its key.' })
}

/** From where each step leads, what it makes of the agent, and what the log calls it. */
const STEPS = {
  suspend: { from: ['active'], to: 'suspended', type: 'account', event: 'agent.suspended' },
  resume: { from: ['suspended'], to: 'active', type: 'account', event: 'agent.resumed' },
  revoke: {
    from: ['pending', 'active', 'suspended', 'expired'],
    to: 'revoked',
    type: 'revoke',
    event: 'agent.revoked',
  },
} as const
type Step = keyof typeof STEPS

export type AgentsService = ReturnType<typeof createAgents>

export const createAgents = (deps: AgentsDeps) => {
  const { database, sealing, clock, registeredKeys } = deps
  const keyDirectories = createKeyDirectories({ ...deps, openToAll: deps.egressOpenProxy })
  const enrolment = createEnrolment({ ...deps, possessions: createPossessions(deps), keyDirectories })

  /** @throws AppError not_found for an unknown id and for somebody else's */
  const ownRow = async ({ organisation }: Caller, agentId: string): Promise<store.AgentRow> => {
    const row = await store.findAgent(database, agentId)
    return row?.organisation === organisation ? row : fail('not_found')
  }

  const asAgent = (row: store.AgentRow, at = clock.now()): Agent => toAgent(toRecord(sealing, row, at))

  const planOf =
    (step: Step) =>
    (row: store.AgentRow): Transition | undefined => {
      const { from, to, type, event } = STEPS[step]
      const status = statusAt(row, clock.now())
      if (status === to) return undefined
      if (!from.some((allowed) => allowed === status)) refuseFrom(status)
      const data = { event, agentId: row.id, kid: row.kid }
      return { step: { kind: step, outcome: to }, change: { status: to }, entry: { type, data } }
    }

  const take = (caller: Caller, agentId: string, step: Step): Promise<Agent> =>
    changeState(deps, caller, () => ownRow(caller, agentId), planOf(step), asAgent)

  return {
    /** An organisation's agent as it is now; undefined for an unknown id and for somebody else's. Never remembered. */
    async find(organisation: string, agentId: string): Promise<AgentRecord | undefined> {
      const row = await store.findAgent(database, agentId)
      return row?.organisation === organisation ? toRecord(sealing, row, clock.now()) : undefined
    },

    /** The key that is published where a signed request says, for callers who recognise agents that they never enrolled. */
    published: keyDirectories.published,

    /**
     * A claim to look at for decisions that rest on what a record says of the agent's status and trust: it is held if the
     * agent was suspended, resumed or revoked between `find` and the commit. What ends by time is for the caller to look at.
     */
    changed: ({ id, state_version }: Pick<AgentRecord, 'id' | 'state_version'>): Claim =>
      stateClaim(id, state_version),

    /**
     * Enrols an agent, or takes a pending one's answer to its challenge.
     * @throws AppError validation_failed, not_found, key_registered; conflict when the agent is not pending any more
     */
    async enrol(caller: Caller, input: Enrolment): Promise<AgentEnrolled> {
      if (!('agent_id' in input))
        return enrolment.enrol(caller, input, await registeredKeys.read(input), toEnrolled)
      const row = await ownRow(caller, input.agent_id)
      const status = statusAt(row, clock.now())
      if (status !== 'pending')
        return fail('conflict', { message: `The agent is ${status}: there is no challenge to answer.` })
      return enrolment.answer(caller, row, input.proof_of_possession, toEnrolled)
    },

    /**
     * Creates an agent. Without a public key a pair is made, whose private part only this answer holds.
     * @throws AppError validation_failed, key_registered
     */
    async create(caller: Caller, input: NewAgent): Promise<AgentCreated> {
      const keys = await registeredKeys.read(input)
      return enrolment.enrol(caller, input, keys, (enrolled) => ({
        ...toAgent(enrolled.record),
        ...toChallengeAndGrant(enrolled),
        private_key: keys.privateKey ?? null,
      }))
    },

    /** A page of the agents of the caller's organisation, the newest first. */
    async list(
      { organisation }: Caller,
      { cursor, limit = DEFAULT_PAGE_AGENTS }: AgentsQuery,
    ): Promise<AgentList> {
      const rows = await store.findAgents(database, organisation, { before: cursor, limit: limit + 1 })
      const shown = rows.slice(0, limit)
      return {
        agents: shown.map((row) => asAgent(row)),
        nextCursor: rows.length > limit ? (shown.at(-1)?.id ?? null) : null,
      }
    },

    /** @throws AppError not_found */
    async read(caller: Caller, agentId: string): Promise<Agent> {
      return asAgent(await ownRow(caller, agentId))
    },

    /** Closes an active agent for a while, at once and everywhere. @throws AppError not_found, conflict */
    suspend: (caller: Caller, agentId: string): Promise<Agent> => take(caller, agentId, 'suspend'),

    /** Opens a suspended agent again. @throws AppError not_found, conflict */
    resume: (caller: Caller, agentId: string): Promise<Agent> => take(caller, agentId, 'resume'),

    /** Closes an agent for good, at once and everywhere; a key that it has reserved is never registered again. @throws AppError not_found */
    revoke: (caller: Caller, agentId: string): Promise<Agent> => take(caller, agentId, 'revoke'),

    /**
     * Asks the agent's domain again whether it publishes the key, and sets the trust level by the answer. That counts for the state
     * of which it was asked: by the time it comes, another check may have found out more, or the agent be suspended.
     * @throws AppError not_found; rate_limited; conflict unless the agent is active or suspended and has shown that it holds its
     *   key, and where it was changed meanwhile
     */
    async checkDomain(caller: Caller, agentId: string): Promise<Agent> {
      const asked = await ownRow(caller, agentId)
      demandCheckable(asked, clock.now())
      const { level, reasons } = await enrolment.askTrust(caller, asked)
      return changeState(
        deps,
        caller,
        () => ownRow(caller, agentId),
        (found) => {
          demandCheckable(found, clock.now())
          if (found.state_version !== asked.state_version)
            fail('conflict', { message: 'The agent was changed while its domain was asked; check it again.' })
          const data = { event: 'agent.domain_checked', agentId, trustLevel: level, reasons: [...reasons] }
          return {
            step: { kind: 'check_domain', outcome: level },
            change: { trust_level: level, trust_reasons: reasons },
            entry: { type: 'attest', data },
          }
        },
        asAgent,
      )
    },
  }
}
