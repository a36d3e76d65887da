/** How alike two words of names are, by spelling and by sound. @module */
import { doubleMetaphone } from 'double-metaphone'
import { jaroWinkler } from './jaro-winkler.ts'
import { ABJAD_MARK } from './name-tokens.ts'
import { NICKNAMES } from './name-words.ts'

/** Below this two words are different words. */
export const MIN_TOKEN_SIMILARITY = 0.8
/** An initial says less than the word that it stands for. */
const INITIAL_SIMILARITY = 0.85
const NICKNAME_SIMILARITY = 0.92
/** The same word in another romanisation. */
const ROMANISED_SIMILARITY = 0.96
/** How much a difference in spelling counts. */
const STRICTNESS = 1.25
/** Consonants agree where one of the two was written without vowels, as Arabic and Hebrew are. */
const ABJAD_SIMILARITY = 0.9
/** Words that sound alike are this much of the way closer to being equal. */
const SOUND_HELP = 0.6
/** What is spelled more differently than this does not sound alike, whatever its code says. */
const MIN_SPELLING_FOR_SOUND = 0.72
/** Share of letter pairs (Dice) that words have in common which are compared by spelling at all. */
const MIN_SHARED_BIGRAMS = 0.4
/** Shorter words are the same or not. */
const MIN_FUZZY_CHARACTERS = 3
/** In relation to both lengths together; words that differ more are different words. */
const MAX_LENGTH_DIFFERENCE = 0.28
/** How much a difference in length takes away, in relation to both lengths together. */
const LENGTH_GUARD = 1

const ALPHABET = 37
const BOUNDARY = 36
/** Different pairs of letters, digits and the boundary of a word. */
export const BIGRAM_CODES = ALPHABET * ALPHABET

const letterCode = (unit: number): number => (unit < 58 ? unit - 48 : unit - 87)

/** Codes below {@link BIGRAM_CODES} of all adjacent pairs, those with the boundaries included, each once. */
const bigramsOf = (token: string): number[] => {
  const found = new Set<number>()
  let previous = BOUNDARY
  for (let i = 0; i < token.length; i++) {
    const code = letterCode(token.charCodeAt(i))
    found.add(previous * ALPHABET + code)
    previous = code
  }
  found.add(previous * ALPHABET + BOUNDARY)
  return [...found]
}

/** Names of men and women often differ in the last vowel alone. */
const ending = (token: string): string => {
  const last = token.replace(/h$/, '').at(-1) ?? ''
  if (/[eiy]/.test(last)) return 'i'
  if (/[ouw]/.test(last)) return 'u'
  return last
}

/** The first letter and the consonants behind it; vowels that begin a word are alike. */
const consonantsOf = (token: string): string =>
  (token.replace(/^[aeiou]/, 'a')[0] ?? '').replace(/[qc]/, 'k') +
  token
    .slice(1)
    .replaceAll(/[aeiouyw]/g, '')
    .replaceAll(/[qc]/g, 'k')
    .replaceAll(/(.)\1+/g, '$1')

/** Spellings of one sound in the romanisations of different countries, longer ones first. */
const ROMANISATIONS: readonly (readonly [RegExp, string])[] = [
  [/schtsch|shch|stsch|sch/g, 'sh'],
  [/tsch|tch|cz/g, 'ch'],
  [/ts|tz|c(?=[eivy])/g, 's'],
  [/kh/g, 'h'],
  [/ck|q|c(?!h)/g, 'k'],
  [/w/g, 'v'],
  [/ph/g, 'f'],
  [/ou|oo/g, 'u'],
  [/ee|[yj]/g, 'i'],
  [/(.)\1+/g, '$1'],
]

/** The word as no country writes it, so that differences in romanisation disappear. */
const foldOf = (token: string): string =>
  ROMANISATIONS.reduce((text, [spelling, sound]) => text.replace(spelling, sound), token)

