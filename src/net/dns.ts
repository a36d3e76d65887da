/** Questions to DNS: about domain names that must be proven to be owned, and for the addresses of hosts. @module */
import { Resolver } from 'node:dns/promises'

const ATTEMPT_TIMEOUT_MS = 1500
const ATTEMPTS = 2
/** Of a whole look, however many links a chain has: a name server that is slow on purpose gets no more of our time. */
const LOOK_DEADLINE_MS = 3000
/** Links of a CNAME chain that are followed. */
const MAX_CNAME_LINKS = 10

/** The name doesn't exist (NXDOMAIN), or has no record of this type. Both are answers. */
const EMPTY_ANSWERS = ['ENOTFOUND', 'ENODATA']

/** A resolver that failed, was silent, or answered nonsense: nothing is known about the name. */
export class DnsError extends Error {
  /** c-ares code, such as `ESERVFAIL`; `ETIMEOUT` also beyond the deadline, `ECANCELLED` after `close`. */
  readonly code: string

  constructor(name: string, code: string, cause?: unknown) {
    super(`the DNS look-up of ${name} failed: ${code}`, { cause })
    this.name = 'DnsError'
    this.code = code
  }
}

export interface ResolvedAddress {
  readonly address: string
  /** 4 or 6. */
  readonly family: number
}

export interface Dns {
  /**
   * The names that `name` is an alias of, in order, lower case without a trailing dot; at most ten. A loop ends
   * before its first repeated name. Empty where there is no CNAME. @throws DnsError
   */
  cnameChain(name: string): Promise<string[]>
  /** TXT records, each with its strings joined (RFC 7208 §3.3). Empty where there are none. @throws DnsError */
  txt(name: string): Promise<string[]>
  /**
   * The addresses of a host, IPv4 first. Empty where there are none.
   * @throws DnsError when one kind of address has no answer, and there is none of the other
   */
  addresses(host: string): Promise<ResolvedAddress[]>
  /** Ends every look with a DnsError at once, and refuses new ones. */
  close(): void
}

export interface DnsOptions {
  /** `host:port`; default: the system's resolvers. */
  readonly servers?: readonly string[]
  /** Longest time of one call; default 3 s. */
  readonly deadlineMs?: number
}

/** One call, which may ask several questions. */
interface Look {
  readonly resolver: Resolver
  /** Why no more is asked. */
  ended?: 'ETIMEOUT' | 'ECANCELLED'
}

const plain = (name: string): string => name.toLowerCase().replace(/\.$/, '')

const endLook = (look: Look, code: Look['ended']): void => {
  look.ended = code
  look.resolver.cancel()
}

const answerOrEmpty = async <T>(
  look: Look,
  name: string,
  ask: (resolver: Resolver) => Promise<T[]>,
): Promise<T[]> => {
  // An answer may be on its way while the look ends: then nothing was left to cancel.
  if (look.ended) throw new DnsError(name, look.ended)
  try {
    return await ask(look.resolver)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'EUNKNOWN'
    if (EMPTY_ANSWERS.includes(code)) return []
    throw new DnsError(name, look.ended ?? code, error)
  }
}

/** Asks the servers anew each time: nothing is cached. */
export const createDns = ({ servers = [], deadlineMs = LOOK_DEADLINE_MS }: DnsOptions = {}): Dns => {
  const looks = new Set<Look>()
  let closed = false

  /** Each look has a resolver of its own, so that it can be ended alone. */
  const within = async <T>(questions: (look: Look) => Promise<T>): Promise<T> => {
    const resolver = new Resolver({ timeout: ATTEMPT_TIMEOUT_MS, tries: ATTEMPTS })
    if (servers.length > 0) resolver.setServers([...servers])
    const look: Look = closed ? { resolver, ended: 'ECANCELLED' } : { resolver }
    looks.add(look)
    const timer = setTimeout(() => endLook(look, 'ETIMEOUT'), deadlineMs)
    try {
      return await questions(look)
    } finally {
      clearTimeout(timer)
      looks.delete(look)
    }
  }

  return {
    cnameChain: (name) =>
      within(async (look) => {
        const chain: string[] = []
        let current = plain(name)
        while (chain.length < MAX_CNAME_LINKS) {
          const [next] = await answerOrEmpty(look, current, (resolver) => resolver.resolveCname(current))
          if (next === undefined) break
          const target = plain(next)
          if (target === plain(name) || chain.includes(target)) break
          chain.push(target)
          current = target
        }
        return chain
      }),
    txt: (name) =>
      within(async (look) => {
        const records = await answerOrEmpty(look, name, (resolver) => resolver.resolveTxt(plain(name)))
        return records.map((strings) => strings.join(''))
      }),
    addresses: (host) =>
      within(async (look) => {
        const kinds = await Promise.allSettled([
          answerOrEmpty(look, host, (resolver) => resolver.resolve4(plain(host))),
          answerOrEmpty(look, host, (resolver) => resolver.resolve6(plain(host))),
        ])
        const [v4, v6] = kinds.map((kind) => (kind.status === 'fulfilled' ? kind.value : []))
        const found: ResolvedAddress[] = [
          ...(v4 ?? []).map((address) => ({ address, family: 4 })),
          ...(v6 ?? []).map((address) => ({ address, family: 6 })),
        ]
        const failed = kinds.find((kind) => kind.status === 'rejected')
        if (failed && found.length === 0) throw failed.reason
        return found
      }),
    close() {
      closed = true
      for (const look of looks) endLook(look, 'ECANCELLED')
    },
  }
}
