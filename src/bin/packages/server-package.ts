/** Fills the directory of the package that is the server and the whole command line, built: nothing is compiled where it is installed. @module */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { build, type Metafile } from 'esbuild'
import { ARTIFACT_ENDINGS, ARTIFACTS_FILE } from '../../circuits/artifacts/setup-record.ts'
import { CIRCUITS } from '../../circuits/catalogue.ts'
import { templateName } from '../../store/embedded/pglite-template.ts'
import { readWebPackages } from '../build-steps/build-web.ts'
import { BOM_FILE, LICENCES_FILE, writeBom } from './bom.ts'
import { copyLicence, renamed, type Settings } from './library.ts'
import { commonMembers, readRootManifest, versionsOf } from './manifest.ts'
import { noticeOf } from './notice.ts'

const MODULES = 'node_modules/'

/**
 * Packages whose modules become part of the server: of these it uses a small part, or they are hundreds of files, which take longer to find
 * than to run. Only what is written as ES modules, and nothing that makes or checks keys and signatures, so that a fault in such a package is
 * mended by its own release.
 */
const INLINED = [
  /^@modelcontextprotocol\//,
  /^@opentelemetry\//,
  /^csv-(parse|stringify)$/,
  /^lru-cache$/,
  /^mrz$/,
  /^opencc-js$/,
  /^typebox$/,
  /^zod$/,
]

const isInlined = (name: string): boolean => INLINED.some((pattern) => pattern.test(name))

const packageOf = (path: string): string =>
  path
    .split('/')
    .slice(0, path.startsWith('@') ? 2 : 1)
    .join('/')

/**
 * The packages whose code is in the bundles.
 * @throws Error for one that INLINED does not name, or that is no ES module: it would have to find its own files
 */
const heldBy = ({ inputs, outputs }: Metafile): string[] => {
  const used = Object.values(outputs).flatMap((output) => Object.keys(output.inputs))
  const files = used.filter((file) => file.startsWith(MODULES))
  const nameOf = (file: string): string => packageOf(file.slice(file.lastIndexOf(MODULES) + MODULES.length))
  const intruder = files.find((file) => !isInlined(nameOf(file)) || inputs[file]?.format !== 'esm')
  if (intruder !== undefined) throw new Error(`${intruder} can't be part of the server`)
  return [...new Set(files.map(nameOf))].sort()
}

/** The packages that the bundles import. */
const importedBy = ({ outputs }: Metafile): string[] => {
  const external = Object.values(outputs).flatMap(({ imports }) => imports.filter((one) => one.external))
  const names = external.map(({ path }) => path).filter((path) => !isBuiltin(path))
  return [...new Set(names.map(packageOf))].sort()
}

/** What the server reads beside its code: as it lies in the repository, so that it finds it. */
export const copyFiles = (root: string, directory: string): void => {
  const copy = (path: string, isWanted: (name: string) => boolean): void =>
    readdirSync(join(root, path))
      .filter(isWanted)
      .forEach((name) => {
        cpSync(join(root, path, name), join(directory, path, name), { recursive: true })
      })
  copy('build/circuits', (name) => CIRCUITS.some(({ id }) => name === `${id}${ARTIFACT_ENDINGS.wasm}`))
  // Of the ceremony's files it needs what proofs are made and checked with.
  const { zkey, vkey } = ARTIFACT_ENDINGS
  copy('circuits/keys', (name) => name === ARTIFACTS_FILE || name.endsWith(zkey) || name.endsWith(vkey))
  copy('build/web', (name) => !name.endsWith('.map'))
  copy('build', (name) => name === templateName())
}

/** The README, with the names under which everything is published. */
export const serverReadme = (root: string, product: string): string => {
  const readme = readFileSync(join(root, 'src/bin/packages/contents/server/README.md'), 'utf8')
  return renamed(readme, product).replace('npm install assay', `npm install ${product}`)
}

/** @returns how many packages are installed with it */
export const writeServerPackage = async ({ root, product, repository }: Settings): Promise<number> => {
  const directory = join(root, 'build/packages/assay')
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  const manifest = readRootManifest(root)
  const { metafile } = await build({
    bundle: true,
    format: 'esm',
    target: 'es2022',
    platform: 'node',
    // Of packages that have both, the form with ES modules.
    mainFields: ['module', 'main'],
    external: Object.keys(manifest.dependencies).filter((name) => !isInlined(name)),
    splitting: true,
    metafile: true,
    logLevel: 'warning',
    absWorkingDir: root,
    outdir: join(directory, 'build'),
    // The worker is started from its file; the rest is loaded when it is called.
    entryPoints: { cli: 'src/bin/cli.ts', 'circuit-worker': 'src/circuits/threads/worker.ts' },
    chunkNames: '[name]-[hash]',
  })
  copyFiles(root, directory)
  const names = importedBy(metafile)
  // The witness programs are made of circomlib.
  const held = [...new Set(['circomlib', ...readWebPackages(), ...heldBy(metafile)])]
  const published = {
    name: product,
    description: manifest.description,
    license: manifest.license,
    ...commonMembers(manifest, repository),
    bin: { assay: 'build/cli.js' },
    files: ['build', 'circuits', 'NOTICE', BOM_FILE, LICENCES_FILE],
    dependencies: versionsOf(names, manifest),
  }
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)
  writeFileSync(join(directory, 'NOTICE'), noticeOf(root, { held, beside: [], hasWasm: true }))
  const { version, license } = published
  writeBom(directory, root, {
    name: product,
    version,
    license,
    held: [...held, 'assemblyscript'],
    beside: names,
  })
  copyLicence(root, manifest.license, directory)
  writeFileSync(join(directory, 'README.md'), serverReadme(root, product))
  return names.length
}
