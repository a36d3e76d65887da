/** How alike the words of an index are to those of the name that is asked for. @module */
import { type NameScorer, type Place, WORD_PLACES } from './name-score.ts'
import { type Asked, INITIAL, MIN_JOINED_SIMILARITY } from './read-names.ts'
import { tokenSimilarity } from './token-similarity.ts'
import type { Vocabulary } from './vocabulary.ts'

/** Tables for one name at a time. */
export interface PairTable {
  /** @param asked whose words the tables are for from now on */
  begin(asked: Asked): void
  /**
   * Gives the scorer every pair with a word; an initial may stand for any word that begins with it.
   * @param position of the word in the listed name @param id its number
   */
  addPairs(scorer: NameScorer, position: number, id: number): void
  readonly bytes: number
}

/** @param traits by word, as `traitsOf` tells them */
export const createPairTable = ({ texts, form: formOf }: Vocabulary, traits: Uint8Array): PairTable => {
  /** By word: its row, counted from 1; 0 for none. */
  const rowOf = new Int32Array(texts.length)
  /** By row: the likeness to each word of the name, then to each of those that may be joined. */
  let table = new Float64Array(1024)
  const rows: number[] = []
  let width = 0
  let asked: Pick<Asked, 'forms' | 'initials'> = { forms: [], initials: 0 }
  /** Of the name that is asked for, by column. */
  let places: readonly Place[] = []

  const isShort = (id: number): boolean =>
    ((traits[id] as number) & INITIAL) !== 0 && (texts[id] as string).length === 1

  /** @returns where the row begins */
  const startOf = (id: number): number => {
    const known = rowOf[id] as number
    if (known > 0) return (known - 1) * width
    const end = rows.push(id) * width
    rowOf[id] = rows.length
    if (end > table.length) {
      const larger = new Float64Array(2 * end)
      larger.set(table)
      table = larger
    }
    table.fill(0, end - width, end)
    return end - width
  }
  const set = (id: number, column: number, similarity: number): void => {
    const start = startOf(id)
    table[start + column] = similarity
  }
  const addInitials = (id: number): void => {
    const all = isShort(id)
    if (!all && asked.initials === 0) return
    asked.forms.forEach((form, i) => {
      if (all || ((asked.initials >> i) & 1) === 1) set(id, i, tokenSimilarity(form, formOf(id)))
    })
  }

  return {
    begin(next) {
      for (const id of rows) rowOf[id] = 0
      rows.length = 0
      asked = next
      places = [...WORD_PLACES.slice(0, next.count), ...next.joined]
      width = places.length
      next.alike.forEach(({ ids, similarities }, i) => {
        for (let k = 0; k < ids.length; k++) set(ids[k] as number, i, similarities[k] as number)
      })
      next.joined.forEach(({ factor, alike: { ids, similarities } }, i) => {
        for (let k = 0; k < ids.length; k++) {
          const similarity = similarities[k] as number
          if (similarity >= MIN_JOINED_SIMILARITY) set(ids[k] as number, next.count + i, factor * similarity)
        }
      })
      const found = rows.length
      for (let row = 0; row < found; row++) addInitials(rows[row] as number)
    },
    addPairs(scorer, position, id) {
      if (rowOf[id] === 0) addInitials(id)
      const row = rowOf[id] as number
      if (row === 0) return
      const second = WORD_PLACES[position] as Place
      const start = (row - 1) * width
      for (let i = 0; i < width; i++) {
        const similarity = table[start + i] as number
        if (similarity > 0) scorer.add(places[i] as Place, second, similarity)
      }
    },
    bytes: rowOf.byteLength,
  }
}
