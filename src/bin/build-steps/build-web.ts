/**
 * Builds the pages into build/web: HTML beside assets/, whose file names carry a hash of what is in them, so that
 * browsers may keep them for good.
 * @module
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build } from 'esbuild'

const ROOT = new URL('../../..', import.meta.url).pathname
const SOURCE = 'src/web'
const OUTPUT = 'build/web'

/** Each has a script and an HTML file of its name. */
const PAGES = {
  landing: 'Assay: checks things, and proves what it found',
  chat: 'Chat · Assay',
  verify: 'Signed result · Assay',
  holder: 'Credentials · Assay',
} as const

/** Programs that pages run on threads of their own, which find their address under this name. */
const WORKERS = { HOLDER_PROVER: 'holder-prover.ts' } as const

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
  logLevel: 'warning',
} as const

/** Builds them before the pages that name them. @returns their addresses, as JavaScript */
const buildWorkers = async (): Promise<{
  readonly kept: string[]
  readonly addresses: Record<string, string>
}> => {
  const entryPoints = Object.values(WORKERS).map((source) => `${SOURCE}/${source}`)
  const { outputs } = (await build({ ...shared, entryPoints })).metafile
  const fileOf = (source: string): string => {
    const found = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === `${SOURCE}/${source}`)
    if (found === undefined) throw new Error(`esbuild made nothing of ${SOURCE}/${source}`)
    return basename(found[0])
  }
  const addresses = Object.entries(WORKERS).map(([name, source]) => [
    name,
    JSON.stringify(`/assets/${fileOf(source)}`),
  ])
  return {
    kept: Object.keys(outputs).map((file) => basename(file)),
    addresses: Object.fromEntries(addresses),
  }
}

/** Builds the assets. @returns the path under /assets/ of each source file, by its name */
const buildAssets = async (): Promise<{ readonly kept: Set<string>; url(source: string): string }> => {
  const scripts = Object.keys(PAGES).map((name) => `${SOURCE}/${name}.ts`)
  const workers = await buildWorkers()
  const { metafile } = await build({
    ...shared,
    entryPoints: [...scripts, `${SOURCE}/style.css`, `${SOURCE}/icon.svg`],
    chunkNames: '[name]-[hash]',
    splitting: true,
    loader: { '.svg': 'copy' },
    define: workers.addresses,
  })
  const bySource = new Map<string, string>()
  const kept = new Set<string>(workers.kept)
  for (const [file, { entryPoint, inputs }] of Object.entries(metafile.outputs)) {
    kept.add(basename(file))
    // A copied file is no entry point to the metafile, but it has one input.
    const source = entryPoint ?? Object.keys(inputs)[0]
    if (source !== undefined) bySource.set(basename(source), basename(file))
  }
  return {
    kept,
    url(source) {
      const file = bySource.get(source)
      if (file === undefined) throw new Error(`esbuild made nothing of ${SOURCE}/${source}`)
      return `/assets/${file}`
    },
  }
}

const fill = (template: string, values: Readonly<Record<string, string>>): string =>
  template.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`${SOURCE}/shell.html asks for {{${name}}}, which nobody gives`)
    return value
  })

/** @throws Error when a file of a page is missing, and what esbuild refuses */
export const buildWeb = async (): Promise<void> => {
  const read = (name: string): string => readFileSync(join(ROOT, SOURCE, name), 'utf8')
  const { kept, url } = await buildAssets()
  const shell = read('shell.html')
  for (const [name, title] of Object.entries(PAGES)) {
    const main = read(`${name}.html`).trimEnd()
    const files = { style: url('style.css'), icon: url('icon.svg'), script: url(`${name}.ts`) }
    writeFileSync(join(ROOT, OUTPUT, `${name}.html`), fill(shell, { title, main, ...files }))
  }
  // Last, so that a server that starts meanwhile finds what its page names.
  for (const file of readdirSync(join(ROOT, OUTPUT, 'assets'))) {
    if (!kept.has(file)) rmSync(join(ROOT, OUTPUT, 'assets', file), { force: true })
  }
}