/** A word with all that it is compared by. */
export interface TokenForm {
  readonly text: string
  /** Without the mark of a script without vowels. */
  readonly letters: string
  readonly hasDigit: boolean
  readonly bigrams: readonly number[]
  /** Codes of Double Metaphone (L. Philips, 2000), each with the class of the last vowel; the second may be the first. */
  readonly sounds: readonly [string, string]
  /** Consonants, for words that may lack vowels; empty where there are fewer than three. */
  readonly consonants: string
  /** Whether it was written in a script without vowels. */
  readonly isAbjad: boolean
  /** Without what romanisations write differently. */
  readonly fold: string
}

/** @param token of a name, as `nameTokens` makes them */
export const tokenForm = (token: string): TokenForm => {
  const isAbjad = token.endsWith(ABJAD_MARK)
  const letters = isAbjad ? token.slice(0, -1) : token
  const [first, second] = doubleMetaphone(letters)
  const end = /[aeiouy]h?$/.test(letters) ? ending(letters) : ''
  const consonants = consonantsOf(letters)
  return {
    text: token,
    letters,
    hasDigit: /\d/.test(letters),
    bigrams: bigramsOf(letters),
    sounds: [`${first}.${end}`, `${second}.${end}`],
    consonants: consonants.length >= MIN_FUZZY_CHARACTERS ? consonants : '',
    isAbjad,
    fold: foldOf(letters),
  }
}

/** Whether two words have a sound in common. Words of digits have none. */
const soundAlike = (a: TokenForm, b: TokenForm): boolean =>
  a.sounds.some((sound) => !sound.startsWith('.') && b.sounds.includes(sound))

const sharedBigrams = (a: TokenForm, b: TokenForm): number => {
  const shared = a.bigrams.filter((code) => b.bigrams.includes(code)).length
  return (2 * shared) / (a.bigrams.length + b.bigrams.length)
}

/** Jaro-Winkler, less what the lengths differ by: `martin` is not nearly `martinez`. */
const spellingOf = (a: string, b: string): number =>
  jaroWinkler(a, b) * (1 - (LENGTH_GUARD * Math.abs(a.length - b.length)) / (a.length + b.length))

/** By spelling, and by sound where that agrees. */
const likenessOf = (a: TokenForm, b: TokenForm): number => {
  const [la, lb] = [a.letters.length, b.letters.length]
  if (Math.abs(la - lb) > MAX_LENGTH_DIFFERENCE * (la + lb)) return 0
  const alike = soundAlike(a, b)
  if (!alike && sharedBigrams(a, b) < MIN_SHARED_BIGRAMS) return 0
  const spelling = Math.max(
    spellingOf(a.letters, b.letters),
    ROMANISED_SIMILARITY * spellingOf(a.fold, b.fold),
  )
  const strict = 1 - STRICTNESS * (1 - spelling)
  return alike && spelling >= MIN_SPELLING_FOR_SOUND ? strict + SOUND_HELP * (1 - strict) : strict
}

/** @returns 1 for equal words, 0 for different ones, else {@link MIN_TOKEN_SIMILARITY} to 1; symmetric */
export const tokenSimilarity = (a: TokenForm, b: TokenForm): number => {
  if (a.text === b.text) return 1
  const shorter = Math.min(a.letters.length, b.letters.length)
  if (shorter === 1) return a.letters[0] === b.letters[0] && !a.hasDigit ? INITIAL_SIMILARITY : 0
  if (shorter < MIN_FUZZY_CHARACTERS || a.hasDigit || b.hasDigit) return 0
  let best = likenessOf(a, b)
  if (a.fold === b.fold) best = Math.max(best, ROMANISED_SIMILARITY)
  if (NICKNAMES.get(a.text)?.has(b.text)) best = Math.max(best, NICKNAME_SIMILARITY)
  if (a.isAbjad !== b.isAbjad && a.consonants !== '' && a.consonants === b.consonants)
    best = Math.max(best, ABJAD_SIMILARITY)
  return best >= MIN_TOKEN_SIMILARITY ? best : 0
}
