/** Wire shapes of custom domains. @module */
import Type, { type Static } from 'typebox'
import { orNull } from '../../json/schemas.ts'
import { POD_STATUSES } from './schemas.ts'

const Domain = Type.String({ description: 'In lower case, international names as A-labels (`xn--…`).' })
const Cname = orNull(Type.String(), {
  description: 'Target of the CNAME records; null if there are none.',
})

export const DomainCheckRequest = Type.Object(
  {
    domain: Type.String({
      description:
        'A host name below a public suffix, without port, path or wildcard; at most 245 characters.',
    }),
    podId: Type.Optional(
      Type.String({ description: 'The pod to bind the domain to; must belong to the caller.' }),
    ),
  },
  { title: 'DomainCheckRequest' },
)
export type DomainCheckRequest = Static<typeof DomainCheckRequest>

const DnsRecord = Type.Object(
  { type: Type.Enum(['CNAME', 'TXT']), name: Type.String(), value: Type.String() },
  { title: 'DnsRecord' },
)
export type DnsRecord = Static<typeof DnsRecord>

export const DomainCheck = Type.Object(
  {
    success: Type.Literal(true),
    domain: Domain,
    dns: Type.Object({
      valid: Type.Boolean({ description: 'Whether the CNAME records point to this service.' }),
      cname: Cname,
    }),
    available: Type.Boolean({ description: 'Whether the domain is not bound to another pod.' }),
    bound: Type.Boolean({ description: 'Whether the domain is now bound to the requested pod.' }),
    instructions: orNull(Type.Array(DnsRecord), {
      description: 'The missing records; null if none is missing.',
    }),
  },
  { title: 'DomainCheck' },
)
export type DomainCheck = Static<typeof DomainCheck>

export const DomainParams = Type.Object({ domain: Type.String() })

export const DomainStatus = Type.Object(
  {
    success: Type.Literal(true),
    domain: Domain,
    configured: Type.Boolean({ description: 'Whether the domain is bound to a pod.' }),
    podInfo: orNull(
      Type.Object({
        id: Type.String(),
        name: Type.String(),
        status: Type.Enum([...POD_STATUSES]),
      }),
      { description: 'The pod that the domain is bound to.' },
    ),
    dns: Type.Object({
      valid: orNull(Type.Boolean(), {
        description:
          'Whether the CNAME records lead to this service; null if that could not be determined, see `error`.',
      }),
      cname: Cname,
      error: Type.Optional(Type.Literal('dns_error')),
    }),
    ready: Type.Boolean({ description: 'Whether requests to the domain reach an active pod.' }),
  },
  { title: 'DomainStatus' },
)
export type DomainStatus = Static<typeof DomainStatus>
