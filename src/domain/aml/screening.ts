/**
 * Somebody against all lists: candidates by name and by identifier, their score, and what it means for each type of check.
 * A hit takes a name and a second attribute; a name alone, however alike, is for a person to review.
 * @module
 */
import { compareBirth, compareCountry } from './attributes.ts'
import { createBreather } from './breather.ts'
import { type CheckType, comparableIdentifier, type ListEntry } from './entry.ts'
import { createNameIndexBuilder, type NameIndex } from './names/name-index.ts'
import { ABJAD_MARK, nameTokens } from './names/name-tokens.ts'

/** From here on a name with a second attribute that agrees is a hit. */
const HIT_SCORE = 95
/** From here on a match is for review. */
const REVIEW_SCORE = 85
/** A name that its publisher calls weak never counts as more. */
const WEAK_NAME_SCORE = 94
/** A date of birth that differs takes this from the score: lists err, so that the very name stays for review. */
const BIRTH_DIFFERS_POINTS = 12
/** The same document under another name. */
const IDENTIFIER_SCORE = 85
const MAX_MATCHES = 10

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
  /** @returns undefined for a name of nothing but initials, or without any letter or digit */
  screen(subject: Subject): ((type: CheckType) => Screened) | undefined
}

export interface ScreeningBuilder {
  add(listId: string, entry: ListEntry): void
  build(): Promise<Screening>
}

interface Listed {
  readonly listId: string
  readonly entry: ListEntry
}

/** The best name of an entry. */
interface Candidate extends Listed {
  readonly text: string
  readonly score: number
}

/** An entry that was compared in all attributes, whatever came of it. */
interface Compared extends Omit<Match, 'result'> {
  readonly result: ScreeningResult
  readonly types: readonly CheckType[]
}

const nameExplanation = ({ text, score }: Candidate): Explanation => ({
  attribute: 'name',
  effect: score >= HIT_SCORE ? 'agrees' : score >= REVIEW_SCORE ? 'close' : 'differs',
  detail: `${score} of 100 against "${text}"`,
})

const otherExplanations = (
  subject: Subject,
  { births, countries, identifiers }: ListEntry,
): Explanation[] => {
  const found: Explanation[] = []
  const { dateOfBirth, country } = subject
  const birth = dateOfBirth && compareBirth(dateOfBirth, births)
  if (birth) {
    const spans = births.map(({ from, to }) => (from === to ? from : `${from} to ${to}`))
    found.push({ attribute: 'date_of_birth', effect: birth, detail: `listed: ${spans.join(', ')}` })
  }
  const place = country && compareCountry(country, countries)
  if (place) found.push({ attribute: 'country', effect: place, detail: `listed: ${countries.join(', ')}` })
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
  const lowered = Math.max(0, candidate.score - (differs ? BIRTH_DIFFERS_POINTS : 0))
  const score = says('identifier', 'agrees') ? Math.max(lowered, IDENTIFIER_SCORE) : lowered
  const isHit = lowered >= HIT_SCORE && others.some(({ effect }) => effect === 'agrees') && !differs
  return {
    listId,
    entryId: entry.id,
    name: entry.names[0]?.text ?? '',
    score: Math.round(score * 10) / 10,
    result: isHit ? 'hit' : score >= REVIEW_SCORE ? 'review' : 'clear',
    explanations: [nameExplanation(candidate), ...others],
    types: entry.types,
  }
}

/** Within the result's range, by the best score: linear, so that it is 100 for a perfect hit only. */
const riskOf = (result: ScreeningResult, score: number): number => {
  if (result === 'hit') return Math.round(90 + ((score - HIT_SCORE) / (100 - HIT_SCORE)) * 10)
  if (result === 'review') return Math.round(50 + ((score - REVIEW_SCORE) / (100 - REVIEW_SCORE)) * 39)
  return Math.round(score / 2)
}

const RANK: Readonly<Record<ScreeningResult, number>> = { hit: 2, review: 1, clear: 0 }

