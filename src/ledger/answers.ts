/**
 * Stored answers of requests with an Idempotency-Key: sealed, for they may hold a secret that is shown once, and kept
 * for a day.
 * @module
 */
import type { Sealing } from '../keys/sealing.ts'
import type { Row } from '../store/table.ts'
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

/** The row that keeps a unit's answer as JSON; an absent answer is kept as null. @param at Unix ms */
export const answerRow = (sealing: Sealing, unit: Unit, answer: unknown, at: number): Row => {
  if (unit.idempotency === undefined) throw new Error('The unit carries no Idempotency-Key.')
  const { organisation } = unit.caller
  const { key, requestHash } = unit.idempotency
  const json = new TextEncoder().encode(JSON.stringify(answer ?? null))
  return answers.row({
    organisation,
    key,
    request_hash: requestHash,
    sealed_answer: sealing.seal(PURPOSE, placeOf(organisation, key), json),
    expires_at: at + ANSWER_LIFETIME_MS,
  })
}
