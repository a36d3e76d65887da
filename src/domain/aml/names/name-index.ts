/**
 * An index over names in memory: finds those that a name may mean without looking at the others. Words are found by their
 * letter pairs, sounds, consonants and short forms; names by the words that they share.
 * @module
 */
import { createBreather } from '../breather.ts'
import { scoreNames, type TokenPair } from './name-score.ts'
import { nameTokens } from './name-tokens.ts'
import { NICKNAMES, PARTICLES } from './name-words.ts'
import { growingInts, invert, type Postings } from './postings.ts'
import { BIGRAM_CODES, type TokenForm, tokenForm, tokenSimilarity } from './token-similarity.ts'

/** Names that score lower are not looked for. */
export const MIN_FOUND_SCORE = 70
/** Of names that look promising by their words, so many are compared word by word. */
const MAX_COMPARED_NAMES = 1000
/** A word that is everywhere still counts a little. */
const MIN_WEIGHT = 0.2
const PARTICLE_FACTOR = 0.3
const INITIAL_FACTOR = 0.4
/** Two words written as one agree a little less than if they were written alike. */
const JOINED_FACTOR = 0.98
const MAX_JOINED_CHARACTERS = 20

export interface FoundName {
  /** Number of the name, in the order in which names were added. */
  readonly name: number
  /** {@link MIN_FOUND_SCORE} to 100. */
  readonly score: number
}

export interface NameIndex {
  readonly names: number
  /** Distinct words. */
  readonly words: number
  /** Best first; those of equal score in the order in which they were added. Empty for a name without letters. */
  search(name: string): FoundName[]
  /** The same for one name of the index, without the index: slow, and what `search` is measured by. */
  compare(name: string, number: number): number
}

export interface NameIndexBuilder {
  /** The name's number is the count of names before it. */
  add(name: string): void
  /** Builds the index, in pieces. */
  build(): Promise<NameIndex>
}

const append = (map: Map<string, number[]>, key: string, value: number): void => {
  const known = map.get(key)
  if (known) known.push(value)
  else map.set(key, [value])
}

interface Vocabulary {
  readonly forms: readonly TokenForm[]
  readonly ids: ReadonlyMap<string, number>
  readonly bySound: ReadonlyMap<string, readonly number[]>
  readonly byConsonants: ReadonlyMap<string, readonly number[]>
  readonly byFold: ReadonlyMap<string, readonly number[]>
  readonly byBigram: Postings
}

const buildVocabulary = async (ids: ReadonlyMap<string, number>): Promise<Vocabulary> => {
  const breathe = createBreather()
  const forms: TokenForm[] = []
  const bySound = new Map<string, number[]>()
  const byConsonants = new Map<string, number[]>()
  const byFold = new Map<string, number[]>()
  const starts = growingInts()
  const bigrams = growingInts()
  for (const [text, id] of ids) {
    const form = tokenForm(text)
    forms.push(form)
    for (const sound of new Set(form.sounds)) append(bySound, sound, id)
    if (form.consonants !== '') append(byConsonants, form.consonants, id)
    append(byFold, form.fold, id)
    starts.push(bigrams.length)
    for (const code of form.bigrams) bigrams.push(code)
    await breathe()
  }
  starts.push(bigrams.length)
  return {
    forms,
    ids,
    bySound,
    byConsonants,
    byFold,
    byBigram: invert(starts.pack(), bigrams.pack(), BIGRAM_CODES),
  }
}

/** Finds words of the vocabulary that are like a word. */
const createWordSearch = ({ forms, ids, bySound, byConsonants, byFold, byBigram }: Vocabulary) => {
  const shared = new Uint8Array(forms.length)
  const sizes = Uint8Array.from(forms, ({ bigrams }) => bigrams.length)
  const touched: number[] = []
  /** Words that have enough letter pairs in common; the share is checked exactly by `tokenSimilarity`. */
  const bySpelling = (form: TokenForm, found: Set<number>): void => {
    for (const code of form.bigrams) {
      const holders = byBigram.of(code)
      // Millions of steps a second: an index is twice as fast as an iterator.
      for (let i = 0; i < holders.length; i++) {
        const id = holders[i] as number
        const before = shared[id] as number
        if (before === 0) touched.push(id)
        shared[id] = before + 1
      }
    }
    const least = form.bigrams.length
    for (const id of touched) {
      if (5 * (shared[id] as number) >= least + (sizes[id] as number)) found.add(id)
      shared[id] = 0
    }
    touched.length = 0
  }
  return (form: TokenForm): Map<number, number> => {
    const candidates = new Set<number>()
    bySpelling(form, candidates)
    for (const sound of form.sounds) for (const id of bySound.get(sound) ?? []) candidates.add(id)
    for (const id of byConsonants.get(form.consonants) ?? []) candidates.add(id)
    for (const id of byFold.get(form.fold) ?? []) candidates.add(id)
    for (const text of [form.text, ...(NICKNAMES.get(form.text) ?? [])]) {
      const id = ids.get(text)
      if (id !== undefined) candidates.add(id)
    }
    const alike = new Map<number, number>()
    for (const id of candidates) {
      // An initial stands for too many words to find a name by; it still counts once the name was found.
      const other = forms[id] as TokenForm
      if ((form.letters.length === 1) !== (other.letters.length === 1)) continue
      const similarity = tokenSimilarity(form, other)
      if (similarity > 0) alike.set(id, similarity)
    }
    return alike
  }
}

