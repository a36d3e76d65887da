/** Checks an export for a SIEM in the browser: what its lines can show, which is less than evidence shows. @module */
import type { SiemFormat } from '../../../domain/exports/schemas.ts'
import { splitLines } from '../../../protocol/evidence/evidence-lines.ts'
import { isObject } from '../../../protocol/json-object.ts'
import { textOf } from '../../http.ts'
import { failed, passed, skipped } from '../../result/finding.ts'
import type { TitledFinding } from '../parts/findings.tsx'
import { piecesOf } from './download.ts'
import type { Examination } from './evidence-examination.ts'

/** What a line says of its row. */
interface Row {
  /** Unix ms. */
  readonly at: number
  readonly organisation: string | undefined
}

const member = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined)

const jsonRow = (line: string, read: (value: unknown) => Row): Row | undefined => {
  try {
    return read(JSON.parse(line))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return undefined
  }
}

const ownRow = (value: unknown): Row => ({
  at: Date.parse(textOf(value, 'at') ?? ''),
  organisation: textOf(value, 'organisationId'),
})

/** @param at Unix ms, or ISO 8601 */
const textRow = (at: string | undefined, organisation: string | undefined): Row | undefined =>
  at === undefined || organisation === undefined
    ? undefined
    : { at: /^\d+$/.test(at) ? Number(at) : Date.parse(at), organisation }

const csvRow = (line: string): Row | undefined => {
  const [, at, organisation] = line.split(',')
  return line.endsWith('\r') ? textRow(at, organisation) : undefined
}

const cefRow = (line: string): Row | undefined =>
  line.startsWith('CEF:0|Assay|')
    ? textRow(/\|rt=(\d+) /.exec(line)?.[1], / cs1=(org_\w+) /.exec(line)?.[1])
    : undefined

const leefRow = (line: string): Row | undefined => {
  const attribute = (name: string): string | undefined =>
    line
      .split('\t')
      .find((pair) => pair.startsWith(`${name}=`))
      ?.slice(name.length + 1)
  return line.startsWith('LEEF:2.0|Assay|')
    ? textRow(attribute('devTime'), attribute('organisationId'))
    : undefined
}

const READERS: Readonly<Record<SiemFormat, (line: string) => Row | undefined>> = {
  ndjson: (line) => jsonRow(line, ownRow),
  json: (line) => jsonRow(line.replace(/,$/, ''), ownRow),
  csv: csvRow,
  cef: cefRow,
  leef: leefRow,
  ecs: (line) =>
    jsonRow(line, (value) => ({
      at: Date.parse(textOf(value, '@timestamp') ?? ''),
      organisation: textOf(member(value, 'organization'), 'id'),
    })),
  ocsf: (line) =>
    jsonRow(line, (value) => ({
      at: Number(member(value, 'time')),
      organisation: textOf(member(value, 'metadata'), 'tenant_uid'),
    })),
}

const CSV_HEADER = /^type,at,organisationId,/

export interface Asked {
  readonly format: SiemFormat
  readonly organisationId: string
  /** Unix ms, half-open. */
  readonly since: number
  readonly until: number
}

/** What the form `json` says of itself in its last line. */
interface Ending {
  readonly count: number
  readonly complete: boolean
  readonly gaps: readonly string[]
}

const readEnding = (line: string): Ending | undefined => {
  if (!line.startsWith('],')) return undefined
  const value: unknown = JSON.parse(`{${line.slice(2)}`)
  const gaps = member(value, 'gaps')
  return {
    count: Number(member(value, 'count')),
    complete: member(value, 'complete') === true,
    gaps: [
      ...(Array.isArray(gaps) ? gaps.map(String) : []),
      ...(member(value, 'limitReached') === true ? ['LIMIT_REACHED'] : []),
    ],
  }
}

interface Read {
  readonly rows: number
  /** Number of the first line that is none of its format. */
  readonly broken?: number
  /** Number of the first line that is not of the window and organisation. */
  readonly outside?: number
  readonly ending?: Ending
}

const readFile = async (file: Blob, asked: Asked, tell: (bytes: number) => void): Promise<Read> => {
  const { format, organisationId, since, until } = asked
  let [bytes, number, rows] = [0, 0, 0]
  let ending: Ending | undefined
  let outside: number | undefined
  const counted = async function* () {
    for await (const piece of piecesOf(file.stream())) {
      bytes += piece.length
      tell(bytes)
      yield piece
    }
  }
  for await (const line of splitLines(counted())) {
    number++
    const isHead = number === 1 && (format === 'json' ? line.endsWith('"rows":[') : CSV_HEADER.test(line))
    if (isHead && (format === 'json' || format === 'csv')) continue
    ending = format === 'json' ? readEnding(line) : undefined
    if (ending !== undefined) continue
    const row = READERS[format](line)
    if (row === undefined) return { rows, broken: number, outside }
    rows++
    if (row.organisation !== organisationId || !(row.at >= since && row.at < until)) outside ??= number
  }
  return { rows, outside, ending }
}

const countFinding = (format: SiemFormat, { rows, ending }: Read): TitledFinding => {
  const title = 'Number of rows'
  if (format !== 'json')
    return {
      title,
      ...skipped(
        'Lines have no end that counts them: were some missing there, nothing in the file would tell.',
      ),
    }
  if (ending === undefined) return { title, ...failed('The document ends before it counts its rows.') }
  return ending.count === rows
    ? { title, ...passed(`The document counts ${ending.count} rows, and has as many.`) }
    : { title, ...failed(`The document counts ${ending.count} rows, and has ${rows}.`) }
}

/** @param tell is told how many bytes were looked at */
export const examineLines = async (
  file: Blob,
  asked: Asked,
  tell: (bytes: number) => void,
): Promise<Examination> => {
  const read = await readFile(file, asked, tell)
  const { rows, broken, outside, ending } = read
  const form =
    broken === undefined
      ? passed(`Each of the ${rows} rows can be read in this format.`)
      : failed(`Line ${broken} can’t be read in this format.`)
  const window =
    outside === undefined
      ? passed('No row is of another time than was asked for, or of another organisation.')
      : failed(`Line ${outside} is of another time than was asked for, or of another organisation.`)
  return {
    findings: [
      { title: 'Format', ...form },
      { title: 'Window and organisation', ...window },
      countFinding(asked.format, read),
      {
        title: 'Signature',
        ...skipped('Nobody signs this format: whoever has the file can change it. Evidence is signed.'),
      },
    ],
    complete: ending?.complete,
    gaps: ending?.gaps ?? [],
  }
}
