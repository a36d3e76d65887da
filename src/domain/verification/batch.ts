/** Many results at once: read in turns, appended together, each paid and refused for itself. @module */
import { setImmediate as turn } from 'node:timers/promises'
import type { Caller } from '../../caller.ts'
import { AppError, type ErrorDetail, fail, type Misfit } from '../../errors.ts'
import type { Decide } from '../../ledger/decision.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { isObject } from '../../protocol/json-object.ts'
import {
  type BatchRequest,
  type BatchResult,
  MAX_BATCH_RESULTS,
  type RefusedItem,
  type SignedResult,
  type VerifyRequest,
} from './schemas.ts'

const PAYMENT_REQUIRED = 402
const UNAVAILABLE = 503
const UNPROCESSABLE = 422

/** Checks a value as the body of POST /verify is checked, and brings it into that form. */
export type CheckRequest = (value: unknown) => Misfit | undefined

/** What issues the result of an item. */
type Issuing = Decide<SignedResult>

/** Findings about data that stand for the item itself. */
const withoutData = ({ code, details: [first, ...more] }: Misfit): Misfit => {
  const strip = (detail: ErrorDetail) => ({ ...detail, path: detail.path.replace(/^\/data/, '') })
  return { code, details: [strip(first), ...more.map(strip)] }
}

const malformed = ({ code, details }: Misfit): never => fail(code, { details })

/** The request that an item stands for. @throws AppError validation_failed, unknown_member */
const readItem = (item: unknown, check: CheckRequest): VerifyRequest => {
  if (!isObject(item)) {
    const detail = { path: '', code: 'type', message: 'must be object' }
    return malformed({ code: 'validation_failed', details: [detail] })
  }
  // Rules beside an object `data` would be attested as data, and never be asked.
  const wrapped = isObject(item.data)
  const request = wrapped ? item : { data: item }
  const misfit = check(request)
  if (misfit) malformed(wrapped ? misfit : withoutData(misfit))
  // The check has just said that it is one.
  return request as VerifyRequest
}

/** @returns the error, if it is an AppError of one of these statuses @throws any other */
const onlyWith = (statuses: readonly number[], error: unknown): AppError => {
  if (error instanceof AppError && statuses.includes(error.status)) return error
  throw error
}

const toRefused = ({ code, message, details }: AppError): RefusedItem => ({
  success: false,
  verificationId: null,
  error: code,
  message,
  ...(details && { details }),
})

/** Reads all items, each in a turn of the event loop of its own: patterns in rules may take milliseconds. */
const readAll = async (
  items: readonly unknown[],
  check: CheckRequest,
  toIssuing: (request: VerifyRequest) => Issuing,
): Promise<(Issuing | AppError)[]> => {
  const read: (Issuing | AppError)[] = []
  for (const [index, item] of items.entries()) {
    if (index > 0) await turn()
    try {
      read.push(toIssuing(readItem(item, check)))
    } catch (error) {
      read.push(onlyWith([UNPROCESSABLE], error))
    }
  }
  return read
}

/**
 * Appends the results in order and in one turn, so that they share a commit and each can still fail alone.
 * @returns each one's result, or why there is none @throws whatever else the ledger refuses them for
 */
const appendEach = async (
  ledger: Pick<Ledger, 'append'>,
  caller: Caller,
  issuings: readonly Issuing[],
): Promise<(SignedResult | AppError)[]> => {
  // Without an Idempotency-Key, whose repetition finds them, results that are committed would be lost with the others.
  const told = caller.idempotency ? [PAYMENT_REQUIRED] : [PAYMENT_REQUIRED, UNAVAILABLE]
  const append = (issuing: Issuing): Promise<SignedResult | AppError> =>
    ledger.append(caller, issuing).catch((error: unknown) => onlyWith(told, error))
  const [first, ...others] = issuings
  if (first === undefined) return []
  const firstAppended = append(first)
  // If its Idempotency-Key was used with another body, the first item says so, and the others must not be made.
  if (caller.idempotency) await firstAppended
  const appended = await Promise.allSettled([firstAppended, ...others.map(append)])
  return appended.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  })
}

/**
 * Makes the results of a batch, in order; a repeated request finds the stored answer of each.
 * @param toIssuing what issues an item's result @throws AppError with 422 for what is wrong with it
 * @throws AppError batch_too_large; an item's error when none could be paid; unavailable
 */
export const appendBatch = async (
  ledger: Pick<Ledger, 'append'>,
  caller: Caller,
  { items }: BatchRequest,
  check: CheckRequest,
  toIssuing: (request: VerifyRequest) => Issuing,
): Promise<BatchResult> => {
  if (items.length > MAX_BATCH_RESULTS) {
    fail('batch_too_large', { message: `A batch can have at most ${MAX_BATCH_RESULTS} items.` })
  }
  const read = await readAll(items, check, toIssuing)
  const good = read.filter((item): item is Issuing => !(item instanceof AppError))
  const appended = (await appendEach(ledger, caller, good)).values()
  const outcomes = read.map((item) =>
    item instanceof AppError ? item : (appended.next().value ?? fail('internal')),
  )
  if (outcomes.every((outcome) => outcome instanceof AppError)) {
    const refusing = (status: number) => outcomes.find((outcome) => outcome.status === status)
    const refusal = refusing(UNAVAILABLE) ?? refusing(PAYMENT_REQUIRED)
    if (refusal) throw refusal
  }
  return {
    success: true,
    count: outcomes.length,
    results: outcomes.map((outcome) => (outcome instanceof AppError ? toRefused(outcome) : outcome)),
  }
}
