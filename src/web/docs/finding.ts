/** Finding a place of the documentation. @module */
import MiniSearch, { type Options } from 'minisearch'

/** A place that the search leads to. */
export interface Place {
  readonly url: string
  readonly title: string
  /** What it is part of: the title of a guide, a tag, "Error". */
  readonly kind: string
  /** Method and path of an operation, the meaning of an error, the first words below a heading. */
  readonly note: string
  /** What else it is called: the name of an operation. */
  readonly name: string
}

const OPTIONS: Options<Place & { readonly id: number }> = {
  fields: ['title', 'note', 'name', 'kind'],
  storeFields: ['url', 'title', 'kind', 'note', 'name'],
}

const MAX_FOUND = 12
/** Shorter words are too much alike. */
const FUZZY_FROM_LETTERS = 5

const normal = (text: string): string => text.trim().toLowerCase()

/** Whether a place goes by just this name, path or code. */
const isCalled = ({ title, note, name }: Place, text: string): boolean =>
  [title, name, note, note.split(' ')[1] ?? ''].some((own) => normal(own) === text)

/** @returns a function that finds the places a text may mean, the likeliest first */
export const openIndex = (places: readonly Place[]): ((text: string) => readonly Place[]) => {
  const index = new MiniSearch(OPTIONS)
  index.addAll(places.map((place, id) => ({ id, ...place })))
  const search = (...query: Parameters<typeof index.search>) =>
    index.search(...query) as unknown as readonly (Place & { readonly id: number })[]
  return (text) => {
    const sought = normal(text)
    if (sought === '') return []
    const called = search(MiniSearch.wildcard, {
      filter: (place) => isCalled(place as unknown as Place, sought),
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
