/**
 * HTTP Message Signatures (RFC 9421) of requests: whether one of a request's signatures holds under the key that it names.
 * What it covers, for whom and for how long is judged in http-evidence.ts.
 * @module
 */
import {
  type ComponentDescriptor,
  isSignatureError,
  type SignatureErrorCode,
  type SignatureParameters,
  type VerifiedSignature,
  type Verifier,
  verifySignature,
} from 'http-message-sig'
import { isInnerList, parseDictionary } from 'structured-headers'
import type { PublicKey } from '../../../../keys/public-key.ts'
import type { EvidenceReason } from '../reasons.ts'
import type { AgentKey } from './evidence.ts'
import { readSignatureAgent, type SignatureAgent } from './signature-agent.ts'

/** A request as somebody received it. */
export interface HttpRequest {
  readonly method: string
  /** Absolute: its host is what @authority means. */
  readonly url: string
  /** One pair for each occurrence, in their order. */
  readonly fields: readonly { readonly name: string; readonly value: string }[]
  readonly body: Uint8Array
}

/** Use of a signature, as its tag parameter says (RFC 9421 §2.3). */
export const TAGS = ['web-bot-auth', 'agent-browser-auth', 'agent-payer-auth'] as const
export type Tag = (typeof TAGS)[number]

/** For each component the library reads the field that it is of once more. */
export const MAX_COMPONENTS = 32
/** In a row. The library trims values in time that grows with the square of it. */
export const MAX_SPACES = 32
const TOO_MANY_SPACES = new RegExp(`[ \\t]{${MAX_SPACES + 1}}`)

/** What a signature says of itself, whoever made it. */
export interface SentSignature {
  readonly label: string
  readonly components: readonly ComponentDescriptor[]
  readonly parameters: SignatureParameters
}

export interface HeldSignature extends SentSignature {
  readonly key: AgentKey
  readonly signature: Uint8Array
}

type Reasons = EvidenceReason | readonly EvidenceReason[]

/** Finds the key that a signature names. @returns why there is none, or why it need not be looked up */
type FindSigner = (kid: unknown, sent: SentSignature) => Promise<AgentKey | Reasons>

/**
 * What a key signs requests by: names of the HTTP Signature Algorithms registry (RFC 9421 §6.2), and those that C2SP
 * httpsig-pq v1.0.0 gives ML-DSA, which signs the base itself with an empty context.
 */
export const HTTP_ALGORITHMS: Readonly<Record<PublicKey['alg'], string>> = {
  Ed25519: 'ed25519',
  ES256: 'ecdsa-p256-sha256',
  'ML-DSA-44': 'ml-dsa-44',
  'ML-DSA-65': 'ml-dsa-65',
}

/** Times are judged elsewhere, with reasons of their own, so here none is too early or too late. */
const ANY_TIME = { now: 0, clockSkew: Number.MAX_SAFE_INTEGER } as const

const REASONS: Readonly<Record<SignatureErrorCode, EvidenceReason>> = {
  MissingField: 'COMPONENT_MISSING',
  MalformedField: 'SIGNATURE_MALFORMED',
  LabelRequired: 'SIGNATURE_AMBIGUOUS',
  LabelMismatch: 'SIGNATURE_MALFORMED',
  DuplicateLabel: 'SIGNATURE_MALFORMED',
  InvalidComponent: 'SIGNATURE_MALFORMED',
  DuplicateComponent: 'SIGNATURE_MALFORMED',
  UnsupportedFeature: 'COMPONENT_UNSUPPORTED',
  AlgorithmMismatch: 'ALG_MISMATCH',
  PolicyViolation: 'ALG_MISMATCH',
  VerificationFailed: 'SIGNATURE_INVALID',
  ResolverFailed: 'KEY_UNKNOWN',
}

/** Says through the library, which knows only failures, why there is no key. */
class NoKey extends Error {
  readonly reasons: Reasons
  constructor(reasons: Reasons) {
    super(String(reasons))
    this.name = 'NoKey'
    this.reasons = reasons
  }
}

interface AgentVerifier extends Verifier {
  readonly key: AgentKey
}

