/** What circuits there are, and what a proof of each one means. @module */
import type { Artifacts } from '../../circuits/artifacts/artifacts.ts'
import { sha256Hex } from '../../circuits/artifacts/setup-record.ts'
import { CIRCUITS, findCircuit } from '../../circuits/catalogue.ts'
import type { VerificationKey } from '../../circuits/verifier.ts'
import { fail } from '../../errors.ts'
import type { CircuitInfo } from './schemas.ts'

export interface CircuitsDeps {
  readonly artifacts: Artifacts
  readonly baseUrl: string
}

/** What proofs are made with: the proving key, and the program that computes witnesses. */
export type CircuitFileKind = 'zkey' | 'wasm'

export interface CircuitFile {
  readonly bytes: Uint8Array
  /** Lower-case hex. */
  readonly sha256: string
}

export interface CircuitsService {
  list(): CircuitInfo[]
  /** @param version default: the one that proofs are made of now @throws AppError not_found */
  verificationKey(
    circuitId: string,
    version?: string,
  ): { readonly key: VerificationKey; readonly etag: string }
  /** @param sha256 where given, the hash that it must have @throws AppError not_found */
  file(circuitId: string, kind: CircuitFileKind, sha256?: string): Promise<CircuitFile>
}

export const createCircuits = ({ artifacts, baseUrl }: CircuitsDeps): CircuitsService => {
  const infos = CIRCUITS.map((circuit): CircuitInfo => {
    const { id, name, description, version, proves, checks, selfAsserted, publicNames } = circuit
    const { constraints, setup, sha256, formerKeys } = artifacts[id]
    const fileUrl = (kind: CircuitFileKind) => `${baseUrl}/api/circuits/${id}/${kind}?sha256=${sha256[kind]}`
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
      formerVersions: [...formerKeys.keys()].map((former) => ({
        version: former,
        verificationKeyUrl: `${baseUrl}/api/circuits/${id}/vkey?version=${former}`,
      })),
      provingKeyUrl: fileUrl('zkey'),
      witnessProgramUrl: fileUrl('wasm'),
      setup: { type, contributions, transcript_sha256: transcriptSha256 },
    }
  })
  const keys = new Map(
    CIRCUITS.flatMap(({ id, version }) => {
      const { verificationKey, formerKeys } = artifacts[id]
      const byVersion = [...formerKeys, [version, verificationKey] as const]
      return byVersion.map(
        ([of, key]) => [`${id}@${of}`, { key, etag: `"${sha256Hex(JSON.stringify(key))}"` }] as const,
      )
    }),
  )
  return {
    list: () => infos,
    verificationKey(circuitId, version) {
      const circuit = findCircuit(circuitId) ?? fail('not_found')
      return keys.get(`${circuit.id}@${version ?? circuit.version}`) ?? fail('not_found')
    },
    async file(circuitId, kind, asked) {
      const { load, sha256 } = artifacts[findCircuit(circuitId)?.id ?? fail('not_found')]
      if (asked !== undefined && asked !== sha256[kind])
        fail('not_found', { message: `The ${kind} of ${circuitId} has another SHA-256 now.` })
      return { bytes: (await load())[kind], sha256: sha256[kind] }
    },
  }
}
