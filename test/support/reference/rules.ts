/**
 * The rule language the slow way: unknown rules are tried with every combination of yes and no, and a decision
 * stands only if all combinations agree.
 * @module
 */
import { createHash } from 'node:crypto'

export interface PlainRule {
  field: string
  op: string
  value?: unknown
}
export type PlainTree = PlainRule | { op: string; children: PlainTree[] } | { op: 'NOT'; child: PlainTree }

/** JSON with sorted names; enough of RFC 8785 for values whose numbers JavaScript writes. */
export const canonical = (value: unknown): string => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const record = value as Record<string, unknown>
  const names = Object.keys(record).sort()
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(record[name])}`).join(',')}}`
}

const same = (a: unknown, b: unknown): boolean => canonical(a) === canonical(b)

/** `value` is there. */
const satisfies = (op: string, value: unknown, operand: unknown): boolean => {
  const bounds = operand as number[]
  const isNumber = typeof value === 'number'
  switch (op) {
    case 'eq':
      return same(value, operand)
    case 'ne':
      return !same(value, operand)
    case 'lt':
      return isNumber && value < (operand as number)
    case 'lte':
      return isNumber && value <= (operand as number)
    case 'gt':
      return isNumber && value > (operand as number)
    case 'gte':
      return isNumber && value >= (operand as number)
    case 'in':
      return (operand as unknown[]).some((candidate) => same(value, candidate))
    case 'nin':
      return !(operand as unknown[]).some((candidate) => same(value, candidate))
    case 'between':
      return isNumber && value >= bounds[0]! && value <= bounds[1]!
    case 'nonbetween':
      return !(isNumber && value >= bounds[0]! && value <= bounds[1]!)
    case 'contains':
      return Array.isArray(value)
        ? value.some((element) => same(element, operand))
        : typeof value === 'string' && typeof operand === 'string' && value.split(operand).length > 1
    case 'startsWith':
      return typeof value === 'string' && value.slice(0, (operand as string).length) === operand
    case 'matches':
      return typeof value === 'string' && new RegExp(operand as string, 'u').test(value)
    default:
      throw new Error(op)
  }
}

/** Fields are plain names here. Undefined: unknown. */
const ruleHolds = ({ field, op, value }: PlainRule, data: Record<string, unknown>): boolean | undefined => {
  const has = Object.keys(data).includes(field)
  if (op === 'exists') return has === (value ?? true)
  return has ? satisfies(op, data[field], value) : undefined
}

type Known = boolean | { op: string; children: Known[] }

/** Replaces each rule by its truth; unknown ones by the next bit. */
const completed = (tree: PlainTree, data: Record<string, unknown>, nextBit: () => boolean): Known => {
  if ('children' in tree)
    return { op: tree.op, children: tree.children.map((child) => completed(child, data, nextBit)) }
  if ('child' in tree) return { op: 'NOT', children: [completed(tree.child, data, nextBit)] }
  return ruleHolds(tree, data) ?? nextBit()
}

const truth = (known: Known): boolean => {
  if (typeof known === 'boolean') return known
  const values = known.children.map(truth)
  if (known.op === 'AND') return !values.includes(false)
  if (known.op === 'NAND') return values.includes(false)
  if (known.op === 'OR') return values.includes(true)
  return !values.includes(true)
}

/** Every rule stands in one place of its tree, so agreement of all combinations is exactly Kleene's truth. */
export const decideSlowly = (
  tree: PlainTree,
  data: Record<string, unknown>,
): { decision: 'YES' | 'NO'; reason?: 'missing_data' } => {
  let unknowns = 0
  completed(tree, data, () => {
    unknowns += 1
    return false
  })
  const outcomes = new Set<boolean>()
  for (let bits = 0; bits < 2 ** unknowns; bits++) {
    let used = 0
    const next = () => {
      used += 1
      return Math.floor(bits / 2 ** (used - 1)) % 2 === 1
    }
    outcomes.add(truth(completed(tree, data, next)))
  }
  if (outcomes.size > 1) return { decision: 'NO', reason: 'missing_data' }
  return { decision: outcomes.has(true) ? 'YES' : 'NO' }
}

/**
 * As a circuit sees it: rules are bits, a missing one is the parity of the negations above it, gates are pushed
 * down to AND and OR by De Morgan.
 */
export const decideByPolarity = (
  tree: PlainTree,
  data: Record<string, unknown>,
  negated = false,
): boolean => {
  if ('child' in tree) return decideByPolarity(tree.child, data, !negated)
  if ('children' in tree) {
    const isNegating = tree.op === 'NAND' || tree.op === 'NOR'
    const isAnd = tree.op === 'AND' || tree.op === 'NAND'
    const below = isNegating !== negated
    const values = tree.children.map((child) => decideByPolarity(child, data, below))
    return isAnd !== below ? values.every(Boolean) : values.some(Boolean)
  }
  const held = ruleHolds(tree, data)
  if (held === undefined) return false
  return held !== negated
}

export const h248 = (message: Uint8Array | string): bigint =>
  BigInt(`0x${createHash('sha256').update(message).digest('hex').slice(0, 62)}`)
