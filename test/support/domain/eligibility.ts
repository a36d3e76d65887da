/** Verification by policy and eligibility through the app. */
import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { CompositeAnswer, EligibilityAnswer } from '../../../src/domain/eligibility/schemas-answers.ts'
import type { StoredPolicy } from '../../../src/domain/policies/schemas.ts'
import type { ProofVerified } from '../../../src/domain/proofs/schemas.ts'
import type { PolicyVerification } from '../../../src/domain/verification/schemas-v1.ts'
import type { TestApp } from '../app.ts'
import { ok, type RequestOptions, type TestResponse } from '../client.ts'
import type { Failure } from '../verification.ts'

export interface Refusal extends Failure {
  reason?: string
}

export const putPolicy = async (app: TestApp, key: string, id: string, rules: readonly object[]) => {
  const path = `/console/api/policies/${id}`
  return ok<StoredPolicy>(app, 'PUT', path, { key, body: { rules } })
}

export const postV1Verify = (
  app: TestApp,
  key: string,
  body: object,
  headers: RequestOptions['headers'] = {},
): Promise<TestResponse<PolicyVerification & Refusal>> =>
  app.request('POST', '/v1/verify', { key, body, headers })

export const postCheck = (
  app: TestApp,
  key: string,
  body: object,
  headers: RequestOptions['headers'] = {},
): Promise<TestResponse<EligibilityAnswer & Refusal>> =>
  app.request('POST', '/api/eligibility/check', { bearer: key, body, headers })

export const postComposite = (
  app: TestApp,
  key: string,
  body: object,
  headers: RequestOptions['headers'] = {},
): Promise<TestResponse<CompositeAnswer & Refusal>> =>
  app.request('POST', '/api/eligibility/composite', { bearer: key, body, headers })

/** What `POST /v1/proofs/verify` says of a proof. */
export const checkProof = async (
  app: TestApp,
  key: string,
  {
    circuit_id,
    proof_id,
    proof,
    public_signals,
  }: {
    circuit_id: string
    proof_id: string
    proof: unknown
    public_signals: readonly string[]
  },
): Promise<ProofVerified> => {
  const presented = { circuit_id, proof_id, proof, public_signals }
  return ok<ProofVerified>(app, 'POST', '/v1/proofs/verify', {
    key,
    body: presented,
  })
}

/** Lower-case hex SHA-256("commitment/1" ‖ salt ‖ JCS(data)). @param salt base64url */
export const commitmentOf = (salt: string, data: unknown): string =>
  hash(
    'sha256',
    Buffer.concat([
      Buffer.from('commitment/1'),
      Buffer.from(salt, 'base64url'),
      Buffer.from(canonicalize(data) ?? ''),
    ]),
  )

/** Types of the organisation's entries, the oldest first. */
export const entryTypes = async (app: TestApp, organisation: string): Promise<string[]> =>
  (
    await app.services.database.knex('ledger_entries').where({ organisation }).orderBy('idx').select('type')
  ).map(({ type }) => type)
