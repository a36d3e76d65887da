/** What was asked of the data, in words, and whether it is what was signed. @module */
import { canonicalJson } from '../../protocol/canonical-json.ts'
import { isObject } from '../../protocol/json-object.ts'
import type { PageCrypto } from '../crypto/page-crypto.ts'
import { type Child, make } from '../elements.ts'
import { textOf } from '../http.ts'
import { type Finding, failed, passed, skipped } from './finding.ts'

/** What the JWS says where nothing was asked. */
export const NO_QUESTION = 'none'

const WORDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    eq: 'is',
    ne: 'is not',
    lt: 'is less than',
    lte: 'is at most',
    gt: 'is greater than',
    gte: 'is at least',
    in: 'is one of',
    nin: 'is none of',
    between: 'is between',
    nonbetween: 'is not between',
    contains: 'contains',
    startsWith: 'starts with',
    matches: 'matches the pattern',
  }),
)
const GATES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    AND: 'All of these hold:',
    OR: 'At least one of these holds:',
    NAND: 'Not all of these hold:',
    NOR: 'None of these holds:',
  }),
)
const HIDDEN = 'a value that its organisation does not publish'

const valueWords = (op: string, value: unknown): string => {
  if (value === undefined) return HIDDEN
  return (op === 'between' || op === 'nonbetween') && Array.isArray(value)
    ? value.map((bound) => JSON.stringify(bound)).join(' and ')
    : JSON.stringify(value)
}

const ruleWords = (op: string, { field, value }: Record<string, unknown>): string => {
  if (op === 'exists') return `“${field}” ${value === false ? 'is missing' : 'is there'}`
  return `“${field}” ${WORDS.get(op) ?? op} ${valueWords(op, value)}`
}

const list = (items: readonly unknown[]): HTMLElement =>
  make('ul', {}, ...items.map((item) => make('li', {}, ...nodeWords(item))))

const nodeWords = (node: unknown): Child[] => {
  const op = textOf(node, 'op')
  if (!isObject(node) || op === undefined) return ['something that this page can’t read']
  if (op === 'NOT') return ['This does not hold:', list([node.child])]
  const gate = GATES.get(op)
  return gate !== undefined && Array.isArray(node.children)
    ? [gate, list(node.children)]
    : [ruleWords(op, node)]
}

/** The question as a list, nothing where none is known. @param asked `{rules, logic}` */
export const questionWords = (asked: unknown): Child[] => {
  if (!isObject(asked)) return []
  const nodes = [
    ...(Array.isArray(asked.rules) ? asked.rules : []),
    ...(isObject(asked.logic) ? [asked.logic] : []),
  ]
  return nodes.length === 0 ? [] : [list(nodes)]
}

/** Whether a value of the question was kept back. */
const isHidden = (node: unknown): boolean => {
  if (!isObject(node)) return false
  const { op, value, rules, logic, child, children } = node
  const inside = [rules, children].flatMap((nodes) => (Array.isArray(nodes) ? nodes : []))
  const isRule = typeof op === 'string' && WORDS.has(op)
  return (isRule && value === undefined) || [...inside, logic, child].some(isHidden)
}

/** @param question as signed @param asked what the service says that it stands for */
export const checkQuestion = async (
  question: unknown,
  asked: unknown,
  crypto: PageCrypto,
): Promise<Finding> => {
  if (question === NO_QUESTION)
    return passed('No question was asked: the result attests the submitted data, and decides nothing.')
  if (typeof question !== 'string')
    return skipped('The result was signed before results named their question.')
  if (!isObject(asked))
    return skipped(
      `Its organisation does not publish the question, whose SHA-256 is ${question}. Ask it what was asked.`,
    )
  if (isHidden(asked))
    return skipped(
      `Values of the question are not published, so its SHA-256 can’t be compared with ${question}, as signed.`,
    )
  const { rules, logic } = asked
  const bytes = await crypto.sha256(new TextEncoder().encode(canonicalJson({ rules, logic })))
  const found = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return found === question
    ? passed(`The SHA-256 of the question above is ${found}, as signed.`)
    : failed(`The question that the service gives has the SHA-256 ${found}, and ${question} was signed.`)
}
