/** Every form of `GET /api/export/siem`: how rows become text, a few at a time. @module */
import { iso } from '../../../clock.ts'
import { named } from '../../../ledger/logs.ts'
import type { Gap, Window } from '../../event-log/event-log.ts'
import type { EventRow } from '../../event-log/rows.ts'
import type { SiemFormat } from '../schemas.ts'
import { toWire } from '../wire.ts'
import { toCef } from './cef.ts'
import { toCsv } from './csv.ts'
import { toEcs } from './ecs.ts'
import { toLeef } from './leef.ts'
import { toOcsf } from './ocsf.ts'

/** The event log's own reasons, or the window goes on after the export. */
type Missing = Gap | 'NOT_OVER'

/** What is known of an export before its first row. */
export interface Beginning {
  readonly organisation: string
  /** Which log its entries are in. */
  readonly log: number
  readonly window: Window
  readonly gaps: readonly Missing[]
}

/** What is known after its last one. */
export interface Ending {
  readonly rows: number
  /** Whether the limit has cut it off. */
  readonly cut: boolean
}

export interface RowFormat {
  readonly contentType: string
  readonly extension: string
  begin(beginning: Beginning): string
  /** @param written rows before these */
  rows(rows: readonly EventRow[], written: number, beginning: Pick<Beginning, 'log'>): string
  end(beginning: Beginning, ending: Ending): string
}

const NDJSON = 'application/x-ndjson'
const TEXT = 'text/plain; charset=utf-8'

const lines = (contentType: string, extension: string, toLine: (row: EventRow) => string): RowFormat => ({
  contentType,
  extension,
  begin: () => '',
  rows: (rows) => rows.map((row) => `${toLine(row)}\n`).join(''),
  end: () => '',
})

/** One document, each row on a line of its own. */
const json: RowFormat = {
  contentType: 'application/json; charset=utf-8',
  extension: 'json',
  begin: ({ organisation, log, window: { since, until } }) =>
    `${JSON.stringify({ organisationId: organisation, ...named(log), since: iso(since), until: iso(until) }).slice(0, -1)},"rows":[`,
  rows: (rows, written) =>
    rows
      .map((row, place) => `${written + place === 0 ? '\n' : ',\n'}${JSON.stringify(toWire(row))}`)
      .join(''),
  end: ({ gaps }, { rows, cut }) =>
    `\n],${JSON.stringify({ count: rows, limitReached: cut, complete: gaps.length === 0 && !cut, gaps }).slice(1)}\n`,
}

export const SIEM: Readonly<Record<SiemFormat, RowFormat>> = {
  ndjson: lines(NDJSON, 'ndjson', (row) => JSON.stringify(toWire(row))),
  json,
  csv: {
    contentType: 'text/csv; charset=utf-8; header=present',
    extension: 'csv',
    begin: ({ log }) => toCsv([], log, true),
    rows: (rows, _, { log }) => toCsv(rows, log, false),
    end: () => '',
  },
  cef: lines(TEXT, 'cef', toCef),
  leef: lines(TEXT, 'leef', toLeef),
  ecs: lines(NDJSON, 'ecs.ndjson', (row) => JSON.stringify(toEcs(row))),
  ocsf: lines(NDJSON, 'ocsf.ndjson', (row) => JSON.stringify(toOcsf(row))),
}
