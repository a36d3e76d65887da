/** Values that composite has a witness for. @module */
import { composite } from '../../../../src/circuits/mappers/composite.ts'
import type { RuleProgramValues } from '../../../../src/circuits/mappers/rule-program.ts'
import { attributesOf, compileProgram } from '../../../../src/rules/program.ts'
import { parseRules } from '../../../../src/rules/tree.ts'
import { randomElement } from '../../elements.ts'

/** All sixteen slots and rules are in use, nothing is missing, and no value is the same as what it is compared with. */
const FIELDS = 'abcdefghijklmnop'.split('')
const DATA = Object.fromEntries(FIELDS.map((name, i) => [name, i % 3 === 0 ? `text ${i}` : 10 * i]))
const rules = FIELDS.map((field, i) =>
  i % 3 === 0 ? { field, op: 'ne', value: 'other' } : { field, op: i % 2 === 0 ? 'gte' : 'lt', value: 75 },
)
/** Four groups of four, the first and the third of them negated. */
const groups = [0, 4, 8, 12].map((from) => ({
  op: from % 8 === 0 ? 'NAND' : 'OR',
  children: rules.slice(from, from + 4),
}))
const program = compileProgram(parseRules(undefined, { op: 'AND', children: groups }), 'composite')

export const compositeValues = (changes: Partial<RuleProgramValues> = {}): RuleProgramValues => ({
  program,
  attributes: attributesOf(program, DATA),
  salt: randomElement(),
  ctx: randomElement(),
  ...changes,
})

export const goodInput = composite.witnessInput(compositeValues())
