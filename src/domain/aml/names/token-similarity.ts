/** How alike two words of names are: in their own script first, by spelling, by sound, by what other languages make of them. @module */
import { doubleMetaphone } from 'double-metaphone'
import { editDistance } from './edit-distance.ts'
import { GIVEN_NAMES } from './given-names.ts'
import {
  abjadKey,
  abjadKeys,
  abjadReading,
  foldRomanisation,
  isPinyin,
  syllableKey,
} from './romanisations.ts'
import { latinOf, type Script, scriptOf } from './scripts.ts'

/** Below this two words are different words. */
export const MIN_TOKEN_SIMILARITY = 0.7
/** An initial says less than the word that it stands for. */
const INITIAL_SIMILARITY = 0.88
const NICKNAME_SIMILARITY = 0.94
/** The same word in another romanisation. */
const ROMANISED_SIMILARITY = 0.98
/** Digits that stand for letters. */
const REPAIRED_SIMILARITY = 0.97
/** Words of one script that only read alike. */
const READ_ALIKE_SIMILARITY = 0.93
/** Names of Korean or Chinese syllables have many romanisations. */
const SYLLABLE_SIMILARITY = 0.96
/** Of consonants that agree where vowels were not written, before the vowels are compared. */
const ABJAD_SIMILARITY = 0.98
const ABJAD_LOST_VOWEL = 0.12
const ABJAD_STRICTNESS = 0.6
/** What the first wrong letter takes from a word of six letters, and what each further one takes from a word of eight. */
const FIRST_LETTER_COST = 0.1
const FIRST_LETTER_LENGTH = 6
const FURTHER_LETTER_COST = 0.2
const FURTHER_LETTER_LENGTH = 8
/** A word that begins with another letter is rarely the same one. */
const OTHER_BEGINNING = 0.25
/** Words that sound alike are this much of the way closer to being equal. */
const SOUND_HELP = 0.35
/** Two given names that people have, and two syllables of Mandarin, are rarely one that was misspelt. */
const OTHER_NAME_COST = 0.24
/** Share of letter pairs (Dice's coefficient) that words have in common which are compared by spelling at all. */
const MIN_SHARED_BIGRAMS = 0.4
/** Shorter words are the same or not. */
const MIN_FUZZY_CHARACTERS = 3

/** Up to here of its letters, a word is spelt only a little differently. */
const SLIGHT_SHARE = 0.17

/** More than sums of costs can be wrong by. */
const ROUNDING = 1e-9

const ALPHABET = 37
const BOUNDARY = 36
/** Different pairs of letters, digits and the boundary of a word. */
export const BIGRAM_CODES = ALPHABET * ALPHABET

const letterCode = (unit: number): number => (unit < 58 ? unit - 48 : unit - 87)

/** Codes below {@link BIGRAM_CODES} of all adjacent pairs, those with the boundaries included, each once, ascending. */
const bigramsOf = (letters: string): Uint16Array => {
  const codes = new Uint16Array(letters.length + 1)
  let previous = BOUNDARY
  for (let i = 0; i < letters.length; i++) {
    const code = letterCode(letters.charCodeAt(i))
    codes[i] = previous * ALPHABET + code
    previous = code
  }
  codes[letters.length] = previous * ALPHABET + BOUNDARY
  codes.sort()
  let count = 0
  for (let i = 0; i < codes.length; i++)
    if (i === 0 || codes[i] !== codes[count - 1]) codes[count++] = codes[i] as number
  return count === codes.length ? codes : codes.slice(0, count)
}

/** No syllable of Korean or Mandarin is written with more. */
const MAX_SYLLABLE_CHARACTERS = 8
const NO_KEYS: readonly string[] = []

/** A word with all that it is compared by, each made when it is asked for. */
export class TokenForm {
  /** As it is written, folded. */
  readonly text: string
  readonly script: Script
  /** As it reads in Latin letters; empty where it cannot be read. */
  readonly letters: string
  /** It has digits that mean numbers. */
  readonly isNumber: boolean
  #bigrams: Uint16Array | undefined
  #fold: string | undefined
  #sounds: readonly string[] | undefined

