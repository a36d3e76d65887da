/**
 * Compiles the circuits that changed into build/circuits/: constraints (r1cs), witness program (wasm) and names of
 * signals (sym), several at a time. Runs by `npm run build` and `npm start` too, so it does nothing when nothing
 * changed. `npm run circuits:build` says what it does.
 * @module
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pLimit from 'p-limit'
import { sha256Hex } from '../../circuits/artifacts/setup-record.ts'
import { artifactFile, BUILD, hashFile, place, ROOT, withDrafts } from '../circuits/circuits-files.ts'

const COMPILER = 'node_modules/circom/cli.js'
const KINDS = ['r1cs', 'wasm', 'sym'] as const
const LIBRARY = 'circuits/lib'

/** Ids of the circuits: the names of their files. The catalogue has the same, but is made of what is built here. */
const ids = readdirSync(join(ROOT, 'circuits'))
  .filter((name) => name.endsWith('.circom'))
  .map((name) => name.slice(0, -'.circom'.length))

/** Hash of everything that a circuit's outputs depend on. */
const sourceHash = (id: string): string => {
  const hash = createHash('sha256')
  const library = readdirSync(join(ROOT, LIBRARY)).sort()
  const files = [
    `circuits/${id}.circom`,
    ...library.map((name) => `${LIBRARY}/${name}`),
    'node_modules/circom/package.json',
    'node_modules/circomlib/package.json',
    'src/bin/build-steps/build-circuits.ts',
  ]
  for (const file of files)
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(ROOT, file)))
      .update('\0')
  return hash.digest('hex')
}

const hashFileOf = (id: string): string => join(BUILD, `${id}.hash`)

/** Hash of what the outputs were made from and of the outputs themselves: a crash may leave an empty file. */
const stamp = async (id: string, source: string): Promise<string> => {
  const outputs = await Promise.all(KINDS.map((kind) => hashFile(artifactFile(id, kind))))
  return sha256Hex([source, ...outputs].join('\n'))
}

const isFresh = async (id: string, source: string): Promise<boolean> =>
  [...KINDS.map((kind) => artifactFile(id, kind)), hashFileOf(id)].every((file) => existsSync(file)) &&
  (await readFile(hashFileOf(id), 'utf8')) === (await stamp(id, source))

/** @throws Error with what the compiler says */
const compile = (id: string, source: string): Promise<void> =>
  withDrafts(BUILD, async (drafts) => {
    const options = ['--O2', '--r1cs', '--wasm', '--sym', '-l', 'node_modules', '-o', drafts]
    // In a process of its own: the compiler works without pause, and several can work at a time.
    await promisify(execFile)(process.execPath, [COMPILER, `circuits/${id}.circom`, ...options], {
      cwd: ROOT,
    }).catch(({ stdout, stderr }: { stdout: string; stderr: string }) => {
      throw new Error(`circuits/${id}.circom does not compile:\n${stdout}${stderr}`)
    })
    await place(join(drafts, `${id}.r1cs`), artifactFile(id, 'r1cs'))
    await place(join(drafts, `${id}.sym`), artifactFile(id, 'sym'))
    await place(join(drafts, `${id}_js`, `${id}.wasm`), artifactFile(id, 'wasm'))
    await writeFile(hashFileOf(id), await stamp(id, source))
  })

/**
 * Brings the outputs in build/circuits/ up to date.
 * @param tell hears what is done, line by line
 * @throws Error when a circuit does not compile
 */
export const buildCircuits = async (tell: (line: string) => void = () => undefined): Promise<void> => {
  await mkdir(BUILD, { recursive: true })
  const hashes = ids.map((id) => ({ id, hash: sourceHash(id) }))
  const fresh = await Promise.all(hashes.map(({ id, hash }) => isFresh(id, hash)))
  const stale = hashes.filter((_, i) => !fresh[i])
  tell(`${stale.length} of ${ids.length} circuits to compile`)
  let done = 0
  await pLimit(availableParallelism()).map(stale, async ({ id, hash }) => {
    const start = performance.now()
    await compile(id, hash)
    const seconds = ((performance.now() - start) / 1000).toFixed(1)
    tell(`${++done}: ${id} in ${seconds} s`)
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildCircuits((line) => console.log(line))
