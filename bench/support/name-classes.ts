/**
 * Pairs of names by class of change, made from the entries of lists: aliases that an entry has, names that were altered as people and
 * machines alter them, and names of different entries that are near each other. The same at each run.
 * @module
 */
import { createHash } from 'node:crypto'
import type { ListEntry } from '../../src/domain/aml/entry.ts'
import { seeded } from './seeded.ts'

export interface NamePair {
  readonly isSame: boolean
  readonly class: string
  readonly isPerson: boolean
  readonly asked: string
  readonly listed: string
}

/** Entries of the part that no weight was set on, by the first byte of a SHA-256. @param id of the list and the entry: `sdn:36` */
export const isHeldOut = (id: string): boolean =>
  (createHash('sha256').update(id).digest()[0] as number) >= 128

const PAIRS_A_CLASS = 150
const SEED = 11

const FORMS: readonly (readonly string[])[] = [
  ['LLC', 'Limited Liability Company', 'OOO', 'ООО'],
  ['GmbH', 'Gesellschaft mit beschränkter Haftung'],
  ['AG', 'Aktiengesellschaft'],
  ['JSC', 'Joint Stock Company', 'АО'],
  ['OJSC', 'OAO', 'Open Joint Stock Company'],
  ['PJSC', 'PAO', 'Public Joint Stock Company'],
  ['Co., Ltd.', 'Company Limited', 'Ltd', 'Limited'],
  ['S.A.', 'Sociedad Anonima'],
  ['S.A. de C.V.', 'Sociedad Anonima de Capital Variable'],
  ['S.R.L.', 'Societa a responsabilita limitata'],
  ['Sp. z o.o.', 'Spolka z ograniczona odpowiedzialnoscia'],
  ['B.V.', 'Besloten Vennootschap'],
  ['Inc.', 'Incorporated', 'Corp.'],
  ['PLC', 'Public Limited Company'],
  ['SARL', 'Societe a responsabilite limitee'],
]
const TRANSLATED: readonly (readonly [string, string])[] = [
  ['OAO', 'JSC'],
  ['GmbH', 'LLC'],
  ['Ltd', 'LLC'],
  ['S.A.', 'Joint Stock Company'],
  ['TOO', 'LLC'],
  ['AG', 'JSC'],
  ['Sp. z o.o.', 'Limited Liability Company'],
]
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  o: '0',
  i: '1',
  l: '1',
  e: '3',
  s: '5',
  a: '4',
  b: '8',
}
const CYRILLIC: Readonly<Record<string, string>> = {
  a: 'а',
  e: 'е',
  o: 'о',
  p: 'р',
  c: 'с',
  x: 'х',
  A: 'А',
  E: 'Е',
  O: 'О',
  P: 'Р',
  C: 'С',
  K: 'К',
  M: 'М',
  T: 'Т',
  H: 'Н',
  B: 'В',
}
const SCRIPTS: readonly (readonly [string, RegExp])[] = [
  ['Arabic', /\p{Script=Arabic}/u],
  ['Cyrillic', /\p{Script=Cyrillic}/u],
  ['Chinese', /\p{Script=Han}/u],
  ['Korean', /\p{Script=Hangul}/u],
  ['Greek', /\p{Script=Greek}/u],
  ['Hebrew', /\p{Script=Hebrew}/u],
]
const WITH_FORM = /\b(?:ltd|limited|llc|inc|s\.?a|joint|company|corp|gmbh|co|ooo|oao|zao|pao|ao)\b/i
const LATIN = /^[\x20-\x7e]+$/
const MIN_ALIAS_LIKENESS = 0.4

const wordsOf = (name: string): string[] => name.split(/\s+/)
const plainOf = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()

const bigramsOf = (name: string): Set<string> => {
  const found = new Set<string>()
  for (const word of plainOf(name).split(' ')) {
    const text = `^${word}$`
    for (let i = 0; i + 1 < text.length; i++) found.add(text.slice(i, i + 2))
  }
  return found
}

/** Dice's coefficient. */
const likeness = (a: ReadonlySet<string>, b: ReadonlySet<string>): number => {
  let shared = 0
  for (const one of a) if (b.has(one)) shared++
  return (2 * shared) / (a.size + b.size || 1)
}

