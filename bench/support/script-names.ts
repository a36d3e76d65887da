/**
 * Pairs of names for which published lists have too few: Korean and Greek names with what the standards of romanisation make of them,
 * Hebrew names beside their usual English spellings, and given names beside what friends make of them. The names were written down for
 * this bench from common knowledge; nothing of the comparison was set by them.
 * @module
 */
import type { NamePair } from './name-classes.ts'
import { seeded } from './seeded.ts'

const PAIRS_A_CLASS = 100

const words = (text: string): string[] => text.trim().split(/\s+/)

/** By number of the letter, as Unicode composes syllables (The Unicode Standard, 3.12). */
const INITIALS = words('g kk n d tt r m b pp s ss - j jj ch k t p h')
const VOWELS = words('a ae ya yae eo e yeo ye o wa wae oe yo u wo we wi yu eu ui i')
const FINALS = words('- k k k n n n t l k m l l l p l m p p t t ng t t k t p t')
/** McCune-Reischauer at the beginning of a word, and where a vowel, n, m, ng or l stands before it; without its marks, as it is mostly printed. */
const INITIALS_MR = words('k kk n t tt r m p pp s ss - ch tch ch k t p h')
const VOICED_MR = words('g kk n d tt r m b pp s ss - j tch ch k t p h')
const VOWELS_MR = words('a ae ya yae o e yo ye o wa wae oe yo u wo we wi yu u ui i')
const FIRST_SYLLABLE = 0xac00

const KOREAN_FAMILIES = [
  ...'김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민',
]
const KOREAN_SYLLABLES = [...'민준서연지우현수영진성철호경숙희정은미혜동상재훈석용기태광복순옥자명']

const lettersOf = (syllable: string): readonly [initial: number, vowel: number, final: number] => {
  const code = (syllable.codePointAt(0) as number) - FIRST_SYLLABLE
  return [Math.floor(code / 588), Math.floor((code % 588) / 28), code % 28]
}
const join = (...letters: (string | undefined)[]): string => letters.filter((one) => one !== '-').join('')

/** Revised Romanisation of Korean (2000), by which sounds of neighbouring syllables of a name change nothing. */
const revised = (name: string): string =>
  [...name]
    .map((syllable) => {
      const [initial, vowel, final] = lettersOf(syllable)
      return join(INITIALS[initial], VOWELS[vowel], FINALS[final])
    })
    .join('')

const mccuneReischauer = (name: string): string => {
  let before = '-'
  return [...name]
    .map((syllable, i) => {
      const [initial, vowel, final] = lettersOf(syllable)
      const isVoiced = i > 0 && ['-', 'n', 'm', 'ng', 'l'].includes(before)
      before = FINALS[final] as string
      return join((isVoiced ? VOICED_MR : INITIALS_MR)[initial], VOWELS_MR[vowel], FINALS[final])
    })
    .join('')
}

const GREEK_GIVEN = words(
  'Γεώργιος Δημήτριος Ιωάννης Κωνσταντίνος Νικόλαος Παναγιώτης Βασίλειος Χρήστος Αθανάσιος Μιχαήλ Ευάγγελος Σπυρίδων Θεόδωρος Ηλίας Σταύρος Αικατερίνη Ελένη Βασιλική Σοφία Αγγελική Ευγενία Χαράλαμπος Στυλιανός Φώτιος Λάμπρος Ζωή Ξένια Ψαραντώνης Γκίκας Μπάμπης',
)
const GREEK_FAMILIES = words(
  'Παπαδόπουλος Βλάχος Αγγελόπουλος Νικολαΐδης Γεωργίου Δημητρίου Κωνσταντινίδης Οικονόμου Χατζηγεωργίου Μακρής Σταυρόπουλος Αυγερινός Ευθυμίου Μπουρνάζος Ντούνης Γκούμας Ξανθόπουλος Ψωμιάδης Θεοδωράκης Ζαχαρόπουλος Καραγιάννης Λυμπερόπουλος Πετρίδης Ραγκούσης Τσιτσάνης Φωτόπουλος Ιωαννίδης Σκλαβενίτης Μητσοτάκης Αλευράς',
)
/** ELOT 743 (ISO 843, type 2), longer spellings first. */
const ELOT: readonly (readonly [RegExp, string])[] = [
  [/αυ(?=[θκξπσςτφχψ]|$)/g, 'af'],
  [/ευ(?=[θκξπσςτφχψ]|$)/g, 'ef'],
  [/ηυ(?=[θκξπσςτφχψ]|$)/g, 'if'],
  [/αυ/g, 'av'],
  [/ευ/g, 'ev'],
  [/ηυ/g, 'iv'],
  [/ου/g, 'ou'],
  [/γγ/g, 'ng'],
  [/γξ/g, 'nx'],
  [/γχ/g, 'nch'],
  [/^μπ|μπ$/g, 'b'],
  ...[...'αaβvγgδdεeζzηiιiκkλlμmνnξxοoπpρrσsςsτtυyφfωo'.matchAll(/(.)(.)/gu)].map(
    ([, from, to]) => [new RegExp(from as string, 'g'), to as string] as const,
  ),
  [/θ/g, 'th'],
  [/χ/g, 'ch'],
  [/ψ/g, 'ps'],
]
const elot = (word: string): string =>
  ELOT.reduce(
    (text, [from, to]) => text.replace(from, to),
    word.toLowerCase().normalize('NFD').replaceAll(/\p{M}/gu, ''),
  )

