/**
 * The directory AML_LISTS: which lists it is configured for. `lists.json` says so; without it every file that looks like a list
 * is one, recognised by its name and by how it begins. A list that cannot be read is configured all the same.
 * @module
 */
import { createHash } from 'node:crypto'
import { open as openFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { canonicalJson } from '../../../protocol/canonical-json.ts'
import { isObject } from '../../../protocol/json-object.ts'
import { CHECK_TYPES, type CheckType } from '../entry.ts'
import type { StoredList } from '../store.ts'
import { type ListFile, ListFileError, sha256Hex } from './files/list-file.ts'
import { detectFormat, nameList, typesOfUnknown } from './format-detection.ts'
import { inTypeOrder, LIST_FORMATS, LIST_ID_PATTERN, type ListSource, typesOf } from './list-source.ts'

/** What the directory is called where something is wrong with it. */
export const WHOLE = 'AML_LISTS'
const MANIFEST = 'lists.json'
const MAX_MANIFEST_BYTES = 65_536
export const MAX_LISTS = 32
/** The largest published list of this size, OpenSanctions' with everything nested, has some 3 GiB. */
const MAX_FILE_BYTES = 4 * 1024 ** 3

/** A list that the directory is for: where its entries are, or why that cannot be said. */
export interface ConfiguredList {
  readonly listId: string
  /** What it may be for: nobody can be cleared of that before it was loaded. */
  readonly checkTypes: readonly CheckType[]
  readonly source: ListSource | ListFileError
}

const OFAC_SETS: readonly {
  readonly files: readonly string[]
  readonly listId: string
  readonly checkTypes: readonly CheckType[]
}[] = [
  { listId: 'ofac-sdn', files: ['sdn.csv', 'alt.csv', 'add.csv'], checkTypes: ['sanctions'] },
  {
    listId: 'ofac-consolidated',
    files: ['cons_prim.csv', 'cons_alt.csv', 'cons_add.csv'],
    checkTypes: ['watchlist'],
  },
]
/** Published beside the lists, and not needed. */
const IGNORED = new Set(['sdn_comments.csv', 'cons_comments.csv'])
/** Whoever put these here wanted them read; anything else, such as a README, is left alone. */
const LOOKS_LIKE_A_LIST = /\.(csv|xml|json|jsonl|ndjson|txt\.gz|gz|zip|xlsx?)$/i

/** What the file system says without the path: these words are shown to whoever may see the lists. */
const unreadable = (file: string, cause: unknown): ListFileError => {
  const { code = 'unknown error' } = cause as NodeJS.ErrnoException
  return new ListFileError(file, undefined, `cannot be read (${code})`, cause)
}

/** @throws ListFileError also for a file that somebody wrote to meanwhile: what was read of it may be half a list */
async function* readFile(directory: string, name: string): AsyncGenerator<Uint8Array> {
  const handle = await openFile(join(directory, name))
  try {
    const { size, mtimeMs } = await handle.stat()
    if (size > MAX_FILE_BYTES)
      throw new ListFileError(name, undefined, `has ${size} bytes, more than the ${MAX_FILE_BYTES} allowed`)
    yield* handle.createReadStream({ autoClose: false })
    const after = await handle.stat()
    if (after.size !== size || after.mtimeMs !== mtimeMs)
      throw new ListFileError(name, undefined, 'changed while it was read')
  } finally {
    await handle.close()
  }
}

const fileIn = (directory: string, name: string): ListFile => ({
  name,
  async *open() {
    try {
      yield* readFile(directory, name)
    } catch (error) {
      throw error instanceof ListFileError ? error : unreadable(name, error)
    }
  },
})

const configured = (source: ListSource): ConfiguredList => ({
  listId: source.listId,
  checkTypes: typesOf(source),
  source,
})

/** A file by itself. Where its beginning says nothing, it is the list that was last loaded from a file of this name. */
const recognise = async (
  file: ListFile,
  before: readonly Pick<StoredList, 'listId' | 'format' | 'files'>[],
): Promise<ConfiguredList> => {
  const last = before.find(({ files }) => files.length === 1 && files[0]?.name === file.name)
  const unknown = (fault: ListFileError): ConfiguredList => ({
    listId: last?.listId ?? nameList(file.name).listId,
    checkTypes: typesOfUnknown(file.name),
    source: fault,
  })
  try {
    const format = await detectFormat(file)
    if (format !== undefined) return configured({ ...nameList(file.name, format), format, files: [file] })
    const what = `is no list whose form is known; describe it in ${MANIFEST}`
    if (last === undefined) return unknown(new ListFileError(file.name, undefined, what))
    return configured({
      ...nameList(file.name, last.format),
      listId: last.listId,
      format: last.format,
      files: [file],
    })
  } catch (error) {
    if (error instanceof ListFileError) return unknown(error)
    throw error
  }
}

const detect = async (
  directory: string,
  names: readonly string[],
  before: readonly StoredList[],
): Promise<ConfiguredList[]> => {
  const open = new Set(
    names.filter((name) => LOOKS_LIKE_A_LIST.test(name) && !IGNORED.has(name.toLowerCase())),
  )
  const lists: ConfiguredList[] = []
  for (const { listId, files, checkTypes } of OFAC_SETS) {
    const present = [...open].filter((name) => files.includes(name.toLowerCase()))
    if (present.length === 0) continue
    for (const name of present) open.delete(name)
    const [missing] = files.filter((file) => !present.some((name) => name.toLowerCase() === file))
    const sent = present.map((name) => fileIn(directory, name))
    const fault = () =>
      new ListFileError(missing ?? '', undefined, `is missing beside ${present.join(' and ')}`)
    const source = missing ? fault() : { listId, format: 'ofac' as const, checkTypes, files: sent }
    lists.push({ listId, checkTypes, source })
  }
  for (const name of open) lists.push(await recognise(fileIn(directory, name), before))
  return lists
}

const isOneOf = <T extends string>(values: readonly T[], value: unknown): value is T =>
  values.some((one) => one === value)

const isFileName = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && !/[/\\]/.test(value) && !value.startsWith('.')

const areTypes = (value: unknown): value is CheckType[] =>
  Array.isArray(value) && value.length > 0 && value.every((type) => isOneOf(CHECK_TYPES, type))

/** What a list may be for of which something is wrong: what it says, what its format says, or anything. */
const typesSaid = ({ format, checkTypes }: Readonly<Record<string, unknown>>): readonly CheckType[] => {
  if (areTypes(checkTypes)) return checkTypes
  return checkTypes === undefined && isOneOf(LIST_FORMATS, format) ? typesOf({ format }) : CHECK_TYPES
}

/** One list of the manifest. What is wrong with it concerns no other. @param place `lists[0]` */
const readListed = (
  directory: string,
  names: readonly string[],
  { value, place }: { readonly value: unknown; readonly place: string },
): ConfiguredList => {
  const listed: Readonly<Record<string, unknown>> = isObject(value) ? value : {}
  const { listId, format, files, checkTypes } = listed
  const isNamed = typeof listId === 'string' && new RegExp(LIST_ID_PATTERN).test(listId)
  const refuse = (file: string, what: string): ConfiguredList => ({
    listId: isNamed ? listId : place,
    checkTypes: typesSaid(listed),
    source: new ListFileError(file, undefined, what),
  })
  if (!isNamed) return refuse(MANIFEST, `${place}.listId must match ${LIST_ID_PATTERN}`)
  if (!isOneOf(LIST_FORMATS, format))
    return refuse(MANIFEST, `${place}.format must be one of ${LIST_FORMATS.join(', ')}`)
  if (!Array.isArray(files) || files.length === 0 || !files.every(isFileName))
    return refuse(MANIFEST, `${place}.files must name files in the directory`)
  if (checkTypes !== undefined && !areTypes(checkTypes))
    return refuse(MANIFEST, `${place}.checkTypes must contain some of ${CHECK_TYPES.join(', ')}`)
  const missing = files.find((name) => !names.includes(name))
  if (missing !== undefined) return refuse(missing, 'is missing in the directory')
  return configured({
    listId,
    format,
    files: files.map((name) => fileIn(directory, name)),
    ...(checkTypes && { checkTypes }),
  })
}

/** @throws ListFileError where it says of no list what it is */
const readManifest = (directory: string, names: readonly string[], text: string): ConfiguredList[] => {
  let manifest: unknown
  try {
    manifest = JSON.parse(text)
  } catch (cause) {
    throw new ListFileError(MANIFEST, undefined, 'is not JSON', cause)
  }
  const lists = isObject(manifest) ? manifest.lists : undefined
  if (!Array.isArray(lists)) throw new ListFileError(MANIFEST, undefined, 'has no array `lists`')
  return lists.map((value: unknown, i) => readListed(directory, names, { value, place: `lists[${i}]` }))
}

/** The file that a list begins with, or where its fault is. */
const firstFile = ({ source }: ConfiguredList): string =>
  source instanceof ListFileError ? source.file : (source.files[0]?.name ?? WHOLE)

/** Of lists with one id nobody can say which is meant: none of them is read. */
const withoutDoubles = (lists: readonly ConfiguredList[], hasManifest: boolean): ConfiguredList[] =>
  [...new Set(lists.map(({ listId }) => listId))].flatMap((listId) => {
    const [first, second, ...more] = lists.filter((one) => one.listId === listId)
    if (first === undefined || second === undefined) return first ?? []
    const fault = hasManifest
      ? new ListFileError(MANIFEST, undefined, `has two lists with the id ${listId}`)
      : new ListFileError(
          firstFile(second),
          undefined,
          `is the list ${listId}, and so is ${firstFile(first)}`,
        )
    const checkTypes = inTypeOrder([first, second, ...more].flatMap((one) => one.checkTypes))
    return { listId, checkTypes, source: fault }
  })

const readManifestText = async (file: ListFile): Promise<string> => {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const bytes of file.open()) {
    size += bytes.length
    if (size > MAX_MANIFEST_BYTES)
      throw new ListFileError(MANIFEST, undefined, `has more than ${MAX_MANIFEST_BYTES} bytes`)
    pieces.push(bytes)
  }
  return Buffer.concat(pieces).toString()
}