interface Random {
  readonly below: (count: number) => number
  readonly pick: <T>(list: readonly T[]) => T
  readonly sample: <T>(list: readonly T[], count: number) => T[]
}

const createRandom = (): Random => {
  const random = seeded(SEED)
  const below = (count: number): number => Math.floor(random() * count)
  return {
    below,
    pick: (list) => list[below(list.length)] as (typeof list)[number],
    sample(list, count) {
      const rest = [...list]
      return Array.from(
        { length: Math.min(count, rest.length) },
        () => rest.splice(below(rest.length), 1)[0] as (typeof list)[number],
      )
    },
  }
}

/** A letter lost, changed or exchanged with the next. */
const altered = (word: string, { below, pick }: Random): string => {
  const [kind, at] = [below(3), below(word.length)]
  if (kind === 0) return word.slice(0, at) + word.slice(at + 1)
  if (kind === 1) return word.slice(0, at) + pick([...'abcdefghiklmnoprstuvz']) + word.slice(at + 1)
  return word.slice(0, at) + (word[at + 1] ?? '') + word[at] + word.slice(at + 2)
}

const eachLong = (name: string, change: (word: string) => string): string =>
  wordsOf(name)
    .map((word) => (word.length > 3 ? change(word.toLowerCase()) : word))
    .join(' ')

const oneDigit = (name: string, { below }: Random): string => {
  const places = [...name].flatMap((letter, i) => (LOOK_ALIKES[letter.toLowerCase()] ? [i] : []))
  const at = places[below(places.length || 1)]
  return at === undefined
    ? name
    : name.slice(0, at) + LOOK_ALIKES[(name[at] as string).toLowerCase()] + name.slice(at + 1)
}

type Change = readonly [name: string, change: (name: string, random: Random) => string]

const PERSON_CHANGES: readonly Change[] = [
  ['one letter wrong in each word', (name, random) => eachLong(name, (word) => altered(word, random))],
  [
    'one letter lost in each word',
    (name, { below }) =>
      eachLong(name, (word) => {
        const at = below(word.length)
        return word.slice(0, at) + word.slice(at + 1)
      }),
  ],
  ['a letter doubled in each word', (name) => eachLong(name, (word) => word.slice(0, 3) + word.slice(2))],
  ['words in another order', (name) => wordsOf(name).toReversed().join(' ')],
  [
    'two words joined, last first',
    (name) => {
      const words = wordsOf(name)
      return words.length === 2 ? words.toReversed().join('').toLowerCase() : name
    },
  ],
  [
    'a word split',
    (name) =>
      wordsOf(name)
        .map((word, i) => (i === 0 && word.length > 5 ? `${word.slice(0, 3)} ${word.slice(3)}` : word))
        .join(' '),
  ],
  [
    'initials of middle names',
    (name) => {
      const words = wordsOf(name)
      return words.map((word, i) => (i > 0 && i + 1 < words.length ? `${word[0]}.` : word)).join(' ')
    },
  ],
  [
    'particles added',
    (name) => {
      const words = wordsOf(name)
      return words.length === 2 ? `${words[0]} bin ${words[1]}` : name
    },
  ],
]
const ANY_CHANGES: readonly Change[] = [
  ['a digit for a letter', oneDigit],
  [
    'look-alikes of another script',
    (name, { below }) =>
      [...name].map((letter) => (below(3) === 0 ? (CYRILLIC[letter] ?? letter) : letter)).join(''),
  ],
]

const aliasPairs = (entries: readonly ListEntry[]): NamePair[] =>
  entries.flatMap(({ kind, names }) => {
    const [main, ...others] = names.filter(({ weak }) => !weak)
    if (main === undefined) return []
    return others.flatMap(({ text }): NamePair[] => {
      const script = SCRIPTS.find(([, pattern]) => pattern.test(text))?.[0]
      if (script === undefined && likeness(bigramsOf(text), bigramsOf(main.text)) < MIN_ALIAS_LIKENESS)
        return []
      const isPerson = kind === 'person'
      const name =
        script === undefined ? `alias of a ${isPerson ? 'person' : 'company'}` : `alias in ${script} script`
      return [{ isSame: true, class: name, isPerson, asked: text, listed: main.text }]
    })
  })

