/** Which prompt is featured on a day: the same on every server, and for anybody who has the catalogue. @module */
import { hash } from 'node:crypto'
import type { Catalogue } from './catalogue.ts'
import type { Prompt } from './schemas-prompts.ts'

/** A prompt that was featured rests for so many days. */
export const DAILY_REST_DAYS = 30
/** First UTC day that looks back. Whatever was featured before rests no longer. */
export const DAILY_FIRST_DATE = '2026-01-01'

const DAY_MS = 86_400_000
const START_BYTES = 6

const dayOf = (date: string): number => Date.parse(date) / DAY_MS
const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10)
const FIRST_DAY = dayOf(DAILY_FIRST_DATE)

/** Big-endian number in the first 48 bits of SHA-256("daily/1|" + date). */
const startOf = (date: string): number =>
  hash('sha256', `daily/1|${date}`, 'buffer').readUIntBE(0, START_BYTES)

/**
 * The prompt of a day is a function of its date and the catalogue. Of the prompts that may be featured on that day,
 * sorted by id, it is the one at 48 bits of SHA-256("daily/1|" + date) modulo their number; where that one was
 * featured within the {@link DAILY_REST_DAYS} days before, the next one that was not, from the end on to the start.
 *
 * What was featured before a day depends on the days before it; that ends at {@link DAILY_FIRST_DATE}, which
 * looks back at nothing, as do all days before it. So the function walks once from there to the day asked for, a hash
 * for each day, and keeps its place: the next day costs one step.
 * @throws Error when the catalogue has too few prompts to let each of them rest
 */
export const createDailyPrompt = ({
  prompts,
  featuredFrom,
}: Pick<Catalogue, 'prompts' | 'featuredFrom'>): ((date: string) => Prompt) => {
  const sorted = [...prompts].sort((a, b) => (a.id < b.id ? -1 : 1))
  if (prompts.length - featuredFrom.size <= DAILY_REST_DAYS)
    throw new Error(`a prompt a day needs more than ${DAILY_REST_DAYS} prompts without featured_from`)

  const choose = (date: string, resting: readonly Prompt[]): Prompt => {
    const eligible = sorted.filter(({ id }) => (featuredFrom.get(id) ?? '') <= date)
    let index = startOf(date) % eligible.length
    // Ends, since more of them are eligible than can rest.
    while (resting.includes(eligible[index]!)) index = (index + 1) % eligible.length
    return eligible[index]!
  }

  /** The day before `next`, and at most DAILY_REST_DAYS prompts of the days before `next`, the latest last. */
  let next = FIRST_DAY
  let featured: Prompt[] = []
  return (date) => {
    const day = dayOf(date)
    if (day < FIRST_DAY) return choose(date, [])
    if (day < next - 1) {
      next = FIRST_DAY
      featured = []
    }
    while (next <= day) {
      featured = [...featured, choose(dateOf(next), featured)].slice(-DAILY_REST_DAYS)
      next += 1
    }
    return featured.at(-1)!
  }
}
