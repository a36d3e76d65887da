/** Values that eligibility has a witness for. @module */
import { eligibility } from '../../../../src/circuits/mappers/eligibility.ts'
import type { RuleProgramValues } from '../../../../src/circuits/mappers/rule-program.ts'
import { attributesOf, compileProgram } from '../../../../src/rules/program.ts'
import { parseRules } from '../../../../src/rules/tree.ts'
import { randomElement } from '../../elements.ts'

/** All eight slots and rules are in use, nothing is missing, and no value is the same as what it is compared with. */
const PERSON = { a: 36, b: 'GB', c: true, d: 1.5, e: null, f: [1], g: -7, h: 20260131 }
const program = compileProgram(
  parseRules(
    [
      { field: 'a', op: 'gte', value: 18 },
      { field: 'b', op: 'ne', value: 'US' },
      { field: 'c', op: 'ne', value: false },
      { field: 'd', op: 'lt', value: 2 },
      { field: 'e', op: 'ne', value: 1 },
      { field: 'f', op: 'ne', value: [2] },
      { field: 'g', op: 'lte', value: 0 },
      { field: 'h', op: 'gt', value: 20200101 },
    ],
    undefined,
  ),
  'eligibility',
)

export const eligibilityValues = (changes: Partial<RuleProgramValues> = {}): RuleProgramValues => ({
  program,
  attributes: attributesOf(program, PERSON),
  salt: randomElement(),
  ctx: randomElement(),
  ...changes,
})

export const goodInput = eligibility.witnessInput(eligibilityValues())
