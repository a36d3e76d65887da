/** What came of checking something, for people: every check with what it found, and what all of them amount to. @module */
import { type Finding, ifReached, lacking } from '../result/finding.ts'

/** What a failed check means where everything else is as it should be: it is genuine, but holds no more. */
type Ending = 'EXPIRED' | 'REVOKED'

export interface Check extends Finding {
  readonly title: string
  /** Of a failed check: what is wrong, in the word that the service has for it. */
  readonly fault?: string
  readonly ending?: Ending
  /** Of a skipped check: what stays open without it, such as “whether it was revoked”. Then no YES is a plain one. */
  readonly open?: string
}

export const pass = (title: string, detail: string): Check => ({ title, outcome: 'passed', detail })
export const refuse = (title: string, fault: string, detail: string): Check => ({
  title,
  outcome: 'failed',
  fault,
  detail,
})
/** Genuine, but over. */
export const ended = (title: string, ending: Ending, fault: string, detail: string): Check => ({
  ...refuse(title, fault, detail),
  ending,
})
/** Without this check nothing can be said. */
export const lack = (title: string, detail: string): Check => ({ title, ...lacking(detail) })
/** What the rest says may be over by now, and nobody here can tell. @param open what stays open, such as “whether it was revoked” */
export const leaveOpen = (title: string, open: string, detail: string): Check => ({
  title,
  outcome: 'skipped',
  detail,
  open,
})
/** Something that this one has nothing for. */
export const leave = (title: string, detail: string): Check => ({ title, outcome: 'skipped', detail })

/** A check that needs something of the service: without it, it is not made, and nothing is said. */
export const attempt = async (title: string, check: () => Promise<Check>): Promise<Check> => ({
  title,
  ...(await ifReached(check)),
})

export type Verdict =
  | 'VALID'
  /** Everything that was checked is right, and whether it still counts was not. */
  | 'OPEN'
  | Ending
  | 'INVALID'
  | 'UNKNOWN'

/** A line of what was signed or proven: what it is called, and what it says. */
export type Fact = readonly [title: string, text: string]

/** What was found of one kind. */
export interface Found {
  /** What it is, such as “Signed result”. */
  readonly what: string
  readonly checks: readonly Check[]
  /** What it says; shown only where it is genuine. */
  readonly facts?: readonly Fact[]
  /** In a word and a sentence what it means that all checks passed; `isPlain`: it is what people take a “valid” for. */
  readonly meaning: { readonly word: string; readonly text: string; readonly isPlain: boolean }
  /** What only somebody else can tell. */
  readonly notChecked?: readonly string[]
  /** What was asked, as far as the service publishes it. */
  readonly asked?: unknown
  /** Whether its holder shows it to somebody, who can say what they had asked for. */
  readonly isPresentation?: boolean
  /** A page of the service about it. */
  readonly page?: string
}

export interface Report extends Omit<Found, 'meaning'> {
  readonly verdict: Verdict
  readonly tone: 'good' | 'warn' | 'bad'
  readonly word: string
  readonly text: string
  /** The first thing that is wrong. */
  readonly fault?: string
}

const isOpen = ({ outcome, open }: Check): boolean => outcome === 'skipped' && open !== undefined

const verdictOf = ({ checks, meaning }: Found): Verdict => {
  const failures = checks.filter(({ outcome }) => outcome === 'failed')
  if (failures.some(({ ending }) => ending === undefined)) return 'INVALID'
  if (failures.some(({ ending }) => ending === 'REVOKED')) return 'REVOKED'
  if (failures.length > 0) return 'EXPIRED'
  if (checks.length === 0 || lackingOf(checks).length > 0) return 'UNKNOWN'
  // What is no plain YES is shown as such anyway.
  return meaning.isPlain && checks.some(isOpen) ? 'OPEN' : 'VALID'
}

const ENDED: Readonly<Record<Ending, string>> = {
  EXPIRED: 'its time is over.',
  REVOKED: 'it was withdrawn or revoked: don’t rely on it.',
}

/** Checks without which nothing can be said. */
const lackingOf = (checks: readonly Check[]): readonly Check[] =>
  checks.filter(({ outcome, isEssential }) => outcome === 'skipped' && isEssential)

const titlesOf = (checks: readonly Check[]): string => checks.map(({ title }) => title).join(', ')

