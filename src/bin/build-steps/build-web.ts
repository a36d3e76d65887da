/**
 * Builds the pages into build/web: HTML beside assets/, whose file names carry a hash of what is in them, so that
 * browsers may keep them for good.
 * @module
 */

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build, type Metafile, type Plugin } from 'esbuild'
import { ingredientsOf } from '../packages/bundles.ts'
import { buildTill } from './build-till.ts'
import type { Docs, DocsPage } from './docs-pages/docs-pages.tsx'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const SOURCE = 'src/web'
const OUTPUT = 'build/web'
/** Names of the packages whose code is in the pages. */
const PACKAGES_FILE = join(ROOT, 'build/web-packages.json')

/** Each has a script and an HTML file of its name; the last part of it is what the page is called. */
const PAGES = {
  landing: 'Assay: checks things, and proves what it found',
  chat: 'Chat · Assay',
  verify: 'Signed result · Assay',
  'check/check': 'Verify · Assay',
  holder: 'Credentials · Assay',
  console: 'Console · Assay',
  terminal: 'Till · Assay',
} as const

/** What guides show. */
const PICTURES = 'docs/pictures'

/** The script of all pages of the documentation. */
const DOCS = 'docs'

/** Programs that pages run on threads of their own, which find their address under this name. */
const WORKERS = { HOLDER_PROVER: 'holder/holder-prover.ts', CHECKER: 'check/check-worker.ts' } as const

/** Of scripts that a browser runs as modules. */
const shared = {
  entryNames: '[name]-[hash]',
  outdir: `${OUTPUT}/assets`,
  absWorkingDir: ROOT,
  bundle: true,
  minify: true,
  metafile: true,
  format: 'esm',
  platform: 'browser',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  logLevel: 'warning',
} as const

/** What is loaded later is a file of its own. */
const split = { splitting: true, chunkNames: '[name]-[hash]' } as const

/** Builds them before the pages that name them. @returns their addresses, as JavaScript */
const buildWorkers = async (): Promise<{
  readonly metafile: Metafile
  readonly addresses: Record<string, string>
}> => {
  const entryPoints = Object.values(WORKERS).map((source) => `${SOURCE}/${source}`)
  const { metafile } = await build({ ...shared, entryPoints, ...split })
  const { outputs } = metafile
  const fileOf = (source: string): string => {
    const found = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === `${SOURCE}/${source}`)
    if (found === undefined) throw new Error(`esbuild made nothing of ${SOURCE}/${source}`)
    return basename(found[0])
  }
  const addresses = Object.entries(WORKERS).map(([name, source]) => [
    name,
    JSON.stringify(`/assets/${fileOf(source)}`),
  ])
  return { metafile, addresses: Object.fromEntries(addresses) }
}

/** Puts what the search looks in where the sources keep a place for it. */
const madeIndex = (index: Docs['index']): Plugin => ({
  name: 'made-index',
  setup(pages) {
    pages.onLoad({ filter: /\/web\/docs\/made-index\.ts$/ }, () => ({
      contents: `export const INDEX = ${JSON.stringify(index)}`,
      loader: 'js',
    }))
  },
})

interface Assets {
  /** Of the workers, and of the pages. */
  readonly metafiles: readonly Metafile[]
  /** Names of all files that were made. */
  readonly kept: Set<string>
  /** @returns the address of what a source file became */
  url(source: string): string
  /** @returns the addresses of what a source file became, and of all that it loads, now or later */
  urlsOf(source: string): string[]
}

/** @returns a file and all that it loads */
const withImports = (outputs: Metafile['outputs'], file: string, seen = new Set<string>()): Set<string> => {
  if (seen.has(file) || outputs[file] === undefined) return seen
  seen.add(file)
  for (const { path } of outputs[file].imports) withImports(outputs, path, seen)
  return seen
}

