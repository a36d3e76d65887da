import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { decide } from '../../src/rules/evaluate.ts'
import { MAX_MATCHED_CHARS } from '../../src/rules/operators.ts'
import {
  GATES,
  MAX_FIELD_CHARS,
  MAX_LISTED_VALUES,
  MAX_PATTERN_CHARS,
  OPERATORS,
} from '../../src/rules/rule.ts'
import { Logic, Rule } from '../../src/rules/schemas.ts'
import { parseRules } from '../../src/rules/tree.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/rules.md'), 'utf8')
const rows = [...page.matchAll(/^\| `(\{.*?\})` \| `(\{.*\})` \| (YES|NO)(?:, (\w+))? \|$/gm)]

describe('docs/rules.md', () => {
  it('decides each of its examples as it says', () => {
    expect(rows).to.have.length.of.at.least(15)
    for (const [row, data = '', logic = '', decision, reason] of rows) {
      const expected = { decision, ...(reason !== undefined && { reason }) }
      expect(decide(parseRules(undefined, JSON.parse(logic)), JSON.parse(data)), row).to.deep.equal(expected)
    }
  })

  it('shows bodies that can be read', () => {
    const bodies = [...page.matchAll(/```json\n(.*?)```/gs)].map(([, body = '']) => JSON.parse(body))
    expect(bodies).to.have.length(2)
    for (const { rules, logic } of bodies) expect(() => parseRules(rules, logic)).not.to.throw()
  })

  it('names every operator and the limits, as the schemas do', () => {
    for (const word of [...OPERATORS, ...GATES]) expect(page, word).to.include(`\`${word}\``)
    expect(page).to.include(`1 to ${MAX_LISTED_VALUES} values`)
    expect(page).to.include(`1 to ${MAX_PATTERN_CHARS} characters`)
    expect(page).to.include(`most ${MAX_FIELD_CHARS} characters`)
    expect(page).to.include(`${MAX_MATCHED_CHARS.toLocaleString('en')} characters`)
    expect(Rule.properties.op.enum).to.deep.equal(OPERATORS)
    expect(Logic.properties.op.enum).to.deep.equal([...GATES, 'NOT', ...OPERATORS])
  })
})
