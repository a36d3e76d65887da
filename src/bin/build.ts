/**
 * Builds everything that `npm start` and the package's exports need, in under a few seconds when nothing changed:
 * the WebAssembly core, the witness programs, the template of the embedded database, the bundles, the client, the pages and the documentation. `--circuits`
 * compiles all circuits, and debug builds of the WebAssembly, as tests need them; `--types` adds declarations and the client's types.
 * @module
 */

import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { buildCircuits, buildPrograms } from './build-steps/build-circuits.ts'
import { buildTemplate } from './build-steps/build-pglite-template.ts'
import { buildWasm } from './build-steps/build-wasm.ts'
import { buildWeb } from './build-steps/build-web.ts'
import { buildProgram } from './build-steps/program-bundles.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FOR_TESTS = process.argv.includes('--circuits')
/** Nothing was built before. */
const IS_FIRST = !existsSync(`${ROOT}/build/wasm.hash`)
const CORES = availableParallelism()
/** Of one core, for all that a first build makes; what no number of cores makes faster. */
const FIRST_BUILD_SECONDS = { work: 24, alone: 6 } as const
const firstSeconds = (): number => Math.ceil(FIRST_BUILD_SECONDS.work / CORES + FIRST_BUILD_SECONDS.alone)

const places = { outdir: 'build', absWorkingDir: ROOT } as const
const shared = {
  ...places,
  bundle: true,
  format: 'esm',
  target: 'es2022',
  sourcemap: true,
  logLevel: 'warning',
} as const

/**
 * The server and the command line, each in parts, of which only what is needed is loaded: a server of PostgreSQL has no
 * embedded database, a till that takes a payment doesn't check proofs.
 */
const buildInParts = (name: 'server' | 'cli') =>
  buildProgram({
    ...places,
    entryPoints: { [name]: `src/bin/${name}.ts` },
    // The hash tells chunks apart that share a name.
    chunkNames: `${name}-[name]-[hash]`,
  })

/** Runs in the threads that make and verify proofs, which are started from a file. */
const buildCircuitWorker = () =>
  buildProgram({
    ...places,
    splitting: false,
    entryPoints: { 'circuit-worker': 'src/circuits/threads/worker.ts' },
  })

/** What other applications import: each file stands alone, and only `terminal-node` needs Node. */
const buildExports = async () => {
  const browser = { ...shared, platform: 'browser' } as const
  await build({
    ...browser,
    entryPoints: {
      core: 'src/core/index.ts',
      field: 'src/core/field.ts',
      proving: 'src/circuits/proving/proving.ts',
      verifying: 'src/circuits/verifying/verifying.ts',
      envelope: 'src/protocol/envelope.ts',
      terminal: 'src/terminal/index.ts',
      webhook: 'src/protocol/webhook/webhook.ts',
      'terminal-browser': 'src/terminal/browser.ts',
    },
  })
  await build({ ...shared, platform: 'node', entryPoints: { 'terminal-node': 'src/terminal/node.ts' } })
}

/** Circuits that have to be compiled take seconds each; nothing is said when there are none. */
const tellCompiled = (line: string): void => {
  if (!line.startsWith('0 ')) console.log(line)
}

/** Reads the routes, and what they are made of reads the core, so it is loaded only once that was built. */
const buildPages = async (): Promise<void> => {
  const { makeDocs } = await import('./build-steps/docs-pages/docs-pages.tsx')
  await buildWeb(makeDocs())
}

/** As examples import it by its name, which tsconfig.json leads to build/client. */
const buildClient = async (): Promise<void> => {
  const { describeAll, writeClientProgram, writeClientSource } = await import('./packages/client-source.ts')
  const write = process.argv.includes('--types') ? writeClientSource : writeClientProgram
  await write(`${ROOT}/build/client`, await describeAll())
}

/** What holds the core. */
const buildBundles = async (): Promise<void> => {
  await buildWasm(FOR_TESTS ? ['release', 'debug'] : ['release'])
  await Promise.all([
    buildInParts('server'),
    buildInParts('cli'),
    buildCircuitWorker(),
    buildExports(),
    buildClient(),
    buildPages(),
  ])
}

// All at once, so that every core has something to do from the beginning.
if (IS_FIRST)
  console.log(`First build: WebAssembly, database and pages, some ${firstSeconds()} s on ${CORES} cores`)
const circuits = FOR_TESTS ? buildCircuits : buildPrograms
await Promise.all([circuits(tellCompiled), buildBundles(), buildTemplate()])
chmodSync(`${ROOT}/build/cli.js`, 0o755)
if (process.argv.includes('--types')) {
  const compiler = `${ROOT}/node_modules/typescript-7/bin/tsc`
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.types.json'], { cwd: ROOT, stdio: 'inherit' })
}
