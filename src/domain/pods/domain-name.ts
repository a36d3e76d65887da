/** Which names can be bound to a pod, and their one form. @module */
import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import psl from 'psl'
import { fail } from '../../errors.ts'

/** Of a name in DNS, without the root's dot: RFC 1035 §2.3.4. */
const MAX_DNS_CHARACTERS = 253
/** Its proof of possession stands under it. */
const MAX_NAME_CHARACTERS = MAX_DNS_CHARACTERS - '_verify.'.length
const ONLY_A_NAME = `Send only a host name: no scheme, port, path or wildcard, at most ${MAX_NAME_CHARACTERS} characters.`
/** What separates a name from something else, and what other notations of names begin with. */
const NOT_A_NAME = /[\s/\\:?#@%*[\]]/
/** Labels of letters, digits and inner hyphens, at most 63 characters (RFC 1123 §2.1), at least two of them. */
const HOST_NAME = /^(?!-)[a-z0-9-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9-]{1,63}(?<!-))+$/

const withoutRoot = (name: string): string => (name.endsWith('.') ? name.slice(0, -1) : name)

/** The form in which names are compared: lower case, no root dot. */
export const comparable = (name: string): string => withoutRoot(name).toLowerCase()

const refuse = (message: string): never => fail('invalid_domain', { message })

/**
 * A name in the form that DNS knows (UTS 46, A-labels, lower case, no root dot).
 * @throws AppError invalid_domain for whatever is no host name below a public suffix
 */
export const normaliseDomain = (input: string): string => {
  if (input.length > MAX_NAME_CHARACTERS + 1 || NOT_A_NAME.test(input)) return refuse(ONLY_A_NAME)
  const name = withoutRoot(domainToASCII(input))
  if (isIP(name) !== 0) return refuse('An IP address is not a domain.')
  if (name.length > MAX_NAME_CHARACTERS) return refuse(ONLY_A_NAME)
  if (!HOST_NAME.test(name)) return refuse('This is not a host name.')
  if (psl.get(name) === null)
    return refuse('This is a public suffix, under which others register their names.')
  return name
}

/**
 * The name in a Host header, in the form of {@link normaliseDomain}, as far as it can be a bound one.
 * @returns undefined for addresses and malformed headers
 */
export const hostName = (header: string): string | undefined => {
  const name = comparable(header.replace(/:\d{1,5}$/, ''))
  return name.length <= MAX_NAME_CHARACTERS && HOST_NAME.test(name) && isIP(name) === 0 ? name : undefined
}
