/**
 * `npm run package`: fills build/packages/ with what could be published as it is, from what `npm run build` made.
 * `-- --name @firm/assay` publishes under another name; `--repository URL` names the public repository, which provenance demands.
 * @module
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { writeClientSource } from './packages/client-source.ts'
import { type Published, writeLibrary, writeTypes } from './packages/library.ts'
import { writeServerPackage } from './packages/server-package.ts'
import { LIBRARIES } from './packages/table.ts'

const ROOT = new URL('../..', import.meta.url).pathname
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
// What the routes are made of reads the core, which is built by now.
const [{ describeApi }, { routes }] = await Promise.all([
  import('../server/api-description.ts'),
  import('../server/routes.ts'),
])
await writeClientSource(join(ROOT, 'build/client'), describeApi(routes, 'https://assay.example.org'))
for (const library of LIBRARIES) console.log(rowOf(await writeLibrary(library, settings)))
writeTypes(LIBRARIES, ROOT)
console.log(`${settings.product.padEnd(24)} ${await writeServerPackage(settings)} dependencies`)
