/** Rules over several sources as rules over one object that holds the data of each under its id. @module */
import { AppError, fail } from '../../errors.ts'
import { isObject } from '../../protocol/json-object.ts'
import { parseFieldPath } from '../../rules/field-path.ts'
import { GATES, MAX_FIELD_CHARS, type Tree } from '../../rules/rule.ts'
import { parseRules } from '../../rules/tree.ts'

type Node = Readonly<Record<string, unknown>>

const wrong = (path: string, code: string, message: string): never =>
  fail('validation_failed', { details: [{ path, code, message }] })

/** A field of one source, looked up in all of them. @param path of the rule in the body */
const within = (source: string, field: string, path: string): string => {
  const placed = field.startsWith('/') ? `/${source}${field}` : `${source}.${field}`
  if (placed.length <= MAX_FIELD_CHARS) return placed
  const most = MAX_FIELD_CHARS - (placed.length - field.length)
  const message = `must have at most ${most} characters: ${MAX_FIELD_CHARS} with the source ${source} before it`
  return wrong(`${path}/field`, 'field_path', message)
}

const placeField = (node: Node, sources: readonly string[], path: string): unknown => {
  const { source, field } = node
  // Whoever reads the rule says what is wrong with a field that is no path.
  if (typeof field !== 'string' || parseFieldPath(field) === undefined) return field
  const known = sources.join(', ')
  if (source !== undefined) {
    if (typeof source === 'string' && sources.includes(source)) return within(source, field, path)
    return wrong(`${path}/source`, 'unknown', `must be the id of a data source: ${known}`)
  }
  const [first = ''] = parseFieldPath(field) ?? []
  if (sources.includes(first)) return field
  const [only] = sources
  if (sources.length === 1 && only !== undefined) return within(only, field, path)
  const message = `must begin with the id of a data source, or source must name it: ${known}`
  return wrong(`${path}/field`, 'source', message)
}

/** The rule as it is asked of all sources together: its source has become part of its field. */
const placeRule = (node: Node, sources: readonly string[], path: string): Node => {
  const { source: _, ...rule } = node
  return { ...rule, field: placeField(node, sources, path) }
}

const placeNode = (node: unknown, sources: readonly string[], path: string): unknown => {
  if (!isObject(node)) return node
  const { op, children, child } = node
  // By its operator, as whoever reads the tree tells them apart: no rule may pass for a gate and keep its field.
  if (op === 'NOT') return { ...node, child: placeNode(child, sources, `${path}/child`) }
  if (!(GATES as readonly unknown[]).includes(op)) return placeRule(node, sources, path)
  if (!Array.isArray(children)) return node
  const place = (one: unknown, i: number) => placeNode(one, sources, `${path}/children/${i}`)
  return { ...node, children: children.map(place) }
}

/**
 * Reads rules that must all hold.
 * @param sources ids of the data sources
 * @throws AppError validation_failed, tree_too_large
 */
export const readRules = (rules: readonly unknown[], sources: readonly string[]): Tree =>
  parseRules(
    rules.map((rule, i) => (isObject(rule) ? placeRule(rule, sources, `/rules/${i}`) : rule)),
    undefined,
  )

const LOGIC = '/logic'

/** Reads a tree. @throws AppError validation_failed, tree_too_large; their paths begin with /logicTree */
export const readLogicTree = (tree: unknown, sources: readonly string[]): Tree => {
  const placed = placeNode(tree, sources, '/logicTree')
  try {
    return parseRules(undefined, placed)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const details = error.details?.map((detail) => ({
      ...detail,
      path: detail.path.startsWith(LOGIC) ? `/logicTree${detail.path.slice(LOGIC.length)}` : detail.path,
    }))
    throw new AppError(error.code, { message: error.message, details, cause: error })
  }
}
