/**
 * Who is calling, by address: through trusted reverse proxies only.
 * @module
 */
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import proxyAddr from 'proxy-addr'

const IPV4_MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i
const IPV6_SITE_GROUPS = 4

const normalise = (address: string): string => IPV4_MAPPED.exec(address)?.[1] ?? address

const family = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

type Addressed = Pick<IncomingMessage, 'socket' | 'headers'>

/**
 * @param trusted CIDRs of reverse proxies; a single address stands for itself
 * @returns the address of a request's client: the last hop of X-Forwarded-For that no trusted proxy vouches for, since
 *   everything left of it is whatever the client made up
 * @throws Error on something that is not a CIDR
 */
export const createClientAddress = (trusted: readonly string[]): ((request: Addressed) => string) => {
  if (trusted.length === 0) return ({ socket }) => normalise(socket.remoteAddress ?? '')
  const proxies = new BlockList()
  for (const cidr of trusted) {
    const [address = '', prefix] = cidr.split('/')
    if (isIP(address) === 0) throw new Error(`not a CIDR: ${cidr}`)
    proxies.addSubnet(address, Number(prefix ?? (isIP(address) === 6 ? 128 : 32)), family(address))
  }
  // proxy-addr's own networks lack /0 and the zones of VLANs, and its hops may be `1` or `0x7f.1`, which are nobody's.
  const isTrusted = (hop: string) => isIP(hop) !== 0 && proxies.check(hop, family(hop))
  return (request) => {
    const hops = proxyAddr.all(request as IncomingMessage, isTrusted)
    return normalise(hops.findLast((hop) => isIP(hop) !== 0) ?? '')
  }
}

/** What limits count: an IPv4 address, or the /64 of an IPv6 address, since one site holds all of it. */
export const addressBlock = (address: string): string => {
  if (isIP(address) !== 6) return address
  // Of zones ipaddr.js takes letters and digits only, which those of VLANs and bridges are not (`eth0.1`, `br-lan`).
  const site = ipaddr.IPv6.parse(address.split('%', 1)[0] ?? '').parts.slice(0, IPV6_SITE_GROUPS)
  return `${site.map((group) => group.toString(16)).join(':')}::/64`
}
