/**
 * The prepared template of an embedded database: a fresh cluster as an archive, made at build time because making one
 * (initdb) takes seconds and several hundred megabytes.
 * @module
 */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'

const require = createRequire(import.meta.url)

/** Version of the installed PGlite: a template belongs to the one that made it. */
const pgliteVersion = (): string => {
  const manifest = new URL('../package.json', `file://${require.resolve('@electric-sql/pglite')}`)
  const value: unknown = JSON.parse(readFileSync(manifest, 'utf8'))
  return typeof value === 'object' && value !== null && 'version' in value ? String(value.version) : 'unknown'
}

/** File name of the template, below `build/`. */
export const templateName = (): string => `pglite-${pgliteVersion()}.tar.gz`

/** The built template, or undefined when nothing was built: then initdb does its work. */
export const readTemplate = (): File | undefined => {
  const name = templateName()
  // Beside the bundle, or in build/ when run from the sources.
  const file = [new URL(name, import.meta.url), new URL(`../../../build/${name}`, import.meta.url)].find(
    (url) => existsSync(fileURLToPath(url)),
  )
  // PGlite would unpack it too, in several times the time.
  return file && new File([new Uint8Array(gunzipSync(readFileSync(file)))], name.replace(/\.gz$/, ''))
}
