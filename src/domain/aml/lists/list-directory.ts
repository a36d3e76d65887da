/**
 * The directory AML_LISTS: which of its files are which lists. `lists.json` says so; without it the names under which lists
 * are published do.
 * @module
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { canonicalJson } from '../../../protocol/canonical-json.ts'
import { CHECK_TYPES, type CheckType } from '../entry.ts'
import { LIST_FORMATS, LIST_ID_PATTERN, type ListFormat, type ListSource } from './list-source.ts'
import { type ListFile, ListFileError, sha256Hex } from './loaders/list-file.ts'

/** What the directory is called where something is wrong with it. */
const WHOLE = 'AML_LISTS'
const MANIFEST = 'lists.json'
const MAX_MANIFEST_BYTES = 65_536
export const MAX_LISTS = 32

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
const OPENSANCTIONS = /^(.+?)(?:\.ftm)?\.(?:json|jsonl|ndjson)$/i

/** What the file system says without the path: these words are shown to whoever may see the lists. */
const unreadable = (file: string, cause: unknown): ListFileError => {
  const { code = 'unknown error' } = cause as NodeJS.ErrnoException
  return new ListFileError(file, undefined, `cannot be read (${code})`, cause)
}

const fileIn = (directory: string, name: string): ListFile => ({
  name,
  async *open() {
    try {
      yield* createReadStream(join(directory, name))
    } catch (error) {
      throw unreadable(name, error)
    }
  },
})

const listIdOf = (base: string): string =>
  base
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, 64) || 'list'

const detect = (directory: string, names: readonly string[]): ListSource[] => {
  const open = new Set(
    names.filter((name) => LOOKS_LIKE_A_LIST.test(name) && !IGNORED.has(name.toLowerCase())),
  )
  const sources: ListSource[] = []
  for (const { listId, files, checkTypes } of OFAC_SETS) {
    const present = [...open].filter((name) => files.includes(name.toLowerCase()))
    if (present.length === 0) continue
    const [missing] = files.filter((file) => !present.some((name) => name.toLowerCase() === file))
    if (missing !== undefined)
      throw new ListFileError(missing, undefined, `is missing beside ${present.join(' and ')}`)
    for (const name of present) open.delete(name)
    sources.push({
      listId,
      format: 'ofac',
      checkTypes,
      files: present.map((name) => fileIn(directory, name)),
    })
  }
  for (const name of open) {
    const [, base] = OPENSANCTIONS.exec(name) ?? []
    const isXml = /\.xml$/i.test(name)
    if (base === undefined && !isXml)
      throw new ListFileError(
        name,
        undefined,
        `is not a list with a known file name; describe it in ${MANIFEST}`,
      )
    const format: ListFormat = isXml ? 'un' : 'opensanctions'
    const own = isXml && /^consolidated/i.test(name) ? 'un-consolidated' : listIdOf(base ?? name.slice(0, -4))
    sources.push({ listId: own, format, files: [fileIn(directory, name)] })
  }
  return sources
}

const isOneOf = <T extends string>(values: readonly T[], value: unknown): value is T =>
  values.some((one) => one === value)

const readManifest = (directory: string, names: readonly string[], text: string): ListSource[] => {
  const refuse = (what: string): never => {
    throw new ListFileError(MANIFEST, undefined, what)
  }
  let manifest: unknown
  try {
    manifest = JSON.parse(text)
  } catch (cause) {
    throw new ListFileError(MANIFEST, undefined, 'is not JSON', cause)
  }
  const lists = (manifest as { lists?: unknown } | null)?.lists
  if (!Array.isArray(lists)) return refuse('has no array `lists`')
  return lists.map((value: unknown, i) => {
    const { listId, format, files, checkTypes } = (value ?? {}) as Readonly<Record<string, unknown>>
    if (typeof listId !== 'string' || !new RegExp(LIST_ID_PATTERN).test(listId))
      return refuse(`lists[${i}].listId must match ${LIST_ID_PATTERN}`)
    if (!isOneOf(LIST_FORMATS, format))
      return refuse(`lists[${i}].format must be one of ${LIST_FORMATS.join(', ')}`)
    if (!Array.isArray(files) || files.length === 0 || !files.every((file) => isOneOf(names, file)))
      return refuse(`lists[${i}].files must name files in the directory`)
    const hasTypes =
      Array.isArray(checkTypes) &&
      checkTypes.length > 0 &&
      checkTypes.every((type) => isOneOf(CHECK_TYPES, type))
    if (checkTypes !== undefined && !hasTypes)
      return refuse(`lists[${i}].checkTypes must contain some of ${CHECK_TYPES.join(', ')}`)
    return {
      listId,
      format,
      files: files.map((name: string) => fileIn(directory, name)),
      ...(hasTypes && { checkTypes: checkTypes as CheckType[] }),
    }
  })
}

const readWhole = async (directory: string, name: string): Promise<Buffer> => {
  const pieces: Uint8Array[] = []
  for await (const bytes of fileIn(directory, name).open()) pieces.push(bytes)
  return Buffer.concat(pieces)
}

/** @returns every list of the directory. @throws ListFileError */
export const findSources = async (directory: string): Promise<ListSource[]> => {
  const found = await readdir(directory, { withFileTypes: true }).catch((error: unknown) => {
    throw unreadable(WHOLE, error)
  })
  const names = found
    .filter((one) => !one.isDirectory() && !one.name.startsWith('.'))
    .map(({ name }) => name)
    .sort()
  const sources = names.includes(MANIFEST)
    ? readManifest(
        directory,
        names,
        (await readWhole(directory, MANIFEST)).subarray(0, MAX_MANIFEST_BYTES).toString(),
      )
    : detect(directory, names)
  if (sources.length === 0) throw new ListFileError(WHOLE, undefined, 'contains no lists')
  if (sources.length > MAX_LISTS)
    throw new ListFileError(WHOLE, undefined, `contains more than ${MAX_LISTS} lists`)
  const ids = sources.map(({ listId }) => listId)
  const [twice] = ids.filter((id, i) => ids.indexOf(id) !== i)
  if (twice !== undefined)
    throw new ListFileError(WHOLE, undefined, `contains two lists with the id ${twice}`)
  return sources
}

interface HashedFile {
  readonly name: string
  readonly sha256: string
}

/** The files of each list, read without parsing them. @throws ListFileError */
export const hashFiles = async (sources: readonly ListSource[]): Promise<HashedFile[][]> => {
  const hashed: HashedFile[][] = []
  for (const { files } of sources) {
    const own: HashedFile[] = []
    for (const file of files) {
      const hash = createHash('sha256')
      for await (const bytes of file.open()) hash.update(bytes)
      own.push({ name: file.name, sha256: hash.digest('hex') })
    }
    hashed.push(own)
  }
  return hashed
}

/** A hash of what a directory holds, lower-case hex. @param hashed the files of each list, in the order of the lists */
export const fingerprint = (
  sources: readonly ListSource[],
  hashed: readonly (readonly HashedFile[])[],
): string => {
  const held = sources.map(({ files: _files, ...source }, i) => ({
    ...source,
    files: hashed[i]?.map(({ name, sha256 }) => ({ name, sha256 })),
  }))
  return sha256Hex(canonicalJson(held))
}
