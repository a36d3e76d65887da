/**
 * The simplified CSV of OpenSanctions (`targets.simple.csv`). Cells with several values are CSV themselves, separated by
 * semicolons. It has no topics. https://www.opensanctions.org/docs/bulk/csv/
 * @module
 */
import type { CheckType } from '../../entry.ts'
import { readTable, splitCell } from '../files/csv.ts'
import type { ListFile } from '../files/list-file.ts'
import { readInstant, readIsoDate } from './dates.ts'
import { type Entries, finishDraft } from './draft.ts'
import { SCHEMA_KINDS } from './opensanctions.ts'

const NEEDED = ['id', 'schema', 'name', 'aliases', 'birth_date', 'countries', 'identifiers', 'sanctions']

/**
 * Entries in the order of the file. Entities that are nobody are left out.
 * @param types what each entry is a match for; absent: sanctions, and whoever is under none is left out
 * @throws ListFileError
 */
export async function* readOpenSanctionsCsv(
  file: ListFile,
  types: readonly CheckType[] | undefined,
): Entries {
  const { rows } = await readTable(file, NEEDED)
  let lastSeen = ''
  for await (const { get, line } of rows) {
    const values = (column: string): string[] => splitCell(file, line, get(column))
    if (get('last_seen') > lastSeen) lastSeen = get('last_seen')
    const schema = get('schema')
    const kind = Object.hasOwn(SCHEMA_KINDS, schema) ? SCHEMA_KINDS[schema] : undefined
    const isSanctioned = get('sanctions') !== ''
    if (kind === undefined || (types === undefined && !isSanctioned)) continue
    yield finishDraft(file, line, {
      id: get('id'),
      kind,
      types: types ?? ['sanctions'],
      names: [get('name'), ...values('aliases')].map((text) => ({ text })),
      births: values('birth_date').map(readIsoDate),
      countries: values('countries'),
      identifiers: values('identifiers'),
    })
  }
  return readInstant(lastSeen)
}
