/**
 * The keys by which agents are recognised: those that they are enrolled with and, for callers who ask for it, those that are
 * published where a signed request says.
 * @module
 */
import { readPublicKey } from '../../../../keys/public-key.ts'
import type { AgentRecord, AgentsService } from '../../enrol/service.ts'
import type { RegisteredKeysService } from '../../keys/service.ts'
import type { EvidenceReason } from '../reasons.ts'
import type { AgentKey, FindKey, FindPublishedKey } from './evidence.ts'

interface Deps {
  readonly agents: Pick<AgentsService, 'find'>
  readonly registeredKeys: Pick<RegisteredKeysService, 'find'>
}

const keyOf = async (agent: AgentRecord, kid: string): Promise<AgentKey | undefined> => {
  const jwk = [agent.jwk, agent.pq_jwk][[agent.kid, agent.pq_kid].indexOf(kid)]
  if (jwk === undefined) return undefined
  const publicKey = await readPublicKey(jwk)
  if (publicKey === undefined) throw new Error(`A key of ${agent.id} can no longer be read.`)
  return { publicKey, agent }
}

/**
 * Looks keys up for one question.
 * @param agent the one whose keys alone count; absent: whichever active agent of the organisation has the key
 */
export const keyFinder =
  ({ agents, registeredKeys }: Deps, organisation: string, agent: AgentRecord | undefined): FindKey =>
  async (kid) => {
    if (agent !== undefined) return (typeof kid === 'string' && (await keyOf(agent, kid))) || 'KEY_MISMATCH'
    const registered = typeof kid === 'string' ? await registeredKeys.find(organisation, kid) : undefined
    if (registered?.owner.type !== 'agent') return 'KEY_UNKNOWN'
    const owner = await agents.find(organisation, registered.owner.id)
    return (owner && (await keyOf(owner, registered.kid))) ?? 'KEY_UNKNOWN'
  }

const UNPUBLISHED: Readonly<Record<string, EvidenceReason>> = {
  key_not_in_directory: 'KEY_UNPUBLISHED',
  directory_url: 'DIRECTORY_URL_REFUSED',
  directory_type: 'DIRECTORY_TYPE_REFUSED',
  directory_busy: 'DIRECTORY_BUSY',
}

/** Looks up, for one organisation, what the URL publishes that a request names. */
export const publishedKeyFinder =
  ({ published }: Pick<AgentsService, 'published'>, organisation: string): FindPublishedKey =>
  async (kid, url) => {
    const key = await published(organisation, url, kid)
    return typeof key === 'string' ? (UNPUBLISHED[key] ?? 'DIRECTORY_FAILED') : { publicKey: key }
  }

/**
 * As {@link keyFinder}, for agent cards: their `kid` is a name that the signer chose (A2A §8.4.2), so where the agent is
 * known, its own key is meant whatever it is called.
 */
export const cardKeyFinder = (deps: Deps, organisation: string, agent: AgentRecord | undefined): FindKey => {
  const find = keyFinder(deps, organisation, agent)
  return async (kid) => {
    const found = await find(kid)
    return found === 'KEY_MISMATCH' && agent !== undefined ? find(agent.kid) : found
  }
}
