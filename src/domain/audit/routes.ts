/** Routes of the audit. @module */
import { route } from '../../http/route.ts'
import {
  AuditPage,
  AuditQuery,
  ConsistencyProof,
  ConsistencyQuery,
  InclusionProof,
  InclusionQuery,
  Pseudonymised,
  PseudonymisedQuery,
} from './schemas.ts'
import type { AuditService } from './service.ts'

interface Services {
  readonly audit: AuditService
}

const shared = { method: 'GET', auth: 'console', scope: 'audit', tag: 'Audit' } as const

const listAudit = route({
  ...shared,
  name: 'listAudit',
  path: '/api/audit',
  summary: 'List the entries of the log',
  description:
    'Entries of your organisation, newest first, and a signed checkpoint that covers them. `leafHash` is SHA-256(0x00 ‖ `entry` in UTF-8). An operator gets the entries of all organisations, without their text.',
  query: AuditQuery,
  response: { 200: AuditPage },
  queued: false,
  errors: ['log_inconsistent', 'validation_failed'],
  example: { query: { type: 'account', limit: '10' } },
  handler: ({ caller, query }, { audit }: Services) => audit.list(caller, query),
})

const getInclusion = route({
  ...shared,
  name: 'getInclusionProof',
  path: '/api/audit/inclusion',
  summary: 'Prove that an entry is in the log',
  description: 'The audit path of RFC 6962 §2.1.1, from the leaf upwards.',
  query: InclusionQuery,
  response: { 200: InclusionProof },
  errors: ['not_found'],
  example: { query: { index: '{entryIndex}' } },
  handler: ({ caller, query }, { audit }: Services) => audit.inclusion(caller, query),
})

const getConsistency = route({
  ...shared,
  name: 'getConsistencyProof',
  path: '/api/audit/consistency',
  summary: 'Prove that the log was only appended to',
  description:
    'The consistency proof of RFC 6962 §2.1.2 between two sizes; `to` defaults to the current size.',
  query: ConsistencyQuery,
  response: { 200: ConsistencyProof },
  errors: [],
  example: { query: { from: '1' } },
  handler: ({ caller, query }, { audit }: Services) => audit.consistency(caller, query),
})

const getPseudonymised = route({
  ...shared,
  name: 'getPseudonymisedAudit',
  path: '/api/audit/pseudonymised',
  summary: 'Count entries without identifying anyone',
  description:
    'Counts per UTC day, divided by type and hour as far as every row covers at least k distinct subjects. The window is extended to whole days. Rows with too few subjects are merged, or their day is left out.',
  query: PseudonymisedQuery,
  response: { 200: Pseudonymised },
  errors: ['validation_failed'],
  example: { query: { k: '5', fields: 'type' } },
  handler: ({ caller, query }, { audit }: Services) => audit.pseudonymised(caller, query),
})

export const auditRoutes = [listAudit, getInclusion, getConsistency, getPseudonymised]
