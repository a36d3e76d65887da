/**
 * An index over names in memory: finds those that a name may mean without looking at the others. Words are found by their
 * letter pairs, sounds, consonants and short forms; names by the words that they share.
 * @module
 */
import { createBreather } from '../breather.ts'
import { WideMap } from '../wide-map.ts'
import { compareForms, type FormAgreement, type LegalForm } from './legal-forms.ts'
import { type NameScore, NameScorer, type Place, type TokenPair, WORD_PLACES } from './name-score.ts'
import { MAX_NAME_TOKENS, type Reading, readingsOf } from './name-tokens.ts'
import { kindFactor } from './name-words.ts'
import { createPairTable } from './pair-table.ts'
import { growingInts, invert, type Postings, type TextPostings, textPostingsBuilder } from './postings.ts'
import { createPromising } from './promising.ts'
import {
  type Asked,
  type AskedWords,
  askName,
  COMMON,
  INITIAL,
  listedAsOne,
  MIN_JOINED_CHARACTERS,
  MIN_WEIGHT,
  ORDERED,
  rarityLike,
  spansOf,
  TELLING,
  tellingAmong,
  traitsOf,
  weightsOf,
} from './read-names.ts'
import { TokenForm } from './token-similarity.ts'
import { buildVocabulary, type Vocabulary, type WordsAlike } from './vocabulary.ts'

/** Names that score lower are not looked for. */
export const MIN_FOUND_SCORE = 70
/** Comparisons between two of which others may have their turn. */
const COMPARISONS_PER_STEP = 500

export interface FoundName {
  /** Number of the name, in the order in which names were added. */
  readonly name: number
  /** {@link MIN_FOUND_SCORE} to 100. */
  readonly score: number
  /** Weight of what agrees: more of it is the better of two equal scores. */
  readonly evidence: number
}

/** Two names, and what made their score. */
export interface Comparison extends NameScore {
  /** Best first. */
  readonly pairs: readonly TokenPair[]
  /** How the legal forms agree; undefined where neither name has one. */
  readonly form: FormAgreement | undefined
  readonly asked: NameParts
  readonly listed: NameParts
}

export interface NameParts {
  readonly words: readonly string[]
  readonly legalForms: readonly LegalForm[]
}

export interface NameIndex {
  readonly names: number
  /** Distinct words. */
  readonly words: number
  /** Of its packed arrays; the texts of the words come on top. */
  readonly bytes: number
  /**
   * Best first; of equal scores those with more evidence, then those added first. Empty for a name without letters. To be run to its
   * end before the next search begins; it may pause where it yields.
   */
  search(name: string): Generator<void, FoundName[]>
  /** The same for one name of the index, with what made its score. */
  compare(name: string, number: number): Comparison
  /** How rare a word is, up to 1; undefined for one that no name has. */
  rarityOf(word: string): number | undefined
  /** The same; one that no name has is as rare as the word that it may be meant for. */
  rarityLike(word: string): number
}

export interface NameIndexBuilder {
  /** The name's number is the count of names before it. @param isPerson whose name has no legal form */
  add(name: string, isPerson?: boolean): void
  /** Builds the index, in pieces. */
  build(): Promise<NameIndex>
}

/** Sets of legal forms that names have, each kept once. */
const createFormSets = () => {
  const sets: (readonly LegalForm[])[] = [[]]
  const known = new Map<string, number>([['', 0]])
  return {
    sets,
    numberOf(forms: readonly LegalForm[]): number {
      const key = forms.map(({ code, kind }) => `${code}/${kind}`).join()
      const number = known.get(key) ?? sets.push(forms) - 1
      known.set(key, number)
      return number
    },
  }
}

/**
 * @param weighing an index over these names and others, which says how rare words are: then a search finds what it finds in that one,
 * with the same scores, as far as it is here; default: the own names say it
 */
