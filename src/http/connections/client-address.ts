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
/** An address and the port that its client sends from, as some proxies write a hop: `192.0.2.7:51234`, `[2001:db8::7]:51234`. */
const ADDRESS_AND_PORT = /^(?:([\d.]+)|\[([\da-f:.]+)\]):(\d{1,5})$/i
const MAX_PORT = 65_535

const normalise = (address: string): string => IPV4_MAPPED.exec(address)?.[1] ?? address

const family = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** The address of a hop, without its port where it has one; undefined for what is no address. */
const addressOf = (hop: string): string | undefined => {
  if (isIP(hop) !== 0) return hop
  const [, ipv4 = '', ipv6 = '', port] = ADDRESS_AND_PORT.exec(hop) ?? []
  if (port === undefined || Number(port) > MAX_PORT) return undefined
  if (isIP(ipv4) === 4) return ipv4
  return isIP(ipv6) === 6 ? ipv6 : undefined
}

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
  const isTrusted = (hop: string) => {
    const address = addressOf(hop)
    return address !== undefined && proxies.check(address, family(address))
  }
  return (request) => {
    const hops = proxyAddr.all(request as IncomingMessage, isTrusted)
    return normalise(hops.map(addressOf).findLast((address) => address !== undefined) ?? '')
  }
}

/** What limits count: an IPv4 address, or the /64 of an IPv6 address, since one site holds all of it. */
export const addressBlock = (address: string): string => {
  if (isIP(address) !== 6) return address
  // Of zones ipaddr.js takes letters and digits only, which those of VLANs and bridges are not (`eth0.1`, `br-lan`).
  const site = ipaddr.IPv6.parse(address.split('%', 1)[0] ?? '').parts.slice(0, IPV6_SITE_GROUPS)
  return `${site.map((group) => group.toString(16)).join(':')}::/64`
}
