/**
 * The question as it is kept and shown to whoever has a result's address. With a YES, a value that was compared for
 * equality or searched for would tell what the data hold, so such values are left out; bounds and booleans stay.
 * @module
 */
import { isObject } from '../../protocol/json-object.ts'
import type { AskedRules } from '../../rules/hash.ts'

/** `{rules, logic}` as they were asked, without the values that are not shown. */
export interface Asked {
  readonly rules?: unknown[]
  readonly logic?: unknown
}

const BOUNDS: readonly unknown[] = ['lt', 'lte', 'gt', 'gte', 'between', 'nonbetween', 'exists']
const EQUALITIES: readonly unknown[] = ['eq', 'ne']

const isShown = (op: unknown, value: unknown): boolean =>
  BOUNDS.includes(op) || (EQUALITIES.includes(op) && typeof value === 'boolean')

/** @param node of a tree that was read, so its depth is bounded */
const shownNode = (node: unknown): unknown => {
  if (!isObject(node)) return node
  const { op, children, child, value, ...rest } = node
  if (Array.isArray(children)) return { op, children: children.map(shownNode) }
  if (child !== undefined) return { op, child: shownNode(child) }
  return { ...rest, op, ...(value !== undefined && isShown(op, value) && { value }) }
}

/** What may be shown of a question; undefined where nothing was asked. */
export const shownQuestion = ({ rules, logic }: AskedRules): Asked | undefined => {
  if (rules === undefined && logic === undefined) return undefined
  return {
    ...(Array.isArray(rules) && { rules: rules.map(shownNode) }),
    ...(logic !== undefined && { logic: shownNode(logic) }),
  }
}

/** Whether a value was left out. The proof's public signals would tell it, so they are not shown either. */
export const isIncomplete = (node: unknown): boolean => {
  if (Array.isArray(node)) return node.some(isIncomplete)
  if (!isObject(node)) return false
  const { op, field, value, rules, logic, child, children } = node
  if (typeof field === 'string') return op !== 'exists' && value === undefined
  return [rules, logic, child, children].some(isIncomplete)
}