  /** @param text of a name, as `readName` makes it, or such words joined */
  constructor(text: string) {
    this.text = text
    this.script = scriptOf(text)
    this.letters = latinOf(text)
    this.isNumber = /\d/.test(this.letters)
  }

  /** Codes below {@link BIGRAM_CODES}, ascending. */
  get bigrams(): Uint16Array {
    this.#bigrams ??= bigramsOf(this.letters)
    return this.#bigrams
  }

  /** Without what romanisations write differently. */
  get fold(): string {
    this.#fold ??= foldRomanisation(this.letters)
    return this.#fold
  }

  /** Codes of Double Metaphone (L. Philips, 2000); none for short words. */
  get sounds(): readonly string[] {
    this.#sounds ??=
      this.letters.length < MIN_FUZZY_CHARACTERS || this.isNumber
        ? NO_KEYS
        : [...new Set(doubleMetaphone(this.letters))]
            .filter((sound) => sound.length > 1)
            .map((sound) => `s${sound}`)
    return this.#sounds
  }

  /** A word may be like those that are listed as one of what it is asked as; prefixed by what they are. */
  get listedAs(): readonly string[] {
    return [...writtenAs(this), ...this.sounds, ...crossKeys(this, 'listed')]
  }

  /** @param across whether words of other kinds of scripts are looked for, too */
  askedAs(across: boolean): readonly string[] {
    const keys = [...writtenAs(this), ...this.sounds, ...shortForms(this)]
    return across ? [...keys, ...crossKeys(this, 'asked')] : keys
  }

  /** The same where one is several words that were joined, of which there are many: without sounds. */
  get listedJoinedAs(): readonly string[] {
    // Words are not joined to a syllable that is written with more letters than any has.
    return [joinedAs(this), ...crossKeys(this, 'listed', MAX_SYLLABLE_CHARACTERS)]
  }

  /** @param across as above */
  askedJoinedAs(across: boolean): readonly string[] {
    const keys = [joinedAs(this), ...joinedShortForms(this)]
    return across ? [...keys, ...crossKeys(this, 'asked')] : keys
  }

  /** Whether its script writes vowels, and letters rather than syllables. */
  get isPlain(): boolean {
    return this.script !== 'abjad' && !isSyllable(this.script)
  }
}

const isSyllable = (script: Script): boolean => script === 'hangul' || script === 'han'

/** Keys that words of any script have. */
const writtenAs = ({ text, letters, fold }: TokenForm): string[] => {
  if (letters.length < 2) return [`=${text}`]
  return text === letters ? [`=${text}`, `f${fold}`] : [`=${text}`, `=${letters}`, `f${fold}`]
}

/** What else somebody of that given name may be called. */
const shortForms = ({ text, letters }: TokenForm): readonly string[] => {
  const others = GIVEN_NAMES.get(letters)
  return others === undefined
    ? NO_KEYS
    : [...others].filter((name) => name !== text).map((name) => `=${name}`)
}

/** Joined words are found by what is left of any spelling. */
const joinedAs = ({ text, letters, fold }: TokenForm): string =>
  letters.length < 2 ? `=${text}` : `f${fold}`

const foldedShortForms = new Map<string, readonly string[]>()
const joinedShortForms = ({ letters }: TokenForm): readonly string[] => {
  const others = GIVEN_NAMES.get(letters)
  if (others === undefined) return NO_KEYS
  const known = foldedShortForms.get(letters)
  const keys = known ?? [...new Set([...others].map((name) => `f${foldRomanisation(name)}`))]
  if (known === undefined) foldedShortForms.set(letters, keys)
  return keys
}

/** Keys by which only words of different kinds of scripts are compared. @param mostSyllables longer words are no syllables */
const crossKeys = (
  { script, letters, isNumber, isPlain }: TokenForm,
  as: 'listed' | 'asked',
  mostSyllables = Number.POSITIVE_INFINITY,
): string[] => {
  if (letters === '' || isNumber) return []
  const [consonants, syllables] = isPlain === (as === 'listed') ? ['a', 'k'] : ['A', 'K']
  if (script === 'abjad') return [`${consonants}${abjadKey(letters)}`]
  if (!isPlain) return [`${syllables}${syllableKey(letters)}`]
  const keys = abjadKeys(letters).map((key) => `${consonants}${key}`)
  if (letters.length <= mostSyllables) keys.push(`${syllables}${syllableKey(letters)}`)
  return keys
}