const formPairs = (bases: readonly string[], random: Random): NamePair[] => {
  const pairs = (name: string, make: (base: string) => readonly [string, string]): NamePair[] =>
    random.sample(bases, PAIRS_A_CLASS).map((base) => {
      const [asked, listed] = make(base)
      return { isSame: true, class: name, isPerson: false, asked, listed }
    })
  return [
    ...pairs('form written out or abbreviated', (base) => {
      const [a, b] = random.sample(random.pick(FORMS), 2)
      return [`${base} ${a}`, `${base} ${b}`]
    }),
    ...pairs('form leading', (base) => {
      const forms = random.pick(FORMS)
      return [`${random.pick(forms)} ${base}`, `${base} ${random.pick(forms)}`]
    }),
    ...pairs('form translated', (base) => {
      const [a, b] = random.pick(TRANSLATED)
      return [`${base} ${a}`, `${base} ${b}`]
    }),
    ...pairs('form missing', (base) => [`${base} ${random.pick(random.pick(FORMS))}`, base]),
  ]
}

/** The nearest names of other entries, and names with one word of another. */
const differentPairs = (names: readonly string[], isPerson: boolean, random: Random): NamePair[] => {
  const what = isPerson ? 'person' : 'company'
  const bigrams = names.map(bigramsOf)
  const sorted = names.map((name) => plainOf(name).split(' ').toSorted().join(' '))
  const numbers = random.sample(
    names.map((_, i) => i),
    4 * PAIRS_A_CLASS,
  )
  const nearest = numbers.flatMap((i): NamePair[] => {
    let [best, at] = [0, -1]
    for (let j = 0; j < names.length; j++) {
      if (sorted[i] === sorted[j]) continue
      const alike = likeness(bigrams[i] as Set<string>, bigrams[j] as Set<string>)
      if (alike > best) [best, at] = [alike, j]
    }
    return at < 0
      ? []
      : [
          {
            isSame: false,
            class: `nearest other ${what}`,
            isPerson,
            asked: names[i] as string,
            listed: names[at] as string,
          },
        ]
  })
  const mixed = random.sample(names, PAIRS_A_CLASS).map((name): NamePair => {
    const words = wordsOf(name)
    const at = random.below(words.length)
    const other = random.pick(wordsOf(random.pick(names)))
    return {
      isSame: false,
      class: `${what} with a word of another`,
      isPerson,
      asked: words.map((word, i) => (i === at ? other : word)).join(' '),
      listed: name,
    }
  })
  return [...nearest, ...mixed]
}

/** All classes; those without a name in the entries are left out. */
export const namePairs = (entries: readonly ListEntry[]): NamePair[] => {
  const random = createRandom()
  const mainNames = (isPerson: boolean): string[] =>
    entries
      .filter(({ kind }) => (kind === 'person') === isPerson)
      .map(({ names }) => names[0]?.text ?? '')
      .filter((name) => LATIN.test(name) && wordsOf(name).length >= 2)
  const [persons, companies] = [mainNames(true), mainNames(false)]
  const apply = (names: readonly string[], isPerson: boolean, changes: readonly Change[]): NamePair[] =>
    changes.flatMap(([name, change]) =>
      random
        .sample(names, PAIRS_A_CLASS)
        .map((listed) => ({ isSame: true, class: name, isPerson, asked: change(listed, random), listed })),
    )
  const aliases = aliasPairs(entries)
  const pairs = [
    ...[...new Set(aliases.map((pair) => pair.class))].flatMap((name) =>
      random.sample(
        aliases.filter((pair) => pair.class === name),
        2 * PAIRS_A_CLASS,
      ),
    ),
    ...formPairs(
      companies.filter((name) => !WITH_FORM.test(name)),
      random,
    ),
    ...apply(persons, true, [...PERSON_CHANGES, ...ANY_CHANGES]),
    ...apply(companies, false, ANY_CHANGES),
    ...differentPairs(persons, true, random),
    ...differentPairs(companies, false, random),
  ]
  return pairs.filter(({ asked, listed }) => plainOf(asked) !== plainOf(listed))
}
