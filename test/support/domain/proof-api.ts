/** The proof API as tests call it. */
import type {
  GeneratedProofJson,
  ProofGenerated,
  ProofVerified,
  SyncResult,
  VerifiedProofJson,
} from '../../../src/domain/proofs/schemas.ts'
import { encodeZk1 } from '../../../src/protocol/zk1.ts'
import type { TestApp } from '../app.ts'
import { demandSuccess, type RequestOptions, type TestResponse } from '../client.ts'
import type { Failure } from '../verification.ts'

export const PERSON = { name: 'Ada', age: 36, country: 'GB', member: true }
export const ADULT = { field: 'age', op: 'gte', value: 18 }
export const BRITISH = { field: 'country', op: 'eq', value: 'GB' }
/** One comparison: the circuit `yesno`. */
export const ADULT_INPUTS = { data: PERSON, rules: [ADULT] }

export type Failed = Failure & { reason?: string; digest?: string; consumed_at?: string }

/** `POST /v1/proofs/generate`, whatever comes of it. */
export const postGenerate = (
  app: TestApp,
  key: string,
  body: object = { circuit_id: 'yesno', inputs: ADULT_INPUTS },
  headers: RequestOptions['headers'] = {},
): Promise<TestResponse<ProofGenerated & Failed>> =>
  app.request('POST', '/v1/proofs/generate', { key, body, headers })

/** `POST /v1/proofs/generate`. @throws Error unless it answers 200 */
export const generated = async (app: TestApp, key: string, body?: object): Promise<ProofGenerated> =>
  demandSuccess(await postGenerate(app, key, body))

/** `POST /api/proof/generate`, whatever comes of it. */
export const postSimpleGenerate = (
  app: TestApp,
  bearer: string,
  body: object = { userId: 'user-1', data: PERSON, rules: [ADULT] },
): Promise<TestResponse<GeneratedProofJson & Failed>> =>
  app.request('POST', '/api/proof/generate', { bearer, body })

/** `POST /v1/proofs/verify`, whatever comes of it. */
export const postVerifyProof = (
  app: TestApp,
  key: string,
  body: object,
  headers: RequestOptions['headers'] = {},
): Promise<TestResponse<ProofVerified & Failed>> =>
  app.request('POST', '/v1/proofs/verify', { key, body, headers })

/** `POST /api/proof/verify`, whatever comes of it. */
export const postSimpleVerify = (
  app: TestApp,
  bearer: string,
  body: object,
): Promise<TestResponse<VerifiedProofJson & Failed>> =>
  app.request('POST', '/api/proof/verify', { bearer, body })

/** `POST /api/proof/sync`, whatever comes of it. */
export const postSync = (
  app: TestApp,
  bearer: string,
  proofs: readonly unknown[],
  headers: RequestOptions['headers'] = {},
): Promise<TestResponse<SyncResult & Failed>> =>
  app.request('POST', '/api/proof/sync', { bearer, body: { proofs }, headers })

/** A generated proof as `POST /v1/proofs/verify` takes it. */
export const asPresented = ({ proof_id, circuit_id, proof, public_signals }: ProofGenerated) => ({
  proof_id,
  circuit_id,
  proof,
  public_signals,
})

/** A generated proof as one text. */
export const asText = ({ proof, public_signals }: ProofGenerated): string => encodeZk1(proof, public_signals)

/** The reasons for which a proof is not verified. */
export const reasonsOf = async (app: TestApp, key: string, body: object): Promise<readonly string[]> => {
  const answer = await postVerifyProof(app, key, body)
  if (answer.status !== 200) throw new Error(`not checked: ${answer.status} ${JSON.stringify(answer.body)}`)
  const { verified, reason_codes } = answer.body
  if (verified !== (reason_codes.length === 0)) throw new Error('verified and the reasons disagree')
  return reason_codes
}

/** Entries of the log about a proof, oldest first. */
export const entriesOf = async (app: TestApp, proofId: string) => {
  const rows = await app.services.database
    .knex('ledger_entries')
    .where({ proof_id: proofId })
    .orderBy('idx')
    .select('type', 'digest', 'circuit_id', 'key_id', 'entry')
  return rows.map(({ entry, ...row }) => ({ ...row, data: JSON.parse(entry).data }))
}