const shareSome = (a: readonly string[], b: readonly string[]): boolean => {
  for (let i = 0; i < a.length; i++) if (b.includes(a[i] as string)) return true
  return false
}

/** @param all letter pairs of both words */
export const isEnoughShared = (shared: number, all: number): boolean =>
  (2 * shared) / all >= MIN_SHARED_BIGRAMS

const areSpeltAlike = ({ bigrams: a }: TokenForm, { bigrams: b }: TokenForm): boolean => {
  let shared = 0
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const [first, second] = [a[i] as number, b[j] as number]
    if (first === second) shared++
    if (first <= second) i++
    if (second <= first) j++
  }
  return isEnoughShared(shared, a.length + b.length)
}

/** Of which one lacks its vowels, or is written in syllables: whether they have a key of {@link crossKeys} in common. */
const areCrossAlike = (a: TokenForm, b: TokenForm): boolean => {
  const [first, second] = [a, b].map(({ script }) => (isSyllable(script) ? 'syllable' : script))
  if (first === second || a.letters === '' || b.letters === '') return false
  const [special, plain] = first === 'abjad' || first === 'syllable' ? [a, b] : [b, a]
  if (plain.script === 'abjad' || isSyllable(plain.script)) return false
  if (special.script === 'abjad') return abjadKeys(plain.letters).includes(abjadKey(special.letters))
  return isSyllable(special.script) && syllableKey(special.letters) === syllableKey(plain.letters)
}

/** Whether words that are no numbers have a key in common by which an index finds them. */
const haveKeyInCommon = (a: TokenForm, b: TokenForm): boolean =>
  a.letters === b.letters ||
  a.fold === b.fold ||
  shareSome(a.sounds, b.sounds) ||
  GIVEN_NAMES.get(a.letters)?.has(b.letters) === true ||
  areCrossAlike(a, b)

/** By how many letters are wrong: one is an error, several make another word, the sooner the shorter it is. */
const costOfWrong = (wrong: number, length: number): number =>
  FIRST_LETTER_COST * Math.min(1, wrong) * Math.sqrt(FIRST_LETTER_LENGTH / length) +
  (FURTHER_LETTER_COST * Math.max(0, wrong - 1) * FURTHER_LETTER_LENGTH) / length

/** @param most more than this need not be told exactly */
const costOf = (a: string, b: string, most: number): number => {
  const length = Math.max(a.length, b.length)
  const other = a.charCodeAt(0) === b.charCodeAt(0) ? 0 : OTHER_BEGINNING
  const first = FIRST_LETTER_COST * Math.sqrt(FIRST_LETTER_LENGTH / length)
  const wrong = ROUNDING + 1 + ((most - first) * length) / (FURTHER_LETTER_COST * FURTHER_LETTER_LENGTH)
  // A word of which one wrong letter costs more than that is short, and soon compared.
  return costOfWrong(editDistance(a, b, Math.max(1, wrong) - other) + other, length)
}

const isOtherName = (a: TokenForm, b: TokenForm): boolean => {
  if (a.fold === b.fold) return false
  if (isPinyin(a.letters) && isPinyin(b.letters)) return syllableKey(a.letters) !== syllableKey(b.letters)
  return GIVEN_NAMES.has(a.letters) && GIVEN_NAMES.has(b.letters)
}

