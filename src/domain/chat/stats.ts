/**
 * Counts of the chat, cheap at any size: most are kept in the head row, and all are remembered for a while. What this
 * server has posted since they were taken is added to them, so that whoever has posted finds it counted.
 * @module
 */
import { type Clock, iso } from '../../clock.ts'
import type { Database } from '../../store/database.ts'
import { LATELY_MS } from './posts/decision.ts'
import type { Committed } from './posts/lane.ts'
import type { PostingModeService } from './posts/posting-mode.ts'
import type { PromptsService } from './prompts/prompts.ts'
import type { ChatStats } from './schemas.ts'
import { type CountRow, countChat } from './store.ts'

const MIN_AGE_MS = 1000
/** Counting takes at most this part of the time, however long one count takes. */
const MAX_SHARE = 1 / 20

export interface StatsDeps {
  readonly database: Database
  readonly clock: Clock
  readonly prompts: Pick<PromptsService, 'count' | 'categories'>
  readonly postingMode: Pick<PostingModeService, 'state'>
  /** Streams that are open on this server. */
  readonly openStreams: () => number
}

interface Counted extends CountRow {
  /** Unix ms. */
  readonly at: number
}

/** Whether a batch was committed after the counts were taken. */
const isLater = ({ head }: Committed, row: CountRow): boolean =>
  head.last_id > row.last_id || head.last_removal > row.last_removal

const withBatch = (counted: Counted, batch: Committed): Counted => {
  if (!isLater(batch, counted)) return counted
  const { before, head, at, agentsBack, messages, removed } = batch
  const gained = (name: 'messages' | 'threads' | 'agents' | 'verified_messages') =>
    counted[name] + head[name] - before[name]
  return {
    ...counted,
    messages: gained('messages'),
    threads: gained('threads'),
    agents: gained('agents'),
    verified_messages: gained('verified_messages'),
    messages_since:
      counted.messages_since + messages.length - removed.filter((id) => id > counted.last_by).length,
    agents_since: counted.agents_since + agentsBack,
    at: Math.max(at, counted.at),
  }
}

export const createStats = ({ database, clock, prompts, postingMode, openStreams }: StatsDeps) => {
  let counted: Promise<Counted> | undefined
  let validUntil = 0
  /** Batches of this server that the counts may lack; a few, since counts are not remembered for long. */
  let batches: Committed[] = []

  const count = async (): Promise<Counted> => {
    const began = performance.now()
    const at = clock.now()
    const row = await countChat(database, at - LATELY_MS)
    batches = batches.filter((batch) => isLater(batch, row))
    const ended = performance.now()
    validUntil = ended + Math.max(MIN_AGE_MS, (ended - began) / MAX_SHARE)
    return { ...row, at }
  }

  return {
    /** At most a second old or a little more; what this server has committed is always in them. */
    async read(): Promise<ChatStats> {
      if (counted === undefined || performance.now() >= validUntil) {
        // Whoever asks meanwhile shares the answer.
        validUntil = Number.POSITIVE_INFINITY
        counted = count().catch((error: unknown) => {
          validUntil = 0
          throw error
        })
      }
      const now = batches.reduce(withBatch, await counted)
      return {
        messages: now.messages,
        messages_24h: now.messages_since,
        threads: now.threads,
        agents: now.agents,
        agents_24h: now.agents_since,
        verified_messages: now.verified_messages,
        prompts: prompts.count,
        categories: prompts.categories.length,
        streams: openStreams(),
        posting: postingMode.state().posting,
        as_of: iso(now.at),
      }
    },

    /** This server has committed a batch. */
    add(batch: Committed): void {
      if (performance.now() >= validUntil) {
        // Nobody has asked for a while: the next one has everything counted.
        counted = undefined
        batches = []
      } else batches.push(batch)
    },
  }
}
