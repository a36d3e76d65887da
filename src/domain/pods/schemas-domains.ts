/** Wire shapes of custom domains. @module */
import Type, { type Static } from 'typebox'
import { orNull } from '../../json/schemas.ts'
import { POD_STATUSES } from './schemas.ts'

const Domain = Type.String({ description: 'In lower case, international names as A-labels (`xn--…`).' })
const Cname = orNull(Type.String(), {
  description: 'Where the CNAME records of the name lead; null: there are none.',
})

export const DomainCheckRequest = Type.Object(
  {
    domain: Type.String({
      description:
        'A host name below a public suffix, without port, path or wildcard; at most 253 characters.',
    }),
    podId: Type.Optional(
      Type.String({ description: 'The pod of the caller that the domain is to be bound to.' }),
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
      valid: Type.Boolean({ description: 'Whether the CNAME records lead to this service.' }),
      cname: Cname,
    }),
    available: Type.Boolean({ description: 'Whether no other pod has the domain.' }),
    bound: Type.Boolean({ description: 'Whether the domain now selects the pod that was asked for.' }),
    instructions: orNull(Type.Array(DnsRecord), {
      description: 'The records that are missing; null when there is nothing to do.',
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
    configured: Type.Boolean({ description: 'Whether it was bound to a pod.' }),
    podInfo: orNull(
      Type.Object({
        id: Type.String(),
        name: Type.String(),
        status: Type.Enum([...POD_STATUSES]),
      }),
      { description: 'The pod that it was bound to.' },
    ),
    dns: Type.Object({
      valid: orNull(Type.Boolean(), {
        description: 'Whether the CNAME records lead to this service; null: nobody could tell, see `error`.',
      }),
      cname: Cname,
      error: Type.Optional(Type.Literal('dns_error')),
    }),
    ready: Type.Boolean({ description: 'Whether requests to the domain reach an active pod.' }),
  },
  { title: 'DomainStatus' },
)
export type DomainStatus = Static<typeof DomainStatus>
