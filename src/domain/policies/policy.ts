/**
 * What a policy says of facts. All its rules together are one tree of the rule language, so that a decision can be
 * proved as it was made: one rule that permits holds, and none that denies, in three values. A rule that denies and
 * lacks its data is unknown, and so is then the whole: it is a NO.
 * @module
 */
import { AppError, fail } from '../../errors.ts'
import { type Decision, decide } from '../../rules/evaluate.ts'
import type { Tree } from '../../rules/rule.ts'
import { parseRules } from '../../rules/tree.ts'
import type { Obligation, PolicyRule, PolicyRules } from './schemas.ts'

/** Reason codes that policies add to those of their own rules. */
export const REASONS = {
  seeded: 'DEFAULT_POLICY',
  permitted: 'RULE_PERMITS',
  denied: 'RULE_DENIES',
  missing: 'MISSING_DATA',
  nothing: 'NO_RULE_PERMITS',
} as const

interface ReadRule extends PolicyRule {
  readonly tree: Tree
}

/** A policy that was read. */
export interface Policy {
  readonly rules: readonly ReadRule[]
  /** What all of its rules come to; undefined when none permits, so that nothing can be YES. */
  readonly tree: Tree | undefined
}

export interface PolicyDecision extends Decision {
  readonly reasonCodes: readonly string[]
  /** Of the rules that decided. */
  readonly obligations: readonly Obligation[]
}

type Node = object

/** A rule's condition as one node of a logic tree. */
const conditionOf = ({ rules, logic }: PolicyRule): Node => {
  const all: Node[] = [...(rules ?? []), ...(logic === undefined ? [] : [logic])]
  const [only] = all
  return all.length === 1 && only !== undefined ? only : { op: 'AND', children: all }
}

const oneOf = (nodes: readonly Node[]): Node =>
  nodes.length === 1 && nodes[0] !== undefined ? nodes[0] : { op: 'OR', children: nodes }

const wholeOf = (rules: PolicyRules): Node | undefined => {
  const conditions = (effect: PolicyRule['effect']) =>
    rules.filter((rule) => rule.effect === effect).map(conditionOf)
  const permits = conditions('permit')
  const denies = conditions('deny')
  if (permits.length === 0) return undefined
  if (denies.length === 0) return oneOf(permits)
  return { op: 'AND', children: [oneOf(permits), { op: 'NOT', child: oneOf(denies) }] }
}

/** The tree of all rules, each of which was read before, so what is wrong now is that they are too much together. */
const readWhole = (rules: PolicyRules): Tree | undefined => {
  const whole = wholeOf(rules)
  try {
    return whole && parseRules(undefined, whole)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const message =
      'The conditions of all rules together are too many or nested too deeply, or their patterns repeat too much.'
    return fail('tree_too_large', { details: [{ path: '/rules', code: 'tree_too_large', message }] })
  }
}

/**
 * Reads a policy.
 * @throws AppError validation_failed, tree_too_large; all conditions together are held to the limits of one tree
 */
export const readPolicy = (rules: PolicyRules): Policy => {
  const read = rules.map((rule, i) => ({ ...rule, tree: parseRules(rule.rules, rule.logic, `/rules/${i}`) }))
  return { rules: read, tree: readWhole(rules) }
}

const obligationsOf = (rules: readonly PolicyRule[]): Obligation[] =>
  rules.flatMap(({ obligations = [] }) => obligations)

const codesOf = (rules: readonly PolicyRule[], otherwise: string): string[] => [
  ...new Set(rules.map(({ reason = otherwise }) => reason)),
]

/** Decides by a policy. Never throws: `facts` is any JSON value. */
export const decideByPolicy = ({ rules, tree }: Policy, facts: unknown): PolicyDecision => {
  const decision: Decision = tree === undefined ? { decision: 'NO' } : decide(tree, facts)
  const holding = (effect: PolicyRule['effect']) =>
    rules.filter((rule) => rule.effect === effect && decide(rule.tree, facts).decision === 'YES')
  if (decision.decision === 'YES') {
    const permits = holding('permit')
    return {
      ...decision,
      reasonCodes: codesOf(permits, REASONS.permitted),
      obligations: obligationsOf(permits),
    }
  }
  const denies = holding('deny')
  if (denies.length > 0)
    return { ...decision, reasonCodes: codesOf(denies, REASONS.denied), obligations: obligationsOf(denies) }
  return {
    ...decision,
    reasonCodes: [decision.reason === undefined ? REASONS.nothing : REASONS.missing],
    obligations: [],
  }
}
