/**
 * `npm run package`: fills build/packages/ with what could be published as it is, from what `npm run build` made.
 * `-- --name @firm/assay` publishes under another name; `--repository URL` names the public repository, which provenance demands.
 * @module
 */

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { describeAll, writeClientSource } from './packages/client-source.ts'
import { type Published, writeLibrary, writeTypes } from './packages/library.ts'
import { writeServerPackage } from './packages/server-package.ts'
import { LIBRARIES } from './packages/table.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Of npm: an optional scope, lower case. */
const NAME = /^(@[a-z\d][\w.-]*\/)?[a-z\d][a-z\d.-]*$/

const { values } = parseArgs({
  options: { name: { type: 'string', default: 'assay' }, repository: { type: 'string' } },
})
if (!NAME.test(values.name)) throw new Error(`--name: "${values.name}" is no name of a package`)

const settings = { root: ROOT, product: values.name, repository: values.repository }
const rowOf = ({ name, gzipKib, dependencies }: Published): string => {
  const sizes = Object.entries(gzipKib).map(([path, kib]) => `${path} ${kib}`)
  return `${name.padEnd(24)} ${String(dependencies).padStart(2)} dependencies  KiB as gzip: ${sizes.join(', ')}`
}
await writeClientSource(join(ROOT, 'build/client'), await describeAll())
for (const library of LIBRARIES) console.log(rowOf(await writeLibrary(library, settings)))
// In a process of its own, which takes the longest.
const [dependencies] = await Promise.all([writeServerPackage(settings), writeTypes(LIBRARIES, ROOT)])
console.log(`${settings.product.padEnd(24)} ${dependencies} dependencies`)
