/** Wire form of exports: what is asked, and the documents among the formats. @module */
import Type from 'typebox'
import { DateTime, OfLog } from '../../json/schemas.ts'

const SIEM_FORMATS = ['ndjson', 'json', 'csv', 'cef', 'leef', 'ecs', 'ocsf'] as const
export type SiemFormat = (typeof SIEM_FORMATS)[number]
const EVIDENCE_FORMATS = ['ndjson', 'json', 'zip'] as const
export type EvidenceFormat = (typeof EVIDENCE_FORMATS)[number]
const MAX_LIMIT_ROWS = 1_000_000

const timeForms = 'RFC 3339, a date (midnight UTC), Unix seconds or Unix milliseconds.'

/** @param formats the usual one first */
const queryOf = <F extends string>(formats: readonly F[]) =>
  Type.Object({
    since: Type.Optional(
      Type.String({
        description: `Start of the window (included); default: one day before its end. ${timeForms}`,
      }),
    ),
    until: Type.Optional(
      Type.String({ description: `End of the window (not included); default: now. ${timeForms}` }),
    ),
    format: Type.Optional(Type.Enum([...formats], { description: `Default \`${formats[0]}\`.` })),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_LIMIT_ROWS,
        description: 'Maximum number of rows; default: all.',
      }),
    ),
  })

export const SiemQuery = queryOf(SIEM_FORMATS)
export const EvidenceQuery = queryOf(EVIDENCE_FORMATS)

const Row = Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Null()]))
const Complete = Type.Boolean({
  description: 'Whether the window is complete, according to the event log of this server.',
})
const Gaps = Type.Array(Type.Enum(['ROLLED_OFF', 'BEHIND', 'ROWS_LOST', 'NOT_OVER']), {
  description: 'Why rows may be missing.',
})

/** Format `json` of `GET /api/export/siem`. */
export const SiemDocument = Type.Object(
  {
    organisationId: Type.String(),
    log: OfLog,
    since: DateTime,
    until: DateTime,
    rows: Type.Array(Row, { description: 'See docs/exports.md for the fields of each type.' }),
    count: Type.Integer({ minimum: 0 }),
    limitReached: Type.Boolean(),
    complete: Complete,
    gaps: Gaps,
  },
  { title: 'SiemExport' },
)

const Line = Type.Record(Type.String(), Type.Unknown())

/** Format `json` of `GET /api/export/evidence`. */
export const EvidenceDocument = Type.Object(
  {
    header: Line,
    rows: Type.Array(Line),
    manifest: Line,
  },
  { title: 'EvidenceExport' },
)
