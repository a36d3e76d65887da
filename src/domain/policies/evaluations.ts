/**
 * Several questions in one request (AuthZEN Authorization API 1.0 §7): what each of them asks, and after which decision no
 * further one is made.
 * @module
 */
import { AppError, fail, type Misfit } from '../../errors.ts'
import { isObject } from '../../protocol/json-object.ts'
import type { DecisionRequest, EvaluationsRequest, FailedEvaluation, SEMANTICS } from './schemas-decisions.ts'

const BAD_REQUEST = 400
const MEBIBYTE = 1024 * 1024
/** What the evaluations of one request may ask together: a large entity beside them is part of each that inherits it. */
const MAX_EXPANDED_MEBIBYTES = 4
const ENTITIES = ['subject', 'action', 'resource', 'context'] as const

/** Checks a value as the body of a single evaluation is checked. */
export type CheckEvaluation = (value: unknown) => Misfit | undefined

/** The decision after which no further one is made. */
const LAST: Readonly<Record<(typeof SEMANTICS)[number], boolean | undefined>> = {
  execute_all: undefined,
  deny_on_first_deny: false,
  permit_on_first_permit: true,
}

export const isLast = ({ options }: EvaluationsRequest, decision: boolean): boolean =>
  decision === LAST[options?.evaluations_semantic ?? 'execute_all']

/** What the members beside `evaluations` ask. @throws AppError validation_failed */
export const readDefaults = (request: EvaluationsRequest, check: CheckEvaluation): DecisionRequest => {
  const misfit = check(request)
  if (misfit) throw new AppError(misfit.code, { details: misfit.details })
  // The check has just said that it is one.
  return request as DecisionRequest
}

const failed = (details: Misfit['details']): FailedEvaluation => {
  const message = 'The evaluation does not match the schema.'
  return { decision: false, context: { error: { status: BAD_REQUEST, message, details } } }
}

/**
 * Counts what the evaluations of a request ask.
 * @returns takes the bytes of one more; it throws AppError batch_too_large once they are too many
 */
export const countExpanded = (): ((bytes: number) => void) => {
  let total = 0
  return (bytes) => {
    total += bytes
    if (total > MAX_EXPANDED_MEBIBYTES * MEBIBYTE)
      fail('batch_too_large', {
        message: `The evaluations, each with what it takes from beside them, can have at most ${MAX_EXPANDED_MEBIBYTES} MiB of JSON together.`,
      })
  }
}

/** Whether an evaluation asks nothing that can be decided. */
export const isFailed = (read: DecisionRequest | FailedEvaluation): read is FailedEvaluation =>
  'decision' in read

/**
 * Reads one of the evaluations: each entity is its own or, where it has none, that beside `evaluations`, always as a whole.
 * @returns the denial that answers it where something is missing or misshapen
 */
export const readEvaluation = (
  defaults: EvaluationsRequest,
  evaluation: unknown,
  check: CheckEvaluation,
): DecisionRequest | FailedEvaluation => {
  if (!isObject(evaluation)) return failed([{ path: '', code: 'type', message: 'must be object' }])
  const asked: Record<string, unknown> = {}
  for (const name of ENTITIES) {
    const entity = Object.hasOwn(evaluation, name) ? evaluation[name] : defaults[name]
    if (entity !== undefined) asked[name] = entity
  }
  const misfit = check(asked)
  return misfit ? failed(misfit.details) : (asked as DecisionRequest)
}
