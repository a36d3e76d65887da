/**
 * Somebody against all lists: candidates by name and by identifier, their score, and what it means for each type of check.
 * A hit takes a name and a second attribute; a name alone, however alike, is for a person to review.
 * @module
 */
import pLimit from 'p-limit'
import { compareBirth, compareCountry } from './attributes.ts'
import { createBreather } from './breather.ts'
import { type CheckType, comparableIdentifier, entryDigest, type ListEntry } from './entry.ts'
import { createEntryStoreBuilder, type EntryStore, type Listed } from './entry-store.ts'
import { explainNames, type NameFinding } from './names/explain.ts'
import { createNameIndexBuilder, type NameIndex } from './names/name-index.ts'
import { MAX_NAME_TOKENS, MAX_TOKEN_CHARACTERS, readName } from './names/name-tokens.ts'
import { growingInts } from './names/postings.ts'
import { latinOf } from './names/scripts.ts'

/** Raised by whatever changes a score: answers carry it, so that those of different comparisons can be told apart. */
export const COMPARISON_VERSION = 'names-4'
/** From here on a name with a second attribute that agrees is a hit. */
export const HIT_SCORE = 95
/** From here on a match is for review. */
export const REVIEW_SCORE = 85
/** A name that its publisher calls weak never counts as more. */
const WEAK_NAME_SCORE = 94
/** A date of birth that differs takes this from the score: lists err, so that the very name stays for review. */
const BIRTH_DIFFERS_POINTS = 12
/** The same document under another name. */
const IDENTIFIER_SCORE = 85
/** A date of birth that agrees to the day helps a name that was written wrongly; a name that agrees needs no help. */
const BIRTH_AGREES_POINTS = 5
const MAX_HELPED_SCORE = 94.9
export const MAX_MATCHES = 10

export type ScreeningResult = 'clear' | 'review' | 'hit'

/** Whom to look for. */
export interface Subject {
  readonly name?: string
  /** `YYYY-MM-DD` */
  readonly dateOfBirth?: string
  /** ISO 3166-1 alpha-2, upper case. */
  readonly country?: string
  readonly identifiers: readonly string[]
}

export interface Explanation {
  readonly attribute: 'name' | 'date_of_birth' | 'country' | 'identifier'
  readonly effect: 'agrees' | 'close' | 'differs'
  readonly detail: string
}

export interface Match {
  readonly listId: string
  readonly entryId: string
  /** {@link entryDigest} of the entry. */
  readonly entryDigest: string
  /** The main name of the entry. */
  readonly name: string
  /** 0 to 100, one decimal. */
  readonly score: number
  readonly result: Exclude<ScreeningResult, 'clear'>
  readonly explanations: readonly Explanation[]
}

export interface Screened {
  readonly result: ScreeningResult
  /** 0 to 100: up to 42 where clear, 50 to 89 for review, 90 and more for a hit. */
  readonly riskScore: number
  /** Best first, ten at most. */
  readonly matches: readonly Match[]
}

export interface Screening {
  readonly entries: number
  readonly names: number
  /**
   * Gives way to others while it searches; searches are done one after the other.
   * @param among only these entries count; default: all
   * @returns undefined for a name that is not {@link isComparable}
   */
  screen(subject: Subject, among?: Among): Promise<((type: CheckType) => Screened) | undefined>
  /** Whether anything is similar at all, well below what is reported; costs less than a screening. */
  mayMatch(subject: Subject): Promise<boolean>
  /** An entry by its publisher's id. */
  entry(listId: string, entryId: string): ListEntry | undefined
  readonly index: NameIndex
}

/** Which entries are looked at. */
export type Among = (listId: string, entryId: string) => boolean

export interface ScreeningBuilder {
  add(listId: string, entry: ListEntry): void
  build(): Promise<Screening>
}

/** The best name of an entry. */
interface Candidate extends Listed {
  /** Of its names, in the index; undefined where only an identifier agrees. */
  readonly name: number | undefined
  readonly text: string
  readonly isWeak: boolean
  readonly score: number
  readonly evidence: number
}

/** An entry that was compared in all attributes, whatever came of it. */
interface Compared extends Omit<Match, 'result' | 'entryDigest'> {
  readonly result: ScreeningResult
  readonly candidate: Candidate
  readonly agreeing: number
}

const nameExplanation = ({ text, score, isWeak }: Candidate): Explanation => ({
  attribute: 'name',
  effect: score >= HIT_SCORE ? 'agrees' : score >= REVIEW_SCORE ? 'close' : 'differs',
  detail: `${score} of 100, compared with "${text}"${isWeak ? ', which its publisher calls weak' : ''}`,
})

const inWords = ({ effect, detail }: NameFinding): Explanation => ({ attribute: 'name', effect, detail })

