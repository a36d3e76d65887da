/** Routes of custom domains. @module */
import { route } from '../../http/route.ts'
import type { DomainsService } from './domains.ts'
import { DomainCheck, DomainCheckRequest, DomainParams, DomainStatus } from './schemas-domains.ts'

interface Services {
  readonly domains: DomainsService
}

const STATUS_REQUESTS_PER_MINUTE = 60
const MINUTE_SECONDS = 60

const tag = 'Domains'

const verifyDomain = route({
  name: 'verifyDomain',
  method: 'POST',
  path: '/domain/verify',
  auth: 'console',
  scope: 'domain',
  tag,
  summary: 'Check the DNS records of a domain, and bind it to a pod',
  description:
    'Without `podId` the records are only checked. With a pod of the caller the domain is bound as soon as both records exist: the CNAME and a TXT record at `_verify.<domain>`. A domain belongs to the pod that proved it last. A pod can have 20 domains.',
  body: DomainCheckRequest,
  response: { 200: DomainCheck },
  errors: ['invalid_domain', 'not_found', 'pod_archived', 'domain_limit', 'dns_error'],
  example: { body: { domain: '{domain}', podId: '{podId}' } },
  handler: ({ caller, body }, { domains }: Services) => domains.check(caller, body),
})

const getDomainStatus = route({
  name: 'getDomainStatus',
  method: 'GET',
  path: '/domain/status/{domain}',
  auth: 'none',
  tag,
  summary: 'Get the status of a domain',
  description: 'DNS answers are cached for 30 seconds.',
  params: DomainParams,
  response: { 200: DomainStatus },
  errors: ['invalid_domain'],
  addressLimit: { requests: STATUS_REQUESTS_PER_MINUTE, windowSeconds: MINUTE_SECONDS },
  example: { params: { domain: '{domain}' } },
  handler: ({ params }, { domains }: Services) => domains.status(params.domain),
})

export const domainRoutes = [verifyDomain, getDomainStatus]
