/**
 * What makes the till an application that devices keep: its manifest (W3C Web Application Manifest), and the service worker
 * with the list of its files.
 * @module
 */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, type Metafile } from 'esbuild'

const HASH_CHARACTERS = 8

const hashOf = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, HASH_CHARACTERS)

interface Files {
  readonly root: string
  /** Of the pages, from the root. */
  readonly output: string
  readonly icon: string
  /** Addresses of all that the page loads. */
  readonly assets: readonly string[]
}

/**
 * Writes the manifest, and says so in the head of the page; then the service worker, which is another one after any change
 * of the page or its files.
 * @returns the file name of the manifest, and what the service worker is made of
 */
export const buildTill = async ({
  root,
  output,
  icon,
  assets,
}: Files): Promise<{ readonly manifest: string; readonly metafile: Metafile }> => {
  const source = readFileSync(join(root, 'src/web/till/manifest.webmanifest'), 'utf8').replace(
    '{{icon}}',
    icon,
  )
  const manifest = `terminal-${hashOf(source)}.webmanifest`
  writeFileSync(join(root, output, 'assets', manifest), source)
  const pageFile = join(root, output, 'terminal.html')
  const head = `<link rel="manifest" href="/assets/${manifest}">\n<meta name="theme-color" content="#0b5c4a">\n</head>`
  const page = readFileSync(pageFile, 'utf8').replace('</head>', head)
  writeFileSync(pageFile, page)
  const files = [...assets, icon, `/assets/${manifest}`]
  const { metafile } = await build({
    entryPoints: ['src/web/till/service-worker.ts'],
    outfile: join(output, 'terminal-worker.js'),
    absWorkingDir: root,
    bundle: true,
    minify: true,
    metafile: true,
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
    logLevel: 'warning',
    define: { TILL_FILES: JSON.stringify(files), TILL_BUILD: JSON.stringify(hashOf(page + files.join())) },
  })
  return { manifest, metafile }
}