const HEBREW_GIVEN = words(
  'דוד:David יוסף:Yosef משה:Moshe אברהם:Avraham יצחק:Yitzhak יעקב:Yaakov שמואל:Shmuel דניאל:Daniel אריאל:Ariel בנימין:Binyamin שלמה:Shlomo חיים:Chaim אליהו:Eliyahu רחל:Rachel שרה:Sara רבקה:Rivka מרים:Miriam אסתר:Esther יונתן:Yonatan עמוס:Amos גדעון:Gideon נתן:Natan אורי:Uri צבי:Zvi',
)
const HEBREW_FAMILIES = words(
  'כהן:Cohen לוי:Levi מזרחי:Mizrahi פרץ:Peretz ביטון:Biton אברהמי:Avrahami פרידמן:Friedman רוזנברג:Rosenberg גולדשטיין:Goldstein שפירא:Shapira קפלן:Kaplan ברגר:Berger אזולאי:Azoulay דהן:Dahan שטרן:Stern וייס:Weiss גבאי:Gabbay חדד:Haddad סויסה:Suissa קליין:Klein הופמן:Hoffman אוחיון:Ohayon מלכה:Malka שרון:Sharon',
)

const NICKNAMES = words(
  'Robert:Bob Richard:Dick Margaret:Peggy Henry:Hank John:Jack Edward:Ned Elizabeth:Betty William:Bill James:Jim Francisco:Paco Ignacio:Nacho Guadalupe:Lupe Dolores:Lola Enrique:Quique Jose:Pepe Dmitry:Dima Vladimir:Vova Mikhail:Misha Evgeny:Zhenya Sergei:Seryozha Nikolai:Kolya Pavel:Pasha Yury:Yura Tatiana:Tanya Natalia:Natasha Olga:Olya Grigory:Grisha Giuseppe:Beppe Domenico:Mimmo Friedrich:Fritz Johannes:Hannes Katarzyna:Kasia Malgorzata:Gosia Stanislaw:Staszek Panagiotis:Panos Konstantinos:Kostas Georgios:Yorgos Susan:Sue Patrick:Paddy Theodore:Ted',
)
const FAMILIES = words(
  'Halvorsen Brandmayr Kowalczuk Petrossian Delacroix Whitcombe Obradovic Santangelo Lindholm Castellanos Hrabovsky Vandermeer',
)

interface Made {
  readonly given: readonly [asked: string, listed: string]
  readonly family: readonly [asked: string, listed: string]
}

/** Pairs of one person, and of people of whom only the family name is the same. */
const pairsOf = (name: string, make: (pick: <T>(list: readonly T[]) => T) => Made): NamePair[] => {
  const random = seeded(23)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const made = Array.from({ length: PAIRS_A_CLASS }, () => make(pick))
  const pairs = made.map(
    ({ given, family }): NamePair => ({
      ...{ isSame: true, class: name, isPerson: true },
      asked: `${family[0]} ${given[0]}`,
      listed: `${given[1]} ${family[1]}`,
    }),
  )
  const others = made.flatMap(({ given, family }): NamePair[] => {
    const other = made.find((one) => one.given[0] !== given[0] && one.given[1] !== given[1])
    if (other === undefined) return []
    return [
      {
        ...{ isSame: false, class: `${name}, another given name`, isPerson: true },
        asked: `${family[0]} ${other.given[0]}`,
        listed: `${given[1]} ${family[1]}`,
      },
    ]
  })
  return [...pairs, ...others]
}

const beside = (entry: string): readonly [string, string] => {
  const [a = '', b = ''] = entry.split(':')
  return [a, b]
}

/** Names in their script as they are asked for, and in Latin letters as they are listed; the same at each run. */
export const scriptPairs = (): NamePair[] => {
  const korean = (romanise: (name: string) => string) => (pick: <T>(list: readonly T[]) => T) => {
    const [family, given] = [pick(KOREAN_FAMILIES), pick(KOREAN_SYLLABLES) + pick(KOREAN_SYLLABLES)]
    return { given: [given, romanise(given)], family: [family, romanise(family)] } as const
  }
  return [
    ...pairsOf('Korean, Revised Romanisation', korean(revised)),
    ...pairsOf('Korean, McCune-Reischauer', korean(mccuneReischauer)),
    ...pairsOf('Greek, ELOT 743', (pick) => {
      const [given, family] = [pick(GREEK_GIVEN), pick(GREEK_FAMILIES)]
      return { given: [given, elot(given)], family: [family, elot(family)] }
    }),
    ...pairsOf('Hebrew, usual English spelling', (pick) => ({
      given: beside(pick(HEBREW_GIVEN)),
      family: beside(pick(HEBREW_FAMILIES)),
    })),
    ...pairsOf('nickname', (pick) => {
      const [given, short] = beside(pick(NICKNAMES))
      const family = pick(FAMILIES)
      return { given: [short, given], family: [family, family] }
    }),
  ]
}
