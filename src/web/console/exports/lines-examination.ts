/** Checks an export for a SIEM in the browser: what its lines can show, which is less than evidence shows. @module */
import type { SiemFormat } from '../../../domain/exports/schemas.ts'
import { splitLines } from '../../../protocol/evidence/evidence-lines.ts'
import { isObject } from '../../../protocol/json-object.ts'
import { piecesOf, unreadable } from '../../check/file.ts'
import { gapsOf } from '../../check/kinds/evidence.ts'
import { type Check, conclude, leave, pass, refuse } from '../../check/report.ts'
import { textOf } from '../../http.ts'
import type { Asked, Examination } from './evidence-examination.ts'

/** What a line says of its row. */
interface Row {
  /** Unix ms. */
  readonly at: number
  readonly organisation: string | undefined
}

const member = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined)

/** @returns undefined for what is no JSON */
const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const jsonRow = (line: string, read: (value: unknown) => Row): Row | undefined => {
  const value = parse(line)
  return value === undefined ? undefined : read(value)
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

/** What was asked of an export for a SIEM. */
interface AskedLines extends Asked {
  readonly format: SiemFormat
}

/** What the form `json` says of itself in its last line. */
interface Ending {
  readonly count: number
  readonly complete: boolean
  readonly gaps: readonly string[]
}

const readEnding = (line: string): Ending | undefined => {
  if (!line.startsWith('],')) return undefined
  const value = parse(`{${line.slice(2)}`)
  return isObject(value)
    ? { count: Number(value.count), complete: value.complete === true, gaps: gapsOf(value) }
    : undefined
}

interface Read {
  readonly rows: number
  /** Number of the first line that is none of its format. */
  readonly broken?: number
  /** Number of the first line that is not of the window and organisation. */
  readonly outside?: number
  readonly ending?: Ending
}

const readFile = async (file: Blob, asked: AskedLines, tell: (bytes: number) => void): Promise<Read> => {
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

const countCheck = (format: SiemFormat, { rows, ending }: Read): Check => {
  const title = 'Number of rows'
  if (format !== 'json')
    return leave(
      title,
      'Lines have no end that counts them: were some missing there, nothing in the file would tell.',
    )
  if (ending === undefined) return refuse(title, 'CUT_OFF', 'The document ends before it counts its rows.')
  return ending.count === rows
    ? pass(title, `The document counts ${ending.count} rows, and has as many.`)
    : refuse(title, 'COUNT_MISMATCH', `The document counts ${ending.count} rows, and has ${rows}.`)
}

const checksOf = (format: SiemFormat, read: Read): Check[] => {
  const { rows, broken, outside } = read
  const [form, window] = ['Format', 'Window and organisation']
  return [
    broken === undefined
      ? pass(form, `Each of the ${rows} rows can be read in this format.`)
      : refuse(form, 'LINE_MALFORMED', `Line ${broken} can’t be read in this format.`),
    outside === undefined
      ? pass(window, 'No row is of another time than was asked for, or of another organisation.')
      : refuse(
          window,
          'ROW_MISMATCH',
          `Line ${outside} is of another time than was asked for, or of another organisation.`,
        ),
    countCheck(format, read),
    leave('Signature', 'Nobody signs this format: whoever has the file can change it. Evidence is signed.'),
  ]
}

const conclusion = (checks: readonly Check[]) =>
  conclude({
    what: 'Export for other tools',
    checks,
    meaning: {
      word: 'All checks that were made passed',
      text: 'Its rows are of your organisation and of the window that you asked for.',
      isPlain: true,
    },
  })

/** @param tell is told how many bytes were looked at */
export const examineLines = async (
  file: Blob,
  asked: AskedLines,
  tell: (bytes: number) => void,
): Promise<Examination> => {
  let read: Read
  try {
    read = await readFile(file, asked, tell)
  } catch (error) {
    return { report: conclusion([unreadable('Format', 'LINE_MALFORMED', error)]), gaps: [] }
  }
  const { ending } = read
  return {
    report: conclusion(checksOf(asked.format, read)),
    complete: ending?.complete,
    gaps: ending?.gaps ?? [],
  }
}
