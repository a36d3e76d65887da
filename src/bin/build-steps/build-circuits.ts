/**
 * Compiles the circuits that changed into build/circuits/: constraints (r1cs), witness program (wasm) and names of
 * signals (sym), several at a time. Runs by `npm run build` and `npm start` too, so it does nothing when nothing
 * changed. `npm run circuits:build` says what it does.
 * @module
 */
import { fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sha256Hex } from '../../circuits/artifacts/setup-record.ts'
import { artifactFile, BUILD, hashFile, place, ROOT, withDrafts } from '../circuits/circuits-files.ts'
import type { CircuitToCompile } from './compile-circuits.ts'

const COMPILER = fileURLToPath(new URL('compile-circuits.ts', import.meta.url))
/** Of one core, as measured with Node 20: for each process, for each circuit, and for each megabyte of its proving key. */
const SECONDS = { process: 2.4, circuit: 0.6, megabyte: 0.7 } as const
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
    'src/bin/build-steps/compile-circuits.ts',
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

interface Compiler {
  /** One at a time. @throws Error with what the compiler says */
  compile(circuit: CircuitToCompile): Promise<void>
  close(): void
}

/** The compiler in a process of its own, since it works without pause. */
const startCompiler = (): Compiler => {
  const child = fork(COMPILER, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (text) => {
      said += text
    })
  // Once all that it said has been read.
  const ended = once(child, 'close')
  return {
    async compile(circuit) {
      said = ''
      const done = once(child, 'message').then(() => true)
      child.send(circuit)
      if (await Promise.race([done, ended.then(() => false)])) return
      throw new Error(`circuits/${circuit.id}.circom does not compile:\n${said}`)
    },
    close() {
      if (child.connected) child.disconnect()
    },
  }
}

const compileWith = ({ compile }: Compiler, id: string, source: string): Promise<void> =>
  withDrafts(BUILD, async (drafts) => {
    await compile({ id, output: relative(ROOT, drafts) })
    await place(join(drafts, `${id}.r1cs`), artifactFile(id, 'r1cs'))
    await place(join(drafts, `${id}.sym`), artifactFile(id, 'sym'))
    await place(join(drafts, `${id}_js`, `${id}.wasm`), artifactFile(id, 'wasm'))
    await writeFile(hashFileOf(id), await stamp(id, source))
  })

/** How large a circuit is: that of its proving key, in megabytes; a new one has none. */
const sizeOf = (id: string): number => {
  const { size } = statSync(artifactFile(id, 'zkey'), { throwIfNoEntry: false }) ?? { size: 0 }
  return size / 1e6
}

/** Seconds that some circuits take, roughly. */
const estimate = (ids: readonly string[], processes: number): number => {
  const work = ids.reduce((sum, id) => sum + SECONDS.circuit + SECONDS.megabyte * sizeOf(id), 0)
  return Math.ceil(SECONDS.process + work / processes)
}

/**
 * Brings the outputs in build/circuits/ up to date.
 * @param tell hears what is done, line by line
 * @throws Error when a circuit does not compile
 */
export const buildCircuits = async (tell: (line: string) => void = () => undefined): Promise<void> => {
  await mkdir(BUILD, { recursive: true })
  const hashes = ids.map((id) => ({ id, hash: sourceHash(id) }))
  const fresh = await Promise.all(hashes.map(({ id, hash }) => isFresh(id, hash)))
  // The largest first, so that none of them is left to be waited for.
  const stale = hashes.filter((_, i) => !fresh[i]).sort((a, b) => sizeOf(b.id) - sizeOf(a.id))
  const processes = Math.min(availableParallelism(), stale.length)
  const names = stale.map(({ id }) => id)
  const about = names.length > 0 ? `, about ${estimate(names, processes)} s` : ''
  tell(`${stale.length} of ${ids.length} circuits to compile${about}`)
  let begun = 0
  let done = 0
  const work = async (): Promise<void> => {
    const compiler = startCompiler()
    try {
      for (let next = stale[begun++]; next !== undefined; next = stale[begun++]) {
        const start = performance.now()
        await compileWith(compiler, next.id, next.hash)
        const seconds = ((performance.now() - start) / 1000).toFixed(1)
        tell(`${++done}: ${next.id} in ${seconds} s`)
      }
    } finally {
      compiler.close()
    }
  }
  await Promise.all(Array.from({ length: processes }, work))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildCircuits((line) => console.log(line))
