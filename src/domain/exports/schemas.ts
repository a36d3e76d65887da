/** Wire form of exports: what is asked, and the documents among the formats. @module */
import Type, { type Static } from 'typebox'

const timeForms = 'RFC 3339, a date (midnight UTC), Unix seconds or Unix milliseconds.'

const queryOf = (formats: string) =>
  Type.Object({
    since: Type.Optional(
      Type.String({ description: `First moment of the window; default a day before its end. ${timeForms}` }),
    ),
    until: Type.Optional(
      Type.String({ description: `First moment after the window; default now. ${timeForms}` }),
    ),
    format: Type.Optional(Type.String({ description: formats })),
    limit: Type.Optional(
      Type.String({ description: 'Rows at most, 1 to 1,000,000; default: all of the window.' }),
    ),
  })

export const SiemQuery = queryOf('`ndjson` (default), `json`, `csv`, `cef`, `leef`, `ecs` or `ocsf`.')
export type SiemQuery = Static<typeof SiemQuery>
export const EvidenceQuery = queryOf('`ndjson` (default), `json` or `zip`.')

const Row = Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Null()]))
const Complete = Type.Boolean({
  description: 'Whether the window is all there, as far as the log of this server goes.',
})
const Gaps = Type.Array(Type.Enum(['ROLLED_OFF', 'BEHIND', 'ROWS_LOST']), {
  description: 'Why rows may be missing.',
})

/** Format `json` of `GET /api/export/siem`. */
export const SiemDocument = Type.Object(
  {
    organisationId: Type.String(),
    since: Type.String({ format: 'date-time' }),
    until: Type.String({ format: 'date-time' }),
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
