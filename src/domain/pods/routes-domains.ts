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
  auth: 'key',
  scope: 'domain',
  tag,
  summary: 'Check the DNS records of a domain, and bind it to a pod',
  description:
    'Without `podId` it only looks. With a pod of the caller the domain is bound once both records are there: the CNAME, and a TXT at `_verify.<domain>`. Whoever proved it last has the domain. A pod can have 20.',
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
  summary: 'Whether a domain leads to a pod',
  description: 'What DNS said is told for 30 seconds before it is asked again.',
  params: DomainParams,
  response: { 200: DomainStatus },
  errors: ['invalid_domain'],
  addressLimit: { requests: STATUS_REQUESTS_PER_MINUTE, windowSeconds: MINUTE_SECONDS },
  example: { params: { domain: '{domain}' } },
  handler: ({ params }, { domains }: Services) => domains.status(params.domain),
})

export const domainRoutes = [verifyDomain, getDomainStatus]
