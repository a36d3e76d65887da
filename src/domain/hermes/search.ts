/**
 * The search: every JSON object in a document, at any depth, is a scope, and a scope satisfies a question when every
 * criterion holds in that same scope. So no two records are ever mixed into one.
 * @module
 */
import { setImmediate as turn } from 'node:timers/promises'
import { fail } from '../../errors.ts'
import { valueAt } from '../../rules/field-path.ts'
import type { Criterion, Question } from './criteria.ts'

/** What a search may cost; a step takes some 20 ns. */
export const MAX_STEPS = 5_000_000
/** After so many steps others get their turn. */
const STEPS_PER_TURN = 500_000
/** Where an item may have its id. */
const ID_NAMES = ['id', '_id', 'uuid', 'key']
/** Names of a path that cost a step. */
const NAMES_PER_STEP = 4

type Scope = Readonly<Record<string, unknown>>

const foundIn = (scope: Scope, { field, path }: Criterion): unknown =>
  Object.hasOwn(scope, field) ? scope[field] : valueAt(scope, path)

interface Work {
  steps: number
}

const holds = (scope: Scope, criterion: Criterion, work: Work): boolean => {
  const value = foundIn(scope, criterion)
  work.steps += Math.floor(criterion.path.length / NAMES_PER_STEP)
  return criterion.conditions.every(({ test, steps }) => {
    work.steps += steps(value)
    // Checked before the test, since a single one may be most of the work.
    if (work.steps > MAX_STEPS)
      fail('upstream_too_large', { message: 'The answer of the target is too large for this question.' })
    return test(value) === true
  })
}

const isMeant = (scope: Scope, { id }: Question): boolean =>
  id === undefined || ID_NAMES.some((name) => Object.hasOwn(scope, name) && id.test(scope[name]) === true)

/**
 * Counts the scopes that satisfy a question.
 * @param document JSON as `readDocument` gives it
 * @throws AppError upstream_too_large when question and document together are too much work
 */
export const countSatisfying = async (document: unknown, question: Question): Promise<number> => {
  const work: Work = { steps: 0 }
  let nextTurn = STEPS_PER_TURN
  let satisfying = 0
  const open: unknown[] = [document]
  while (open.length > 0) {
    const value = open.pop()
    work.steps += 1
    if (typeof value !== 'object' || value === null) continue
    if (!Array.isArray(value)) {
      const scope = value as Scope
      const matches =
        isMeant(scope, question) && question.criteria.every((criterion) => holds(scope, criterion, work))
      if (matches) satisfying += 1
    }
    for (const member of Object.values(value)) if (typeof member === 'object') open.push(member)
    if (work.steps >= nextTurn) {
      nextTurn = work.steps + STEPS_PER_TURN
      await turn()
    }
  }
  return satisfying
}