/** The worse of two results. */
export const worse = (a: ScreeningResult, b: ScreeningResult): ScreeningResult => (RANK[a] >= RANK[b] ? a : b)

const screenedFor = (compared: readonly Compared[], type: CheckType): Screened => {
  const concerned = compared.filter(({ types }) => types.includes(type))
  const [worst] = concerned
  const result = worst?.result ?? 'clear'
  const matches = concerned.flatMap(({ types, result, ...match }) =>
    result === 'clear' ? [] : [{ ...match, result }],
  )
  return { result, riskScore: riskOf(result, worst?.score ?? 0), matches: matches.slice(0, MAX_MATCHES) }
}

/** Initials fit everybody, so that nobody is found by them. */
const isComparable = (name: string): boolean =>
  nameTokens(name).some((token) => token.replace(ABJAD_MARK, '').length > 1)

export const createScreeningBuilder = (): ScreeningBuilder => {
  const names = createNameIndexBuilder()
  const listed: Listed[] = []
  /** By number of the name: which entry has it, and as what. */
  const owners: { readonly entry: number; readonly text: string; readonly weak: boolean }[] = []
  const byIdentifier = new Map<string, number[]>()
  return {
    add(listId, entry) {
      const number = listed.push({ listId, entry }) - 1
      for (const { text, weak = false } of entry.names) {
        names.add(text)
        owners.push({ entry: number, text, weak })
      }
      for (const identifier of entry.identifiers) {
        const known = byIdentifier.get(identifier)
        if (known) known.push(number)
        else byIdentifier.set(identifier, [number])
      }
    },
    async build() {
      const index = await names.build()
      return createScreening({ index, listed, owners, byIdentifier })
    },
  }
}

interface Parts {
  readonly index: NameIndex
  readonly listed: readonly Listed[]
  readonly owners: readonly { readonly entry: number; readonly text: string; readonly weak: boolean }[]
  readonly byIdentifier: ReadonlyMap<string, readonly number[]>
}

const createScreening = ({ index, listed, owners, byIdentifier }: Parts): Screening => {
  /** By number of the entry. */
  const candidatesOf = ({ name, identifiers }: Subject): Map<number, Candidate> => {
    const found = new Map<number, Candidate>()
    for (const { name: number, score: raw } of name === undefined ? [] : index.search(name)) {
      const owner = owners[number]
      const own = owner && listed[owner.entry]
      if (owner === undefined || own === undefined) continue
      const score = owner.weak ? Math.min(raw, WEAK_NAME_SCORE) : raw
      if (score > (found.get(owner.entry)?.score ?? 0))
        found.set(owner.entry, { ...own, text: owner.text, score })
    }
    for (const number of identifiers.flatMap((one) => byIdentifier.get(comparableIdentifier(one)) ?? [])) {
      const own = listed[number]
      if (own && !found.has(number))
        found.set(number, { ...own, text: own.entry.names[0]?.text ?? '', score: 0 })
    }
    return found
  }
  return {
    entries: listed.length,
    names: owners.length,
    screen(subject) {
      if (subject.name !== undefined && !isComparable(subject.name)) return undefined
      const compared = [...candidatesOf(subject).values()]
        .map((candidate) => compare(subject, candidate))
        .toSorted((a, b) => RANK[b.result] - RANK[a.result] || b.score - a.score)
      return (type) => screenedFor(compared, type)
    },
  }
}

/** All entries of the lists as one index. @param lists entries by list, each read once */
export const buildScreening = async (
  lists: readonly {
    readonly listId: string
    readonly entries: AsyncIterable<ListEntry> | Iterable<ListEntry>
  }[],
): Promise<Screening> => {
  const builder = createScreeningBuilder()
  const breathe = createBreather()
  for (const { listId, entries } of lists) {
    for await (const entry of entries) {
      builder.add(listId, entry)
      await breathe()
    }
  }
  return builder.build()
}
