/** All words of an index, and how those are found that a word may mean: by letter pairs, sounds, romanisations and short forms. @module */
import { LRUCache } from 'lru-cache'
import { growingInts, invert, type Postings, type TextPostings, textPostingsBuilder } from './postings.ts'
import { BIGRAM_CODES, isEnoughShared, TokenForm, tokenSimilarity } from './token-similarity.ts'

/** The first forms of words are kept; others are made when they are needed, and so many of all kept. */
const MAX_KEPT_FORMS = 200_000
/** Names have many words in common, so that the words that were found last are remembered: up to so many likenesses in all. */
const MAX_KEPT_LIKENESSES = 500_000
/** What a word that is remembered takes beside its likenesses, in likenesses. */
const KEPT_WORD = 16

/** Words by number, each once, with how alike each is. */
export interface WordsAlike {
  readonly ids: Int32Array
  readonly similarities: Float64Array
}

export interface Vocabulary {
  readonly texts: readonly string[]
  /** Of a word of the vocabulary. */
  form(id: number): TokenForm
  /** @returns undefined for a word that it has not */
  idOf(text: string): number | undefined
  /** Words that are like a word. */
  find(form: TokenForm): WordsAlike
  /** Words that are written or romanised like several that were joined: fewer, and much faster. */
  findJoined(form: TokenForm): WordsAlike
  /** Whether it may have words that are like one whose script is of another kind: most lists are in Latin letters. */
  mayCross(form: TokenForm): boolean
  readonly bytes: number
}

interface Parts {
  readonly texts: readonly string[]
  readonly sizes: Uint8Array
  readonly byKey: TextPostings
  readonly byBigram: Postings
  /** Whether all words are in scripts that write vowels and letters. */
  readonly isPlain: boolean
}

export const buildVocabulary = async (
  texts: readonly string[],
  breathe: () => Promise<void> | undefined,
): Promise<Vocabulary> => {
  const starts = growingInts()
  const bigrams = growingInts()
  const keys = textPostingsBuilder()
  const sizes = new Uint8Array(texts.length)
  let isPlain = true
  for (const [id, text] of texts.entries()) {
    const form = new TokenForm(text)
    keys.add(form.listedAs)
    starts.push(bigrams.length)
    sizes[id] = form.bigrams.length
    isPlain &&= form.isPlain
    for (const code of form.bigrams) bigrams.push(code)
    await breathe()
  }
  starts.push(bigrams.length)
  const byBigram = await invert(
    await starts.pack(breathe),
    await bigrams.pack(breathe),
    BIGRAM_CODES,
    breathe,
  )
  return createVocabulary({ texts, sizes, byKey: await keys.build(breathe), byBigram, isPlain })
}

/** Forms of words, made when they are asked for. */
const createForms = (texts: readonly string[]) => {
  const forms = new Array<TokenForm | undefined>(texts.length).fill(undefined)
  let kept = 0
  return (id: number): TokenForm => {
    const known = forms[id]
    if (known !== undefined) return known
    if (kept === MAX_KEPT_FORMS) {
      forms.fill(undefined)
      kept = 0
    }
    kept++
    const form = new TokenForm(texts[id] as string)
    forms[id] = form
    return form
  }
}

/** Gathers words that may be like one, each once. */
const createGatherer = ({ texts, sizes, byBigram }: Parts) => {
  /** Letter pairs that words share with the one that is looked for. */
  const shared = new Uint8Array(texts.length)
  const touched = new Int32Array(texts.length)
  const isFound = new Uint8Array(texts.length)
  let found: number[] = []
  const add = (id: number): void => {
    if (isFound[id] === 1) return
    isFound[id] = 1
    found.push(id)
  }
  return {
    /** Words that have enough letter pairs in common. */
    addBySpelling({ bigrams }: TokenForm): void {
      let count = 0
      for (const code of bigrams) {
        const holders = byBigram.of(code)
        // Millions of steps a second: an index is twice as fast as an iterator.
        for (let i = 0; i < holders.length; i++) {
          const id = holders[i] as number
          const before = shared[id] as number
          if (before === 0) touched[count++] = id
          shared[id] = before + 1
        }
      }
      for (let i = 0; i < count; i++) {
        const id = touched[i] as number
        if (isEnoughShared(shared[id] as number, bigrams.length + (sizes[id] as number))) add(id)
        shared[id] = 0
      }
    },
    addAll(ids: readonly number[]): void {
      for (let i = 0; i < ids.length; i++) add(ids[i] as number)
    },
    count: () => found.length,
    /** In the order in which they were added. */
    take(): readonly number[] {
      const taken = found
      for (const id of taken) isFound[id] = 0
      found = []
      return taken
    },
    bytes: shared.byteLength + touched.byteLength + isFound.byteLength,
  }
}

const createVocabulary = (parts: Parts): Vocabulary => {
  const { texts, sizes, byKey, byBigram, isPlain } = parts
  const mayCross = (form: TokenForm): boolean => !isPlain || !form.isPlain
  const formOf = createForms(texts)
  const gatherer = createGatherer(parts)
  const kept = new LRUCache<string, WordsAlike>({
    maxSize: MAX_KEPT_LIKENESSES,
    sizeCalculation: ({ ids }) => KEPT_WORD + ids.length,
  })

  /** @param speltAlike the first so many have enough letter pairs in common, and no others; undefined: not known */
  const compare = (form: TokenForm, candidates: readonly number[], speltAlike?: number): WordsAlike => {
    const ids: number[] = []
    const similarities: number[] = []
    // An initial stands for too many words to find a name by; it still counts once the name was found.
    const initial = isInitial(form)
    for (let i = 0; i < candidates.length; i++) {
      const id = candidates[i] as number
      const other = formOf(id)
      if (initial !== isInitial(other)) continue
      const similarity = tokenSimilarity(form, other, speltAlike === undefined ? undefined : i < speltAlike)
      if (similarity === 0) continue
      ids.push(id)
      similarities.push(similarity)
    }
    return { ids: Int32Array.from(ids), similarities: Float64Array.from(similarities) }
  }

  const find = (form: TokenForm): WordsAlike => {
    if (form.letters.length > 1) gatherer.addBySpelling(form)
    const speltAlike = gatherer.count()
    for (const key of form.askedAs(mayCross(form))) gatherer.addAll(byKey.of(key))
    return compare(form, gatherer.take(), speltAlike)
  }
  return {
    texts,
    form: formOf,
    idOf: (text) => byKey.of(`=${text}`).find((id) => texts[id] === text),
    find(form) {
      const known = kept.get(form.text)
      if (known !== undefined) return known
      const found = find(form)
      kept.set(form.text, found)
      return found
    },
    findJoined(form) {
      for (const key of form.askedJoinedAs(mayCross(form))) gatherer.addAll(byKey.of(key))
      return compare(form, gatherer.take())
    },
    mayCross,
    bytes: byKey.bytes + byBigram.bytes + sizes.byteLength + gatherer.bytes,
  }
}

const isInitial = ({ letters, script }: TokenForm): boolean =>
  letters.length === 1 && script !== 'han' && script !== 'hangul'
