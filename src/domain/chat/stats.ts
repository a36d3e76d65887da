/** Counts of the chat, cheap at any size: most are kept in the head row, and all are remembered for a while. @module */
import { type Clock, iso } from '../../clock.ts'
import type { Database } from '../../store/database.ts'
import type { PostingModeService } from './posting-mode.ts'
import type { PromptsService } from './prompts.ts'
import type { ChatStats } from './schemas.ts'
import { countSince, findHead } from './store.ts'

const DAY_MS = 24 * 60 * 60 * 1000
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

type Counted = Omit<ChatStats, 'streams' | 'posting' | 'prompts' | 'categories'>

export const createStats = ({ database, clock, prompts, postingMode, openStreams }: StatsDeps) => {
  let counted: Promise<Counted> | undefined
  let validUntil = 0

  const count = async (): Promise<Counted> => {
    const began = performance.now()
    const now = clock.now()
    const [head, lately] = await Promise.all([findHead(database), countSince(database, now - DAY_MS)])
    const ended = performance.now()
    validUntil = ended + Math.max(MIN_AGE_MS, (ended - began) / MAX_SHARE)
    return {
      messages: head.messages,
      messages_24h: lately.messages,
      threads: head.threads,
      agents: head.agents,
      agents_24h: lately.agents,
      verified_messages: head.verified_messages,
      as_of: iso(now),
    }
  }

  return async (): Promise<ChatStats> => {
    if (counted === undefined || performance.now() >= validUntil) {
      // Whoever asks meanwhile shares the answer.
      validUntil = Number.POSITIVE_INFINITY
      counted = count().catch((error: unknown) => {
        validUntil = 0
        throw error
      })
    }
    const { as_of, ...counts } = await counted
    return {
      ...counts,
      prompts: prompts.count,
      categories: prompts.categories.length,
      streams: openStreams(),
      posting: postingMode.state().posting,
      as_of,
    }
  }
}