const endedText = (ending: Ending, lacking: readonly Check[]): string =>
  lacking.length === 0
    ? `Nothing else is wrong with it, but ${ENDED[ending]}`
    : `This page could not check what matters (${titlesOf(lacking)}), and ${ENDED[ending]}`

const summaryOf = (
  verdict: Verdict,
  { checks, meaning }: Found,
): Pick<Report, 'tone' | 'word' | 'text' | 'fault'> => {
  const failed = checks.find(({ outcome, ending }) => outcome === 'failed' && ending === undefined)
  const over = checks.find(({ ending }) => ending === verdict)
  const lacking = lackingOf(checks)
  const left = checks.filter(({ outcome }) => outcome === 'skipped').map(({ title }) => title)
  switch (verdict) {
    case 'INVALID':
      return {
        tone: 'bad',
        word: 'Not valid',
        text: `Don’t rely on it. ${failed?.detail}`,
        fault: failed?.fault,
      }
    case 'REVOKED':
      return { tone: 'bad', word: 'Revoked', text: endedText(verdict, lacking), fault: over?.fault }
    case 'EXPIRED':
      return { tone: 'warn', word: 'Expired', text: endedText(verdict, lacking), fault: over?.fault }
    case 'UNKNOWN':
      return {
        tone: 'warn',
        word: 'Not verified',
        text: `This page says nothing about it, since it could not check what matters: ${titlesOf(lacking) || 'anything'}.`,
      }
    case 'OPEN': {
      const open = checks.filter(isOpen)
      const others = left.filter((title) => open.every((one) => one.title !== title))
      const rest = others.length === 0 ? [] : [`Not checked: ${others.join(', ')}.`]
      return {
        tone: 'warn',
        word: `${meaning.word}, but ${open.map((one) => one.open).join(', and ')} was not checked`,
        text: [meaning.text, ...open.map(({ detail }) => detail), ...rest].join(' '),
      }
    }
    case 'VALID':
      return {
        tone: meaning.isPlain ? 'good' : 'warn',
        word: meaning.word,
        text: left.length === 0 ? meaning.text : `${meaning.text} Not checked: ${left.join(', ')}.`,
      }
  }
}

/** Never VALID where something failed, or where something that matters was not checked; nor green where it may be over by now. */
export const conclude = (found: Found): Report => {
  const { meaning: _, facts, page, asked, ...rest } = found
  const verdict = verdictOf(found)
  const isGenuine = verdict !== 'INVALID' && verdict !== 'UNKNOWN' && lackingOf(found.checks).length === 0
  return { ...rest, ...(isGenuine && { facts, page, asked }), verdict, ...summaryOf(verdict, found) }
}

/** What is none of the things that this page checks. @param fault where it is damaged */
export const notRecognised = (why: string, fault?: string): Report => ({
  what: 'Not recognised',
  verdict: fault === undefined ? 'UNKNOWN' : 'INVALID',
  tone: fault === undefined ? 'warn' : 'bad',
  word: fault === undefined ? 'Not recognised' : 'Not valid',
  text: why,
  fault,
  checks: [],
})

const MS_PER_SECOND = 1000

/** @param seconds Unix seconds */
export const timeWords = (seconds: number): string => {
  const date = new Date(seconds * MS_PER_SECOND)
  return Number.isNaN(date.getTime()) ? String(seconds) : date.toISOString().replace('.000Z', 'Z')
}

const MAX_SHOWN_CHARACTERS = 2_000
/** What would move, hide or reorder the text beside it. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

const jsonOf = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? 'nothing'
  } catch {
    // JSON that was read may be deeper than can be written.
    return 'something too deep to be shown'
  }
}

/** What somebody else wrote, as it may be shown: what can't be seen is told by its code. */
export const visible = (value: unknown): string => {
  const text = typeof value === 'string' ? value : jsonOf(value)
  const shown = text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}…` : text
  return shown.replaceAll(UNSEEN, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}

/** That nothing of an answer was compared with what stands in it. @param names of the rest of the answer */
export const besideChecks = (names: readonly string[] = []): Check[] =>
  names.length === 0
    ? []
    : [
        leave(
          'Answer',
          `What stands beside it was not compared with it, and proves nothing: ${visible(names.join(', '))}.`,
        ),
      ]
