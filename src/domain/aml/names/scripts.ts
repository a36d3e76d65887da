/**
 * Writing systems: words of any script as they are compared in it, and how they read in Latin letters.
 * @module
 */
import anyAscii from 'any-ascii'
import { Converter } from 'opencc-js/t2cn'

/** Traditional characters and their simplified forms are one. */
const simplify = Converter({ from: 't', to: 'cn' })

const HAN = /\p{Script=Han}/u
/** Their characters are syllables, each compared by itself: `习近平` is three. */
export const SYLLABIC = /[\p{Script=Han}\p{Script=Hangul}]/gu
/** Their short vowels are mostly not written. */
const ABJAD = /[\p{Script=Arabic}\p{Script=Hebrew}]/u
const LATIN = /^[a-z0-9]*$/

export type Script = 'latin' | 'han' | 'hangul' | 'abjad' | 'other'

/** @param word as `nameWords` makes it */
export const scriptOf = (word: string): Script => {
  if (LATIN.test(word)) return 'latin'
  if (HAN.test(word)) return 'han'
  if (/\p{Script=Hangul}/u.test(word)) return 'hangul'
  return ABJAD.test(word) ? 'abjad' : 'other'
}

/** Letters that look like Latin ones, in Cyrillic and Greek. */
const LOOK_ALIKES = new Map(
  [...'аaеeоoрpсcуyхxвbнhкkмmтtіiѕsјjԁdԛqԝwһhαaβbεeηnιiκkμmνvοoρpτtυuχxωwγy'.matchAll(/(.)(.)/gu)].map(
    ([, foreign, latin]) => [foreign as string, latin as string],
  ),
)
const TO_CYRILLIC = new Map([...LOOK_ALIKES].slice(0, 18).map(([foreign, latin]) => [latin, foreign]))

/** A word of two alphabets in the one that most of its letters have, where all others look like letters of it. */
const oneAlphabet = (word: string): string => {
  const letters = [...word]
  const latin = letters.filter((letter) => /[a-z]/.test(letter)).length
  const foreign = letters.filter((letter) => /[\p{Script=Cyrillic}\p{Script=Greek}]/u.test(letter)).length
  if (latin === 0 || foreign === 0) return word
  const table = latin >= foreign || !/\p{Script=Cyrillic}/u.test(word) ? LOOK_ALIKES : TO_CYRILLIC
  const changed = letters.map((letter) => table.get(letter) ?? letter).join('')
  return changed
}

/** Digits that stand for letters inside words. */
const DIGITS: Readonly<Record<string, string>> = {
  0: 'o',
  1: 'i',
  3: 'e',
  4: 'a',
  5: 's',
  6: 'g',
  7: 't',
  8: 'b',
  9: 'g',
}
const DIGIT_IN_WORD = /^(?=.*[a-z])[a-z0-9]*$/
/** Of words such as `b52` and `2000s` too much would be changed. */
const MIN_LETTERS_PER_DIGIT = 2

/** A word with letters for the digits in it; itself where they mean numbers. */
export const withoutDigits = (word: string): string => {
  const digits = word.match(/\d/g)?.length ?? 0
  if (digits === 0 || !DIGIT_IN_WORD.test(word) || word.length - digits < MIN_LETTERS_PER_DIGIT * digits)
    return word
  return word.replaceAll(/\d/g, (digit) => DIGITS[digit] ?? digit)
}

/** The word of one script, lower case: Latin letters without marks, Han simplified, Arabic without what is often left out. */
export const foldWord = (word: string): string => {
  const own = word.toLowerCase()
  if (LATIN.test(own)) return own
  const lower = oneAlphabet(own)
  if (HAN.test(lower)) return simplify(lower)
  if (ABJAD.test(lower)) return foldAbjad(lower)
  if (/^[\p{Script=Latin}\p{M}\p{N}ʼ]+$/u.test(lower)) return asciiOf(lower)
  return lower
    .normalize('NFD')
    .replaceAll(/(?<=[\p{Script=Greek}])\p{M}|(?<=е)\u0308/gu, '')
    .normalize('NFC')
}

const asciiOf = (text: string): string =>
  anyAscii(text)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')

/** Letters of Pashto and Urdu, as their neighbours that Arabic and Persian have. */
const NEIGHBOURS = new Map(
  [...'ځزڅسښشټتډدړرڼنٹتڈدڑرںنےيہهھه'.matchAll(/(.)(.)/gu)].map(([, a, b]) => [a as string, b as string]),
)

/** Hamza and its seats, alef maksura, the forms of other languages, final letters of Hebrew, and marks of vowels. */
const foldAbjad = (word: string): string =>
  word
    .replaceAll(/[\p{M}\u0640]/gu, '')
    .replaceAll(/[ځڅښټډړڼٹڈڑںےہھ]/g, (letter) => NEIGHBOURS.get(letter) ?? letter)
    .replaceAll(/[أإآٱ]/g, 'ا')
    .replaceAll(/[ىیۍئ]/g, 'ي')
    .replaceAll('ؤ', 'و')
    .replaceAll('ک', 'ك')
    .replaceAll(/[ةۀە]/g, 'ه')
    .replaceAll('ء', '')
    .replaceAll('ך', 'כ')
    .replaceAll('ם', 'מ')
    .replaceAll('ן', 'נ')
    .replaceAll('ף', 'פ')
    .replaceAll('ץ', 'צ')

/** Greek as it sounds today. */
const GREEK: readonly (readonly [RegExp, string])[] = [
  [/^μπ/, 'b'],
  [/^ντ/, 'd'],
  [/^γκ/, 'g'],
  [/μπ/g, 'mp'],
  [/γγ/g, 'ng'],
  [/γκ/g, 'gk'],
  [/ου/g, 'u'],
  [/αυ(?=[θκξπστφχψ]|$)/g, 'af'],
  [/αυ/g, 'av'],
  [/ευ(?=[θκξπστφχψ]|$)/g, 'ef'],
  [/ευ/g, 'ev'],
  [/[ηυ]|ει|οι/g, 'i'],
  [/χ/g, 'ch'],
  [/β/g, 'v'],
]
const HEBREW = new Map([...'שsקkחhטtצsוw'.matchAll(/(.)(.)/gu)].map(([, a, b]) => [a as string, b as string]))

/** How a word reads in Latin letters. @param word as {@link foldWord} makes it @returns letters and digits; empty where it has none */
export const latinOf = (word: string): string => {
  if (LATIN.test(word)) return withoutDigits(word)
  if (ABJAD.test(word)) {
    // Alef and ayn are the vowel that a word begins with, or stand for a long one; a last h is not heard.
    const letters = [...word].map((letter, i, all) => {
      if (letter === 'ه' && i > 1 && i === all.length - 1) return 'a'
      if (letter === 'ع' || letter === 'ע') return i === 0 ? 'a' : ''
      if (letter === 'ا' || letter === 'א') return 'a'
      if (letter === 'ב' && i === 0) return 'b'
      return HEBREW.get(letter) ?? letter
    })
    return asciiOf(letters.join(''))
  }
  if (/\p{Script=Greek}/u.test(word))
    return asciiOf(GREEK.reduce((text, [letters, sound]) => text.replace(letters, sound), word))
  return asciiOf(word)
}

/** Without marks, in any script: for looking words up. */
export const plainWord = (word: string): string => {
  const folded = foldWord(word.normalize('NFKC'))
  return LATIN.test(folded) ? folded : folded.normalize('NFD').replaceAll(/\p{M}/gu, '').normalize('NFC')
}
