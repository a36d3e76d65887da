/** The files that a circuit is proved and verified with, fetched from a service. Works in browsers and in Node. @module */
import { createCore } from '../../core/index.ts'
import { equal } from '../../rules/equality.ts'
import type { ProvingArtifacts } from '../proving/groth16.ts'
import { keyPoints } from '../proving/proving-key.ts'
import { readVerificationKey, type VerificationKey } from '../verifier.ts'

/** What proving and verifying need of one circuit. */
export interface CircuitFiles extends ProvingArtifacts {
  /** That of `zkey`, but for `vk_alphabeta_12`, which is as the service sent it: `verifyPairing` doesn't look at it. */
  readonly verificationKey: VerificationKey
}

export interface FetchOptions {
  /** Lower-case hex: hashes that the files must have. Without them the service is trusted to send its own. */
  readonly sha256?: { readonly zkey?: string; readonly wasm?: string }
  /** Default: the global one. */
  readonly fetch?: typeof fetch
}

/** A file could not be had, or is not the one that was asked for. */
export class CircuitFilesError extends Error {
  override readonly name = 'CircuitFilesError'
}

const sha256Hex = (bytes: Uint8Array): string =>
  Array.from(createCore().sha256(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')

/** @throws CircuitFilesError for what is no proving key */
const pointsOf = (zkey: Uint8Array, address: string): ReturnType<typeof keyPoints> => {
  try {
    return keyPoints(zkey)
  } catch (cause) {
    throw new CircuitFilesError(`${address} is no proving key`, { cause })
  }
}

/**
 * Fetches the files of a circuit from `/api/circuits/{circuitId}`. Keep them: they change only with the keys.
 * @param baseUrl address of the service
 * @throws CircuitFilesError for an answer other than 200, a file with another hash, a key that is none, or a
 *   verification key that is not that of the proving key, whose hash therefore pins both; what fetch throws
 */
export const fetchCircuitFiles = async (
  baseUrl: string,
  circuitId: string,
  { sha256 = {}, fetch: request = fetch }: FetchOptions = {},
): Promise<CircuitFiles> => {
  const base = `${baseUrl.replace(/\/$/, '')}/api/circuits/${encodeURIComponent(circuitId)}`
  const get = async (name: string): Promise<Response> => {
    const response = await request(`${base}/${name}`)
    if (!response.ok) throw new CircuitFilesError(`${base}/${name} answered ${response.status}`)
    return response
  }
  const getFile = async (kind: 'zkey' | 'wasm'): Promise<Uint8Array> => {
    const wanted = sha256[kind]
    const response = await get(wanted === undefined ? kind : `${kind}?sha256=${wanted}`)
    const bytes = new Uint8Array(await response.arrayBuffer())
    if (wanted !== undefined && sha256Hex(bytes) !== wanted)
      throw new CircuitFilesError(`${base}/${kind} is not the file with SHA-256 ${wanted}`)
    return bytes
  }
  const [zkey, wasm, json] = await Promise.all([
    getFile('zkey'),
    getFile('wasm'),
    get('vkey').then((response): Promise<unknown> => response.json()),
  ])
  const verificationKey = readVerificationKey(json)
  if (verificationKey === undefined) throw new CircuitFilesError(`${base}/vkey is no verification key`)
  const { vk_alphabeta_12: _, ...points } = verificationKey
  if (equal(points, pointsOf(zkey, `${base}/zkey`)) !== true)
    throw new CircuitFilesError(`${base}/vkey is not the verification key of the proving key`)
  return { zkey, wasm, verificationKey }
}
