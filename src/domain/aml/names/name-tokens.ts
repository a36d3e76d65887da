/**
 * A name as comparable words: compatibility forms folded (NFKC, Unicode TR 15), each word in its own script, lower case, without titles;
 * the legal forms beside them.
 * @module
 */
import { findLegalForms, type LegalForm } from './legal-forms.ts'
import { ALSO_NAMES, GENERATIONS, isTitle, NUMBERS, TENS } from './name-words.ts'
import { foldWord, latinOf, plainWord, SYLLABIC, scriptOf } from './scripts.ts'

/** Words of a name that are compared, which are bits of a number; the rest is left out. */
export const MAX_NAME_TOKENS = 30
export const MAX_TOKEN_CHARACTERS = 40
/** Initials with full stops are words of their own; longer ones are one word: `C.B.A.` */
const MIN_ACRONYM_LETTERS = 3

const DOTTED = /(?<![\p{L}.])(?:\p{L}\.){2,}(?:\p{L}(?!\p{L}))?/gu
/** `PetrovIvan`; `McDonald` stays whole. */
const CAMEL_CASE = /(?<=\p{Ll}{3})(?=\p{Lu}\p{Ll}{2})/gu
const AND = /[&+＆]/gu
/** Apostrophes are part of words. */
const BETWEEN_WORDS = /(?:(?!['’‘`"״׳])[\s\p{P}\p{S}])+/u
/** Marks of directions and joins, and what is a letter but shows nothing, such as the fillers of Hangul. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu
const APOSTROPHES = /['’‘`"״׳ʼ]/gu
/** The article is written with its word: `الحسن`. */
const ARABIC_ARTICLE = /^ال(?!له$)(?=\p{L}{2})/u

/** `abdulrahman`, `abdurrahman`: the first is a word of its own. `abdullah` is one. */
const COMPOUND = /^abd[aeiu](?:l(?!lah$)(?=[a-z]{3})|([rsnztd])(?=\1[a-z]{2}))/
const SERVANT = /^abd[aeiu]l$/
const ARTICLES = /^(?:[aeu]l|[aeu]([rsnztd]))$/

export interface ReadName {
  /** In their order, without titles; empty where the text has neither letters nor digits. */
  readonly words: readonly string[]
  /**
   * The same with titles and numbers that may be names, where it has any: `Sheikh Hafiz Saeed`; and of those that stand side by side with the
   * last alone, where it has such: `Hafiz Saeed`.
   */
  readonly others: readonly (readonly string[])[]
  readonly forms: readonly LegalForm[]
  /** Whether it has more words, or longer ones, than are compared. */
  readonly isCut: boolean
}

/** `A.B.C.` as one word, `J.R.` as two initials. */
const joinAcronym = (dotted: string): string => {
  const letters = dotted.replaceAll('.', '')
  return ` ${letters.length >= MIN_ACRONYM_LETTERS ? letters : [...letters].join(' ')} `
}

/** Words as they stand, each of one script. */
const splitWords = (name: string): string[] =>
  name
    // Before they are composed: they would keep a letter and its mark apart.
    .replaceAll(INVISIBLE, '')
    // Composed (NFKC) rather than decomposed: a transliteration reads й and 김 whole, not their parts.
    .normalize('NFKC')
    .replaceAll(CAMEL_CASE, ' ')
    .replaceAll(AND, ' and ')
    .replaceAll(DOTTED, joinAcronym)
    .replaceAll(SYLLABIC, ' $& ')
    .split(BETWEEN_WORDS)
    .map((word) => foldWord(word.replaceAll(APOSTROPHES, '')))
    .filter((word) => /[\p{L}\p{N}]/u.test(word))

/** Words that every script and language has for `and`, and the article: they tell nothing. */
const EMPTY = new Set(['and', 'und', 'the', 'та', 'і', 'и', 'و'])

/** `N P C` as `npc`. */
const joinLetters = (words: readonly string[]): string[] => {
  const found: string[] = []
  for (let i = 0; i < words.length; i++) {
    let end = i
    while (/^[a-z]$/.test(words[end] ?? '')) end++
    if (end - i < MIN_ACRONYM_LETTERS) found.push(words[i] as string)
    else {
      found.push(words.slice(i, end).join(''))
      i = end - 1
    }
  }
  return found
}

/** What a word may mean as a title or a number; a syllable that reads like one is none. */
const lettersOf = (word: string): string => (['han', 'hangul'].includes(scriptOf(word)) ? '' : latinOf(word))

type IsWord = (word: string) => boolean

/** `twenty first`, `XXI` and `21st` as `21`. @param isWord tells words that are read as they are */
const asNumbers = (words: readonly string[], isWord: IsWord): string[] => {
  const found: string[] = []
  let tens = 0
  for (const word of words) {
    const number = (isWord(word) ? undefined : NUMBERS.get(word)) ?? /^(\d+)(?:st|nd|rd|th)$/.exec(word)?.[1]
    const ten = isWord(word) ? undefined : TENS.get(word)
    if (ten !== undefined) tens = ten
    if (ten !== undefined) found.push(String(ten))
    else if (tens > 0 && number !== undefined && Number(number) < 10)
      found[found.length - 1] = String(tens + Number(number))
    else found.push(number ?? word)
    if (ten === undefined) tens = 0
  }
  return found
}

/** The many spellings of "servant of the …" as `abdul …`, and the article apart. */
const splitCompounds = (words: readonly string[]): string[] => {
  const found: string[] = []
  for (const word of words) {
    if (ARABIC_ARTICLE.test(word)) {
      if (found.at(-1) === 'عبد') found[found.length - 1] = 'abdul'
      else found.push('al')
      found.push(word.slice(2))
      continue
    }
    if (found.at(-1) === 'abd' && ARTICLES.test(word)) found[found.length - 1] = 'abdul'
    else if (/^عبدال(?!له$)\p{L}{2}/u.test(word)) found.push('abdul', word.slice(5))
    else found.push(...word.replace(SERVANT, 'abdul').replace(COMPOUND, 'abdul ').split(' '))
  }
  return found
}

/** @param isKept tells words that are neither title nor number */
const tellingWords = (all: readonly string[], isPerson: boolean, isKept: IsWord): string[] => {
  const named = asNumbers(all, (word) => isKept(word) || (isPerson && !GENERATIONS.has(word)))
  const told = (isPerson ? named : joinLetters(named)).filter((word) => !EMPTY.has(word))
  const words = splitCompounds(told.length > 0 ? told : named)
  const telling = words.filter((word) => isKept(word) || !isTitle(lettersOf(word)))
  return telling.length > 0 ? telling : words
}

const isAlsoName: IsWord = (word) => ALSO_NAMES.has(lettersOf(word))

/** Of words side by side that may be titles or names the last: who has both has the title in front. */
const withLastTitle = (words: readonly string[]): string[] =>
  words.filter((word, i) => !isAlsoName(word) || !isAlsoName(words[i + 1] ?? ''))

const isTooLong = (words: readonly string[]): boolean =>
  words.length > MAX_NAME_TOKENS || words.some(({ length }) => length > MAX_TOKEN_CHARACTERS)
const cut = (words: readonly string[]): string[] =>
  words.slice(0, MAX_NAME_TOKENS).map((word) => word.slice(0, MAX_TOKEN_CHARACTERS))

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.join(' ') === other.join(' ')

/**
 * The words of a name, in its order, and its legal forms. A name that is nothing but titles keeps them.
 * @param isPerson so that no word is taken for a legal form
 */
export const readName = (name: string, isPerson = false): ReadName => {
  const all = splitWords(name)
  const found = isPerson ? [] : findLegalForms(all.map(plainWord))
  const inForm = new Set(found.flatMap(({ from, to }) => all.slice(from, to).map((_, i) => from + i)))
  const named = all.filter((_, i) => !inForm.has(i))
  const words = tellingWords(named, isPerson, () => false)
  const written = named.some(isAlsoName) ? tellingWords(named, isPerson, isAlsoName) : words
  const readings = [words, written, withLastTitle(written)].map(cut)
  return {
    words: cut(words),
    others: readings.filter((one, i) => readings.findIndex((first) => isSame(first, one)) === i).slice(1),
    forms: found.map(({ form }) => form),
    isCut: isTooLong(written),
  }
}

export type Reading = Pick<ReadName, 'words' | 'forms'>

/** How a name is compared: in each of these ways, of which the best counts. */
export const readingsOf = (name: string, isPerson: boolean): readonly [Reading, ...Reading[]] => {
  const { words, others, forms } = readName(name, isPerson)
  return [{ words, forms }, ...others.map((other) => ({ words: other, forms }))]
}
