/** The code of a package: one file for each entry, and chunks that entries share. @module */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build, type Metafile } from 'esbuild'
import type { Entry, Library } from './table.ts'

/** Never in a package that others may use under terms of their own: they are under the GPL, or bring what is. */
const FORBIDDEN = ['snarkjs', 'circomlib', 'circomlibjs', 'circom', 'circom2', 'ffjavascript', 'wasmcurves']

/** The file of an entry, without ending: `index`, `node`. */
export const fileOf = ({ path }: Entry): string => (path === '.' ? 'index' : path.slice('./'.length))

/** What a bundle was made of, by the names of the packages; own files by their paths. */
interface Ingredients {
  readonly own: readonly string[]
  readonly packages: readonly string[]
}

const PACKAGE = /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//

/** What is left of all that was read, once what nobody uses is gone. */
export const ingredientsOf = ({ outputs }: Metafile): Ingredients => {
  const files = Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? [file] : [])),
  )
  const packages = files.flatMap((file) => PACKAGE.exec(file)?.[1] ?? [])
  return {
    own: [...new Set(files.filter((file) => !PACKAGE.test(file)))].sort(),
    packages: [...new Set(packages)].sort(),
  }
}

/**
 * What must not be in a package.
 * @returns a sentence for each file or package too many
 */
export const intruders = ({ suffix, licence, holds }: Library, { own, packages }: Ingredients): string[] => [
  ...own
    .filter((file) => !holds.some((pattern) => pattern.test(file)))
    .map((file) => `${suffix} holds ${file}, which its line does not list`),
  ...(licence === 'Apache-2.0' ? packages.filter((name) => FORBIDDEN.includes(name)) : []).map(
    (name) => `${suffix} is under ${licence} and holds ${name}`,
  ),
]

export interface Bundle extends Ingredients {
  /** KiB of gzip that importing an entry loads, by path. */
  readonly gzipKib: Readonly<Record<string, number>>
}

/** The files that an output loads, itself first. */
const loadedBy = (output: string, { outputs }: Metafile, seen = new Set<string>()): Set<string> => {
  if (seen.has(output)) return seen
  seen.add(output)
  for (const { path, kind, external } of outputs[output]?.imports ?? [])
    if (kind === 'import-statement' && !external) loadedBy(path, { inputs: {}, outputs }, seen)
  return seen
}

/** Writes the files of some entries. @returns what they are made of */
const buildEntries = async (
  entries: readonly Entry[],
  { dependencies }: Library,
  root: string,
  directory: string,
): Promise<Metafile> => {
  const { metafile } = await build({
    bundle: true,
    format: 'esm',
    target: 'es2022',
    // Node's own modules stay imports; whatever else is not of the web would fail here.
    platform: 'browser',
    external: [...dependencies.flatMap((name) => [name, `${name}/*`]), 'node:*'],
    splitting: true,
    minify: true,
    // Of no weight in a program, and stack traces tell names with it.
    sourcemap: true,
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
    absWorkingDir: root,
    outdir: directory,
    entryPoints: Object.fromEntries(entries.map((entry) => [fileOf(entry), entry.source])),
    chunkNames: 'chunk-[hash]',
  })
  return metafile
}

/** KiB of gzip that importing an entry loads. */
const sizeOf = (entry: Entry, metafile: Metafile, root: string): number => {
  const output = Object.keys(metafile.outputs).find((file) => file.endsWith(`/${fileOf(entry)}.js`)) ?? ''
  const parts = [...loadedBy(output, metafile)].map((file) => readFileSync(join(root, file)))
  const bytes = parts.reduce((sum, part) => sum + gzipSync(part, { level: 9 }).length, 0)
  return Math.ceil((bytes / 1024) * 10) / 10
}

/**
 * Writes the code of a package.
 * @param directory of the package
 * @throws Error for what must not be in it, or an entry that is too large
 */
export const bundle = async (library: Library, root: string, directory: string): Promise<Bundle> => {
  const { suffix, entries } = library
  const together = entries.filter(({ isApart }) => !isApart)
  const groups = [together, ...entries.filter(({ isApart }) => isApart).map((entry) => [entry])]
  const metafiles = await Promise.all(groups.map((group) => buildEntries(group, library, root, directory)))
  const gzipKib = Object.fromEntries(
    groups.flatMap((group, i) =>
      group.map((entry) => [entry.path, sizeOf(entry, metafiles[i] as Metafile, root)]),
    ),
  )
  const found = metafiles.map(ingredientsOf)
  const merged = (name: keyof Ingredients) => [...new Set(found.flatMap((one) => one[name]))].sort()
  const ingredients = { own: merged('own'), packages: merged('packages') }
  const tooLarge = entries.flatMap(({ path, maxGzipKib }) => {
    const size = gzipKib[path] as number
    return size > maxGzipKib ? [`${suffix} (${path}) has ${size} KiB as gzip; ${maxGzipKib} are allowed`] : []
  })
  const faults = [...intruders(library, ingredients), ...tooLarge]
  if (faults.length > 0) throw new Error(faults.join('\n'))
  return { ...ingredients, gzipKib }
}
