/**
 * Stored answers of requests with an Idempotency-Key: sealed, for they may hold a secret that is shown once, and kept
 * for a day.
 * @module
 */
import type { Idempotency } from '../caller.ts'
import type { Clock } from '../clock.ts'
import { fail } from '../errors.ts'
import type { Sealing } from '../keys/sealing.ts'
import type { Database } from '../store/database.ts'
import type { Row } from '../store/table.ts'
import { stepKey } from './attempts.ts'
import { type AnswerRow, answers } from './tables.ts'
import type { Unit } from './unit.ts'

/** IETF draft-ietf-httpapi-idempotency-key-header leaves the time to the server. */
const ANSWER_LIFETIME_MS = 24 * 60 * 60 * 1000
const PURPOSE = 'idempotency'

const placeOf = (organisation: string, key: string) => ({
  table: answers.name,
  column: 'sealed_answer',
  row: `${organisation}/${key}`,
})

/** Opens a stored answer. @throws SealingError when it was altered or sealed under another master key */
export const openAnswer = (sealing: Sealing, row: AnswerRow): unknown => {
  const bytes = sealing.open(PURPOSE, placeOf(row.organisation, row.key), row.sealed_answer)
  return JSON.parse(new TextDecoder().decode(bytes))
}

/** @throws AppError idempotency_key_reused when the answer was given to another query or body */
export const requireSameRequest = (
  { request_hash }: Pick<AnswerRow, 'request_hash'>,
  { requestHash }: Pick<Idempotency, 'requestHash'>,
): void => {
  if (request_hash !== requestHash) fail('idempotency_key_reused')
}

/**
 * The live answer of a request's step, read outside of any commit.
 * @throws AppError idempotency_key_reused; SealingError
 */
export const findAnswer = async (
  { database, sealing, clock }: { database: Database; sealing: Sealing; clock: Clock },
  idempotency: Idempotency,
  step: number,
): Promise<{ readonly answer: unknown } | undefined> => {
  const { organisation } = idempotency
  const key = stepKey(idempotency.key, step)
  const row = await database.knex<AnswerRow>(answers.name).where({ organisation, key }).first()
  if (row === undefined || row.expires_at <= clock.now()) return undefined
  requireSameRequest(row, idempotency)
  return { answer: openAnswer(sealing, row) }
}

/** The row that keeps a unit's answer as JSON; an absent answer is kept as null. @param at Unix ms */
export const answerRow = (sealing: Sealing, unit: Unit, answer: unknown, at: number): Row => {
  if (unit.idempotency === undefined) throw new Error('The unit carries no Idempotency-Key.')
  const { organisation, key, requestHash } = unit.idempotency
  const json = new TextEncoder().encode(JSON.stringify(answer ?? null))
  return answers.row({
    organisation,
    key,
    request_hash: requestHash,
    sealed_answer: sealing.seal(PURPOSE, placeOf(organisation, key), json),
    expires_at: at + ANSWER_LIFETIME_MS,
  })
}
