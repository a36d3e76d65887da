/**
 * Addresses of the hosts that outbound calls go to. Names are asked of DNS servers over sockets: the system's own
 * look-up (getaddrinfo) runs on the four threads that files and compression need as well, where a name server that is
 * slow on purpose would hold up everybody. Only names that no stranger's name server answers for go there.
 * @module
 */
import { lookup } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import pLimit from 'p-limit'
import type { Dns, ResolvedAddress } from './dns.ts'

/** All addresses of a host name; none if it has none. @throws Error with a code */
export type Resolve = (host: string) => Promise<readonly ResolvedAddress[]>

const HOSTS_FILE = '/etc/hosts'
/** RFC 6761 §6.3 */
const LOCALHOST = /(^|\.)localhost$/
const LOOPBACK: readonly ResolvedAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]
/** As many as webhooks have attempts at a time, of which half may be to hosts whose name servers never answer. */
const MAX_CONCURRENT_LOOKS = 128
/** Of the whole process: half of the threads that there are. */
const MAX_CONCURRENT_SYSTEM_LOOKS = 2
const systemLooks = pLimit(MAX_CONCURRENT_SYSTEM_LOOKS)

const plain = (host: string): string => host.toLowerCase().replace(/\.$/, '')

/** Asks DNS; localhost is this machine without being asked for. */
export const createResolve = (dns: Pick<Dns, 'addresses'>): Resolve => {
  const limited = pLimit(MAX_CONCURRENT_LOOKS)
  return async (host) => (LOCALHOST.test(plain(host)) ? LOOPBACK : limited(() => dns.addresses(host)))
}

/** A machine may have no such file, and then it has no such names. */
const namesInHostsFile = async (): Promise<readonly string[]> => {
  const text = await readFile(HOSTS_FILE, 'utf8').catch(() => '')
  return text.split('\n').flatMap((line) => {
    const [, ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/)
    return names
  })
}

/**
 * Like {@link createResolve}, except that the system answers for names that only the machine or its network knows:
 * localhost, those of the hosts file, and those without a dot.
 */
export const createLocalResolve = (dns: Pick<Dns, 'addresses'>): Resolve => {
  const resolve = createResolve(dns)
  return async (host) => {
    const name = plain(host)
    const isLocal = LOCALHOST.test(name) || !name.includes('.') || (await namesInHostsFile()).includes(name)
    return isLocal ? systemLooks(() => lookup(name, { all: true })) : resolve(host)
  }
}
