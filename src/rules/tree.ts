/**
 * Reads rules and logic trees from JSON, within bounds, and says exactly what is wrong with them.
 * @module
 */
import { fail } from '../errors.ts'
import { MAX_UNKNOWN_TOLD, unknownMember } from '../json/unknown-members.ts'
import { isObject } from '../protocol/json-object.ts'
import { parseFieldPath } from './field-path.ts'
import { type Budget, readOperand } from './operators.ts'
import {
  GATES,
  type Gate,
  type Leaf,
  MAX_CHILDREN,
  MAX_FIELD_CHARS,
  MAX_LEAVES,
  MAX_TREE_DEPTH,
  OPERATORS,
  type Operator,
  type Tree,
} from './rule.ts'

const wrong = (path: string, code: string, message: string): never =>
  fail('validation_failed', { details: [{ path, code, message }] })

const tooLarge = (path: string, message: string): never =>
  fail('tree_too_large', { details: [{ path, code: 'tree_too_large', message }] })

const isOperator = (word: unknown): word is Operator => (OPERATORS as readonly unknown[]).includes(word)
const isGate = (word: unknown): word is Gate => (GATES as readonly unknown[]).includes(word)

/** What one request has used up so far. */
interface Spent extends Budget {
  leaves: number
}

const RULE_MEMBERS = ['field', 'op', 'value']
const GATE_MEMBERS = ['op', 'children']
const NOT_MEMBERS = ['op', 'child']
const NODE_MEMBERS = ['op', 'children', 'child', 'field', 'value']

/** A member that is not read would be a condition that is not asked. */
const requireKnown = (node: Record<string, unknown>, known: readonly string[], path: string): void => {
  const unknown = Object.keys(node).filter((name) => !known.includes(name))
  if (unknown.length === 0) return
  const told = unknown.slice(0, MAX_UNKNOWN_TOLD)
  fail('unknown_member', { details: told.map((name) => unknownMember(path, name, known)) })
}

const membersOf = (op: unknown): readonly string[] => {
  if (op === 'NOT') return NOT_MEMBERS
  if (isGate(op)) return GATE_MEMBERS
  return isOperator(op) ? RULE_MEMBERS : NODE_MEMBERS
}

/** An own property; null counts as absent where it can't be meant. */
const member = (node: Record<string, unknown>, name: string): unknown =>
  Object.hasOwn(node, name) ? (node[name] ?? undefined) : undefined

const readRule = (node: unknown, path: string, spent: Spent): Leaf => {
  if (!isObject(node)) return wrong(path, 'type', 'must be an object {field, op, value}')
  spent.leaves += 1
  if (spent.leaves > MAX_LEAVES) tooLarge(path, `There can be at most ${MAX_LEAVES} rules.`)
  const op = member(node, 'op')
  // A node of a tree among rules is told what is wrong with its `op`, not with its `children`.
  requireKnown(node, isGate(op) || op === 'NOT' ? NODE_MEMBERS : RULE_MEMBERS, path)
  if (!isOperator(op)) return wrong(`${path}/op`, 'enum', `must be one of ${OPERATORS.join(', ')}`)
  const field = member(node, 'field')
  if (typeof field !== 'string') return wrong(`${path}/field`, 'type', 'must be a text')
  const names =
    parseFieldPath(field) ??
    wrong(
      `${path}/field`,
      'field_path',
      `must be names joined by dots or a JSON Pointer, at most ${MAX_FIELD_CHARS} characters`,
    )
  const operand = Object.hasOwn(node, 'value') ? node.value : undefined
  const value = op === 'exists' && operand === undefined ? true : operand
  const holds = readOperand(op, value, spent)
  if (typeof holds !== 'function') return wrong(`${path}/value`, holds.code, holds.message)
  return { kind: 'rule', field, path: names, op, value, holds }
}

const readNode = (node: unknown, path: string, depth: number, spent: Spent): Tree => {
  if (depth > MAX_TREE_DEPTH) tooLarge(path, `A tree can have at most ${MAX_TREE_DEPTH} levels.`)
  if (!isObject(node))
    return wrong(path, 'type', 'must be a rule {field, op, value} or a node {op, children}')
  const op = member(node, 'op')
  requireKnown(node, membersOf(op), path)
  if (op === 'NOT') {
    const child = member(node, 'child') ?? wrong(`${path}/child`, 'required', 'is required')
    return { kind: 'not', child: readNode(child, `${path}/child`, depth + 1, spent) }
  }
  if (isGate(op)) {
    const children = member(node, 'children')
    if (!Array.isArray(children)) return wrong(`${path}/children`, 'type', 'must be a list of nodes')
    if (children.length === 0) return wrong(`${path}/children`, 'min_items', 'must have at least one node')
    if (children.length > MAX_CHILDREN) {
      tooLarge(`${path}/children`, `A node can have at most ${MAX_CHILDREN} children.`)
    }
    const read = (child: unknown, i: number) => readNode(child, `${path}/children/${i}`, depth + 1, spent)
    return { kind: 'gate', op, children: children.map(read) }
  }
  if (isOperator(op)) return readRule(node, path, spent)
  return wrong(`${path}/op`, 'enum', `must be one of ${[...GATES, 'NOT', ...OPERATORS].join(', ')}`)
}

const readRules = (rules: unknown, path: string, spent: Spent): Tree[] => {
  if (!Array.isArray(rules)) return wrong(path, 'type', 'must be a list of rules')
  if (rules.length === 0) return wrong(path, 'min_items', 'must have at least one rule')
  if (rules.length > MAX_LEAVES) tooLarge(path, `There can be at most ${MAX_LEAVES} rules.`)
  return rules.map((rule, i) => readRule(rule, `${path}/${i}`, spent))
}

/**
 * Reads what a request asks: all of its `rules`, its `logic` tree, or both (then both must hold). At least one is
 * needed; nothing asked would be nothing refused. A lone rule is its own tree.
 * @param rules `[{field, op, value}]`, or undefined
 * @param logic `{op: AND|OR|NAND|NOR, children}`, `{op: NOT, child}` or a rule, or undefined
 * @param prefix JSON Pointer to what holds the two, for the details of errors
 * @throws AppError validation_failed, unknown_member, tree_too_large
 */
export const parseRules = (rules: unknown, logic: unknown, prefix = ''): Tree => {
  const spent: Spent = { leaves: 0, patternInstructions: 0 }
  const asked: Tree[] = [
    ...(rules === undefined || rules === null ? [] : readRules(rules, `${prefix}/rules`, spent)),
    ...(logic === undefined || logic === null ? [] : [readNode(logic, `${prefix}/logic`, 1, spent)]),
  ]
  const [only, ...more] = asked
  if (only === undefined) return wrong(`${prefix}/rules`, 'required', 'is required')
  return more.length === 0 ? only : { kind: 'gate', op: 'AND', children: asked }
}
