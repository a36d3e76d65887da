/**
 * Who is calling, by address: through trusted reverse proxies only.
 * @module
 */
import { BlockList, isIP } from 'node:net'

const IPV4_MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i
const IPV6_GROUPS = 8
const IPV6_SITE_GROUPS = 4

const normalise = (address: string): string => IPV4_MAPPED.exec(address)?.[1] ?? address

const family = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

/**
 * @param trusted CIDRs of reverse proxies; a single address stands for itself
 * @returns the client's address, given the peer's and the X-Forwarded-For header: the last hop that no trusted
 *   proxy vouches for, since everything left of it is whatever the client made up
 * @throws Error on something that is not a CIDR
 */
export const createClientAddress = (
  trusted: readonly string[],
): ((peer: string | undefined, forwardedFor: string | string[] | undefined) => string) => {
  if (trusted.length === 0) return (peer) => normalise(peer ?? '')
  const proxies = new BlockList()
  for (const cidr of trusted) {
    const [address = '', prefix] = cidr.split('/')
    if (isIP(address) === 0) throw new Error(`not a CIDR: ${cidr}`)
    proxies.addSubnet(address, Number(prefix ?? (isIP(address) === 6 ? 128 : 32)), family(address))
  }
  const isTrusted = (address: string) => isIP(address) !== 0 && proxies.check(address, family(address))
  return (peer, forwardedFor) => {
    let client = normalise(peer ?? '')
    const hops = String(forwardedFor ?? '').split(',')
    while (hops.length > 0 && isTrusted(client)) {
      const hop = normalise(hops.pop()?.trim() ?? '')
      if (isIP(hop) === 0) break
      client = hop
    }
    return client
  }
}

/** What limits count: an IPv4 address, or the /64 of an IPv6 address, since one site holds all of it. */
export const addressBlock = (address: string): string => {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : Math.max(0, IPV6_GROUPS - left.length - right.length)
  const groups = [...left, ...Array<string>(zeros).fill('0'), ...right]
  return `${groups
    .slice(0, IPV6_SITE_GROUPS)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}
