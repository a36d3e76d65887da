/** Where a list comes from and how it is read. @module */
import { CHECK_TYPES, type CheckType } from '../entry.ts'
import { type ListFile, ListFileError } from './files/list-file.ts'
import { readCsl } from './loaders/csl.ts'
import type { Entries } from './loaders/draft.ts'
import { readEu } from './loaders/eu.ts'
import { readOfac } from './loaders/ofac.ts'
import { readOfacXml } from './loaders/ofac-xml.ts'
import { readOpenSanctions } from './loaders/opensanctions.ts'
import { readOpenSanctionsCsv } from './loaders/opensanctions-csv.ts'
import { readSenzing } from './loaders/senzing.ts'
import { readUk } from './loaders/uk.ts'
import { readUn } from './loaders/un.ts'

export const LIST_ID_PATTERN = '^[a-z0-9][a-z0-9._-]{0,63}$'

export interface ListSource {
  readonly listId: string
  readonly format: ListFormat
  /** What its entries are matches for. Absent: what the format says, see {@link typesOf}. */
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

const SANCTIONS: readonly CheckType[] = ['sanctions']

interface FormatReader {
  /** What a list of this format may be for where nobody says. */
  readonly types: readonly CheckType[]
  read(source: ListSource): Entries
}

const READERS = {
  ofac: {
    types: SANCTIONS,
    read: (source) => readOfac(ofacFiles(source), source.checkTypes ?? SANCTIONS),
  },
  'ofac-xml': {
    types: SANCTIONS,
    read: (source) => readOfacXml(single(source), source.checkTypes ?? SANCTIONS),
  },
  csl: {
    types: ['sanctions', 'watchlist'],
    read: (source) => readCsl(single(source), source.checkTypes),
  },
  eu: { types: SANCTIONS, read: (source) => readEu(single(source), source.checkTypes ?? SANCTIONS) },
  uk: { types: SANCTIONS, read: (source) => readUk(single(source), source.checkTypes ?? SANCTIONS) },
  un: { types: SANCTIONS, read: (source) => readUn(single(source), source.checkTypes ?? SANCTIONS) },
  opensanctions: {
    types: CHECK_TYPES,
    read: (source) => readOpenSanctions(single(source), source.checkTypes),
  },
  'opensanctions-csv': {
    types: SANCTIONS,
    read: (source) => readOpenSanctionsCsv(single(source), source.checkTypes),
  },
  senzing: { types: CHECK_TYPES, read: (source) => readSenzing(single(source), source.checkTypes) },
} as const satisfies Readonly<Record<string, FormatReader>>

export type ListFormat = keyof typeof READERS

export const LIST_FORMATS = Object.keys(READERS) as readonly ListFormat[]

/** The entries of a list, as its files are read. @throws ListFileError while reading */
export const readSource = (source: ListSource): Entries => READERS[source.format].read(source)

/** What a list may be for, whatever its files hold. */
export const typesOf = ({
  format,
  checkTypes,
}: Pick<ListSource, 'format' | 'checkTypes'>): readonly CheckType[] => checkTypes ?? READERS[format].types

/** What somebody wrote, in the order in which types are always told. */
export const inTypeOrder = (types: Iterable<CheckType>): CheckType[] => {
  const wanted = new Set(types)
  return CHECK_TYPES.filter((type) => wanted.has(type))
}
