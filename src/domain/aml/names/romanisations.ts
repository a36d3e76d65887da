/** Keys under which the romanisations of one word are equal. @module */

/** A spelling, what becomes of it, and the letters that it needs: of one group all, `0` for any digit and `=` for a letter twice. */
type Rules = readonly (readonly [RegExp, string, string])[]

interface Compiled {
  readonly spelling: RegExp
  readonly sound: string
  /** Groups of letters as bits. */
  readonly needs: readonly number[]
}

const DIGIT_BIT = 1 << 26
const TWICE_BIT = 1 << 27

/** Which letters a word has, as bits. */
const lettersIn = (text: string): number => {
  let [found, before] = [0, 0]
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    found |= code >= 97 ? 1 << (code - 97) : DIGIT_BIT
    if (code === before) found |= TWICE_BIT
    before = code
  }
  return found
}

const bitsOf = (group: string): number =>
  group === '=' ? TWICE_BIT : group === '0' ? DIGIT_BIT : lettersIn(group)

const compile = (rules: Rules): Compiled[] =>
  rules.map(([spelling, sound, needs]) => ({ spelling, sound, needs: needs.split(' ').map(bitsOf) }))

const fits = (needs: readonly number[], letters: number): boolean => {
  for (let i = 0; i < needs.length; i++) {
    const group = needs[i] as number
    if ((letters & group) === group) return true
  }
  return false
}

/** Whether a text has the letters that a rule needs. */
export const hasLetters = (text: string, needs: readonly number[]): boolean => fits(needs, lettersIn(text))

/** Most rules concern letters that a word has not: an expression costs far more than to see that. @param text of `a` to `z` and digits */
const apply = (rules: readonly Compiled[], text: string): string => {
  let changed = text
  let letters = lettersIn(text)
  for (const { spelling, sound, needs } of rules) {
    if (!fits(needs, letters)) continue
    const next = changed.replace(spelling, sound)
    if (next === changed) continue
    changed = next
    letters = lettersIn(changed)
  }
  return changed
}

/** Spellings of one sound in the romanisations of different countries, longer ones first. */
const FOLD = compile([
  [/schtsch|shch|stsch|sch|sz(?=[aeiouy])/g, 'sh', 'sch sz'],
  [/tsch|tch|cz/g, 'ch', 'tch cz'],
  [/(?<=.)ow$/, 'ov', 'ow'],
  [/ts|tz|c(?=[eivy])/g, 's', 'ts tz c'],
  [/dzh|dj/g, 'j', 'dzh dj'],
  [/gh(?=.)/g, 'g', 'gh'],
  [/kh/g, 'h', 'kh'],
  [/ks/g, 'x', 'ks'],
  [/ck|q|c(?!h)/g, 'k', 'c q'],
  [/w/g, 'v', 'w'],
  [/ph/g, 'f', 'ph'],
  [/th/g, 't', 'th'],
  [/(?<=[aou])e(?=[^aeiou])/g, '', 'ae oe ue'],
  [/ou|oo/g, 'u', 'o'],
  [/^(?:ye|ie|je)/, 'e', 'ye ie je'],
  [/^(?:ya|ia|ja)/, 'ia', 'ya ja'],
  [/^(?:yu|iu|ju)/, 'iu', 'yu ju'],
  [/ee|[yj]/g, 'i', 'e y j'],
  [/(.)\1+/g, '$1', '='],
  [/(?<=..)(?:ii|i)$/, 'i', 'i'],
  [/(?<=[aeiou])i$/, 'i', 'i'],
  [/(?<=..[aeiou])h$/, '', 'h'],
])

/** The word as no country writes it, so that differences in romanisation disappear. */
export const foldRomanisation = (letters: string): string => apply(FOLD, letters)

/** What reads as one consonant of Arabic and Hebrew. */
const DIGRAPHS = compile([
  [/dj/g, 'j', 'dj'],
  [/tch|sch|ch(?=[aeiou])|sh|zh|dh|ts|tz|th/g, 's', 'ch sh zh dh ts tz th'],
  [/gh|kh|ck|ch/g, 'k', 'gh kh ck ch'],
  [/ph/g, 'b', 'ph'],
])

/** Consonants that Arabic and Hebrew tell apart and romanisations mix up, or the other way round; vowels and weak letters are none. */
const CONSONANTS: Readonly<Record<string, string>> = Object.fromEntries(
  ['bpf', 'kqcgjx', 'l', 'm', 'n', 'r', 'sz', 'td'].flatMap((alike) =>
    [...alike].map((letter) => [letter, alike[0] as string]),
  ),
)

/** How a word would read if its letters were those that Arabic and Hebrew have. */
const ABJAD_READING = compile([
  [/dj/g, 'j', 'dj'],
  [/sh|ts|tz|th(?=.*h)/g, 's', 'sh ts tz th'],
  [/kh|ch/g, 'h', 'kh ch'],
  [/(?<=[tdg])h/g, '', 'th dh gh'],
  [/[vw]|ou|oo/g, 'u', 'v w o'],
  [/[yj]|ee/g, 'i', 'y j e'],
  [/[qc]/g, 'k', 'q c'],
  [/[pf]/g, 'b', 'p f'],
  [/z/g, 'd', 'z'],
  [/(.)\1+/g, '$1', '='],
])