const otherExplanations = (
  subject: Subject,
  { births, countries, identifiers }: ListEntry,
): Explanation[] => {
  const found: Explanation[] = []
  const { dateOfBirth, country } = subject
  const birth = dateOfBirth && compareBirth(dateOfBirth, births)
  if (birth) {
    const spans = births.map(({ from, to }) => (from === to ? from : `${from} to ${to}`))
    const remark = birth === 'close' ? '; near or vague, so neither for nor against' : ''
    found.push({ attribute: 'date_of_birth', effect: birth, detail: `listed: ${spans.join(', ')}${remark}` })
  }
  const place = country && compareCountry(country, countries)
  if (place) {
    const remark = place === 'close' ? '; another country is no contradiction' : ''
    found.push({ attribute: 'country', effect: place, detail: `listed: ${countries.join(', ')}${remark}` })
  }
  const shared = subject.identifiers.map(comparableIdentifier).filter((one) => identifiers.includes(one))
  if (shared.length > 0)
    found.push({ attribute: 'identifier', effect: 'agrees', detail: `listed: ${shared.join(', ')}` })
  return found
}

const compare = (subject: Subject, candidate: Candidate): Compared => {
  const { listId, entry } = candidate
  const others = otherExplanations(subject, entry)
  const says = (attribute: Explanation['attribute'], effect: Explanation['effect']): boolean =>
    others.some((one) => one.attribute === attribute && one.effect === effect)
  const differs = says('date_of_birth', 'differs')
  const helps =
    candidate.score > 0 && entry.births.some(({ from, to }) => from === to && from === subject.dateOfBirth)
  const helped = helps
    ? Math.max(candidate.score, Math.min(MAX_HELPED_SCORE, candidate.score + BIRTH_AGREES_POINTS))
    : candidate.score
  const lowered = Math.max(0, helped - (differs ? BIRTH_DIFFERS_POINTS : 0))
  const score = says('identifier', 'agrees') ? Math.max(lowered, IDENTIFIER_SCORE) : lowered
  const isHit = lowered >= HIT_SCORE && others.some(({ effect }) => effect === 'agrees') && !differs
  return {
    listId,
    entryId: entry.id,
    name: entry.names[0]?.text ?? '',
    score: Math.round(score * 10) / 10,
    result: isHit ? 'hit' : score >= REVIEW_SCORE ? 'review' : 'clear',
    explanations: [nameExplanation(candidate), ...others],
    candidate,
    agreeing: others.filter(({ effect }) => effect === 'agrees').length,
  }
}

/** Within the result's range, by the best score: linear, so that it is 100 for a perfect hit only. */
export const riskOf = (result: ScreeningResult, score: number): number => {
  if (result === 'hit') return Math.round(90 + ((score - HIT_SCORE) / (100 - HIT_SCORE)) * 10)
  if (result === 'review') return Math.round(50 + ((score - REVIEW_SCORE) / (100 - REVIEW_SCORE)) * 39)
  return Math.round(score / 2)
}

const RANK: Readonly<Record<ScreeningResult, number>> = { hit: 2, review: 1, clear: 0 }

/** The worse of two results. */
export const worse = (a: ScreeningResult, b: ScreeningResult): ScreeningResult => (RANK[a] >= RANK[b] ? a : b)

/** Of two that score the same, the one for which more speaks: attributes first, then the weight of the words that agree. */
const byStrength = (a: Compared, b: Compared): number =>
  RANK[b.result] - RANK[a.result] ||
  b.score - a.score ||
  b.agreeing - a.agreeing ||
  b.candidate.evidence - a.candidate.evidence

/** @param toMatch made once for each entry, whatever types it is listed for */
const screenedFor = (
  compared: readonly Compared[],
  type: CheckType,
  toMatch: (compared: Compared) => Match,
): Screened => {
  const concerned = compared.filter(({ candidate }) => candidate.entry.types.includes(type))
  const [worst] = concerned
  const result = worst?.result ?? 'clear'
  const found = concerned.filter((one) => one.result !== 'clear').slice(0, MAX_MATCHES)
  return { result, riskScore: riskOf(result, worst?.score ?? 0), matches: found.map(toMatch) }
}

/** @param explain what made the score of a name, in words */
const matchOf = (
  { listId, entryId, name, score, result, explanations, candidate }: Compared,
  explain: (candidate: Candidate) => readonly Explanation[],
): Match => {
  const [first, ...others] = explanations
  return {
    listId,
    entryId,
    entryDigest: entryDigest(candidate.entry),
    name,
    score,
    result: result === 'hit' ? 'hit' : 'review',
    explanations: first === undefined ? [] : [first, ...explain(candidate), ...others],
  }
}

const LETTER = /\p{L}/u

/**
 * Whether a name has a word that is more than an initial or a number. Initials fit everybody, so that nobody is found by them, nor
 * cleared; a title or digits beside them tell nobody apart.
 */
export const isComparable = (name: string): boolean => {
  const { words } = readName(name, true)
  return words.some((word) => LETTER.test(word) && (word.length > 1 || latinOf(word).length > 1))
}