/**
 * Every list that the directory is configured for.
 * @param before the lists that were loaded last
 * @throws ListFileError where that cannot be told: the directory or its `lists.json` is unreadable or empty
 */
export const findLists = async (
  directory: string,
  before: readonly StoredList[],
): Promise<ConfiguredList[]> => {
  const found = await readdir(directory, { withFileTypes: true }).catch((error: unknown) => {
    throw unreadable(WHOLE, error)
  })
  const names = found
    .filter((one) => !one.isDirectory() && !one.name.startsWith('.'))
    .map(({ name }) => name)
    .sort()
  const hasManifest = names.includes(MANIFEST)
  const lists = hasManifest
    ? readManifest(directory, names, await readManifestText(fileIn(directory, MANIFEST)))
    : await detect(
        directory,
        names,
        before.filter(({ source }) => source === 'directory'),
      )
  if (lists.length === 0) throw new ListFileError(WHOLE, undefined, 'contains no lists')
  if (lists.length > MAX_LISTS)
    throw new ListFileError(WHOLE, undefined, `contains more than ${MAX_LISTS} lists`)
  return withoutDoubles(lists, hasManifest)
}

interface HashedFile {
  readonly name: string
  readonly sha256: string
}

const hashFile = async (file: ListFile): Promise<HashedFile> => {
  const hash = createHash('sha256')
  try {
    for await (const bytes of file.open()) hash.update(bytes)
  } catch (error) {
    if (!(error instanceof ListFileError)) throw error
    return { name: file.name, sha256: sha256Hex(error.message) }
  }
  return { name: file.name, sha256: hash.digest('hex') }
}

/** The files of a list, read without parsing them; of one that cannot be read, its fault. */
export const hashFiles = async ({ source }: ConfiguredList): Promise<HashedFile[]> => {
  if (source instanceof ListFileError) return [{ name: source.file, sha256: sha256Hex(source.message) }]
  const hashed: HashedFile[] = []
  for (const file of source.files) hashed.push(await hashFile(file))
  return hashed
}

/** A hash of what a directory holds, lower-case hex. @param hashed the files of each list, in the order of the lists */
export const fingerprint = (
  lists: readonly ConfiguredList[],
  hashed: readonly (readonly HashedFile[])[],
): string => {
  const held = lists.map(({ listId, checkTypes, source }, i) => ({
    listId,
    checkTypes,
    ...(!(source instanceof ListFileError) && { format: source.format }),
    files: hashed[i]?.map(({ name, sha256 }) => ({ name, sha256 })),
  }))
  return sha256Hex(canonicalJson(held))
}
