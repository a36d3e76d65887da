/**
 * A signed request as evidence: what its signature must cover, for whom, for how long. The rules are those of Web Bot Auth
 * (draft-ietf-webbotauth-httpsig-protocol) and stricter where it leaves a choice.
 * @module
 */
import { hash } from 'node:crypto'
import { isObject } from '../../../../protocol/json-object.ts'
import type { EvidenceReason } from '../reasons.ts'
import { contentDigestFault } from './content-digest.ts'
import {
  type Evidence,
  type FindKey,
  type FindPublishedKey,
  MAX_BOT_WINDOW_SECONDS,
  MAX_WINDOW_SECONDS,
  nonceFault,
  timeFaults,
} from './evidence.ts'
import {
  fieldValue,
  type HttpRequest,
  type SentSignature,
  signatureAgentOf,
  TAGS,
  type Tag,
  verifyHttpSignature,
} from './http-signature.ts'

/** Those under which a request is made for the very resource that it names. */
const TAGS_OF_RESOURCES: readonly string[] = ['agent-browser-auth', 'agent-payer-auth']

/** An RFC 7638 thumbprint by SHA-256: nobody publishes a key under another name. */
const isThumbprint = (kid: unknown): kid is string => typeof kid === 'string' && /^[\w-]{43}$/.test(kid)

export interface HttpExpectations {
  /** `host`, `host:port` or an origin: where the request must have been sent. */
  readonly audience: string
  readonly tag?: Tag
  /** Of the signature, where the request has several. */
  readonly label?: string
  /** Unix seconds. */
  readonly now: number
}

/** The host of what a caller calls an audience, in the scheme of the request, so that default ports are equal. */
const hostOf = (audience: string, scheme: string): string | undefined => {
  const text = /^https?:\/\//i.test(audience) ? audience : `${scheme}//${audience}`
  return URL.canParse(text) ? new URL(text).host : undefined
}

type Covered = (name: string) => boolean

/** A parameter makes it another component, such as one member of a field. */
const coverageOf =
  ({ components }: SentSignature): Covered =>
  (name) =>
    components.some((component) => component.name === name && Object.keys(component.parameters).length === 0)

const tagFaults = (tag: unknown, wanted: Tag | undefined): EvidenceReason[] => {
  if (typeof tag !== 'string') return ['TAG_MISSING']
  if (!TAGS.some((known) => known === tag)) return ['TAG_UNKNOWN']
  return wanted === undefined || tag === wanted ? [] : ['TAG_MISMATCH']
}

const announcesBody = (request: HttpRequest): boolean => {
  const length = fieldValue(request, 'content-length')
  return (
    (length !== undefined && !/^0+$/.test(length.trim())) ||
    fieldValue(request, 'transfer-encoding') !== undefined
  )
}

const bodyFaults = (request: HttpRequest, covers: Covered): EvidenceReason[] => {
  const { body } = request
  if (body.length === 0 && announcesBody(request)) return ['BODY_MISSING']
  if (!covers('content-digest')) return body.length === 0 ? [] : ['DIGEST_UNCOVERED']
  const fault = contentDigestFault(fieldValue(request, 'content-digest') ?? '', body)
  return fault === undefined ? [] : [fault]
}

const coverageFaults = ({ parameters }: SentSignature, covers: Covered): EvidenceReason[] => {
  const faults: EvidenceReason[] = []
  if (!covers('@authority') && !covers('@target-uri')) faults.push('AUTHORITY_UNCOVERED')
  const needsPath = typeof parameters.tag === 'string' && TAGS_OF_RESOURCES.includes(parameters.tag)
  if (needsPath && !covers('@path') && !covers('@target-uri')) faults.push('PATH_UNCOVERED')
  return faults
}

const signedObject = (request: HttpRequest): Record<string, unknown> | undefined => {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(request.body))
  } catch {
    // A body that is no JSON says nothing about what is wanted.
    return undefined
  }
  return isObject(value) ? value : undefined
}

const asNumber = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)
const asText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/**
 * What speaks against a signature, whether its key made it or not.
 * @param isBot whether nobody enrolled its key: generic bots sign for longer, and may send no nonce
 *   (draft-ietf-webbotauth-httpsig-protocol §5.2 and appendix E)
 */
const faultsOf = (
  request: HttpRequest,
  { audience, tag: wanted, now }: HttpExpectations,
  sent: SentSignature,
  isBot: boolean,
) => {
  const { created, expires, nonce, tag } = sent.parameters
  const covers = coverageOf(sent)
  const { host, protocol } = new URL(request.url)
  const maxWindowSeconds = isBot ? MAX_BOT_WINDOW_SECONDS : MAX_WINDOW_SECONDS
  const nonceReason = isBot && nonce === undefined ? undefined : nonceFault(nonce)
  const bodyReasons = bodyFaults(request, covers)
  const agent = signatureAgentOf(request, sent.label, sent.components)
  const reasons: EvidenceReason[] = [
    ...coverageFaults(sent, covers),
    ...(typeof agent === 'string' ? [agent] : []),
    ...(host === hostOf(audience, protocol) ? [] : (['AUDIENCE_MISMATCH'] as const)),
    ...timeFaults(created, expires, now, maxWindowSeconds),
    ...(nonceReason === undefined ? [] : [nonceReason]),
    ...tagFaults(tag, wanted),
    ...bodyReasons,
  ]
  return {
    reasons,
    signatureAgent: typeof agent === 'object' ? agent.url : undefined,
    isBodyCovered: bodyReasons.length === 0 && covers('content-digest'),
  }
}

/**
 * Judges a signed request. Every reason is told, so that whoever signs can repair all at once.
 * @param findPublished for callers who take keys that nobody enrolled; asked last, since that calls out to where a stranger says
 */
export const readHttpEvidence = async (
  request: HttpRequest,
  expected: HttpExpectations,
  findKey: FindKey,
  findPublished?: FindPublishedKey,
): Promise<Evidence> => {
  const held = await verifyHttpSignature(request, expected.label, async (kid, sent) => {
    const found = await findKey(kid)
    if (found !== 'KEY_UNKNOWN' || findPublished === undefined || !isThumbprint(kid)) return found
    const { reasons, signatureAgent } = faultsOf(request, expected, sent, true)
    if (signatureAgent === undefined) return found
    return reasons.length > 0 ? reasons : findPublished(kid, signatureAgent)
  })
  if (typeof held === 'string' || !('key' in held)) {
    const digest = hash('sha256', fieldValue(request, 'signature') ?? '')
    return { method: 'http', reasons: [held].flat(), digest }
  }
  const { key, parameters, signature } = held
  const { created, expires, nonce, tag } = parameters
  const { reasons, signatureAgent, isBodyCovered } = faultsOf(
    request,
    expected,
    held,
    key.agent === undefined,
  )
  return {
    method: 'http',
    reasons,
    signer: key,
    signatureAgent,
    tag: asText(tag),
    created: asNumber(created),
    expires: asNumber(expires),
    nonce: asText(nonce),
    signed: isBodyCovered ? signedObject(request) : undefined,
    digest: hash('sha256', signature),
  }
}
