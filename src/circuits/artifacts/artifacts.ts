/**
 * The files that proving and verifying need, read once and checked against the hashes in artifacts.json. Node only.
 * @module
 */
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { CIRCUITS, type CircuitId } from '../catalogue.ts'
import type { Circuit } from '../circuit.ts'
import type { ProvingArtifacts } from '../proving/groth16.ts'
import { keyPoints } from '../proving/proving-key.ts'
import type { VerificationKey } from '../verifier.ts'
import { readTranscript } from './key-files.ts'
import {
  ARTIFACT_ENDINGS,
  ARTIFACTS_FILE,
  type ArtifactKind,
  type ArtifactsRecord,
  type CircuitRecord,
  countSecrets,
  type FormerKey,
  formerKeyFile,
  powersFault,
  type SetupType,
  setupFault,
  sha256Hex,
  type Transcript,
  transcriptSha256,
  versionOf,
} from './setup-record.ts'

export interface CircuitArtifacts {
  readonly constraints: number
  /**
   * What proofs are made with, in memory that threads share: read and checked again when it is first asked for, piece by piece.
   * @throws ArtifactError where a file is missing or differs from its hash by now
   */
  load(): Promise<ProvingArtifacts>
  readonly verificationKey: VerificationKey
  /** Of the versions before, by version. */
  readonly formerKeys: ReadonlyMap<string, VerificationKey>
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
  const file = fileURLToPath(locate('./circuit-worker.js', '../../../build/circuit-worker.js'))
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

const requireHash = (file: URL, found: string, sha256: string): void => {
  if (found === sha256) return
  throw new ArtifactError(`${fileURLToPath(file)} has SHA-256 ${found}, ${ARTIFACTS_FILE} says ${sha256}`)
}

const readChecked = (directory: URL, name: string, sha256: string): Uint8Array => {
  const bytes = readFile(directory, name)
  requireHash(new URL(name, directory), sha256Hex(bytes), sha256)
  return bytes
}

/** A file as it was at the start: where it is, how many bytes it had, and their hash. */
type SeenFile = readonly [file: URL, length: number, sha256: string]

/** Reads a file into shared memory, in pieces that hold nobody up. @throws ArtifactError where it has changed */
const readShared = async ([file, length, sha256]: SeenFile): Promise<Uint8Array> => {
  const bytes = new Uint8Array(new SharedArrayBuffer(length))
  const hash = createHash('sha256')
  let at = 0
  const pieces: AsyncIterable<Buffer> = createReadStream(file)
  try {
    for await (const piece of pieces) {
      hash.update(piece)
      bytes.set(piece.subarray(0, length - at), at)
      at = Math.min(length, at + piece.length)
    }
  } catch (cause) {
    throw new ArtifactError(`${fileURLToPath(file)} can't be read any more`, { cause })
  }
  requireHash(file, hash.digest('hex'), sha256)
  return bytes
}

const loaderOf =
  ([zkey, wasm]: readonly [zkey: SeenFile, wasm: SeenFile]) =>
  async (): Promise<ProvingArtifacts> => ({ zkey: await readShared(zkey), wasm: await readShared(wasm) })

/** Remembers what came of it, unless it failed. */
const once = <T>(load: () => Promise<T>): (() => Promise<T>) => {
  let loaded: Promise<T> | undefined
  return () => {
    loaded ??= load().catch((error: unknown) => {
      loaded = undefined
      throw error
    })
    return loaded
  }
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

const versionFault = (version: string, circuit: CircuitRecord): string | undefined =>
  versionOf(circuit) === version
    ? undefined
    : `the keys are for version ${versionOf(circuit)}, the circuit is ${version}`

const loadFormerKey = (id: string, directory: URL, { version, vkey }: FormerKey): VerificationKey =>
  // Its hash says that it is the one that was made.
  parse(readChecked(directory, formerKeyFile(id, version), vkey)) as VerificationKey

const loadCircuit = (
  { id, publicNames, version }: Circuit<CircuitId>,
  directory: URL,
  record: ArtifactsRecord,
): CircuitArtifacts => {
  const circuit = record.circuits[id]
  if (circuit === undefined) throw new ArtifactError(`${ARTIFACTS_FILE} has no circuit ${id}`)
  const { constraints, sha256, transcript, setup, former = [] } = circuit
  const load = (kind: ArtifactKind, from: URL) =>
    readChecked(from, `${id}${ARTIFACT_ENDINGS[kind]}`, sha256[kind])
  const [zkey, wasm] = [load('zkey', directory), load('wasm', builtDirectory())]
  // Compared with the proving key below, whose points have the shape that they need.
  const verificationKey = parse(load('vkey', directory)) as VerificationKey
  const fault =
    versionFault(version, circuit) ??
    setupFault(record.powers, circuit) ??
    keyFault(publicNames.length, zkey, verificationKey, transcript)
  if (fault !== undefined) throw new ArtifactError(`${id}: ${fault}`)
  const formerKeys = former.map((key) => [key.version, loadFormerKey(id, directory, key)] as const)
  return {
    constraints,
    load: once(
      loaderOf([
        [new URL(`${id}${ARTIFACT_ENDINGS.zkey}`, directory), zkey.length, sha256.zkey],
        [new URL(`${id}${ARTIFACT_ENDINGS.wasm}`, builtDirectory()), wasm.length, sha256.wasm],
      ]),
    ),
    verificationKey,
    formerKeys: new Map(formerKeys),
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
