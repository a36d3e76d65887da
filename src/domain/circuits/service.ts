/** What circuits there are, and what a proof of each one means. @module */
import type { Artifacts } from '../../circuits/artifacts.ts'
import { CIRCUITS, findCircuit } from '../../circuits/catalogue.ts'
import { sha256Hex } from '../../circuits/setup-record.ts'
import type { VerificationKey } from '../../circuits/verifier.ts'
import { fail } from '../../errors.ts'
import type { CircuitInfo } from './schemas.ts'

export interface CircuitsDeps {
  readonly artifacts: Artifacts
  readonly baseUrl: string
}

export interface CircuitsService {
  list(): CircuitInfo[]
  /** @throws AppError not_found */
  verificationKey(circuitId: string): { readonly key: VerificationKey; readonly etag: string }
}

export const createCircuits = ({ artifacts, baseUrl }: CircuitsDeps): CircuitsService => {
  const infos = CIRCUITS.map((circuit): CircuitInfo => {
    const { id, name, description, version, proves, checks, selfAsserted, publicNames } = circuit
    const { constraints, setup } = artifacts[id]
    const { type, contributions, transcriptSha256 } = setup
    return {
      id,
      name,
      description,
      version,
      wasm_supported: true,
      proves,
      checks: [...checks],
      selfAsserted,
      publicSignals: [...publicNames],
      constraints,
      verificationKeyUrl: `${baseUrl}/api/circuits/${id}/vkey`,
      setup: { type, contributions, transcript_sha256: transcriptSha256 },
    }
  })
  const keys = new Map(
    CIRCUITS.map(({ id }) => {
      const key = artifacts[id].verificationKey
      return [id, { key, etag: `"${sha256Hex(JSON.stringify(key))}"` }] as const
    }),
  )
  return {
    list: () => infos,
    verificationKey: (circuitId) =>
      keys.get(findCircuit(circuitId)?.id ?? fail('not_found')) ?? fail('not_found'),
  }
}
