/**
 * The files that proving and verifying need, read once and checked against the hashes in artifacts.json. Node only.
 * @module
 */
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { CIRCUITS, type CircuitId } from '../catalogue.ts'
import type { Circuit } from '../circuit.ts'
import type { VerificationKey } from '../verifier.ts'
import { keyPoints, readTranscript } from './key-files.ts'
import {
  ARTIFACT_ENDINGS,
  ARTIFACTS_FILE,
  type ArtifactKind,
  type ArtifactsRecord,
  countSecrets,
  powersFault,
  type SetupType,
  setupFault,
  sha256Hex,
  type Transcript,
  transcriptSha256,
} from './setup-record.ts'

export interface CircuitArtifacts {
  readonly constraints: number
  /** In memory that threads share. */
  readonly zkey: Uint8Array
  readonly wasm: Uint8Array
  readonly verificationKey: VerificationKey
  /** Lower-case hex. */
  readonly sha256: Readonly<Record<'zkey' | 'wasm', string>>
  readonly setup: {
    readonly type: SetupType
    /** To the proving key (phase 2), beacons not counted: they add no secret. */
    readonly contributions: number
    readonly transcriptSha256: string
  }
}

export type Artifacts = Readonly<Record<CircuitId, CircuitArtifacts>>

/** An artifact is missing, differs from its hash, or does not fit the others. The message names it. */
export class ArtifactError extends Error {
  override readonly name = 'ArtifactError'
}

/** A place that lies differently as seen from a bundle in build/ and from the sources in src/circuits/. */
const locate = (fromBundle: string, fromSource: string): URL => {
  const bundled = new URL(fromBundle, import.meta.url)
  return existsSync(fileURLToPath(bundled)) ? bundled : new URL(fromSource, import.meta.url)
}

/** What `npm run circuits:build` made. */
const builtDirectory = (): URL => locate('./circuits/', '../../../build/circuits/')
const shippedDirectory = (): URL => locate('../circuits/keys/', '../../../circuits/keys/')
/** The bundle that runs in the prover's threads. @throws ArtifactError where nothing was built */
export const workerFile = (): string => {
  const file = fileURLToPath(locate('./prover-worker.js', '../../../build/prover-worker.js'))
  if (!existsSync(file)) throw new ArtifactError(`${file} is missing; npm run build makes it`)
  return file
}

const readFile = (directory: URL, name: string): Uint8Array => {
  const file = fileURLToPath(new URL(name, directory))
  try {
    return readFileSync(file)
  } catch (cause) {
    throw new ArtifactError(`${file} can't be read; npm run circuits:build makes what is built`, { cause })
  }
}

const readChecked = (directory: URL, name: string, sha256: string): Uint8Array => {
  const bytes = readFile(directory, name)
  const found = sha256Hex(bytes)
  if (found !== sha256)
    throw new ArtifactError(
      `${fileURLToPath(new URL(name, directory))} has SHA-256 ${found}, ${ARTIFACTS_FILE} says ${sha256}`,
    )
  return bytes
}

const shared = (bytes: Uint8Array): Uint8Array => {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length))
  copy.set(bytes)
  return copy
}

const parse = (bytes: Uint8Array): unknown => JSON.parse(new TextDecoder().decode(bytes))

/** What in the files of a circuit does not belong together, in words. Hashes alone say only that nothing changed. */
const keyFault = (publicCount: number, zkey: Uint8Array, vkey: VerificationKey, transcript: Transcript) => {
  const { vk_alphabeta_12, ...points } = vkey
  if (vkey.nPublic !== publicCount) return `the verification key is for ${vkey.nPublic} public signals`
  if (!isDeepStrictEqual(points, keyPoints(zkey)))
    return 'the verification key is not that of the proving key'
  if (!isDeepStrictEqual(transcript, readTranscript(zkey))) return 'the proving key has another history'
  return undefined
}

const loadCircuit = (
  { id, publicNames }: Circuit<CircuitId>,
  directory: URL,
  record: ArtifactsRecord,
): CircuitArtifacts => {
  const circuit = record.circuits[id]
  if (circuit === undefined) throw new ArtifactError(`${ARTIFACTS_FILE} has no circuit ${id}`)
  const { constraints, sha256, transcript, setup } = circuit
  const load = (kind: ArtifactKind, from: URL) =>
    readChecked(from, `${id}${ARTIFACT_ENDINGS[kind]}`, sha256[kind])
  const zkey = load('zkey', directory)
  // Compared with the proving key below, whose points have the shape that they need.
  const verificationKey = parse(load('vkey', directory)) as VerificationKey
  const fault =
    setupFault(record.powers, circuit) ?? keyFault(publicNames.length, zkey, verificationKey, transcript)
  if (fault !== undefined) throw new ArtifactError(`${id}: ${fault}`)
  return {
    constraints,
    zkey: shared(zkey),
    wasm: shared(load('wasm', builtDirectory())),
    verificationKey,
    sha256,
    setup: {
      type: setup,
      contributions: countSecrets(transcript.contributions),
      transcriptSha256: transcriptSha256(record.powers.sha256, circuit),
    },
  }
}

/** Where proving keys and artifacts.json are. @param directory the shipped ones where absent */
const keysDirectory = (directory?: string): URL =>
  directory === undefined ? shippedDirectory() : pathToFileURL(join(resolve(directory), '/'))

/** A verification key, and what is recorded of the setup that it is from. */
export interface RecordedKey {
  readonly key: VerificationKey
  readonly setup: SetupType
  /** Names of those who contributed secrets to the proving key (phase 2). */
  readonly contributors: readonly string[]
}

/**
 * Reads one verification key.
 * @returns undefined where there is none of this circuit
 * @throws ArtifactError for a file that is missing or differs from its hash, and a setup that its contributions don't bear out
 */
export const loadVerificationKey = (circuitId: string, directory?: string): RecordedKey | undefined => {
  const from = keysDirectory(directory)
  const record = parse(readFile(from, ARTIFACTS_FILE)) as ArtifactsRecord
  const circuit = Object.hasOwn(record.circuits, circuitId) ? record.circuits[circuitId] : undefined
  if (circuit === undefined) return undefined
  const fault = powersFault(record.powers) ?? setupFault(record.powers, circuit)
  if (fault !== undefined) throw new ArtifactError(`${circuitId}: ${fault}`)
  const { sha256, setup, transcript } = circuit
  const bytes = readChecked(from, `${circuitId}${ARTIFACT_ENDINGS.vkey}`, sha256.vkey)
  const contributors = transcript.contributions.filter(({ beacon }) => beacon !== true)
  return { key: parse(bytes) as VerificationKey, setup, contributors: contributors.map(({ name }) => name) }
}

/**
 * Reads the artifacts of every circuit.
 * @param directory where proving keys and artifacts.json are; the shipped ones where absent
 * @throws ArtifactError for a file that is missing or differs from its hash, a key that is not that of the other,
 *   and a setup that its contributions do not bear out
 */
export const loadArtifacts = (directory?: string): Artifacts => {
  const from = keysDirectory(directory)
  const record = parse(readFile(from, ARTIFACTS_FILE)) as ArtifactsRecord
  const fault = powersFault(record.powers)
  if (fault !== undefined) throw new ArtifactError(`${record.powers.file}: ${fault}`)
  const entries = CIRCUITS.map((circuit) => [circuit.id, loadCircuit(circuit, from, record)])
  return Object.fromEntries(entries) as Artifacts
}