/** Whether there is more of a name than is compared, so that nobody is clear by it. */
export const isTooLong = (name: string): boolean => readName(name, true).isCut
export const COMPARED_AT_MOST = `${MAX_NAME_TOKENS} words of ${MAX_TOKEN_CHARACTERS} characters`

export const createScreeningBuilder = (weighing?: Screening): ScreeningBuilder => {
  const names = createNameIndexBuilder(weighing?.index)
  const entries = createEntryStoreBuilder()
  /** By number of the name: whose it is, the how manieth of its names, and whether it is weak. */
  const owners = growingInts()
  const places = growingInts()
  const weak = growingInts()
  return {
    add(listId, entry) {
      for (const [place, { text, weak: isWeak = false }] of entry.names.entries()) {
        names.add(text, entry.kind === 'person')
        owners.push(entries.count)
        places.push(place)
        weak.push(isWeak ? 1 : 0)
      }
      entries.add(listId, entry)
    },
    async build() {
      const breathe = createBreather()
      return createScreening({
        index: await names.build(),
        entries: await entries.build(breathe),
        owners: await owners.pack(breathe),
        places: await places.pack(breathe),
        weak: Uint8Array.from(await weak.pack(breathe)),
      })
    },
  }
}

interface Parts {
  readonly index: NameIndex
  readonly entries: EntryStore
  readonly owners: Int32Array
  readonly places: Int32Array
  readonly weak: Uint8Array
}

/** The best name of an entry, by its number in the index. */
interface BestName {
  readonly name: number
  readonly score: number
  readonly evidence: number
}

const createScreening = ({ index, entries, owners, places, weak }: Parts): Screening => {
  const oneAtATime = pLimit(1)

  /** Run in pieces: other requests are answered in between. */
  const search = async (name: string) => {
    const breathe = createBreather()
    const steps = index.search(name)
    for (;;) {
      const step = steps.next()
      if (step.done) return step.value
      await breathe()
    }
  }

  /** By number of the entry; undefined where only an identifier agrees. */
  const bestNames = async ({
    name,
    identifiers,
  }: Subject): Promise<ReadonlyMap<number, BestName | undefined>> => {
    const best = new Map<number, BestName | undefined>()
    const found = name === undefined ? [] : await oneAtATime(() => search(name))
    for (const { name: number, score: raw, evidence } of found) {
      const owner = owners[number] as number
      const score = weak[number] === 1 ? Math.min(raw, WEAK_NAME_SCORE) : raw
      if (score > (best.get(owner)?.score ?? 0)) best.set(owner, { name: number, score, evidence })
    }
    for (const identifier of identifiers)
      for (const owner of entries.withIdentifier(comparableIdentifier(identifier)))
        if (!best.has(owner)) best.set(owner, undefined)
    return best
  }

  const candidateOf = (number: number, best: BestName | undefined): Candidate => {
    const listed = entries.at(number)
    const text = listed.entry.names[best === undefined ? 0 : (places[best.name] as number)]?.text ?? ''
    if (best === undefined) return { ...listed, name: undefined, text, isWeak: false, score: 0, evidence: 0 }
    return { ...listed, ...best, text, isWeak: weak[best.name] === 1 }
  }

  /** Best first. */
  const comparedWith = async (subject: Subject, among: Among | undefined): Promise<Compared[]> => {
    const breathe = createBreather()
    const compared: Compared[] = []
    for (const [number, best] of await bestNames(subject)) {
      const candidate = candidateOf(number, best)
      if (among === undefined || among(candidate.listId, candidate.entry.id))
        compared.push(compare(subject, candidate))
      await breathe()
    }
    return compared.toSorted(byStrength)
  }

  return {
    entries: entries.count,
    names: owners.length,
    index,
    async screen(subject, among) {
      const { name } = subject
      if (name !== undefined && !isComparable(name)) return undefined
      const compared = await comparedWith(subject, among)
      const explain = (candidate: Candidate): Explanation[] =>
        name === undefined || candidate.name === undefined
          ? []
          : explainNames(index.compare(name, candidate.name)).map(inWords)
      const matches = new Map<Compared, Match>()
      const toMatch = (one: Compared): Match => {
        const match = matches.get(one) ?? matchOf(one, explain)
        matches.set(one, match)
        return match
      }
      return (type) => screenedFor(compared, type, toMatch)
    },
    mayMatch: async (subject) =>
      (await bestNames(subject)).size > 0 && (subject.name === undefined || isComparable(subject.name)),
    entry: entries.find,
  }
}

/**
 * All entries of the lists as one index.
 * @param lists entries by list, each read once
 * @param weighing what says how much words count; default: these lists
 */
export const buildScreening = async (
  lists: readonly {
    readonly listId: string
    readonly entries: AsyncIterable<ListEntry> | Iterable<ListEntry>
  }[],
  weighing?: Screening,
): Promise<Screening> => {
  const builder = createScreeningBuilder(weighing)
  const breathe = createBreather()
  for (const { listId, entries } of lists) {
    for await (const entry of entries) {
      builder.add(listId, entry)
      await breathe()
    }
  }
  return builder.build()
}
