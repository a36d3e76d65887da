/** Policies that every organisation has from the start. They decide until it writes its own. @module */
import { findCircuit } from '../../circuits/catalogue.ts'
import { isCurrency } from '../../protocol/currency.ts'
import { isObject } from '../../protocol/json-object.ts'
import type { PolicyRules } from './schemas.ts'

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

/** Sample facts as a policy would see them: those of a circuit with what the service adds. */
export const trialFacts = (policy: string, facts: Readonly<Record<string, unknown>>): object => {
  const { context } = facts
  return findCircuit(policy) !== undefined && isObject(context)
    ? { ...facts, currency_known: circuitFacts('', context).currency_known }
    : facts
}

/** The rules of a policy that nobody wrote, or undefined where there is none. */
export const seededRules = (name: string): PolicyRules | undefined => {
  if (name === FALLBACK_POLICY) return []
  return findCircuit(name) === undefined ? undefined : SOMEBODY_PAYS_A_USUAL_AMOUNT
}