export const createNameIndexBuilder = (weighing?: NameIndex): NameIndexBuilder => {
  const ids = new WideMap<number>()
  const texts: string[] = []
  const starts = growingInts()
  const words = growingInts()
  const persons = growingInts()
  const formSets = createFormSets()
  const forms = growingInts()
  const joined = textPostingsBuilder()
  const others: { readonly name: number; readonly reading: Reading; readonly isPerson: boolean }[] = []
  let names = 0

  const addReading = (reading: Reading, isPerson: boolean): void => {
    starts.push(words.length)
    for (const word of reading.words) {
      const id = ids.get(word) ?? texts.push(word) - 1
      if (id === texts.length - 1) ids.set(word, id)
      words.push(id)
    }
    joined.add(spansOf(reading.words).flatMap(({ text }) => new TokenForm(text).listedJoinedAs))
    persons.push(isPerson ? 1 : 0)
    forms.push(formSets.numberOf(reading.forms))
  }
  return {
    add(name, isPerson = false) {
      const [first, ...more] = readingsOf(name, isPerson)
      addReading(first, isPerson)
      for (const reading of more) others.push({ name: names, reading, isPerson })
      names++
    },
    async build() {
      const breathe = createBreather()
      for (const { reading, isPerson } of others) {
        addReading(reading, isPerson)
        await breathe()
      }
      starts.push(words.length)
      const vocabulary = await buildVocabulary(texts, breathe)
      const packed = { starts: await starts.pack(breathe), words: await words.pack(breathe) }
      const byWord = await invert(packed.starts, packed.words, vocabulary.texts.length, breathe)
      const parts: Parts = {
        ...packed,
        vocabulary,
        byWord,
        byJoined: await joined.build(breathe),
        isPerson: Uint8Array.from(await persons.pack(breathe)),
        formSet: Uint16Array.from(await forms.pack(breathe)),
        formSets: formSets.sets,
        readings: packed.starts.length - 1,
        names,
        others: others.map(({ name }) => name),
        weighing,
      }
      const weights = await weighWords(parts, breathe)
      return createSearch(parts, await weighNames(parts, weights, breathe))
    },
  }
}

export interface Parts {
  readonly vocabulary: Vocabulary
  readonly starts: Int32Array
  readonly words: Int32Array
  readonly byWord: Postings
  readonly byJoined: TextPostings
  readonly isPerson: Uint8Array
  /** By reading: number of its set in `formSets`. */
  readonly formSet: Uint16Array
  readonly formSets: readonly (readonly LegalForm[])[]
  /** Each name in its first reading, by its number; then the others. */
  readonly readings: number
  readonly names: number
  /** Whose the others are: numbers of names. */
  readonly others: readonly number[]
  readonly weighing: NameIndex | undefined
}

/** What words and names count. */
export interface Weights {
  /** By word: how rare it is (inverse document frequency), up to 1. */
  readonly rarity: Float32Array
  /** By word: what it counts in names of companies and of persons. */
  readonly inNames: readonly [Float32Array, Float32Array]
  /** By word: what `traitsOf` tells. */
  readonly traits: Uint8Array
  /** By reading: of all its words, and how many of them are initials. */
  readonly totals: Float32Array
  readonly initials: Uint8Array
}

type WordWeights = Pick<Weights, 'rarity' | 'inNames' | 'traits'>

const weighWords = async (
  { vocabulary, byWord, readings, weighing }: Parts,
  breathe: () => Promise<void> | undefined,
): Promise<WordWeights> => {
  const count = vocabulary.texts.length
  const most = Math.log1p(Math.max(1, readings))
  const rarity = new Float32Array(count)
  const inNames = [new Float32Array(count), new Float32Array(count)] as const
  const traits = new Uint8Array(count)
  for (const [id, text] of vocabulary.texts.entries()) {
    const share = Math.log1p(readings / Math.max(1, byWord.of(id).length)) / most
    rarity[id] = weighing?.rarityOf(text) ?? Math.max(MIN_WEIGHT, Math.min(1, share))
    const form = new TokenForm(text)
    inNames[0][id] = (rarity[id] as number) * kindFactor(form.letters, false)
    inNames[1][id] = (rarity[id] as number) * kindFactor(form.letters, true)
    traits[id] = traitsOf(form)
    await breathe()
  }
  return { rarity, inNames, traits }
}

const weighNames = async (
  { vocabulary, starts, words, isPerson, readings }: Parts,
  of: WordWeights,
  breathe: () => Promise<void> | undefined,
): Promise<Weights> => {
  const totals = new Float32Array(readings)
  const initials = new Uint8Array(readings)
  for (let name = 0; name < readings; name++) {
    const weights = of.inNames[isPerson[name] as 0 | 1]
    let [total, shorts] = [0, 0]
    for (let i = starts[name] as number; i < (starts[name + 1] as number); i++) {
      const id = words[i] as number
      total += weights[id] as number
      if (((of.traits[id] as number) & INITIAL) !== 0 && vocabulary.texts[id]?.length === 1) shorts++
    }
    totals[name] = total
    initials[name] = shorts
    await breathe()
  }
  return { ...of, totals, initials }
}

