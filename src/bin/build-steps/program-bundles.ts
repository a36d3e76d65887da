/** How the programs that run in a checkout are bundled: the server, the command line, the threads. @module */
import type { BuildOptions } from 'esbuild'

/** Packages that start threads, or read files, by their own place. */
const HAVE_FILES = ['@electric-sql/pglite', 'piscina']
/** What knex and pg ask for where another database or client is chosen, which nobody installs. */
const NEVER_ASKED_FOR = [
  ...['better-sqlite3', 'mariadb', 'mysql', 'mysql2', 'oracledb', 'sqlite3', 'tedious'],
  ...['pg-native', 'pg-query-stream'],
]

/**
 * Packages are part of the bundles: to find, read and compile several hundred files of theirs took a third of the
 * processor time of each start. The code stays as it is written, since people read where a server's errors come from.
 */
export const PROGRAM = {
  bundle: true,
  format: 'esm',
  target: 'es2022',
  platform: 'node',
  sourcemap: true,
  splitting: true,
  external: [...HAVE_FILES, ...NEVER_ASKED_FOR].flatMap((name) => [name, `${name}/*`]),
  // CommonJS asks for Node's own modules, which a bundle of ES modules can't do by itself.
  banner: {
    js: "import { createRequire as createNodeRequire } from 'node:module'\nconst require = createNodeRequire(import.meta.url)",
  },
  logLevel: 'warning',
} as const satisfies BuildOptions
