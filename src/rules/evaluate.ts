/**
 * Decides a tree of rules over data, in three values: what is missing stays unknown on its way up, so that
 * the negation of a missing value is not true (Kleene's strong three-valued logic).
 * @module
 */
import { valueAt } from './field-path.ts'
import type { Tree, Truth } from './rule.ts'

export interface Decision {
  readonly decision: 'YES' | 'NO'
  /** Why a NO was not decided by the values: something it depends on is missing or can't be compared. */
  readonly reason?: 'missing_data'
}

const not = (truth: Truth): Truth => (truth === undefined ? undefined : !truth)

/** False as soon as one is; otherwise unknown if one is. */
const all = (children: readonly Tree[], data: unknown): Truth => {
  let known = true
  for (const child of children) {
    const truth = truthOf(child, data)
    if (truth === false) return false
    if (truth === undefined) known = false
  }
  return known ? true : undefined
}

const some = (children: readonly Tree[], data: unknown): Truth => {
  let known = true
  for (const child of children) {
    const truth = truthOf(child, data)
    if (truth === true) return true
    if (truth === undefined) known = false
  }
  return known ? false : undefined
}

const truthOf = (tree: Tree, data: unknown): Truth => {
  if (tree.kind === 'rule') return tree.holds(valueAt(data, tree.path))
  if (tree.kind === 'not') return not(truthOf(tree.child, data))
  switch (tree.op) {
    case 'AND':
      return all(tree.children, data)
    case 'NAND':
      return not(all(tree.children, data))
    case 'OR':
      return some(tree.children, data)
    case 'NOR':
      return not(some(tree.children, data))
  }
}

/** YES only when the rules certainly hold. Never throws: `data` is any JSON value. */
export const decide = (tree: Tree, data: unknown): Decision => {
  const truth = truthOf(tree, data)
  if (truth === undefined) return { decision: 'NO', reason: 'missing_data' }
  return { decision: truth ? 'YES' : 'NO' }
}
