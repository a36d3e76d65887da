/** Routes of exports. @module */
import { Reply, route } from '../../http/route.ts'
import { EvidenceDocument, EvidenceQuery, SiemDocument, SiemQuery } from './schemas.ts'
import type { Export, ExportsService } from './service.ts'

interface Services {
  readonly exports: ExportsService
}

const OUT_OF_RANGE = {
  type: 'validation_failed',
  minimum: 'validation_failed',
  maximum: 'validation_failed',
} as const
const shared = {
  method: 'GET',
  auth: 'console',
  scope: 'export',
  tag: 'Exports',
  refusals: { 'query/format': { enum: 'validation_failed' }, 'query/limit': OUT_OF_RANGE },
} as const

const fileOf = ({ contentType, filename, body }: Export) =>
  new Reply(200, body, {
    'Content-Type': contentType,
    'Content-Disposition': `attachment; filename="${filename}"`,
  })

const exportSiem = route({
  ...shared,
  name: 'exportSiem',
  path: '/api/export/siem',
  summary: 'Export events for a SIEM',
  description:
    'A complete file of the events in a time window, streamed. One export per organisation at a time; a second one returns 429.',
  query: SiemQuery,
  response: { 200: SiemDocument },
  produces: ['application/x-ndjson', 'application/json', 'text/csv', 'text/plain'],
  errors: ['validation_failed'],
  example: { query: { since: '2026-01-01', format: 'json', limit: '1000' } },
  handler: async ({ caller, query }, { exports }: Services) => fileOf(await exports.siem(caller, query)),
})

const exportEvidence = route({
  ...shared,
  name: 'exportEvidence',
  path: '/api/export/evidence',
  summary: 'Export events as evidence',
  description:
    'The same rows in a hash chain, with proofs that the entries among them are in the signed log, and a signed manifest. `npx assay verify-evidence` checks the file offline.',
  query: EvidenceQuery,
  response: { 200: EvidenceDocument },
  produces: ['application/x-ndjson', 'application/json', 'application/zip'],
  queued: false,
  errors: ['validation_failed', 'log_inconsistent'],
  example: { query: { since: '2026-01-01T00:00:00Z', format: 'json' } },
  handler: async ({ caller, query }, { exports }: Services) => fileOf(await exports.evidence(caller, query)),
})

export const exportRoutes = [exportSiem, exportEvidence]
