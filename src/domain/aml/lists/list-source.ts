/** Where a list comes from and how it is read. @module */
import { CHECK_TYPES, type CheckType, type ListEntry } from '../entry.ts'
import { type ListFile, ListFileError } from './loaders/list-file.ts'
import { readOfac } from './loaders/ofac.ts'
import { readOpenSanctions } from './loaders/opensanctions.ts'
import { readUn } from './loaders/un.ts'

export const LIST_FORMATS = ['ofac', 'un', 'opensanctions'] as const
export type ListFormat = (typeof LIST_FORMATS)[number]

export const LIST_ID_PATTERN = '^[a-z0-9][a-z0-9._-]{0,63}$'

export interface ListSource {
  readonly listId: string
  readonly format: ListFormat
  /** What its entries are matches for. Absent: `sanctions`, or for OpenSanctions what each entry's topics say. */
  readonly checkTypes?: readonly CheckType[]
  readonly files: readonly ListFile[]
}

/** The two lists of OFAC name their files alike. */
const ofacFiles = ({ listId, files }: ListSource) => {
  const one = (role: 'alt' | 'add') =>
    files.find(({ name }) => new RegExp(`(^|_)${role}\\.csv$`, 'i').test(name))
  const [alt, add] = [one('alt'), one('add')]
  const [main, ...more] = files.filter((file) => file !== alt && file !== add)
  if (main === undefined || more.length > 0)
    throw new ListFileError(
      listId,
      undefined,
      'needs one main file such as sdn.csv, with alt.csv and add.csv',
    )
  return { main, alt, add }
}

const single = ({ listId, files }: ListSource): ListFile => {
  const [file, ...more] = files
  if (file === undefined || more.length > 0)
    throw new ListFileError(listId, undefined, 'needs exactly one file')
  return file
}

const DEFAULT_TYPES: readonly CheckType[] = ['sanctions']

/** The entries of a list, as its files are read. @throws ListFileError while reading */
export const readSource = (source: ListSource): AsyncIterable<ListEntry> => {
  const { format, checkTypes } = source
  if (format === 'ofac') return readOfac(ofacFiles(source), checkTypes ?? DEFAULT_TYPES)
  if (format === 'un') return readUn(single(source), checkTypes ?? DEFAULT_TYPES)
  return readOpenSanctions(single(source), checkTypes)
}

/** What somebody wrote, in the order in which types are always told. */
export const inTypeOrder = (types: Iterable<CheckType>): CheckType[] => {
  const wanted = new Set(types)
  return CHECK_TYPES.filter((type) => wanted.has(type))
}
