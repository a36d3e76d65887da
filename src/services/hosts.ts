/** Builds the services of pods, their domains, and hermes, in order: all know the hosts that are this server's. @module */
import { DEFAULT_ORGANISATION } from '../domain/accounts/defaults.ts'
import { createProxies, type ProxiesService } from '../domain/hermes/proxies.ts'
import { createHermes, type HermesService, verificationKeyName } from '../domain/hermes/service.ts'
import { ownHosts } from '../domain/hermes/target.ts'
import { createDomains, type DomainsService } from '../domain/pods/domains.ts'
import { createPods, type PodsService } from '../domain/pods/service.ts'
import { proofRow } from '../domain/proofs/recording.ts'
import { addressBlock } from '../http/connections/client-address.ts'
import { createDns } from '../net/dns.ts'
import { createLocalResolve } from '../net/resolve.ts'
import type { Closers, Foundations } from './foundations.ts'
import type { ProvingServices } from './proving.ts'

export interface HostServices {
  readonly pods: PodsService
  readonly domains: DomainsService
  readonly proxies: ProxiesService
  readonly hermes: HermesService
}

/** @param closers receives what ends the services */
export const createHostServices = (
  foundations: Foundations & ProvingServices,
  closers: Closers,
): HostServices => {
  const { config, database, ledger, sealing, accounts, security, safeFetch, clock, openRecent, logger } =
    foundations
  const { circuits, prover, usage, verification } = foundations
  const { baseUrl, customDomainCname } = config
  const pods = createPods({ database, ledger, accounts, verification, clock, openRecent, baseUrl })
  const dns = createDns({ servers: config.dnsServers })
  const domains = createDomains({
    database,
    ledger,
    dns,
    pods,
    clock,
    openRecent,
    customDomainCname,
    baseUrl,
    logger,
  })
  closers.push(() => domains.close())
  const isOwnHost = ownHosts({
    baseUrl,
    names: [customDomainCname],
    port: config.port,
    resolve: createLocalResolve(dns),
  })
  const proxies = createProxies({
    database,
    ledger,
    sealing,
    clock,
    openRecent,
    baseUrl,
    isOwnHost,
    openOrganisation: DEFAULT_ORGANISATION,
  })
  const hermes = createHermes({
    proxies,
    database,
    ledger,
    prover,
    proofRow,
    verificationKey: verificationKeyName(circuits.verificationKey('yesno').etag),
    verification,
    usage,
    security,
    safeFetch,
    clock,
    baseUrl,
    isOwnHost,
    egressOpenProxy: config.egressOpenProxy,
    addressBlock,
    logger,
  })
  return { pods, domains, proxies, hermes }
}
