/** Fills the directory of a package that others import. @module */
import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { writeBom } from './bom.ts'
import { bundle, fileOf } from './bundles.ts'
import { libraryManifest, readRootManifest } from './manifest.ts'
import { noticeOf } from './notice.ts'
import type { Library } from './table.ts'

/** What the build is told. */
export interface Settings {
  readonly root: string
  /** The product's name, with its scope if it has one. */
  readonly product: string
  /** Address of the public repository. */
  readonly repository: string | undefined
}

/** Names of packages in a text, as they are published. */
export const renamed = (text: string, product: string): string =>
  text.replace(/(?<![\w@/-])assay(?=-(?:client|proving|terminal|verify)\b)/g, product)

const directoryOf = (root: string, { suffix }: Library): string =>
  join(root, 'build/packages', `assay${suffix}`)

/** Declarations of all entries, each in one file; types of the packages beside them are imported. */
export const writeTypes = async (libraries: readonly Library[], root: string): Promise<void> => {
  const config = join(root, 'build/packages/types.json')
  const entries = libraries.flatMap((library) =>
    library.entries.map((entry) => ({
      filePath: join(root, entry.source),
      outFile: join(directoryOf(root, library), `${fileOf(entry)}.d.ts`),
      noCheck: true,
      output: { noBanner: true, exportReferencedTypes: false },
    })),
  )
  const options = { preferredConfigPath: join(root, 'tsconfig.types.json') }
  writeFileSync(config, JSON.stringify({ compilationOptions: options, entries }))
  const program = join(root, 'node_modules/dts-bundle-generator/dist/bin/dts-bundle-generator.js')
  await promisify(execFile)(process.execPath, [program, '--silent', '--config', config], { cwd: root })
  rmSync(config)
}

export const copyLicence = (root: string, licence: string, directory: string): void =>
  copyFileSync(
    join(root, licence === 'Apache-2.0' ? 'src/bin/packages/contents/LICENSE-Apache-2.0' : 'LICENSE'),
    join(directory, 'LICENSE'),
  )

const sizeLines = ({ entries }: Library, name: string, gzipKib: Readonly<Record<string, number>>): string =>
  entries.map((entry) => `\`${name}${entry.path.slice(1)}\` ${gzipKib[entry.path]} KiB`).join(', ')

/** One line of the table that is printed. */
export interface Published {
  readonly name: string
  readonly gzipKib: Readonly<Record<string, number>>
  readonly dependencies: number
}

/** All of a package but its declarations. @throws Error for what must not be in it */
export const writeLibrary = async (library: Library, settings: Settings): Promise<Published> => {
  const { root, product, repository } = settings
  const directory = directoryOf(root, library)
  const name = `${product}${library.suffix}`
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  const { own, packages, gzipKib } = await bundle(library, root, directory)
  const manifest = libraryManifest(library, readRootManifest(root), product, repository)
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  const hasWasm = own.some((file) => file.endsWith('-wasm.ts'))
  const notice = noticeOf(root, { held: packages, beside: library.dependencies, hasWasm })
  writeFileSync(join(directory, 'NOTICE'), notice)
  const { version, license } = manifest
  const held = hasWasm ? [...packages, 'assemblyscript'] : packages
  writeBom(directory, root, { name, version, license, held, beside: library.dependencies })
  copyLicence(root, library.licence, directory)
  const readme = readFileSync(
    join(root, 'src/bin/packages/contents', library.suffix.slice(1), 'README.md'),
    'utf8',
  )
  writeFileSync(
    join(directory, 'README.md'),
    renamed(readme, product).replace('{{sizes}}', sizeLines(library, name, gzipKib)),
  )
  return { name, gzipKib, dependencies: library.dependencies.length }
}
