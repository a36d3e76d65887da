/** Custom domains: what DNS says of them, whom they are bound to, and which requests that concerns. @module */
import type { Caller } from '../../caller.ts'
import type { Clock } from '../../clock.ts'
import { fail } from '../../errors.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { type Dns, DnsError } from '../../net/dns.ts'
import type { Database } from '../../store/database.ts'
import type { OpenRecent } from '../../store/recent.ts'
import { comparable, hostName, normaliseDomain } from './domain-name.ts'
import { createRechecks, RECHECK_PAUSE_MS } from './rechecks.ts'
import type { DnsRecord, DomainCheck, DomainCheckRequest, DomainStatus } from './schemas-domains.ts'
import type { PodsService } from './service.ts'
import { statusOf } from './states.ts'
import * as store from './store.ts'

/** How long what DNS said is told to others, so that strangers can't make us ask again and again. */
const DNS_CACHE_MS = 30_000
/** How long a domain may go on selecting a pod after it was bound to another one. */
const HOST_CACHE_MS = 1000
const MAX_CACHED = 10_000
/** The one key of the memory of all bound domains. */
const ALL = 'all'
const MAX_DOMAINS_PER_POD = 20

/** Where a domain's CNAME records lead. */
export interface Aliases {
  readonly valid: boolean
  /** Null: there are none. */
  readonly cname: string | null
}

interface Deps {
  readonly database: Database
  readonly ledger: Pick<Ledger, 'transact'>
  readonly dns: Dns
  readonly pods: Pick<PodsService, 'bindable'>
  readonly clock: Clock
  readonly openRecent: OpenRecent
  /** Host that custom domains point to. */
  readonly customDomainCname: string
  readonly baseUrl: string
  readonly logger: { error(details: object, message: string): void }
}

const proofName = (domain: string): string => `_verify.${domain}`
const proofValue = (podId: string): string => `assay-pod=${podId}`

/** What a domain shows of itself in DNS. @throws DnsError when the answer is not to be had */
const createLookUps = (dns: Dns, customDomainCname: string) => {
  const target = comparable(customDomainCname)
  const aliases = async (domain: string): Promise<Aliases> => {
    const chain = (await dns.cnameChain(domain)).map(comparable)
    // Where our own host leads is our own affair: the chain that matters ends there.
    const valid = chain.includes(target)
    return { valid, cname: valid ? target : (chain.at(-1) ?? null) }
  }
  const isProven = async (domain: string, podId: string | undefined): Promise<boolean> =>
    podId !== undefined && (await dns.txt(proofName(domain))).includes(proofValue(podId))
  return {
    aliases,
    /** Where a domain leads and whether it names the pod, asked at once: both have the same deadline. */
    async both(domain: string, podId: string | undefined): Promise<{ dns: Aliases; hasProof: boolean }> {
      const [found, hasProof] = await Promise.all([aliases(domain), isProven(domain, podId)])
      return { dns: found, hasProof }
    },
    close: dns.close,
  }
}
export type LookUps = ReturnType<typeof createLookUps>

/** @throws AppError dns_error in place of a DnsError */
const orDnsError = async <T>(answer: Promise<T>): Promise<T> => {
  try {
    return await answer
  } catch (error) {
    if (error instanceof DnsError) return fail('dns_error', { cause: error })
    throw error
  }
}

export type DomainsService = ReturnType<typeof createDomains>

