/**
 * Makes the template of the embedded database, `build/pglite-<version>.tar.gz`, with the schema in it: 3 MB, 6 seconds,
 * again when PGlite or a migration changed.
 * @module
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PGlite } from '@electric-sql/pglite'
import { sha256Hex } from '../../circuits/artifacts/setup-record.ts'
import { connect } from '../../store/embedded/pglite.ts'
import { templateName } from '../../store/embedded/pglite-template.ts'
import { migrate } from '../../store/migrate.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const BUILD = join(ROOT, 'build')
const MIGRATIONS = join(ROOT, 'src/store/migrations')
/** What runs them, and adds to the schema itself. */
const RUNNERS = ['src/store/migrate.ts', 'src/store/embedded/pglite.ts'].map((file) => join(ROOT, file))

/** Hash of everything that the template depends on besides PGlite's version, which its name holds. */
const sourceHash = (): string => {
  const hash = createHash('sha256').update(readFileSync(fileURLToPath(import.meta.url)))
  const entries = readdirSync(MIGRATIONS, { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .concat(RUNNERS)
  for (const file of files.sort()) hash.update(`\0${file.slice(ROOT.length)}\0`).update(readFileSync(file))
  return hash.digest('hex')
}

const makeTemplate = async (): Promise<Buffer> => {
  const pglite = await PGlite.create()
  try {
    // One database is all that is ever used; those that others would be made from are two thirds of the files.
    await pglite.exec(
      "UPDATE pg_database SET datistemplate = false WHERE datname IN ('template0', 'template1')",
    )
    await pglite.exec('DROP DATABASE template0')
    await pglite.exec('DROP DATABASE template1')
    const knex = connect(pglite)
    await migrate({ knex, kind: 'pglite' })
    await knex.destroy()
    // The archive is a copy of files: what is still in the log only would be replayed at every first start.
    await pglite.exec('CHECKPOINT')
    const archive = await pglite.dumpDataDir('gzip')
    return Buffer.from(await archive.arrayBuffer())
  } finally {
    await pglite.close()
  }
}

/** Builds the template unless the one of this PGlite version and these migrations is there. */
export const buildTemplate = async (): Promise<void> => {
  const file = join(BUILD, templateName())
  const stampFile = `${file}.hash`
  const source = sourceHash()
  /** The template as well: a crash may leave an empty file. */
  const stamp = (template: Buffer): string => sha256Hex(`${source}\n${sha256Hex(template)}`)
  if (existsSync(file) && existsSync(stampFile)) {
    if ((await readFile(stampFile, 'utf8')) === stamp(await readFile(file))) return
  }
  await mkdir(BUILD, { recursive: true })
  const template = await makeTemplate()
  const draft = `${file}.${process.pid}`
  await writeFile(draft, template)
  await rename(draft, file)
  await writeFile(stampFile, stamp(template))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildTemplate()