export const abjadReading = (letters: string): string => apply(ABJAD_READING, letters)

/** Consonants alone, in few classes, each once where it stands several times. */
export const abjadKey = (letters: string): string => {
  let key = ''
  for (const letter of apply(DIGRAPHS, letters)) {
    const consonant = CONSONANTS[letter]
    if (consonant !== undefined && !key.endsWith(consonant)) key += consonant
  }
  return key
}

/**
 * Those that a Latin word may have: `j` and `b` may stand for letters that are written as vowels are, `z` for one that Arabic reads as `d`,
 * `c` in French spellings for `s`, and a last `t` for one that is only heard before another word.
 */
export const abjadKeys = (letters: string): string[] => {
  const readings = [letters]
  if (letters.includes('z')) readings.push(letters.replaceAll('z', 'd'))
  if (letters.includes('c')) readings.push(letters.replaceAll(/c(?!h)/g, 's'))
  if (/[ae]t$/.test(letters)) readings.push(letters.slice(0, -1))
  if (letters.includes('j')) readings.push(letters.replaceAll('j', 'y'))
  if (letters.includes('b', 1)) readings.push(letters.replaceAll(/(?<=.)b/g, 'v'))
  return readings.length === 1 ? [abjadKey(letters)] : [...new Set(readings.map(abjadKey))]
}

/** Family names that no system of romanisation makes. */
const SYLLABLES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    lee: 'i',
    yi: 'i',
    rhee: 'i',
    ri: 'i',
    li: 'i',
    park: 'bag',
    pak: 'bag',
    choi: 'choe',
    noh: 'no',
    roh: 'no',
    ro: 'no',
    lim: 'im',
    rim: 'im',
    yim: 'im',
    woo: 'u',
    shin: 'sin',
    yoo: 'yu',
    ryu: 'yu',
    ryoo: 'yu',
    lyu: 'yu',
    moon: 'mun',
    suh: 'seo',
    hur: 'heo',
    huh: 'heo',
    young: 'yeong',
    jung: 'jeong',
    chung: 'jeong',
    cho: 'jo',
    ko: 'go',
    hyun: 'hyeon',
    sung: 'seong',
    kyung: 'gyeong',
    kyong: 'gyeong',
    sun: 'seon',
    hun: 'hun',
    hoon: 'hun',
    joon: 'jun',
    soo: 'su',
    // Wade-Giles and postal spellings of Mandarin, and Cantonese family names.
    tse: 'ze',
    tung: 'dong',
    chiang: 'jiang',
    hsi: 'xi',
    hsiao: 'xiao',
    hsu: 'xu',
    chou: 'zhou',
    chang: 'zhang',
    tsai: 'cai',
    tsao: 'cao',
    chao: 'zhao',
    wong: 'wang',
    chan: 'chen',
    cheung: 'zhang',
    leung: 'liang',
    kwok: 'guo',
    ng: 'wu',
    lau: 'liu',
    ho: 'he',
    chow: 'zhou',
    lam: 'lin',
    yeung: 'yang',
    tsang: 'zeng',
    cheng: 'zheng',
  }),
)

/** Sounds that romanisations of Korean and Mandarin write differently. */
const SYLLABLE_RULES = compile([
  [/(?<=.)(?:zh|ch|j)/g, 'c', 'zh ch j'],
  [/^(?:zh|ch|j|q|ts|tz|z|c)(?!$)/, 'c', 'z c j q ts'],
  [/hs|sh|x/g, 's', 'hs x'],
  [/g/g, 'k', 'g'],
  [/d/g, 't', 'd'],
  [/b/g, 'p', 'b'],
  [/r/g, 'l', 'r'],
  [/(?<=[aeiou])h$/, '', 'h'],
  [/w/g, 'u', 'w'],
  [/y/g, 'i', 'y'],
  [/eo|eu|oo|ou|o/g, 'u', 'o eu'],
  [/ae|ai|oe|ui|oi/g, 'e', 'ae ai oe ui oi'],
  [/(?<=.)i(?=[aeu])/, '', 'i'],
])

/** All of them, whichever word they are for. */
export const ROMANISATION_RULES: readonly Compiled[] = [FOLD, DIGRAPHS, ABJAD_READING, SYLLABLE_RULES].flat()

/** One syllable, or the whole given name, of Korean or Mandarin as all romanisations have it. */
export const syllableKey = (letters: string): string =>
  apply(SYLLABLE_RULES, SYLLABLES.get(letters) ?? letters)

const PINYIN =
  /^(?:[bpmfdtnlgkhjqxrzcsyw]|[zcs]h)?(?:a|ai|an|ang|ao|e|ei|en|eng|er|o|ong|ou|i|ia|ian|iang|iao|ie|in|ing|iong|iu|u|ua|uai|uan|uang|ui|un|uo|ue)$/

/** Whether a word is one syllable of Mandarin. */
export const isPinyin = (letters: string): boolean => PINYIN.test(letters)
