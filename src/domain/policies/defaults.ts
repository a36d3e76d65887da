/** Policies that every organisation has from the start. They decide until it writes its own. @module */
import { findCircuit } from '../../circuits/catalogue.ts'
import { fail } from '../../errors.ts'
import { unknownMember } from '../../json/unknown-members.ts'
import { isCurrency } from '../../protocol/currency.ts'
import type { PolicyRules, PolicyTrial } from './schemas.ts'

/** Decides where there is no policy of a resource's type. */
export const FALLBACK_POLICY = 'default'

/** Of one verification, in units of the currency. */
const MAX_AMOUNT = 10_000

const SOMEBODY_PAYS_A_USUAL_AMOUNT: PolicyRules = [
  {
    effect: 'permit',
    rules: [
      { field: 'identifier', op: 'ne', value: '' },
      { field: 'context.amount', op: 'gt', value: 0 },
      { field: 'context.amount', op: 'lte', value: MAX_AMOUNT },
      { field: 'currency_known', op: 'eq', value: true },
    ],
  },
]

/** What a policy of a circuit decides about. */
export interface CircuitFacts {
  readonly identifier: string
  /** As it was sent. */
  readonly context: Readonly<Record<string, unknown>>
  /** Whether `context.currency` is an ISO 4217 code. */
  readonly currency_known: boolean
}

/** The facts of `POST /v1/verify`. */
export const circuitFacts = (
  identifier: string,
  context: Readonly<Record<string, unknown>>,
): CircuitFacts => {
  const { currency } = context
  return { identifier, context, currency_known: typeof currency === 'string' && isCurrency(currency) }
}

type SampleFacts = PolicyTrial['facts']
type FactName = keyof SampleFacts

const OF_VERIFICATIONS: readonly FactName[] = ['identifier', 'context']
const OF_RESOURCES: readonly FactName[] = ['subject', 'action', 'resource', 'context']

/** Whether sample facts are of a verification. A resource may have the type of a circuit's name, too. */
export const areOfCircuit = (policy: string, facts: SampleFacts): boolean =>
  findCircuit(policy) !== undefined &&
  (['subject', 'action', 'resource'] as const).every((name) => facts[name] === undefined)

/**
 * Sample facts as real decisions see them, and nothing else: what only a trial could see would make it say what never happens.
 * @throws AppError unknown_member
 */
export const trialFacts = (facts: SampleFacts, ofCircuit: boolean): object => {
  const known = ofCircuit ? OF_VERIFICATIONS : OF_RESOURCES
  const unknown = Object.keys(facts).filter((name) => !known.some((one) => one === name))
  if (unknown.length > 0)
    fail('unknown_member', { details: unknown.map((name) => unknownMember('/facts', name, known)) })
  if (!ofCircuit) return facts
  const { identifier, context = {} } = facts
  // What a circuit is asked about is no fact.
  const { inputs: _, ...seen } = context
  const { currency_known } = circuitFacts('', seen)
  return { ...(identifier !== undefined && { identifier }), context: seen, currency_known }
}

/** The rules of a policy that nobody wrote, or undefined where there is none. */
export const seededRules = (name: string): PolicyRules | undefined => {
  if (name === FALLBACK_POLICY) return []
  return findCircuit(name) === undefined ? undefined : SOMEBODY_PAYS_A_USUAL_AMOUNT
}
