/** Finding a place of the documentation: the same when the index is made and when it is asked. @module */
import MiniSearch, { type Options } from 'minisearch'

/** A place that the search leads to. */
export interface Place {
  readonly id: number
  readonly url: string
  readonly title: string
  /** What it is part of: the title of a guide, a tag, "Error". */
  readonly kind: string
  /** Method and path of an operation, the meaning of an error, the first words below a heading. */
  readonly note: string
  /** What else it is called: the name of an operation. */
  readonly name: string
}

export type Found = Omit<Place, 'id'>

const OPTIONS: Options<Place> = {
  fields: ['title', 'note', 'name', 'kind'],
  storeFields: ['url', 'title', 'kind', 'note', 'name'],
}

const MAX_FOUND = 12
/** Shorter words are too much alike. */
const FUZZY_FROM_LETTERS = 5

const normal = (text: string): string => text.trim().toLowerCase()

/** @returns the index, as JSON */
export const makeIndex = (places: readonly Place[]): string => {
  const index = new MiniSearch(OPTIONS)
  index.addAll(places)
  return JSON.stringify(index)
}

/** Whether a place goes by just this name, path or code. */
const isCalled = ({ title, note, name }: Found, text: string): boolean =>
  [title, name, note, note.split(' ')[1] ?? ''].some((own) => normal(own) === text)

/** @returns a function that finds the places a text may mean, the likeliest first */
export const openIndex = (json: string): ((text: string) => readonly Found[]) => {
  const index = MiniSearch.loadJSON(json, OPTIONS)
  const search = (...query: Parameters<typeof index.search>) =>
    index.search(...query) as unknown as readonly (Found & { readonly id: number })[]
  return (text) => {
    const sought = normal(text)
    if (sought === '') return []
    const called = search(MiniSearch.wildcard, {
      filter: (place) => isCalled(place as unknown as Found, sought),
    })
    const like = search(sought, {
      prefix: true,
      fuzzy: (word) => (word.length < FUZZY_FROM_LETTERS ? false : 0.2),
      combineWith: 'AND',
      boost: { name: 3, title: 2 },
    })
    const others = like.filter(({ id }) => called.every((place) => place.id !== id))
    return [...called, ...others].slice(0, MAX_FOUND)
  }
}
