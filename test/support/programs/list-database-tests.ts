/**
 * Prints the files of the suite in which a database or Redis has a part: those that reach, by what they import, what opens one, or that
 * name its variable. The others show on PostgreSQL and Redis what they showed without.
 * Usage: mocha $(tsx test/support/programs/list-database-tests.ts)
 */
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { filesBelow, importsOf, ROOT, read } from '../sources.ts'

const SUPPORT = 'test/support'
const DOORS = new Set(
  ['app', 'servers/database', 'servers/scratch-database', 'servers/redis'].map(
    (name) => `${SUPPORT}/${name}.ts`,
  ),
)
const LONGEST = ['test/server/server.test.ts', 'test/web/check-many-logs.test.ts']
/**
 * They ask a server for what it describes, or for what it refuses before any database is asked; or they are programs of clients, to
 * which a server hands what the tests of its routes ask of both databases; or they hold who may call what, by queries that others
 * send to both; or they name the variable of a database, and open none.
 */
const APART = new Set(
  [
    'bin/docs-pages/docs-pages',
    'bin/sign-envelope',
    'bin/verify-presented',
    'bin/verify-proof',
    'circuits/proving',
    'config/config',
    'contract/authorisation',
    'contract/body-members',
    'contract/fuzz-connections',
    'contract/generated-clients',
    'contract/misspelt',
    'contract/openapi',
    'deploy/containers',
    'deploy/helm',
    'docs-programs',
    'domain/system/docs',
    'examples',
    'examples-holder',
    'packages/client',
    'packages/verify',
    'packages/verify-pq',
    'web/check-kinds',
    'web/check-sd-jwt',
    'web/evidence-examination',
    'web/further-checks',
  ].map((name) => `test/${name}.test.ts`),
)
const VARIABLES = /\b(DATABASE|REDIS)_URL\b/

const supportOf = new Map<string, readonly string[]>()
/** The files of the support that a file imports. */
const importsSupport = (file: string): readonly string[] => {
  const known = supportOf.get(file)
  if (known !== undefined) return known
  const imported = importsOf(file).flatMap(({ to }) => (to.startsWith(`${SUPPORT}/`) ? [to] : []))
  const found = imported.filter((path) => existsSync(join(ROOT, path)))
  supportOf.set(file, found)
  return found
}

const reachesDatabase = (test: string): boolean => {
  const reached = new Set([test])
  for (const file of reached) for (const imported of importsSupport(file)) reached.add(imported)
  return [...reached].some((file) => DOORS.has(file))
}

const tests = filesBelow('test', '.test.ts').filter(
  (file) => !/^(slow|browser)-/.test(basename(file)) && !APART.has(file),
)
const found = tests.filter((file) => VARIABLES.test(read(file)) || reachesDatabase(file))
// What takes longest begins first, or one process would have it alone at the end.
console.log([...LONGEST, ...found.filter((file) => !LONGEST.includes(file))].join('\n'))