/** A name of the index with what its words count: one after the other, in the same memory. */
const createListedName = ({ starts, words, isPerson }: Parts, { inNames, traits }: Weights) => {
  const weights = new Float64Array(MAX_NAME_TOKENS)
  const ids = new Int32Array(MAX_NAME_TOKENS)
  const listed = { count: 0, weights, telling: 0, ordered: 0, ids }
  return {
    listed,
    /** @param name its number */
    take(name: number): void {
      const start = starts[name] as number
      const person = isPerson[name] as 0 | 1
      const weightOf = inNames[person]
      let [telling, common, ordered] = [0, 0, 0]
      listed.count = (starts[name + 1] as number) - start
      for (let i = 0; i < listed.count; i++) {
        const id = words[start + i] as number
        const own = traits[id] as number
        ids[i] = id
        weights[i] = weightOf[id] as number
        if ((own & TELLING) !== 0) telling |= 1 << i
        if ((own & COMMON) !== 0) common |= 1 << i
        if ((own & ORDERED) !== 0) ordered |= 1 << i
      }
      listed.telling = tellingAmong(telling, common, person === 1)
      listed.ordered = ordered
    },
  }
}

/** Compares a name that is asked for with names of the index: one name at a time, in the same memory. */
const createComparer = (parts: Parts, weights: Weights) => {
  const { vocabulary, formSet, formSets } = parts
  const table = createPairTable(vocabulary, weights.traits)
  const { listed, take } = createListedName(parts, weights)
  const scorer = new NameScorer()
  let asked: Asked | undefined
  /** By number of a set: how its forms agree with those of the asked name. */
  let agreements: (FormAgreement | undefined)[] = []

  const textsOf = (): string[] =>
    Array.from(listed.ids.subarray(0, listed.count), (id) => vocabulary.texts[id] as string)
  const formOf = (name: number): FormAgreement | undefined => {
    if (asked === undefined || asked.isPerson) return undefined
    const set = formSet[name] as number
    if (!(set in agreements)) agreements[set] = compareForms(asked.legalForms, formSets[set] ?? [])
    return agreements[set]
  }
  return {
    scorer,
    /** For the names that are compared from now on. */
    begin(next: Asked): void {
      if (next === asked) return
      asked = next
      agreements = []
      table.begin(next)
    },
    /** @param mayBeJoined whether words of the listed name may have been asked for as one */
    compare(name: number, mayBeJoined: boolean): NameScore {
      scorer.clear()
      if (asked === undefined) return scorer
      take(name)
      for (let i = 0; i < listed.count; i++) table.addPairs(scorer, i, listed.ids[i] as number)
      if (mayBeJoined)
        listedAsOne(asked, textsOf(), (i, span, similarity) =>
          scorer.add(WORD_PLACES[i] as Place, span, similarity),
        )
      scorer.run(asked, listed, formOf(name))
      return scorer
    },
    textsOf,
    formOf,
    bytes: table.bytes,
  }
}

/** Whether a reading of a name says more than another one did. */
const isMore = (
  a: Pick<NameScore, 'score' | 'evidence'>,
  b?: Pick<NameScore, 'score' | 'evidence'>,
): boolean => b === undefined || a.score > b.score || (a.score === b.score && a.evidence > b.evidence)