/** Builds the assets. @param index what the search looks in */
const buildAssets = async (index: Docs['index']): Promise<Assets> => {
  const scripts = [...Object.keys(PAGES), DOCS].map((name) => `${SOURCE}/${name}.ts`)
  const pictures = readdirSync(join(ROOT, PICTURES)).filter((name) => name.endsWith('.png'))
  const workers = await buildWorkers()
  const { metafile } = await build({
    ...shared,
    entryPoints: [
      ...scripts,
      `${SOURCE}/style.css`,
      `${SOURCE}/icon.svg`,
      ...pictures.map((name) => `${PICTURES}/${name}`),
    ],
    ...split,
    loader: { '.svg': 'copy', '.png': 'copy' },
    define: workers.addresses,
    plugins: [madeIndex(index)],
  })
  const bySource = new Map<string, string>()
  const kept = new Set(Object.keys(workers.metafile.outputs).map((file) => basename(file)))
  for (const [file, { entryPoint, inputs }] of Object.entries(metafile.outputs)) {
    kept.add(basename(file))
    // A copied file is no entry point to the metafile, but it has one input.
    const source = entryPoint ?? Object.keys(inputs)[0]
    if (source !== undefined) bySource.set(basename(source), basename(file))
  }
  const url = (source: string): string => {
    const file = bySource.get(source)
    if (file === undefined) throw new Error(`esbuild made nothing of ${SOURCE}/${source}`)
    return `/assets/${file}`
  }
  const urlsOf = (source: string): string[] =>
    Array.from(
      withImports(metafile.outputs, `${OUTPUT}${url(source)}`),
      (file) => `/assets/${basename(file)}`,
    )
  return { metafiles: [workers.metafile, metafile], kept, url, urlsOf }
}

const fill = (template: string, values: Readonly<Record<string, string>>): string =>
  template.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`${SOURCE}/shell.html asks for {{${name}}}, which nobody gives`)
    return value
  })

/** Empties build/web/docs of pages that are gone, and writes those there are, as the server keeps them in memory. */
const writeDocs = (docs: readonly DocsPage[], inShell: (page: DocsPage) => string): void => {
  const directory = join(ROOT, OUTPUT, 'docs')
  mkdirSync(directory, { recursive: true })
  const files = new Map(docs.map((page) => [`${page.name || 'index'}.html.gz`, page]))
  for (const [file, page] of files)
    writeFileSync(join(directory, file), gzipSync(inShell(page), { level: 9 }))
  for (const file of readdirSync(directory)) if (!files.has(file)) rmSync(join(directory, file))
}

/** @returns names of the packages whose code is in the pages, as they were built last @throws Error where they never were */
export const readWebPackages = (): readonly string[] => JSON.parse(readFileSync(PACKAGES_FILE, 'utf8'))

/** @throws Error when a file of a page is missing, and what esbuild refuses */
export const buildWeb = async ({ pages, index }: Docs): Promise<void> => {
  const read = (name: string): string => readFileSync(join(ROOT, SOURCE, name), 'utf8')
  const { metafiles, kept, url, urlsOf } = await buildAssets(index)
  const shell = read('shell.html')
  const files = { style: url('style.css'), icon: url('icon.svg') }
  for (const [name, title] of Object.entries(PAGES)) {
    const main = read(`${name}.html`).trimEnd()
    const page = fill(shell, { title, main, ...files, script: url(`${basename(name)}.ts`) })
    writeFileSync(join(ROOT, OUTPUT, `${basename(name)}.html`), page)
  }
  writeDocs(pages, ({ title, main }) =>
    fill(shell, {
      title: `${title} · Docs · Assay`,
      main: main.replaceAll(/"picture:([a-z0-9-]+\.png)"/g, (_, name: string) => `"${url(name)}"`),
      ...files,
      script: url(`${DOCS}.ts`),
    }),
  )
  const assets = [...urlsOf('terminal.ts'), files.style]
  const till = await buildTill({ root: ROOT, output: OUTPUT, icon: files.icon, assets })
  kept.add(till.manifest)
  const packages = [...metafiles, till.metafile].flatMap((metafile) => ingredientsOf(metafile).packages)
  writeFileSync(PACKAGES_FILE, `${JSON.stringify([...new Set(packages)].sort())}\n`)
  // Last, so that a server that starts meanwhile finds what its page names.
  for (const file of readdirSync(join(ROOT, OUTPUT, 'assets'))) {
    if (!kept.has(file)) rmSync(join(ROOT, OUTPUT, 'assets', file), { force: true })
  }
}