export const createDomains = (deps: Deps) => {
  const { database, ledger, dns, pods, clock, openRecent, customDomainCname, baseUrl, logger } = deps
  const lookUps = createLookUps(dns, customDomainCname)
  const ownHosts: ReadonlySet<string> = new Set([
    comparable(customDomainCname),
    comparable(new URL(baseUrl).hostname),
  ])

  const told = openRecent<Aliases | DnsError>({
    name: 'domain-dns',
    ttlMs: DNS_CACHE_MS,
    maxEntries: MAX_CACHED,
    // A fault is remembered too: a resolver in trouble must not be asked more often than one that works.
    load: (domain) =>
      lookUps.aliases(domain).catch((error: unknown) => {
        if (error instanceof DnsError) return error
        throw error
      }),
  })
  // All of them in one memory: anybody can send any Host, and a question for each would be a query for each.
  const podsByHost = openRecent<ReadonlyMap<string, string>>({
    name: 'bound-domains',
    ttlMs: HOST_CACHE_MS,
    maxEntries: 1,
    load: async () =>
      new Map((await store.findProvenDomains(database)).map(({ domain, pod }) => [domain, pod])),
  })
  const forget = async (domain: string): Promise<void> => {
    await Promise.all([told.forget(domain), podsByHost.forget(ALL)])
  }
  const rechecks = createRechecks({ database, ledger, lookUps, clock, logger, changed: forget })

  /** @throws AppError invalid_domain */
  const nameOf = (input: string): string => {
    const domain = normaliseDomain(input)
    if (ownHosts.has(domain)) fail('invalid_domain', { message: 'This is the name of the service itself.' })
    return domain
  }

  /**
   * Binds a proven domain to a pod, whoever had it before. A pod that has as many as it can have parts with one
   * whose records are gone.
   * @throws AppError domain_limit
   */
  const bind = (caller: Caller, domain: string, podId: string, answer: DomainCheck): Promise<DomainCheck> => {
    const at = clock.now()
    const row: store.PodDomainRow = {
      domain,
      pod: podId,
      bound_at: at,
      proven: true,
      check_at: at + RECHECK_PAUSE_MS,
      absent_since: null,
    }
    // A change rather than an append, since the number of domains has to hold until the commit.
    return ledger.transact(caller, async (trx) => {
      const others = await store.findOtherDomains(trx, row)
      if (others.length >= MAX_DOMAINS_PER_POD) {
        const lapsed = others.find(({ proven }) => !proven)
        if (lapsed === undefined) return fail('domain_limit', { extras: { limit: MAX_DOMAINS_PER_POD } })
        await store.deleteDomain(trx, lapsed)
      }
      await store.bindDomain(trx, row)
      const data = { event: 'pod.domain_bound', podId }
      return { entry: { type: 'account', subject: ['domain', domain], data }, result: answer }
    })
  }

  return {
    /** Looks again at every domain that is due. */
    recheck: rechecks.run,

    /**
     * Checks what DNS says of a domain. With a pod of the caller's, and once the records are there, binds it.
     * @throws AppError invalid_domain, not_found and pod_archived for the pod, dns_error, domain_limit
     */
    async check(caller: Caller, { domain: input, podId }: DomainCheckRequest): Promise<DomainCheck> {
      const domain = nameOf(input)
      if (podId !== undefined) await pods.bindable(caller, podId)
      const { dns: dnsState, hasProof } = await orDnsError(lookUps.both(domain, podId))
      const holder = await store.findDomain(database, domain)
      const bound = podId !== undefined && hasProof && dnsState.valid
      const isOwn = podId === undefined ? holder?.organisation === caller.organisation : holder?.pod === podId
      const missing: DnsRecord[] = []
      if (!dnsState.valid) missing.push({ type: 'CNAME', name: domain, value: comparable(customDomainCname) })
      if (podId !== undefined && !hasProof)
        missing.push({ type: 'TXT', name: proofName(domain), value: proofValue(podId) })
      const answer: DomainCheck = {
        success: true,
        domain,
        dns: dnsState,
        available: bound || isOwn || !holder?.proven,
        bound,
        instructions: missing.length > 0 ? missing : null,
      }
      // One that looks have not seen of late counts as new, since its week would go on else.
      const isNew = bound && !(holder?.pod === podId && holder.proven && holder.absent_since === null)
      const settled = isNew ? await bind(caller, domain, podId, answer) : answer
      // What is bound stays known otherwise: nobody may have it read anew by asking.
      await (isNew ? forget(domain) : told.forget(domain))
      return settled
    },

    /** What anyone may know of a domain. @throws AppError invalid_domain */
    async status(input: string): Promise<DomainStatus> {
      const domain = nameOf(input)
      const [answer, bound] = await Promise.all([told.get(domain), store.findDomain(database, domain)])
      const isFault = answer instanceof DnsError
      const isUp = bound?.proven === true && bound.status === 'ACTIVE'
      return {
        success: true,
        domain,
        configured: bound !== undefined,
        podInfo: bound ? { id: bound.pod, name: bound.name, status: statusOf(bound) } : null,
        dns: isFault ? { valid: null, cname: null, error: 'dns_error' } : answer,
        ready: isUp && (isFault || answer.valid),
      }
    },

    /**
     * The path that is meant when a request comes to a bound domain: its root is the pod, its /verify the pod's.
     * @param host Host header, which nothing else is ever decided by
     * @returns undefined, mostly at once, when the path is what it says
     */
    pathFor(host: string, method: string, path: string): Promise<string | undefined> | undefined {
      const asksForPod = path === '/' && (method === 'GET' || method === 'HEAD')
      const verifies = path === '/verify' && method === 'POST'
      if (!asksForPod && !verifies) return undefined
      const name = hostName(host)
      if (name === undefined || ownHosts.has(name)) return undefined
      return podsByHost.get(ALL).then((pods) => {
        const pod = pods.get(name)
        return pod && `/pod/${pod}${verifies ? path : ''}`
      })
    },

    close: rechecks.close,
  }
}
