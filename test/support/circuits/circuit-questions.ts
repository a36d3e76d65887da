/** The circuit routes through the app: requests and their answers. */
import { expect } from 'chai'
import type { Clock } from '../../../src/clock.ts'
import type { CircuitAnswer } from '../../../src/domain/circuits/schemas-questions.ts'
import type { ResultField } from '../../../src/domain/proofs/statements/index.ts'
import type { SnarkProof } from '../../../src/protocol/zk1.ts'
import type { TestApp } from '../app.ts'
import type { TestResponse } from '../client.ts'
import type { Failure } from '../verification.ts'

export type Answered = CircuitAnswer & Record<ResultField, boolean> & Failure

/** The part of the path that names the circuit. */
type Question =
  | 'token-validation'
  | 'consent-verification'
  | 'audit-proof'
  | 'proof-aggregation'
  | 'quantum-safe-token'
  | 'offline-validation'

export const asking =
  (app: TestApp, question: Question) =>
  (key: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<TestResponse<Answered>> =>
    app.request('POST', `/api/circuits/${question}`, { key, body, headers })

/** What is told where nothing was proved. */
const UNPROVEN = { proofId: null, proof: null, publicInputs: null, digest: null } as const

/** Whether the pairing of an answer holds. */
export const holds = async ({ services }: TestApp, answer: Answered): Promise<boolean> => {
  const { circuit_id, proof, publicInputs } = answer
  // The route's schema says so of both.
  const verdict = await services.verifier.verify(
    circuit_id,
    proof as SnarkProof,
    publicInputs ?? [],
    'org_test',
  )
  return verdict.valid
}

/** Entries of the organisation in the log, by type. */
export const countEntries = async (
  { services }: TestApp,
  organisation: string,
  type: string,
): Promise<number> =>
  (await services.database.knex('ledger_entries').where({ organisation, type }).select('idx')).length

type Answer = Pick<TestResponse<Answered>, 'status' | 'body'>

/** Nothing was proved: the answer is false, and says why. */
export const expectUnproven = (
  { status, body }: Answer,
  field: ResultField,
  reasonCodes: readonly string[] = ['STATEMENT_FALSE'],
): void => {
  expect(status, JSON.stringify(body)).to.equal(200)
  expect(body).to.deep.include({ success: true, [field]: false, reasonCodes, ...UNPROVEN })
}

/** A proof that shows the answer, yes or no. */
export const expectProven = async (
  app: TestApp,
  { status, body }: Answer,
  field: ResultField,
  value = true,
): Promise<Answered> => {
  expect(status, JSON.stringify(body)).to.equal(200)
  expect(body).to.deep.include({ success: true, [field]: value, reasonCodes: value ? [] : ['DECISION_NO'] })
  expect(await holds(app, body)).to.equal(true)
  return body
}

/** A clock that the tests of a describe move; it is right again after each. */
export const movedClock = (): Clock & { offsetMs: number } => {
  const clock = { offsetMs: 0, now: () => Date.now() + clock.offsetMs }
  afterEach(() => {
    clock.offsetMs = 0
  })
  return clock
}
