/** What there is to talk about: the prompts, the one of the day, a random one. @module */
import { randomInt } from 'node:crypto'
import { type Clock, iso } from '../../../clock.ts'
import { foldCase } from '../names/case-folding.ts'
import { type Catalogue, loadCatalogue } from './catalogue.ts'
import { createDailyPrompt } from './daily-prompt.ts'
import type { Category, CategoryId, Daily, Prompt, PromptsQuery } from './schemas-prompts.ts'

export interface PromptsService {
  readonly categories: readonly Category[]
  /** Of prompts. */
  readonly count: number
  /**
   * Prompts in the order of the catalogue.
   * @param query `category` keeps one; `q` keeps those whose title, text or tags hold each of its words, whatever
   *   their case; one without words keeps all
   */
  list(query: PromptsQuery): readonly Prompt[]
  find(id: string): Prompt | undefined
  /** Of the current UTC day. */
  daily(): Daily
  /** Each with the same probability. */
  random(category?: CategoryId): Prompt
}

export interface PromptsDeps {
  readonly clock: Clock
  /** Default: that of this release. */
  readonly catalogue?: Catalogue
}

const wordsOf = (text: string): string[] =>
  foldCase(text)
    .split(/\s+/u)
    .filter((word) => word !== '')

/** @throws Error that names the prompt at fault when the catalogue is not well-formed */
export const createPrompts = ({ clock, catalogue = loadCatalogue() }: PromptsDeps): PromptsService => {
  const { categories, prompts } = catalogue
  const byId = new Map(prompts.map((prompt) => [prompt.id, prompt]))
  const entries = prompts.map((prompt) => ({
    prompt,
    // Words hold no line break, so none is found across two fields.
    searched: foldCase([prompt.title, prompt.text, ...prompt.tags].join('\n')),
  }))
  const dailyPrompt = createDailyPrompt(catalogue)

  const list = ({ category, q = '' }: PromptsQuery): readonly Prompt[] => {
    const words = wordsOf(q)
    return entries
      .filter(({ prompt }) => category === undefined || prompt.category === category)
      .filter(({ searched }) => words.every((word) => searched.includes(word)))
      .map(({ prompt }) => prompt)
  }

  return {
    categories,
    count: prompts.length,
    list,
    find: (id) => byId.get(id),
    daily() {
      const date = iso(clock.now()).slice(0, 10)
      return { date, prompt: dailyPrompt(date) }
    },
    random(category) {
      const candidates = list({ category })
      return candidates[randomInt(candidates.length)]!
    },
  }
}