const run = <T>(steps: Generator<void, T>): T => {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

const createSearch = (parts: Parts, weights: Weights): NameIndex => {
  const { vocabulary, starts, words, byWord, byJoined, isPerson, formSet, formSets, names, others } = parts
  const rarityOf = (id: number): number => weights.rarity[id] as number
  const { weighing } = parts
  const rarityLikeOwn = (_: string, alike: WordsAlike): number => rarityLike(alike, rarityOf)
  const exactly = weighing === undefined ? rarityLikeOwn : (word: string) => weighing.rarityLike(word)
  const kinds = ([0, 1] as const).filter((kind) => isPerson.includes(kind))
  const promising = createPromising(parts, weights, MIN_FOUND_SCORE)
  // Searches have pauses, in which names may be compared.
  const [searching, comparing] = [createComparer(parts, weights), createComparer(parts, weights)]
  let lastAsked: { readonly name: string; readonly asked: readonly [Asked, ...Asked[]] } | undefined
  const otherReadings = new Map(others.map((name, i) => [name, names + i]))

  /** Readings of which several words may have been asked for as one. */
  const findJoined = ({ forms }: AskedWords): Set<number> => {
    const found = new Set<number>()
    for (const form of forms)
      if (form.letters.length >= MIN_JOINED_CHARACTERS)
        for (const key of form.askedJoinedAs(vocabulary.mayCross(form)))
          for (const name of byJoined.of(key)) found.add(name)
    return found
  }

  /**
   * Readings of names that are worth comparing. Looking up in the weighing index what a word that no list has may be meant for takes longer than all
   * else, so that it is done where there are names at all that come near, whatever such words weigh.
   */
  function* candidatesFor(reading: Reading, isPerson: boolean, joined: Set<number>) {
    const words = yield* askName(reading, isPerson, vocabulary)
    for (const number of findJoined(words)) joined.add(number)
    if (weighing !== undefined) {
      const bounds = {
        most: weightsOf(words, (word) => weighing.rarityOf(word) ?? 1),
        least: weightsOf(words, (word) => weighing.rarityOf(word) ?? MIN_WEIGHT),
      }
      const numbers = yield* promising.search(words, bounds, joined)
      if (numbers.length === 0) return { asked: { ...words, weights: bounds.most }, numbers }
    }
    const weights = weightsOf(words, exactly)
    yield
    const numbers = yield* promising.search(words, { most: weights, least: weights }, joined)
    return { asked: { ...words, weights }, numbers }
  }

  /** @param found by number of the name; gets those that score better */
  function* searchIn(reading: Reading, isPerson: boolean, found: Map<number, FoundName>) {
    const joined = new Set<number>()
    const { asked, numbers } = yield* candidatesFor(reading, isPerson, joined)
    searching.begin(asked)
    for (let i = 0; i < numbers.length; i++) {
      const number = numbers[i] as number
      const { score, evidence } = searching.compare(number, joined.has(number))
      const name = number < names ? number : (others[number - names] as number)
      if (score >= MIN_FOUND_SCORE && isMore({ score, evidence }, found.get(name)))
        found.set(name, { name, score, evidence })
      if (i % COMPARISONS_PER_STEP === 0) yield
    }
  }

  function* search(name: string): Generator<void, FoundName[]> {
    const found = new Map<number, FoundName>()
    for (const kind of kinds)
      for (const reading of readingsOf(name, kind === 1)) yield* searchIn(reading, kind === 1, found)
    return [...found.values()].toSorted(
      (a, b) => b.score - a.score || b.evidence - a.evidence || a.name - b.name,
    )
  }

  const ask = (reading: Reading, isPerson: boolean): Asked => {
    const words = run(askName(reading, isPerson, vocabulary))
    return { ...words, weights: weightsOf(words, exactly) }
  }

  const askOnce = (name: string, isPerson: boolean): readonly [Asked, ...Asked[]] => {
    if (lastAsked?.name !== name || lastAsked.asked[0].isPerson !== isPerson) {
      const [first, ...more] = readingsOf(name, isPerson)
      const asked = [ask(first, isPerson), ...more.map((reading) => ask(reading, isPerson))] as const
      lastAsked = { name, asked }
    }
    return lastAsked.asked
  }

  const compareReading = (asked: Asked, number: number): Comparison => {
    comparing.begin(asked)
    const { score, evidence, outOfOrder } = comparing.compare(number, true)
    const listed = { words: comparing.textsOf(), legalForms: formSets[formSet[number] as number] ?? [] }
    return {
      ...{ score, evidence, outOfOrder },
      pairs: comparing.scorer.pairs(),
      form: comparing.formOf(number),
      asked: { words: asked.forms.map(({ text }) => text), legalForms: asked.legalForms },
      listed,
    }
  }

  const ownRarityOf = (word: string): number | undefined => {
    const id = vocabulary.idOf(word)
    return id === undefined ? undefined : rarityOf(id)
  }

  const packed = [
    starts,
    words,
    isPerson,
    formSet,
    weights.rarity,
    ...weights.inNames,
    weights.traits,
    weights.totals,
    weights.initials,
  ]
  const sizes = [vocabulary, byWord, byJoined, promising, searching, comparing].map(({ bytes }) => bytes)
  return {
    names,
    words: vocabulary.texts.length,
    bytes: [...packed.map(({ byteLength }) => byteLength), ...sizes].reduce((sum, bytes) => sum + bytes, 0),
    search,
    compare(name, number) {
      const other = otherReadings.get(number)
      const readings = other === undefined ? [number] : [number, other]
      return askOnce(name, isPerson[number] === 1)
        .flatMap((asked) => readings.map((reading) => compareReading(asked, reading)))
        .reduce((best, one) => (isMore(one, best) ? one : best))
    },
    rarityOf: ownRarityOf,
    rarityLike: (word) => ownRarityOf(word) ?? rarityLike(vocabulary.find(new TokenForm(word)), rarityOf),
  }
}
