/** Which list a file holds: by how it begins, and by the name under which it is published. @module */
import { CHECK_TYPES, type CheckType } from '../entry.ts'
import type { ListFile } from './files/list-file.ts'
import type { ListFormat } from './list-source.ts'

const HEAD_BYTES = 8192
const JSON_NAME = /\.(?:json|jsonl|ndjson)$/i

/** The formats of XML by their root. */
const ROOTS: Readonly<Record<string, ListFormat>> = {
  CONSOLIDATED_LIST: 'un',
  sdnList: 'ofac-xml',
  Sanctions: 'ofac-xml',
  export: 'eu',
}

/** What stands in the first record of a JSON file, most telling first. */
const JSON_MARKS: readonly (readonly [mark: RegExp, format: ListFormat])[] = [
  [/"(?:RECORD_ID|DATA_SOURCE)"\s*:/, 'senzing'],
  [/"schema"\s*:/, 'opensanctions'],
  [/"(?:source_list_url|source_information_url|results)"\s*:/, 'csl'],
]

const CSV_MARKS: readonly (readonly [mark: RegExp, format: ListFormat])[] = [
  [/^"?id"?,"?schema"?,"?name"?,/, 'opensanctions-csv'],
  [/(?:^|,)Unique ID,(?:OFSI Group ID|Name 6),/m, 'uk'],
  [/^(?:_id,)?source,entity_number,type,/, 'csl'],
]

/** Neither a declaration nor a comment begins with a letter. */
const rootOf = (head: string): string | undefined => /<(?:[\w.-]+:)?([A-Za-z_][\w.-]*)/.exec(head)?.[1]

/** @param head how the file begins */
const detectIn = (name: string, head: string): ListFormat | undefined => {
  const marked = (marks: readonly (readonly [RegExp, ListFormat])[]): ListFormat | undefined =>
    marks.find(([mark]) => mark.test(head))?.[1]
  if (/\.xml$/i.test(name)) {
    const root = rootOf(head)
    return root !== undefined && Object.hasOwn(ROOTS, root) ? ROOTS[root] : undefined
  }
  if (/\.csv$/i.test(name)) return marked(CSV_MARKS)
  return JSON_NAME.test(name) ? (marked(JSON_MARKS) ?? 'opensanctions') : undefined
}

/** @returns undefined for what no format begins with @throws ListFileError where the file cannot be read */
export const detectFormat = async ({ name, open }: ListFile): Promise<ListFormat | undefined> => {
  let head = Buffer.alloc(0)
  for await (const bytes of open()) {
    head = Buffer.concat([head, bytes])
    if (head.length >= HEAD_BYTES) break
  }
  return detectIn(name, new TextDecoder().decode(head.subarray(0, HEAD_BYTES)))
}

/** What a file may be for of which nobody can say what it is: JSON may be a list for anything, other forms are sanctions. */
export const typesOfUnknown = (name: string): readonly CheckType[] =>
  JSON_NAME.test(name) ? CHECK_TYPES : ['sanctions']

interface Published {
  readonly listId: string
  readonly format: ListFormat
  /** The names under which its publisher offers it. */
  readonly name: RegExp
  readonly checkTypes?: readonly CheckType[]
}

const PUBLISHED: readonly Published[] = [
  { listId: 'ofac-sdn', format: 'ofac-xml', name: /^sdn/i },
  { listId: 'ofac-consolidated', format: 'ofac-xml', name: /^cons/i, checkTypes: ['watchlist'] },
  { listId: 'un-consolidated', format: 'un', name: /^consolidated/i },
  { listId: 'eu-consolidated', format: 'eu', name: /^(?:xmlFullSanctionsList|\d{8}-FULL)/i },
  { listId: 'uk-sanctions', format: 'uk', name: /^UK[-_ ]?Sanctions[-_ ]?List/i },
  { listId: 'us-csl', format: 'csl', name: /^(?:csl|consolidated)/i },
]

const listIdOf = (base: string): string =>
  base
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, 64) || 'list'

/** The list that a file of this name and format is: its publisher's, or one that is called like the file. */
export const nameList = (
  file: string,
  format?: ListFormat,
): { readonly listId: string; readonly checkTypes?: readonly CheckType[] } => {
  const published = PUBLISHED.find((one) => one.format === format && one.name.test(file))
  if (published === undefined)
    return { listId: listIdOf(file.replace(/(?:\.ftm)?\.(?:json|jsonl|ndjson|xml|csv)$/i, '')) }
  const { listId, checkTypes } = published
  return { listId, ...(checkTypes && { checkTypes }) }
}