/** The algorithm is that of the key; what the message says of it must agree. */
const verifierOf = (key: AgentKey): AgentVerifier => {
  const { alg, verify } = key.publicKey
  return { key, algorithm: HTTP_ALGORITHMS[alg], verify: (data, signature) => verify(data, signature) }
}

/** The values of a field's occurrences, joined as RFC 9110 §5.3 does. */
export const fieldValue = ({ fields }: HttpRequest, name: string): string | undefined => {
  const values = fields.filter((field) => field.name.toLowerCase() === name).map(({ value }) => value)
  return values.length === 0 ? undefined : values.join(', ')
}

/** What a signature says of where its key is published; undefined where the request says nothing of it. */
export const signatureAgentOf = (
  request: HttpRequest,
  label: string,
  components: readonly ComponentDescriptor[],
): SignatureAgent | EvidenceReason | undefined => {
  const field = fieldValue(request, 'signature-agent')
  return field === undefined ? undefined : readSignatureAgent(field, label, components)
}

/**
 * The signature that is meant: the one of this label, else the only one, else the only one of a tag known here.
 * @returns why there is none
 */
const labelOf = (input: string, wanted: string | undefined): { label: string } | EvidenceReason => {
  let inputs: ReturnType<typeof parseDictionary>
  try {
    inputs = parseDictionary(input)
  } catch {
    // The only way in which the parser says that it is no dictionary.
    return 'SIGNATURE_MALFORMED'
  }
  // Whichever is meant.
  for (const member of inputs.values())
    if (isInnerList(member) && member[0].length > MAX_COMPONENTS) return 'COMPONENT_UNSUPPORTED'
  const labels = [...inputs.keys()]
  if (wanted !== undefined) return labels.includes(wanted) ? { label: wanted } : 'SIGNATURE_MISSING'
  const [only] = labels
  if (only === undefined) return 'SIGNATURE_MISSING'
  if (labels.length === 1) return { label: only }
  const tagged = labels.filter((label) => {
    const member = inputs.get(label)
    return member !== undefined && isInnerList(member) && TAGS.some((tag) => tag === member[1].get('tag'))
  })
  return tagged.length === 1 ? { label: tagged[0] as string } : 'SIGNATURE_AMBIGUOUS'
}

/**
 * Why verifying failed. What is no fault of the message is thrown on: an unreachable database must not look like a
 * wrong signature.
 */
const reasonOf = (error: unknown): Reasons => {
  if (!isSignatureError(error)) throw error
  if (error.code !== 'ResolverFailed') return REASONS[error.code]
  if (error.cause instanceof NoKey) return error.cause.reasons
  throw error.cause
}

/**
 * Verifies one signature of a request.
 * @param label of the signature, where it has several
 * @returns what was signed by whom, or why nothing was
 */
export const verifyHttpSignature = async (
  request: HttpRequest,
  label: string | undefined,
  findSigner: FindSigner,
): Promise<HeldSignature | Reasons> => {
  const input = fieldValue(request, 'signature-input')
  if (input === undefined || fieldValue(request, 'signature') === undefined) return 'SIGNATURE_MISSING'
  if (request.fields.some(({ value }) => TOO_MANY_SPACES.test(value))) return 'SIGNATURE_MALFORMED'
  const chosen = labelOf(input, label)
  if (typeof chosen === 'string') return chosen
  const { method, url: targetUri, fields } = request
  let verified: VerifiedSignature<AgentVerifier>
  try {
    verified = await verifySignature(
      { kind: 'request', method, targetUri, fields },
      {
        label: chosen.label,
        policy: {
          algorithms: Object.values(HTTP_ALGORITHMS),
          requiredComponents: [],
          requiredParameters: [],
          ...ANY_TIME,
        },
        async resolveVerifier(sent) {
          const found = await findSigner(sent.parameters.keyid, sent)
          if (typeof found === 'string' || !('publicKey' in found)) throw new NoKey(found)
          return verifierOf(found)
        },
      },
    )
  } catch (error) {
    return reasonOf(error)
  }
  const { verifier, label: held, components, parameters, signature } = verified
  return { key: verifier.key, label: held, components, parameters, signature }
}
