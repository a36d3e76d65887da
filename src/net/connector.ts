/**
 * How outbound connections are made: every DNS answer is judged, a judged address is dialled, and the address of
 * the open socket is judged again before a byte (of TLS, too) is sent over it.
 * @module
 */
import { isIP, type LookupFunction } from 'node:net'
import { createSecureContext, rootCertificates } from 'node:tls'
import { Agent, buildConnector } from 'undici'
import type { AddressJudge } from './address.ts'
import type { ResolvedAddress } from './dns.ts'
import { EgressError } from './egress-error.ts'
import type { Resolve } from './resolve.ts'

const CONNECT_TIMEOUT_MS = 5000
const MAX_CONNECTIONS_PER_ORIGIN = 10
const KEEP_ALIVE_MS = 4000
const KEEP_ALIVE_MAX_MS = 30_000
const MAX_RESPONSE_HEAD_BYTES = 16 * 1024

export type IsRefusedAddress = (address: string, port: number) => boolean

interface ConnectorOptions {
  readonly judge: AddressJudge
  readonly resolve: Resolve
  /** Certificates (PEM) that count besides the usual authorities. */
  readonly ca?: string
  /** To one origin; default 10. */
  readonly connections?: number
  /** Which addresses are refused on which ports, whatever `judge` says of them; default none. */
  readonly isRefusedAddress?: IsRefusedAddress
}

/**
 * A pool of connections, each of which was judged by `judge` when it was made. It must not be shared by callers
 * with different rights. HTTP/1.1 only; proxies of the environment are not used.
 */
export const createPool = (options: ConnectorOptions): Agent => {
  const { judge, resolve, ca, connections = MAX_CONNECTIONS_PER_ORIGIN, isRefusedAddress } = options
  const refusal = (host: string): EgressError =>
    new EgressError('blocked', `the address of ${host} is not allowed`)

  // A name with even one forbidden address is refused: otherwise the order of the answers would decide.
  const judgedAddresses = async (host: string): Promise<ResolvedAddress[]> => {
    const addresses = await resolve(host)
    if (!addresses.every(({ address }) => judge(address))) throw refusal(host)
    if (addresses.length === 0) throw new EgressError('unreachable', `${host} has no address`)
    return [...addresses]
  }

  const lookup: LookupFunction = (host, options, callback) => {
    judgedAddresses(host).then(
      (addresses) => {
        if (options.all) callback(null, addresses)
        else callback(null, addresses[0]!.address, addresses[0]!.family)
      },
      (error: Error) => callback(error, ''),
    )
  }

  const dial = buildConnector({ lookup, timeout: CONNECT_TIMEOUT_MS })
  // One for all connections: reading the certificates of every authority again costs each of them 15 ms.
  let secure: buildConnector.connector | undefined
  const makeSecure = (): buildConnector.connector =>
    buildConnector({
      timeout: CONNECT_TIMEOUT_MS,
      secureContext: createSecureContext(ca === undefined ? {} : { ca: [...rootCertificates, ca] }),
    })

  const connect: buildConnector.connector = (options, callback) => {
    const { hostname, protocol, port } = options
    // A literal never reaches the look-up.
    if (isIP(hostname) !== 0 && !judge(hostname)) {
      callback(refusal(hostname), null)
      return
    }
    const isSecure = protocol === 'https:'
    const target = { ...options, protocol: 'http:', port: port || (isSecure ? '443' : '80') }
    dial(target, (error, socket) => {
      if (error) {
        callback(error, null)
        return
      }
      const { remoteAddress = '', remotePort = 0 } = socket
      if (!judge(remoteAddress) || isRefusedAddress?.(remoteAddress, remotePort)) {
        socket.destroy()
        callback(refusal(hostname), null)
      } else if (isSecure) {
        secure ??= makeSecure()
        secure({ ...options, httpSocket: socket }, callback)
      } else callback(null, socket)
    })
  }

  return new Agent({
    connect,
    // undici's own word for no limit.
    connections: Number.isFinite(connections) ? connections : null,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
    maxHeaderSize: MAX_RESPONSE_HEAD_BYTES,
    // The caller's one deadline covers head and body.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}
