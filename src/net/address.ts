/**
 * Which addresses an outbound call may reach: public unicast ones, and the ranges that an operator opened.
 * Ranges: the IANA special-purpose address registries (RFC 6890), as ipaddr.js knows them, and what it lacks.
 * @module
 */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Range = [Address, number]

/** The only part of IPv6 that IANA has handed out for global unicast (RFC 4291 §2.4). */
const GLOBAL_UNICAST_V6 = ipaddr.IPv6.parseCIDR('2000::/3')
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')
/** Metadata and management of Azure machines: a public address that only they reach. */
const AZURE_WIRE_SERVER = ipaddr.IPv4.parseCIDR('168.63.129.16/32')

/** The second half of an ISATAP interface identifier, before its IPv4 address (RFC 5214 §6.1). */
const ISATAP_MARK = 0x5efe
/** The bits of the first half that a host is free to set: universal/local and individual/group. */
const ISATAP_FLAGS = 0x0300

/** ipaddr.js takes this notation for an IPv4-mapped address, which it isn't (RFC 4291 §2.5.5.1). */
const IPV4_COMPATIBLE = /^::\d+\.\d+\.\d+\.\d+$/

const v4 = (high: number, low: number): ipaddr.IPv4 =>
  new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff])

/** `::ffff:a.b.c.d` is the IPv4 address itself: the socket dials it as such (RFC 4291 §2.5.5.2). */
const unmapped = (address: Address): Address =>
  address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address

/**
 * An address in its one spelling, without the zone, an IPv4-mapped one as the IPv4 address that it is.
 * @property isLoopback also of the unspecified address, which a socket dials as loopback
 */
export const readAddress = (text: string): { readonly address: string; readonly isLoopback: boolean } => {
  const address = unmapped(ipaddr.parse(text.split('%', 1)[0] ?? ''))
  const isLoopback = ['loopback', 'unspecified'].includes(address.range()) || /^0\./.test(address.toString())
  return { address: address.toString(), isLoopback }
}

/** The IPv4 addresses that a packet to this IPv6 address may end at; none for one that isn't a transition form. */
const carried = (address: ipaddr.IPv6): ipaddr.IPv4[] => {
  const [, second = 0, third = 0, fourth = 0, fifth = 0, sixth = 0, seventh = 0, eighth = 0] = address.parts
  // RFC 6052 §2.1, RFC 3056 §2, RFC 4380 §4 (the client's address is stored inverted)
  if (address.match(NAT64)) return [v4(seventh, eighth)]
  if (address.range() === '6to4') return [v4(second, third)]
  if (address.range() === 'teredo') return [v4(third, fourth), v4(~seventh & 0xffff, ~eighth & 0xffff)]
  return (fifth & ~ISATAP_FLAGS) === 0 && sixth === ISATAP_MARK ? [v4(seventh, eighth)] : []
}

const isPublicV4 = (address: ipaddr.IPv4): boolean =>
  address.range() === 'unicast' && !address.match(AZURE_WIRE_SERVER)

const isWithin = (address: Address, ranges: readonly Range[]): boolean =>
  ranges.some(([base, bits]) => {
    if (address instanceof ipaddr.IPv4) return base instanceof ipaddr.IPv4 && address.match(base, bits)
    return base instanceof ipaddr.IPv6 && address.match(base, bits)
  })

/** Whether an address, given as text without brackets, may be dialled. */
export type AddressJudge = (address: string) => boolean

/**
 * Makes the judge of addresses. Forms of IPv6 that carry an IPv4 address (mapped, NAT64, 6to4, Teredo, ISATAP) are
 * judged by what they carry, so that none of them is a way around. Whatever isn't an address, or has a zone, is
 * refused; so are the local-use NAT64 prefix 64:ff9b:1::/48 (RFC 8215), whose layout only its network knows, and
 * IPv4-compatible addresses, which nobody routes any more.
 * @param allowCidrs ranges that are open besides the public ones, compared with the address and with what it carries
 * @throws Error when one of `allowCidrs` is no CIDR
 */
export const createAddressJudge = (allowCidrs: readonly string[]): AddressJudge => {
  const open: readonly Range[] = allowCidrs.map((cidr) => ipaddr.parseCIDR(cidr))
  const isAllowedV4 = (address: ipaddr.IPv4): boolean => isPublicV4(address) || isWithin(address, open)
  return (text) => {
    // isIP refuses short and hexadecimal notations, which ipaddr.js reads.
    if (isIP(text) === 0 || text.includes('%') || IPV4_COMPATIBLE.test(text)) return false
    const address = unmapped(ipaddr.parse(text))
    if (address instanceof ipaddr.IPv4) return isAllowedV4(address)
    if (isWithin(address, open)) return true
    const inner = carried(address)
    if (inner.length > 0 && !inner.every(isAllowedV4)) return false
    // An ISATAP address travels under its own prefix, so that must be public as well.
    const isTunnel = address.match(NAT64) || ['6to4', 'teredo'].includes(address.range())
    return isTunnel || (address.match(GLOBAL_UNICAST_V6) && address.range() === 'unicast')
  }
}
