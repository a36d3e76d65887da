/** How the programs that run in a checkout are bundled: the server, the command line, the threads. @module */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { type BuildOptions, build, type Metafile, type OutputFile } from 'esbuild'

/** Packages that read files by their own place. */
const HAVE_FILES = ['@electric-sql/pglite']
/** Packages that are imported only when they are needed. */
const LOADED_LATE = ['@opentelemetry', '@sd-jwt', 'ioredis', 'passkit-generator']
/** What knex and pg ask for where another database or client is chosen, which nobody installs. */
const NEVER_ASKED_FOR = [
  ...['better-sqlite3', 'mariadb', 'mysql', 'mysql2', 'oracledb', 'sqlite3', 'tedious'],
  ...['pg-native', 'pg-query-stream'],
]

/**
 * Packages are part of the bundles: to find, read and compile several hundred files of theirs took a third of the
 * processor time of each start. The code stays as it is written, since people read where a server's errors come from.
 */
const PROGRAM = {
  bundle: true,
  format: 'esm',
  target: 'es2022',
  platform: 'node',
  sourcemap: true,
  splitting: true,
  external: [...HAVE_FILES, ...LOADED_LATE, ...NEVER_ASKED_FOR].flatMap((name) => [name, `${name}/*`]),
  // CommonJS asks for Node's own modules, which a bundle of ES modules can't do by itself.
  banner: {
    js: "import { createRequire as createNodeRequire } from 'node:module'\nconst require = createNodeRequire(import.meta.url)",
  },
  logLevel: 'warning',
} as const satisfies BuildOptions

/** @throws Error where CommonJS is imported late: of what is in a bundle, esbuild gives such an import the default export alone */
const refuseLateCommonJs = ({ inputs }: Metafile): void => {
  for (const [file, { imports }] of Object.entries(inputs))
    for (const { kind, path } of imports)
      if (kind === 'dynamic-import' && inputs[path]?.format === 'cjs')
        throw new Error(`${file} imports ${path} late: its package belongs to LOADED_LATE`)
}

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/**
 * In ASCII, of which the engine keeps a byte a character of a program's text, and two of any other. What esbuild leaves are comments
 * and patterns, where an escape means the same.
 */
const writeAscii = ({ path, text, contents }: OutputFile): void => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, path.endsWith('.js') ? text.replace(/[\u0080-\uffff]/g, escaped) : contents)
}

/** Bundles a program in parts, of which only what is needed is loaded. @throws Error as esbuild, and as {@link refuseLateCommonJs} */
export const buildProgram = async (options: BuildOptions): Promise<void> => {
  const { metafile, outputFiles } = await build({ ...PROGRAM, ...options, metafile: true, write: false })
  refuseLateCommonJs(metafile)
  outputFiles.forEach(writeAscii)
}
