/**
 * What whoever asks expects of a proof or token beside that it holds. One comparison for every route, for programs and for
 * browsers: a proof that holds answers the question that it was made for, which need not be theirs.
 * @module
 */
import { fail } from '../errors.ts'
import { isObject } from '../protocol/json-object.ts'
import { h248 } from './encode.ts'
import { equal } from './equality.ts'

const MS_PER_SECOND = 1000
/** How far ahead of the clock a time may lie: whoever makes a proof says its `now`. */
const MAX_AHEAD_MS = 120 * MS_PER_SECOND

/** Levels of kyc from the lowest, as the circuit numbers them from 1. */
export const EXPECTED_LEVELS = ['basic', 'standard', 'enhanced'] as const
type Level = (typeof EXPECTED_LEVELS)[number]

export interface Expectation {
  readonly circuit_id?: string
  /** Ids of organisations or signers, or addresses of services; one of them must have made it. */
  readonly issuers?: readonly string[]
  /** Who asked for it: `org` of its context. */
  readonly organisation?: string
  readonly audience?: string
  /** What nullifiers are scoped to. */
  readonly purpose?: string
  readonly nonce?: string
  /** Only the members that are listed are compared. */
  readonly statement?: Readonly<Record<string, unknown>>
  /** Of a token; of a proof of something issued, whether it must disclose the status: `required` or `not_required`. */
  readonly status?: string
  /** Or a higher one. */
  readonly min_level?: Level
  readonly decision?: 0 | 1
  /** Since it was attested; else since its signal `now`; else since it was recorded; else since it was issued. */
  readonly max_age_seconds?: number
}
type Name = keyof Expectation

/** Known by its `h248` alone, in decimal. */
interface Element {
  readonly element: string
}

/** What is known of something presented. Left out: such an expectation can't apply. Null: it isn't known, and so differs. */
export interface Facts {
  readonly circuit_id?: string | null
  /** `{element}` where only `h248` of an id is known, in decimal. */
  readonly issuers?: readonly (string | Element)[] | null
  readonly organisation?: string | null
  readonly audience?: string | Element | null
  readonly purpose?: string | null
  readonly nonce?: string | null
  readonly statement?: Readonly<Record<string, unknown>> | null
  readonly status?: string | null
  /** 1 for the first of {@link EXPECTED_LEVELS}. */
  readonly min_level?: number | null
  readonly decision?: 0 | 1 | null
  /** Unix ms from which its age counts. */
  readonly max_age_seconds?: number | null
}

export type ExpectationReason = `EXPECTATION_${Uppercase<Name>}`

const has = (statement: Facts['statement'], name: string, value: unknown): boolean =>
  isObject(statement) && Object.hasOwn(statement, name) && equal(statement[name], value) === true

const isTold = (told: string | Element | null | undefined, asked: string): boolean =>
  typeof told === 'object' ? told?.element === String(h248(asked)) : told === asked

const HOLDS: Readonly<Record<Name, (asked: Expectation, told: Facts, now: number) => boolean>> = {
  circuit_id: (asked, told) => told.circuit_id === asked.circuit_id,
  issuers: ({ issuers }, told) =>
    Array.isArray(issuers) &&
    (told.issuers ?? []).some((issuer) =>
      issuers.some((asked) => typeof asked === 'string' && isTold(issuer, asked)),
    ),
  organisation: (asked, told) => told.organisation === asked.organisation,
  audience: ({ audience }, told) => typeof audience === 'string' && isTold(told.audience, audience),
  purpose: (asked, told) => told.purpose === asked.purpose,
  nonce: (asked, told) => told.nonce === asked.nonce,
  statement: ({ statement }, told) =>
    isObject(statement) &&
    Object.entries(statement).every(([name, value]) => has(told.statement, name, value)),
  status: ({ status }, told) =>
    told.status === status || (status === 'not_required' && told.status === 'required'),
  min_level: (asked, told) => {
    const least = asked.min_level === undefined ? -1 : EXPECTED_LEVELS.indexOf(asked.min_level)
    return least >= 0 && (told.min_level ?? 0) > least
  },
  decision: (asked, told) => told.decision === asked.decision,
  max_age_seconds: ({ max_age_seconds: most }, { max_age_seconds: since }, now) =>
    typeof most === 'number' &&
    typeof since === 'number' &&
    now - since <= most * MS_PER_SECOND &&
    since - now <= MAX_AHEAD_MS,
}

/** The names of all expectations. */
const EXPECTATIONS = Object.keys(HOLDS) as readonly Name[]

const reasonOf = (name: Name): ExpectationReason =>
  // Names are in lower case.
  `EXPECTATION_${name.toUpperCase()}` as ExpectationReason

/** Every reason, with a sentence for people. */
export const EXPECTATION_REASONS = Object.fromEntries(
  EXPECTATIONS.map((name) => [reasonOf(name), `It differs from the \`${name}\` that was expected.`]),
) as Readonly<Record<ExpectationReason, string>>

/**
 * A reason for each expectation that differs from what is known.
 * @param now Unix ms
 * @throws AppError validation_failed for a name that can't apply to what is presented
 */
export const unexpected = (
  expect: Expectation | undefined,
  facts: Facts,
  now: number,
): ExpectationReason[] => {
  if (expect === undefined) return []
  const asked = Object.entries(expect).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  const names = EXPECTATIONS.filter((name) => asked.includes(name) && facts[name] !== undefined)
  const details = asked
    .filter((name) => !names.some((known) => known === name))
    .map((name) => ({
      path: `/expect/${name}`,
      code: 'not_applicable',
      message: 'does not apply to this item',
    }))
  if (details.length > 0) fail('validation_failed', { details })
  return names.filter((name) => facts[name] === null || !HOLDS[name](expect, facts, now)).map(reasonOf)
}
