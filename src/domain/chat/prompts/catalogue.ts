/**
 * The prompt catalogue: one JSON file for each category, checked when it is read.
 *
 * An id stays for ever: messages refer to it, and nobody may find another prompt behind it. A prompt that is added
 * after the first release says in `featured_from` from which UTC day on it may be the prompt of the day; that day lies
 * in the future, so that no past day changes and servers of both versions agree until then.
 * @module
 */
import askAnAgent from './catalogue/ask-an-agent.json' with { type: 'json' }
import coding from './catalogue/coding.json' with { type: 'json' }
import creative from './catalogue/creative.json' with { type: 'json' }
import debates from './catalogue/debates.json' with { type: 'json' }
import ethics from './catalogue/ethics.json' with { type: 'json' }
import everyday from './catalogue/everyday.json' with { type: 'json' }
import future from './catalogue/future.json' with { type: 'json' }
import games from './catalogue/games.json' with { type: 'json' }
import history from './catalogue/history.json' with { type: 'json' }
import language from './catalogue/language.json' with { type: 'json' }
import maths from './catalogue/maths.json' with { type: 'json' }
import nature from './catalogue/nature.json' with { type: 'json' }
import philosophy from './catalogue/philosophy.json' with { type: 'json' }
import science from './catalogue/science.json' with { type: 'json' }
import stories from './catalogue/stories.json' with { type: 'json' }
import { CATEGORY_IDS, type Category, PROMPT_KINDS, type Prompt } from './schemas-prompts.ts'

const CATALOGUE_VERSION = 1
const ID_MAX_CHARACTERS = 80
const TITLE_MAX_CHARACTERS = 80
const TEXT_CHARACTERS = { min: 80, max: 600 } as const
const TAGS = { min: 2, max: 5 } as const
const SLUG = /^[a-z0-9]+(-[a-z0-9]+)*$/
const DATE = /^\d{4}-\d{2}-\d{2}$/

/** A category's file. */
export interface CatalogueFile {
  /** Of the file's form. */
  readonly version: number
  readonly category: Category
  readonly prompts: readonly CatalogueEntry[]
}

export interface CatalogueEntry {
  readonly id: string
  readonly kind: string
  readonly title: string
  readonly text: string
  readonly tags: readonly string[]
  /** UTC day, as 2026-01-31; absent: always was. */
  readonly featured_from?: string
}

export interface Catalogue {
  /** In the order of CATEGORY_IDS. */
  readonly categories: readonly Category[]
  /** By category, and within one in the order of its file. */
  readonly prompts: readonly Prompt[]
  /** Prompt id → UTC day, for those that were added later. */
  readonly featuredFrom: ReadonlyMap<string, string>
}

const FILES: readonly CatalogueFile[] = [
  science,
  philosophy,
  maths,
  creative,
  ethics,
  coding,
  history,
  games,
  askAnAgent,
  debates,
  stories,
  language,
  future,
  nature,
  everyday,
]

const isKind = (kind: string): kind is Prompt['kind'] => (PROMPT_KINDS as readonly string[]).includes(kind)

/** @returns what is wrong with an entry, undefined when nothing is */
const faultOf = (entry: CatalogueEntry, category: string): string | undefined => {
  const { id, kind, title, text, tags, featured_from } = entry
  const characters = [...text].length
  if (!id.startsWith(`${category}-`)) return `its id does not begin with ${category}-`
  if (!SLUG.test(id) || id.length > ID_MAX_CHARACTERS)
    return `its id is not made of lower-case words and hyphens, at most ${ID_MAX_CHARACTERS} characters`
  if (!isKind(kind)) return `its kind is ${kind}; there are ${PROMPT_KINDS.join(', ')}`
  if (title.trim() !== title || title === '' || [...title].length > TITLE_MAX_CHARACTERS)
    return `its title is not 1 to ${TITLE_MAX_CHARACTERS} characters without space around them`
  if (text.trim() !== text || characters < TEXT_CHARACTERS.min || characters > TEXT_CHARACTERS.max)
    return `its text has ${characters} characters, and not ${TEXT_CHARACTERS.min} to ${TEXT_CHARACTERS.max} without space around them`
  if (tags.length < TAGS.min || tags.length > TAGS.max || new Set(tags).size !== tags.length)
    return `it has not ${TAGS.min} to ${TAGS.max} different tags`
  if (!tags.every((tag) => SLUG.test(tag))) return 'its tags are not all lower-case words with hyphens'
  if (featured_from !== undefined && !DATE.test(featured_from))
    return `featured_from is ${featured_from}, not a day as 2026-01-31`
  return undefined
}

/**
 * Checks the files of a catalogue and puts them together.
 * @param files one for each category, in the order of CATEGORY_IDS
 * @throws Error that names the first category or prompt at fault
 */
export const readCatalogue = (files: readonly CatalogueFile[]): Catalogue => {
  const ids = files.map(({ category }) => category.id)
  if (ids.join() !== CATEGORY_IDS.join())
    throw new Error(`the categories of the catalogue are ${ids.join(', ')}, not ${CATEGORY_IDS.join(', ')}`)
  const prompts = new Map<string, Prompt>()
  const featuredFrom = new Map<string, string>()
  for (const { version, category, prompts: entries } of files) {
    if (version !== CATALOGUE_VERSION) throw new Error(`category ${category.id} has version ${version}`)
    if (entries.length === 0) throw new Error(`category ${category.id} has no prompts`)
    for (const { featured_from, ...entry } of entries) {
      const taken = prompts.has(entry.id) ? 'its id is taken' : undefined
      const fault = taken ?? faultOf({ ...entry, featured_from }, category.id)
      if (fault !== undefined) throw new Error(`prompt ${entry.id} of category ${category.id}: ${fault}`)
      const { id, title, text, tags } = entry
      const kind = entry.kind as Prompt['kind']
      prompts.set(id, { id, category: category.id, kind, title, text, tags: [...tags] })
      if (featured_from !== undefined) featuredFrom.set(id, featured_from)
    }
  }
  return { categories: files.map(({ category }) => category), prompts: [...prompts.values()], featuredFrom }
}

/** The catalogue of this release. @throws Error as {@link readCatalogue} */
export const loadCatalogue = (): Catalogue => readCatalogue(FILES)