const isTelling = (token: string): boolean => token.length > 1 && !PARTICLES.has(token)

/** Adjacent words written as one. */
const joinedAt = (tokens: readonly string[], i: number): string | undefined => {
  const joined = `${tokens[i]}${tokens[i + 1]}`
  return i + 1 < tokens.length && joined.length <= MAX_JOINED_CHARACTERS ? joined : undefined
}

/** A name that is asked for. */
interface Asked {
  readonly forms: readonly TokenForm[]
  readonly texts: readonly string[]
  /** By position: words of the vocabulary that are like it. */
  readonly alike: readonly ReadonlyMap<number, number>[]
  /** By position of the first of two: words like both written as one. */
  readonly joined: readonly ReadonlyMap<number, number>[]
  readonly weights: readonly number[]
  readonly telling: readonly boolean[]
  readonly total: number
}

const NONE: ReadonlyMap<number, number> = new Map()

export const createNameIndexBuilder = (): NameIndexBuilder => {
  const ids = new Map<string, number>()
  const starts = growingInts()
  const words = growingInts()

  return {
    add(name) {
      starts.push(words.length)
      for (const token of nameTokens(name)) {
        const id = ids.get(token) ?? ids.size
        ids.set(token, id)
        words.push(id)
      }
    },
    async build() {
      starts.push(words.length)
      return assemble(await buildVocabulary(ids), starts.pack(), words.pack())
    },
  }
}

/** Weight of each word by how many names have it (inverse document frequency), up to 1. */
const weighWords = (vocabulary: Vocabulary, byWord: Postings, names: number): Float32Array => {
  const most = Math.log1p(names)
  return Float32Array.from(vocabulary.forms, ({ text }, id) => {
    const rarity = Math.log1p(names / Math.max(1, byWord.of(id).length)) / most
    return staticFactor(text) * Math.max(MIN_WEIGHT, Math.min(1, rarity))
  })
}

const staticFactor = (token: string): number =>
  PARTICLES.has(token) ? PARTICLE_FACTOR : token.length === 1 ? INITIAL_FACTOR : 1

const assemble = async (
  vocabulary: Vocabulary,
  starts: Int32Array,
  words: Int32Array,
): Promise<NameIndex> => {
  const { forms } = vocabulary
  const names = starts.length - 1
  const breathe = createBreather()
  const byWord = invert(starts, words, forms.length)
  const weights = weighWords(vocabulary, byWord, Math.max(1, names))
  const totals = new Float32Array(names)
  const initials = new Float32Array(names)
  /** Names by two of their words written as one. */
  const byJoined = new Map<string, number[]>()
  const wordsOf = (name: number): Int32Array => words.subarray(starts[name], starts[name + 1])
  const textsOf = (name: number): string[] => Array.from(wordsOf(name), (id) => (forms[id] as TokenForm).text)
  for (let name = 0; name < names; name++) {
    totals[name] = wordsOf(name).reduce((total, id) => total + (weights[id] as number), 0)
    const texts = textsOf(name)
    texts.forEach((text, i) => {
      if (text.length === 1) initials[name] = (initials[name] as number) + 1
      const joined = joinedAt(texts, i)
      if (joined !== undefined) append(byJoined, joined, name)
    })
    await breathe()
  }
  return createSearch({ vocabulary, byWord, byJoined, weights, totals, initials, wordsOf, textsOf, names })
}

interface Parts {
  readonly vocabulary: Vocabulary
  readonly byWord: Postings
  readonly byJoined: ReadonlyMap<string, readonly number[]>
  readonly weights: Float32Array
  /** By name: weight of all its words, and how many of them are initials. */
  readonly totals: Float32Array
  readonly initials: Float32Array
  readonly wordsOf: (name: number) => Int32Array
  readonly textsOf: (name: number) => string[]
  readonly names: number
}

