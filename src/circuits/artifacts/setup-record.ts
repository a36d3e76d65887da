/**
 * What is recorded of the setup of the circuits: artifacts.json, beside the proving keys. Node only.
 * @module
 */
import { createHash } from 'node:crypto'
import { canonicalJson } from '../../protocol/canonical-json.ts'

/** Kinds of files, each with its ending. The first two stand beside artifacts.json, the others in build/circuits. */
export const ARTIFACT_ENDINGS = {
  zkey: '.zkey',
  vkey: '.vkey.json',
  wasm: '.wasm',
  r1cs: '.r1cs',
  sym: '.sym',
} as const
export type ArtifactKind = keyof typeof ARTIFACT_ENDINGS

/** Whether one party knew all randomness of both phases, and so can forge proofs unless it forgot it. */
export const SETUP_TYPES = ['single-party', 'multi-party'] as const
export type SetupType = (typeof SETUP_TYPES)[number]

/** Who made the powers: `public` for those of a public ceremony, which many took part in. */
const POWERS_TYPES = [...SETUP_TYPES, 'public'] as const
export type PowersType = (typeof POWERS_TYPES)[number]

export interface Contribution {
  readonly name: string
  /** As snarkjs tells it to who contributes. */
  readonly hash: string
  /** It is made of a public value, so it adds no secret. */
  readonly beacon?: true
}

/** What a proving key says of how it was made. */
export interface Transcript {
  /** Hash of the key before any randomness, which follows from the circuit and the powers. */
  readonly circuitHash: string
  readonly contributions: readonly Contribution[]
}

export interface PowersRecord {
  readonly file: string
  readonly sha256: string
  readonly setup: PowersType
  readonly contributions: readonly Contribution[]
}

/** The verification key of a version that was replaced, in `ID@VERSION.vkey.json`: proofs of that version can be verified with it. */
export interface FormerKey {
  readonly version: string
  /** SHA-256 of the file. */
  readonly vkey: string
}

/** The version of circuits that their records don't tell. */
const FIRST_VERSION = '1.0.0'

export interface CircuitRecord {
  /** Absent: 1.0.0. */
  readonly version?: string
  /** The oldest first. */
  readonly former?: readonly FormerKey[]
  readonly setup: SetupType
  readonly constraints: number
  readonly sha256: Readonly<Record<ArtifactKind, string>>
  readonly transcript: Transcript
}

/** The content of artifacts.json. */
export interface ArtifactsRecord {
  readonly powers: PowersRecord
  readonly circuits: Readonly<Record<string, CircuitRecord>>
}

/** Fewest secrets that more than one party can have put in. */
const MIN_PARTIES = 2

/** How many contributions put a secret in. */
export const countSecrets = (contributions: readonly Contribution[]): number =>
  contributions.filter(({ beacon }) => beacon !== true).length

const phaseFault = (
  setup: string,
  types: readonly string[],
  contributions: readonly Contribution[],
): string | undefined => {
  if (!types.includes(setup)) return `the setup is ${setup}, not one of ${types.join(', ')}`
  const secrets = countSecrets(contributions)
  if (secrets === 0) return 'no secret contribution: anybody could forge proofs'
  if (setup !== 'single-party' && secrets < MIN_PARTIES)
    return `${setup}, with ${secrets} secret contribution`
  return undefined
}

/** What is wrong with what the record says of the powers (phase 1), in words. */
export const powersFault = ({ setup, contributions }: PowersRecord): string | undefined =>
  phaseFault(setup, POWERS_TYPES, contributions)

/**
 * What is wrong with what the record says of a circuit's setup, in words. Whoever knows the secrets of phase 1 can
 * forge whatever was put in later, so keys from powers of one party are of one party.
 */
export const setupFault = (
  powers: PowersRecord,
  { setup, transcript }: CircuitRecord,
): string | undefined => {
  const fault = phaseFault(setup, SETUP_TYPES, transcript.contributions)
  if (fault !== undefined) return fault
  return setup === 'multi-party' && powers.setup === 'single-party'
    ? 'multi-party, with powers of a single party'
    : undefined
}

export const ARTIFACTS_FILE = 'artifacts.json'

export const sha256Hex = (bytes: Uint8Array | string): string =>
  createHash('sha256').update(bytes).digest('hex')

export const versionOf = ({ version = FIRST_VERSION }: Pick<CircuitRecord, 'version'>): string => version

/** The file of the verification key of a version that was replaced. */
export const formerKeyFile = (id: string, version: string): string =>
  `${id}@${version}${ARTIFACT_ENDINGS.vkey}`

/** Names a circuit's setup: SHA-256 of the canonical JSON of the powers, the constraints and the contributions. */
export const transcriptSha256 = (powersSha256: string, { sha256, transcript }: CircuitRecord): string =>
  sha256Hex(canonicalJson({ powers: powersSha256, r1cs: sha256.r1cs, ...transcript }))
