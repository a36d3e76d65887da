/**
 * A signed request as evidence: what its signature must cover, for whom, for how long. The rules are those of Web Bot Auth
 * (draft-meunier-web-bot-auth-architecture) and stricter where it leaves a choice.
 * @module
 */
import { hash } from 'node:crypto'
import { isObject } from '../../../../protocol/json-object.ts'
import type { EvidenceReason } from '../reasons.ts'
import { contentDigestFault } from './content-digest.ts'
import { type Evidence, type FindKey, nonceFault, timeFaults } from './evidence.ts'
import {
  fieldValue,
  type HeldSignature,
  type HttpRequest,
  TAGS,
  type Tag,
  verifyHttpSignature,
} from './http-signature.ts'

/** Those under which a request is made for the very resource that it names. */
const TAGS_OF_RESOURCES: readonly string[] = ['agent-browser-auth', 'agent-payer-auth']

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
  ({ components }: HeldSignature): Covered =>
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

const coverageFaults = (
  request: HttpRequest,
  { components, parameters }: HeldSignature,
  covers: Covered,
): EvidenceReason[] => {
  const faults: EvidenceReason[] = []
  if (!covers('@authority')) faults.push('AUTHORITY_UNCOVERED')
  const needsPath = typeof parameters.tag === 'string' && TAGS_OF_RESOURCES.includes(parameters.tag)
  if (needsPath && !covers('@path') && !covers('@target-uri')) faults.push('PATH_UNCOVERED')
  // One member of the field is enough: it is the one of this signature.
  const coversAgent = components.some(({ name }) => name === 'signature-agent')
  if (!coversAgent && fieldValue(request, 'signature-agent') !== undefined)
    faults.push('SIGNATURE_AGENT_UNCOVERED')
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

/** Judges a signed request. Every reason is told, so that whoever signs can repair all at once. */
export const readHttpEvidence = async (
  request: HttpRequest,
  expected: HttpExpectations,
  findKey: FindKey,
): Promise<Evidence> => {
  const held = await verifyHttpSignature(request, expected.label, findKey)
  if (typeof held === 'string') {
    const digest = hash('sha256', fieldValue(request, 'signature') ?? '')
    return { method: 'http', reasons: [held], digest }
  }
  const { key, parameters, signature } = held
  const { created, expires, nonce, tag } = parameters
  const covers = coverageOf(held)
  const { host, protocol } = new URL(request.url)
  const nonceReason = nonceFault(nonce)
  const bodyReasons = bodyFaults(request, covers)
  const reasons: EvidenceReason[] = [
    ...coverageFaults(request, held, covers),
    ...(host === hostOf(expected.audience, protocol) ? [] : (['AUDIENCE_MISMATCH'] as const)),
    ...timeFaults(created, expires, expected.now),
    ...(nonceReason === undefined ? [] : [nonceReason]),
    ...tagFaults(tag, expected.tag),
    ...bodyReasons,
  ]
  return {
    method: 'http',
    reasons,
    signer: key,
    tag: asText(tag),
    created: asNumber(created),
    expires: asNumber(expires),
    nonce: asText(nonce),
    signed: bodyReasons.length === 0 && covers('content-digest') ? signedObject(request) : undefined,
    digest: hash('sha256', signature),
  }
}
