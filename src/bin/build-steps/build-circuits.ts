/**
 * Fills build/circuits/. What a server needs are the witness programs (wasm), of which the repository keeps those of its
 * own circuits; `npm run circuits:build` compiles every circuit that changed, several at a time, for their constraints
 * (r1cs) and names of signals (sym) too. Both do nothing when nothing changed.
 * @module
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { artifactFile, BUILD, hashFile, place, ROOT, withDrafts } from '../circuits/circuits-files.ts'
import { ids, sourceHash } from '../circuits/circuits-sources.ts'
import { keptPrograms } from '../circuits/witness-programs.ts'
import type { CircuitToCompile } from './compile-circuits.ts'

const COMPILER = fileURLToPath(new URL('compile-circuits.ts', import.meta.url))
/** Of one core, as measured with Node 20: for each process, for each circuit, and for each megabyte of its proving key. */
const SECONDS = { process: 2.4, circuit: 0.6, megabyte: 0.7 } as const
const KINDS = ['r1cs', 'wasm', 'sym'] as const
type Kind = (typeof KINDS)[number]
/** What a server needs. */
const PROGRAM = ['wasm'] as const

const stampFile = (id: string): string => join(BUILD, `${id}.json`)

/** What was built from what, with hashes of the outputs themselves: a crash may leave an empty file. */
type Stamp = Readonly<Partial<Record<'source' | Kind, string>>>

const writeStamp = async (id: string, source: string, kinds: readonly Kind[]): Promise<void> => {
  const hashes = await Promise.all(kinds.map(async (kind) => [kind, await hashFile(artifactFile(id, kind))]))
  await writeFile(stampFile(id), JSON.stringify({ source, ...Object.fromEntries(hashes) }))
}

const readStamp = async (id: string): Promise<Stamp> => {
  try {
    return JSON.parse(await readFile(stampFile(id), 'utf8')) ?? {}
  } catch {
    return {}
  }
}

/** Whether those outputs are there, made from that source. */
const isFresh = async (id: string, source: string, kinds: readonly Kind[]): Promise<boolean> => {
  const stamp = await readStamp(id)
  if (stamp.source !== source) return false
  const fresh = kinds.map(async (kind) => {
    const file = artifactFile(id, kind)
    return existsSync(file) && (await hashFile(file)) === stamp[kind]
  })
  return (await Promise.all(fresh)).every(Boolean)
}

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
    await writeStamp(id, source, KINDS)
  })

/** Puts a program that was kept in its place. */
const placeProgram = (id: string, source: string, program: Uint8Array): Promise<void> =>
  withDrafts(BUILD, async (drafts) => {
    const draft = join(drafts, id)
    await writeFile(draft, program)
    await place(draft, artifactFile(id, 'wasm'))
    await writeStamp(id, source, PROGRAM)
  })

/** How large a circuit is: that of its proving key, in megabytes; a new one has none. */
const sizeOf = (id: string): number => {
  const { size } = statSync(artifactFile(id, 'zkey'), { throwIfNoEntry: false }) ?? { size: 0 }
  return size / 1e6
}

/** Seconds that some circuits take, roughly, while nothing else runs. */
const estimate = (ids: readonly string[], processes: number): number => {
  const work = ids.reduce((sum, id) => sum + SECONDS.circuit + SECONDS.megabyte * sizeOf(id), 0)
  return Math.ceil(SECONDS.process + work / processes)
}

interface Stale {
  readonly id: string
  readonly source: string
}

const staleOf = async (kinds: readonly Kind[]): Promise<Stale[]> => {
  const circuits = ids.map((id) => ({ id, source: sourceHash(id) }))
  const fresh = await Promise.all(circuits.map(({ id, source }) => isFresh(id, source, kinds)))
  return circuits.filter((_, i) => !fresh[i])
}

const compileAll = async (
  circuits: readonly Stale[],
  tell: (line: string) => void = () => undefined,
): Promise<void> => {
  // The largest first, so that none of them is left to be waited for.
  const stale = [...circuits].sort((a, b) => sizeOf(b.id) - sizeOf(a.id))
  const processes = Math.min(availableParallelism(), stale.length)
  const names = stale.map(({ id }) => id)
  const about = names.length > 0 ? `, about ${estimate(names, processes)} s where nothing else runs` : ''
  tell(`${stale.length} of ${ids.length} circuits to compile${about}`)
  let begun = 0
  let done = 0
  const work = async (): Promise<void> => {
    const compiler = startCompiler()
    try {
      for (let next = stale[begun++]; next !== undefined; next = stale[begun++]) {
        const start = performance.now()
        await compileWith(compiler, next.id, next.source)
        const seconds = ((performance.now() - start) / 1000).toFixed(1)
        tell(`${++done}: ${next.id} in ${seconds} s`)
      }
    } finally {
      compiler.close()
    }
  }
  await Promise.all(Array.from({ length: processes }, work))
}

/** Brings the witness programs up to date: of circuits as the repository has them from what it keeps, of others by compiling. */
export const buildPrograms = async (tell?: (line: string) => void): Promise<void> => {
  await mkdir(BUILD, { recursive: true })
  const stale = await staleOf(PROGRAM)
  if (stale.length === 0) return
  const kept = keptPrograms(new Map(stale.map(({ id, source }) => [id, source])))
  for (const { id, source } of stale) {
    const program = kept.get(id)
    if (program) await placeProgram(id, source, program)
  }
  await compileAll(
    stale.filter(({ id }) => !kept.has(id)),
    tell,
  )
}

/**
 * Compiles what is not up to date in build/circuits/, with constraints and names of signals.
 * @param tell hears what is done, line by line
 * @throws Error when a circuit does not compile
 */
export const buildCircuits = async (tell?: (line: string) => void): Promise<void> => {
  await mkdir(BUILD, { recursive: true })
  await compileAll(await staleOf(KINDS), tell)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildCircuits((line) => console.log(line))