/** @returns below {@link MIN_TOKEN_SIMILARITY} not exactly */
const spellingOf = (a: TokenForm, b: TokenForm): number => {
  const soundAlike = shareSome(a.sounds, b.sounds)
  const most = (1 - MIN_TOKEN_SIMILARITY) / (soundAlike ? 1 - SOUND_HELP : 1)
  const romanised =
    a.fold === a.letters && b.fold === b.letters
      ? Number.POSITIVE_INFINITY
      : 1 - ROMANISED_SIMILARITY + costOf(a.fold, b.fold, most)
  let cost = Math.min(costOf(a.letters, b.letters, most), romanised)
  if (a.script === b.script && a.script !== 'latin')
    cost = Math.min(costOf(a.text, b.text, most), Math.max(cost, 1 - READ_ALIKE_SIMILARITY))
  if (soundAlike) cost *= 1 - SOUND_HELP
  if (cost > 1 - MIN_TOKEN_SIMILARITY) return 0
  if (isOtherName(a, b)) cost = Math.max(cost, OTHER_NAME_COST)
  const repaired =
    a.script === 'latin' && b.script === 'latin' && (a.text !== a.letters || b.text !== b.letters)
  return (repaired ? REPAIRED_SIMILARITY : 1) * (1 - cost)
}

/** Where one of two words lacks its vowels. */
const abjadOf = (a: TokenForm, b: TokenForm): number => {
  const [without, other] = a.script === 'abjad' ? [a, b] : [b, a]
  if (!abjadKeys(other.letters).includes(abjadKey(without.letters))) return 0
  const [first, second] = [abjadReading(a.letters), abjadReading(b.letters)]
  const share =
    editDistance(first, second, undefined, ABJAD_LOST_VOWEL) / Math.max(first.length, second.length)
  return ABJAD_SIMILARITY - ABJAD_STRICTNESS * share
}

/**
 * @param speltAlike whether enough of their letter pairs are the same, where that is known
 * @returns 1 for equal words, 0 for different ones, else {@link MIN_TOKEN_SIMILARITY} to 1; symmetric
 */
export const tokenSimilarity = (a: TokenForm, b: TokenForm, speltAlike?: boolean): number => {
  if (a.text === b.text) return 1
  // Two characters that sound alike are two characters.
  if (isSyllable(a.script) && isSyllable(b.script))
    return a.script !== b.script && a.letters === b.letters ? SYLLABLE_SIMILARITY : 0
  const shorter = Math.min(a.letters.length, b.letters.length)
  if (shorter === 0) return 0
  if (shorter === 1 && !isSyllable(a.script) && !isSyllable(b.script))
    return a.letters[0] === b.letters[0] && !/\d/.test(a.letters[0] as string) ? INITIAL_SIMILARITY : 0
  if (a.isNumber || b.isNumber) return 0
  let best = 0
  const difference = Math.abs(a.letters.length - b.letters.length)
  const mayBeSpelt = shorter >= MIN_FUZZY_CHARACTERS && difference <= shorter
  if (mayBeSpelt && ((speltAlike ?? areSpeltAlike(a, b)) || haveKeyInCommon(a, b))) best = spellingOf(a, b)
  else if (a.letters === b.letters) best = ROMANISED_SIMILARITY
  if (a.fold === b.fold)
    best = Math.max(best, shorter >= MIN_FUZZY_CHARACTERS ? ROMANISED_SIMILARITY : READ_ALIKE_SIMILARITY)
  if (GIVEN_NAMES.get(a.letters)?.has(b.letters)) best = Math.max(best, NICKNAME_SIMILARITY)
  if ((a.script === 'abjad') !== (b.script === 'abjad')) best = Math.max(best, abjadOf(a, b))
  if (isSyllable(a.script) !== isSyllable(b.script) && syllableKey(a.letters) === syllableKey(b.letters))
    best = Math.max(best, SYLLABLE_SIMILARITY)
  if (best >= 1) best = ROMANISED_SIMILARITY
  return best >= MIN_TOKEN_SIMILARITY ? best : 0
}

/** Why two words that are not equal count as alike, in words. */
export const differenceOf = (a: TokenForm, b: TokenForm): string => {
  if (a.letters.length === 1 || b.letters.length === 1) return 'an initial'
  if (a.script !== b.script) return 'the same in another script'
  if (a.letters === b.letters) return 'digits or letters that look or read alike'
  if (GIVEN_NAMES.get(a.letters)?.has(b.letters)) return 'forms of one given name'
  if (a.fold === b.fold) return 'another romanisation'
  const share = editDistance(a.letters, b.letters) / Math.max(a.letters.length, b.letters.length)
  return share <= SLIGHT_SHARE ? 'spelt a little differently' : 'spelt differently'
}
