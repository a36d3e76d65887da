/** The package.json of a package, made from that of the repository. @module */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BOM_FILE, LICENCES_FILE } from './bom.ts'
import { fileOf } from './bundles.ts'
import type { Library } from './table.ts'

/** What the repository's own package.json says of all packages. */
export interface RootManifest {
  readonly version: string
  readonly description: string
  readonly license: string
  readonly engines: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly repository?: unknown
}

export const readRootManifest = (root: string): RootManifest =>
  JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as RootManifest

/** What all packages have in common. Provenance demands a repository, and is only to be had where GitHub or GitLab publishes from it. */
export const commonMembers = ({ version, engines }: RootManifest, repository: string | undefined) => ({
  version,
  type: 'module',
  engines: { node: engines.node },
  ...(repository !== undefined && { repository: { type: 'git', url: repository } }),
  publishConfig: { access: 'public', ...(repository !== undefined && { provenance: true }) },
})

/** Versions of dependencies, as the repository has them. @throws Error for one that it doesn't have */
export const versionsOf = (
  names: readonly string[],
  { dependencies }: RootManifest,
): Record<string, string> =>
  Object.fromEntries(
    names.map((name) => {
      const version = dependencies[name]
      if (version === undefined) throw new Error(`${name} is no dependency of package.json`)
      return [name, version]
    }),
  )

/** @param product the product's name: `assay`, or with a scope `@firm/assay` */
export const libraryManifest = (
  library: Library,
  root: RootManifest,
  product: string,
  repository: string | undefined,
) => ({
  name: `${product}${library.suffix}`,
  description: library.description,
  keywords: library.keywords,
  license: library.licence,
  ...commonMembers(root, repository),
  sideEffects: false,
  exports: {
    ...Object.fromEntries(
      library.entries.map((entry) => [
        entry.path,
        { types: `./${fileOf(entry)}.d.ts`, default: `./${fileOf(entry)}.js` },
      ]),
    ),
    './package.json': './package.json',
  },
  files: ['*.js', '*.js.map', '*.d.ts', 'NOTICE', BOM_FILE, LICENCES_FILE],
  ...(library.dependencies.length > 0 && { dependencies: versionsOf(library.dependencies, root) }),
})
