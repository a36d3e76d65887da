/**
 * A proof as somebody hands it over in a file: the answer of a route, what snarkjs writes, or the text `zk1.…`.
 * @module
 */
import { isObject } from '../../protocol/json-object.ts'
import { decodeZk1, type SnarkProof } from '../../protocol/zk1.ts'

/** What a file says; nothing of it is checked yet. */
export interface ProofFile {
  /** Should be one: the verifier looks. */
  readonly proof: SnarkProof
  readonly publicSignals: readonly string[]
  readonly circuitId?: string
  readonly digest?: string
  /** Every word in the file for what the proof says, 1 for YES. */
  readonly decisions: readonly (0 | 1)[]
  /** Whether a policy has a part in the decision, so that it may be NO where the proof says YES. */
  readonly hasPolicy: boolean
  /** What was asked, as signed results say it: `none` where nothing was. */
  readonly question?: string
  /** What `ctx` is said to be made of. */
  readonly context?: Readonly<Record<string, unknown>>
  /** Whether a signature stands in the file, which isn't looked at. */
  readonly isSigned: boolean
}

/** The file can't be understood, so that nothing can be said of a proof. */
export class ProofFileError extends Error {
  override readonly name = 'ProofFileError'
}

type Json = Readonly<Record<string, unknown>>

const isText = (value: unknown): value is string => typeof value === 'string'

/** @throws ProofFileError */
export const parseJson = (text: string, what: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw new ProofFileError(`${what} is not JSON.`)
  }
}

const DECISIONS = new Map<unknown, 0 | 1>([
  [0, 0],
  [1, 1],
  ['NO', 0],
  ['YES', 1],
  [false, 0],
  [true, 1],
])
/** Under these names answers say it. */
const DECISION_FIELDS = [
  'decision',
  'verdict',
  'eligible',
  'token_valid',
  'consent_verified',
  'quantum_safe_valid',
] as const

/** What the fields of an answer are called, in all routes that hand out proofs. */
const labelsOf = (json: Json) => {
  const circuitId = json.circuit_id ?? json.circuitId
  return {
    circuitId: isText(circuitId) ? circuitId : undefined,
    digest: isText(json.digest) ? json.digest : undefined,
    decisions: DECISION_FIELDS.flatMap((field) => DECISIONS.get(json[field]) ?? []),
    hasPolicy: isText(json.verification_id),
    question: isText(json.question) ? json.question : undefined,
    context: isObject(json.context) ? json.context : undefined,
    isSigned: isText(json.jws) || isText(json.signature),
  }
}

const fromZk1 = (text: string): Pick<ProofFile, 'proof' | 'publicSignals'> => {
  const decoded = decodeZk1(text)
  if (decoded === undefined) throw new ProofFileError('The text that begins with zk1. is no proof.')
  return decoded
}

const fromJson = (answer: Json, publicSignals: unknown): ProofFile => {
  const { aggregatedProof } = answer
  const json = isObject(aggregatedProof) ? { ...answer, ...aggregatedProof } : answer
  const proof = 'pi_a' in json ? json : json.proof
  if (isText(proof)) return { ...labelsOf(json), ...fromZk1(proof) }
  const signals = publicSignals ?? json.public_signals ?? json.publicInputs ?? json.publicSignals
  if (!isObject(proof)) throw new ProofFileError('There is no proof in the file.')
  if (!Array.isArray(signals))
    throw new ProofFileError(
      'There are no public signals. Where they are in a file of their own, give it with --public, or put them beside the proof as "publicSignals".',
    )
  // The verifier refuses whatever is none, with a reason.
  return { ...labelsOf(json), proof: proof as object as SnarkProof, publicSignals: signals }
}

/**
 * Reads a proof.
 * @param publicSignals content of a file of their own, as snarkjs writes it; they have precedence
 * @throws ProofFileError for what holds no proof
 */
export const readProofFile = (text: string, publicSignals?: string): ProofFile => {
  const trimmed = text.trim()
  if (trimmed.startsWith('zk1.'))
    return { ...fromZk1(trimmed), decisions: [], hasPolicy: false, isSigned: false }
  const json = parseJson(trimmed, 'The file')
  if (!isObject(json)) throw new ProofFileError('The file holds no JSON object.')
  return fromJson(
    json,
    publicSignals === undefined ? undefined : parseJson(publicSignals, 'The file of the public signals'),
  )
}
