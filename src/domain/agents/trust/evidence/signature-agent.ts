/**
 * The Signature-Agent field of Web Bot Auth (draft-ietf-webbotauth-httpsig-protocol §5.2.1): where a signer says that its keys
 * are published. What it says of a signature is the one member that this signature covers, and nothing else of the field.
 * @module
 */
import type { ComponentDescriptor } from 'http-message-sig'
import { isInnerList, parseDictionary, parseItem } from 'structured-headers'
import type { EvidenceReason } from '../reasons.ts'

const FIELD = 'signature-agent'

/** What a signature says of its signer. */
export interface SignatureAgent {
  /** As it was sent. */
  readonly url: string
}

type Members = ReturnType<typeof parseDictionary>

const parsed = <T>(parse: () => T): T | undefined => {
  try {
    return parse()
  } catch {
    // The only way in which the parser says that it is none.
    return undefined
  }
}

/** An absolute https URL without a user. */
const isAgentUrl = (value: unknown): value is string => {
  if (typeof value !== 'string' || !URL.canParse(value)) return false
  const { protocol, username, password } = new URL(value)
  return protocol === 'https:' && username === '' && password === ''
}

/** Components of the field: those with no parameter, which mean all of it, and the members that others name. */
const coverageOf = (components: readonly ComponentDescriptor[]) => {
  const own = components.filter(({ name }) => name === FIELD).map(({ parameters }) => parameters)
  const has = (names: string) => own.filter((parameters) => Object.keys(parameters).join() === names)
  return { whole: has('').length > 0, keys: has('key').map(({ key }) => String(key)) }
}

/**
 * The member that a signature speaks by: the one of its label, else the only one that it covers. A proxy may have given the
 * signature another label, never the member another key (§6.6.1).
 */
const ofMember = (
  members: Members,
  keys: readonly string[],
  label: string,
): SignatureAgent | EvidenceReason => {
  const [first, ...others] = keys
  if (first === undefined) return 'SIGNATURE_AGENT_UNCOVERED'
  if (others.length > 0 && !keys.includes(label)) return 'SIGNATURE_AGENT_AMBIGUOUS'
  const member = members.get(keys.includes(label) ? label : first)
  if (member === undefined || isInnerList(member)) return 'SIGNATURE_AGENT_MALFORMED'
  const [url, parameters] = member
  return isAgentUrl(url) && parameters.size === 0 ? { url } : 'SIGNATURE_AGENT_MALFORMED'
}

/**
 * Reads the field as a signature covers it: a member of a dictionary, which must be covered by its own key, or the whole of
 * a single string, as drafts before draft-meunier-web-bot-auth-architecture-04 had it and agents still send it.
 * @param field the values of all occurrences, joined by commas
 * @param label of the signature
 * @returns why it says nothing
 */
export const readSignatureAgent = (
  field: string,
  label: string,
  components: readonly ComponentDescriptor[],
): SignatureAgent | EvidenceReason => {
  const { whole, keys } = coverageOf(components)
  if (field.trimStart().startsWith('"')) {
    const [url, parameters] = parsed(() => parseItem(field)) ?? []
    if (!isAgentUrl(url) || parameters?.size !== 0) return 'SIGNATURE_AGENT_MALFORMED'
    return whole ? { url } : 'SIGNATURE_AGENT_UNCOVERED'
  }
  const members = parsed(() => parseDictionary(field))
  return members === undefined ? 'SIGNATURE_AGENT_MALFORMED' : ofMember(members, keys, label)
}
