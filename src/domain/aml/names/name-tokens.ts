/**
 * A name as comparable words: compatibility forms folded (NFKC, Unicode TR 15), every script transliterated to ASCII,
 * lower case, without titles and legal forms.
 * @module
 */
import anyAscii from 'any-ascii'
import { HONORIFICS, LEGAL_FORMS } from './name-words.ts'

/** More words than any name has that must be told apart; the rest is left out. */
export const MAX_NAME_TOKENS = 16
const MAX_TOKEN_CHARACTERS = 40

/** Their syllables are words of their own: `习近平` is `xi jin ping`. */
const SYLLABIC = /[\p{Script=Han}\p{Script=Hangul}]/gu
/** Their vowels are mostly not written. */
const ABJAD = /[\p{Script=Arabic}\p{Script=Hebrew}]/u
/** Ends words that were transliterated from such a script; no other word has it. */
export const ABJAD_MARK = '*'
/** The article is written with its word: `الحسن`. */
const ARABIC_ARTICLE = /^ال(?=\p{L}{2})/u
/** Letters that begin words with a vowel. */
const GUTTURAL = /^[ءأإآٱاعאע]/u
/** `S.A.`, `L.L.C.`: letters that each have a full stop. */
const DOTTED = /(?<!\p{L})(?:\p{L}\.){2,}/gu
/** Apostrophes are part of words. */
const BETWEEN_WORDS = /(?:[\s\p{Pd}\p{Ps}\p{Pe}]|(?!['’`"])[\p{Po}\p{S}])+/u

/** `s.a.` is a legal form; `j.r.` are two initials. */
const joinLegalForm = (dotted: string): string => {
  const letters = dotted.replaceAll('.', '')
  return LEGAL_FORMS.has(letters.toLowerCase()) ? ` ${letters} ` : dotted
}

/** `abdulrahman`, `abdurrahman`: the first is a word of its own. `abdullah` is one. */
const COMPOUND = /^abd[aeu](?:l(?!lah$)(?=[a-z]{3})|([rsnztd])(?=\1[a-z]{2}))/
const SERVANT = /^abd[aeiu]l$/
const ARTICLES = /^(?:[aeu]l|[aeu]([rsnztd]))$/

/** The many spellings of "servant of the …" as `abdul …`. */
const splitCompounds = (words: readonly string[]): string[] => {
  const found: string[] = []
  for (const word of words) {
    const previous = found.at(-1)
    if ((previous === 'abd' || previous === `abd${ABJAD_MARK}`) && ARTICLES.test(word))
      found[found.length - 1] = 'abdul'
    else found.push(...word.replace(SERVANT, 'abdul').replace(COMPOUND, 'abdul ').split(' '))
  }
  return found
}

/** One word of the original as words in ASCII. */
const transliterate = (word: string): string[] => {
  if (!ABJAD.test(word)) return asciiWords(anyAscii(word))
  const [stem, ...article] = ARABIC_ARTICLE.test(word) ? [word.slice(2), 'al'] : [word]
  // Alef and ayn begin words that have a vowel in every romanisation.
  const letters = asciiWords(anyAscii(stem.replace(GUTTURAL, 'a'))).join('')
  return letters === '' ? article : [...article, letters + ABJAD_MARK]
}

const asciiWords = (ascii: string): string[] =>
  ascii
    .toLowerCase()
    .replaceAll(/['`"]/g, '')
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')

/**
 * The words of a name, in its order. A name that is nothing but titles and legal forms keeps them.
 * @returns lower-case ASCII letters and digits, a mark behind words of scripts without vowels; empty where the text has neither
 */
export const nameTokens = (name: string): string[] => {
  // Composed (NFKC) rather than decomposed: a transliteration reads й and 김 whole, not their parts.
  const words = name
    .normalize('NFKC')
    .replaceAll(SYLLABIC, ' $& ')
    .replaceAll(DOTTED, joinLegalForm)
    .split(BETWEEN_WORDS)
    .flatMap(transliterate)
    .map((word) => word.slice(0, MAX_TOKEN_CHARACTERS))
  const all = splitCompounds(words)
  const telling = all.filter((token, i) => !HONORIFICS.has(token) && !(i > 0 && LEGAL_FORMS.has(token)))
  return (telling.length > 0 ? telling : all).slice(0, MAX_NAME_TOKENS)
}