const createSearch = (parts: Parts): NameIndex => {
  const { vocabulary, weights, wordsOf, textsOf, names } = parts
  const { forms } = vocabulary
  const findWords = createWordSearch(vocabulary)

  const ask = (name: string): Asked => {
    const texts = nameTokens(name)
    const own = texts.map(tokenForm)
    const alike = own.map(findWords)
    const joined = texts.map((_, i) => {
      const text = joinedAt(texts, i)
      return text === undefined ? NONE : findWords(tokenForm(text))
    })
    const weighed = alike.map((found, i) => {
      // A word that no list has weighs what the word weighs that it may be meant for.
      const [nearest] = [...found].toSorted((a, b) => b[1] - a[1] || a[0] - b[0])
      return nearest ? (weights[nearest[0]] as number) : staticFactor(texts[i] as string)
    })
    const total = weighed.reduce((sum, weight) => sum + weight, 0)
    return { forms: own, texts, alike, joined, weights: weighed, telling: texts.map(isTelling), total }
  }

  /** Every pair of words that are alike; an initial may stand for any word that begins with it. */
  const pairsOf = (asked: Asked, name: number): TokenPair[] => {
    const ids = wordsOf(name)
    const texts = textsOf(name)
    const pairs: TokenPair[] = []
    for (let i = 0; i < asked.forms.length; i++) {
      for (let j = 0; j < ids.length; j++) {
        const id = ids[j] as number
        const isInitial = (texts[j] as string).length === 1 || (asked.texts[i] as string).length === 1
        const similarity = isInitial
          ? tokenSimilarity(asked.forms[i] as TokenForm, forms[id] as TokenForm)
          : (asked.alike[i]?.get(id) ?? 0)
        if (similarity > 0) pairs.push({ first: [i], second: [j], similarity })
        const asOne = asked.joined[i]?.get(id) ?? 0
        if (asOne > 0) pairs.push({ first: [i, i + 1], second: [j], similarity: JOINED_FACTOR * asOne })
        if (joinedAt(texts, j) === asked.texts[i])
          pairs.push({ first: [i], second: [j, j + 1], similarity: JOINED_FACTOR })
      }
    }
    return pairs
  }

  const scoreOf = (asked: Asked, name: number): number => {
    const second = Array.from(wordsOf(name), (id) => weights[id] as number)
    const telling = textsOf(name).map(isTelling)
    return scoreNames(asked, { weights: second, telling }, pairsOf(asked, name))
  }

  const promising = createPromising(parts)
  return {
    names,
    words: forms.length,
    search(name) {
      const asked = ask(name)
      const found: FoundName[] = []
      for (const number of promising(asked)) {
        const score = scoreOf(asked, number)
        if (score >= MIN_FOUND_SCORE) found.push({ name: number, score })
      }
      return found.toSorted((a, b) => b.score - a.score || a.name - b.name)
    },
    compare: (name, number) => scoreOf(ask(name), number),
  }
}

/**
 * Names that may reach {@link MIN_FOUND_SCORE}: a score is at most the share of the shorter name's weight that is paired,
 * so that whoever has less of it is left out.
 */
const createPromising = ({ byWord, byJoined, weights, totals, initials, names }: Parts) => {
  /** Weight of paired words, on the side of the asked name and on that of the listed one. */
  const askedSide = new Float32Array(names)
  const listedSide = new Float32Array(names)
  const touched: number[] = []
  const add = (name: number, asked: number, listed: number): void => {
    if (askedSide[name] === 0) touched.push(name)
    askedSide[name] = (askedSide[name] as number) + asked
    listedSide[name] = (listedSide[name] as number) + listed
  }
  const addAll = (holders: Int32Array, asked: number, listed: number): void => {
    for (let i = 0; i < holders.length; i++) add(holders[i] as number, asked, listed)
  }
  return (asked: Asked): number[] => {
    asked.alike.forEach((found, i) => {
      const weight = asked.weights[i] as number
      for (const [id, similarity] of found)
        addAll(byWord.of(id), weight * similarity, (weights[id] as number) * similarity)
      for (const name of byJoined.get(asked.texts[i] as string) ?? [])
        add(name, weight, totals[name] as number)
      const next = asked.weights[i + 1] ?? 0
      for (const [id] of asked.joined[i] ?? NONE) addAll(byWord.of(id), weight + next, weights[id] as number)
    })
    // Initials find no names, but each may stand for a word of the other name, whose weight is 1 at most.
    const askedInitials = asked.forms.filter(({ letters }) => letters.length === 1).length
    const shares: [name: number, share: number][] = []
    for (const name of touched) {
      const total = totals[name] as number
      const more = askedInitials + (initials[name] as number)
      const share =
        asked.total <= total
          ? ((askedSide[name] as number) + more) / asked.total
          : ((listedSide[name] as number) + more) / total
      if (share >= MIN_FOUND_SCORE / 100) shares.push([name, share])
      askedSide[name] = 0
      listedSide[name] = 0
    }
    touched.length = 0
    const best = shares.length > MAX_COMPARED_NAMES ? shares.toSorted((a, b) => b[1] - a[1]) : shares
    return best.slice(0, MAX_COMPARED_NAMES).map(([name]) => name)
  }
}
