/** Names with all that their comparison needs. @module */
import type { LegalForm } from './legal-forms.ts'
import { type Place, placeOf, type WeightedName } from './name-score.ts'
import { MAX_NAME_TOKENS, type Reading } from './name-tokens.ts'
import { isCommonWord, isTelling, kindFactor } from './name-words.ts'
import { TokenForm, tokenSimilarity } from './token-similarity.ts'
import type { Vocabulary, WordsAlike } from './vocabulary.ts'

/** Words written as one agree a little less than if they were written alike. */
const JOINED_FACTOR = 0.98
/** In another order, a little less again. */
const TURNED_FACTOR = 0.97
export const MIN_JOINED_CHARACTERS = 5
const MAX_JOINED_CHARACTERS = 40
/** Words that only resemble two others together are not those two. */
export const MIN_JOINED_SIMILARITY = 0.88
const SYLLABLES = /^[\p{Script=Han}\p{Script=Hangul}]+$/u
/** A word that is everywhere still counts a little. */
export const MIN_WEIGHT = 0.2

/** Words of a name that may be written as one. */
export interface Span extends Place {
  readonly text: string
  readonly factor: number
}

/** Two neighbours in both orders, three in theirs, and all with the last or the first at the other end: `LastFirstMiddle`. */
const placesOfSpans = (count: number): number[][] => {
  const found: number[][] = []
  for (let i = 0; i + 1 < count; i++) found.push([i, i + 1], [i + 1, i])
  for (let i = 0; i + 2 < count; i++) found.push([i, i + 1, i + 2])
  if (count >= 4) found.push(Array.from({ length: count }, (_, i) => i))
  const others = Array.from({ length: count - 1 }, (_, i) => i)
  if (count >= 3) found.push([count - 1, ...others], [...others.map((i) => i + 1), 0])
  return found
}

const isTurned = (positions: readonly number[]): boolean =>
  positions.some((place, i) => i > 0 && place < (positions[i - 1] as number))

/** By count of words. */
const PLACES = Array.from({ length: MAX_NAME_TOKENS + 1 }, (_, count) =>
  placesOfSpans(count).map((positions) => ({
    ...placeOf(positions),
    factor: isTurned(positions) ? JOINED_FACTOR * TURNED_FACTOR : JOINED_FACTOR,
  })),
)

export const spansOf = (texts: readonly string[]): Span[] => {
  const spans: Span[] = []
  for (const { positions, bits, factor } of PLACES[texts.length] ?? []) {
    let text = ''
    for (const i of positions) text += texts[i]
    const least = SYLLABLES.test(text) ? 2 : MIN_JOINED_CHARACTERS
    if (text.length >= least && text.length <= MAX_JOINED_CHARACTERS)
      spans.push({ positions, bits, factor, text })
  }
  return spans
}

/** Bits of what {@link traitsOf} tells of a word. */
export const TELLING = 1
export const COMMON = 2
export const ORDERED = 4
export const INITIAL = 8

/** What a word is in every name that has it, as bits. */
export const traitsOf = (form: TokenForm): number => {
  const { letters } = form
  const isSyllable = form.script === 'han' || form.script === 'hangul'
  return (
    (isTelling(letters) ? TELLING : 0) |
    (isCommonWord(letters) ? COMMON : 0) |
    (letters.length === 1 || isSyllable ? ORDERED : 0) |
    (letters.length === 1 && !isSyllable ? INITIAL : 0)
  )
}

/** Words that tell who is meant: of a company those that not many are called, where it has any. */
export const tellingAmong = (telling: number, common: number, isPerson: boolean): number =>
  !isPerson && (telling & ~common) !== 0 ? telling & ~common : telling

/** The words of a name that is asked for, read as a person's or as a company's. */
export interface AskedWords extends Omit<WeightedName, 'weights'> {
  readonly forms: readonly TokenForm[]
  readonly isPerson: boolean
  /** Positions of initials, as bits. */
  readonly initials: number
  readonly legalForms: readonly LegalForm[]
  /** By position: words of the vocabulary that are like it. */
  readonly alike: readonly WordsAlike[]
  readonly joined: readonly (Span & { readonly alike: WordsAlike })[]
  /** By position: what a word counts by what it is, before how rare it is. */
  readonly factors: readonly number[]
}

/** The same with what each word weighs. */
export interface Asked extends AskedWords {
  readonly weights: readonly number[]
}

/** How rare a word is, up to 1: as rare as the word that it is or may be meant for. */
export const rarityLike = ({ ids, similarities }: WordsAlike, rarityOf: (id: number) => number): number => {
  let [nearest, most] = [-1, 0]
  for (let i = 0; i < ids.length; i++) {
    const [id, similarity] = [ids[i] as number, similarities[i] as number]
    if (similarity > most || (similarity === most && id < nearest)) [nearest, most] = [id, similarity]
  }
  return nearest < 0 ? 1 : rarityOf(nearest)
}

const bitsWith = (forms: readonly TokenForm[], trait: number): number =>
  forms.reduce((bits, form, i) => ((traitsOf(form) & trait) === 0 ? bits : bits | (1 << i)), 0)

/** Looks up the words of a name in one reading; to be run to its end, with pauses where it yields. */
export function* askName(
  { words, forms: legalForms }: Reading,
  isPerson: boolean,
  vocabulary: Vocabulary,
): Generator<void, AskedWords> {
  const forms = words.map((word) => new TokenForm(word))
  const alike: WordsAlike[] = []
  for (const form of forms) {
    alike.push(vocabulary.find(form))
    yield
  }
  const joined: Asked['joined'][number][] = []
  for (const span of spansOf(words))
    joined.push({ ...span, alike: vocabulary.findJoined(new TokenForm(span.text)) })
  yield
  return {
    count: forms.length,
    telling: tellingAmong(bitsWith(forms, TELLING), bitsWith(forms, COMMON), isPerson),
    ordered: bitsWith(forms, ORDERED),
    initials: bitsWith(forms, INITIAL),
    factors: forms.map(({ letters }) => kindFactor(letters, isPerson)),
    ...{ isPerson, forms, legalForms, alike, joined },
  }
}

/** What the words of a name weigh. @param rarityOf how rare a word is, up to 1 */
export const weightsOf = (
  { forms, factors, alike }: AskedWords,
  rarityOf: (word: string, alike: WordsAlike) => number,
): number[] => factors.map((factor, i) => factor * rarityOf(forms[i]?.text ?? '', alike[i] as WordsAlike))

/** Words of the listed name that were asked for as one. @param visit may be given a pair more than once */
export const listedAsOne = (
  { forms }: AskedWords,
  texts: readonly string[],
  visit: (position: number, span: Span, similarity: number) => void,
): void => {
  const spans = spansOf(texts).map((span) => ({ span, form: new TokenForm(span.text) }))
  forms.forEach((form, i) => {
    if (form.letters.length < MIN_JOINED_CHARACTERS) return
    const keys = form.askedJoinedAs(true)
    for (const { span, form: other } of spans) {
      if (span.text.length > 2 * form.letters.length + 2) continue
      if (!other.listedJoinedAs.some((key) => keys.includes(key))) continue
      const similarity = tokenSimilarity(form, other)
      if (similarity >= MIN_JOINED_SIMILARITY) visit(i, span, span.factor * similarity)
    }
  })
}
