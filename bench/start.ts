/**
 * How long a server takes until `GET /health/ready` says that it serves (it is alive from its first moment), on the embedded database: the first
 * `npm start` of a fresh clone of what is committed here, after `npm ci`, and the first `assay serve` of the packed package in a fresh
 * directory. Installing is not timed; nothing else is kept from one start to the next, the cache of tsx included. Needs git, npm and its
 * registry, and what `npm run build` makes. `npx tsx bench/start.ts`
 * @module
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createProject, makePackages, run } from '../test/support/packages.ts'
import { freePort } from '../test/support/servers/server-process.ts'
import { median, type Row, report } from './support/interleaved.ts'

const ROOT = join(import.meta.dirname, '..')
const CLONE_STARTS = Number(process.env.BENCH_SLICES ?? 3)
const PACKAGE_STARTS = Number(process.env.BENCH_SLICES ?? 7)
const MOST_CLONE_SECONDS = 20
const MOST_PACKAGE_SECONDS = 3
const PROBE_PAUSE_MS = 20
const GIVE_UP_MS = 300_000

const isReady = (url: string): Promise<boolean> =>
  fetch(url).then(
    (answer) => answer.ok,
    () => false,
  )

/**
 * Starts a server, waits until it answers, and stops it.
 * @returns seconds that it took @throws Error with what it printed, where it ends before or takes minutes
 */
const start = async (command: string, args: readonly string[], directory: string): Promise<number> => {
  const port = String(await freePort())
  const temporary = await mkdtemp(join(tmpdir(), 'assay-start-'))
  const { PATH, HOME } = process.env
  const began = performance.now()
  const child = spawn(command, args, {
    cwd: directory,
    env: { PATH, HOME, TMPDIR: temporary, PORT: port, LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit')
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (printed += text))
  try {
    while (!(await isReady(`http://127.0.0.1:${port}/health/ready`))) {
      const hasEnded = child.exitCode !== null || child.signalCode !== null
      if (hasEnded || performance.now() - began > GIVE_UP_MS)
        throw new Error(`${command} ${args.join(' ')} answers nobody:\n${printed}`)
      await pause(PROBE_PAUSE_MS)
    }
    return (performance.now() - began) / 1000
  } finally {
    child.kill()
    await exited
    await rm(temporary, { recursive: true })
  }
}

const startClone = async (): Promise<number[]> => {
  const clone = await mkdtemp(join(tmpdir(), 'assay-clone-'))
  try {
    await run(clone, 'git', 'clone', '--quiet', ROOT, '.')
    await run(clone, 'npm', 'ci', '--prefer-offline', '--no-audit', '--no-fund')
    const taken: number[] = []
    for (let i = 0; i < CLONE_STARTS; i++) {
      taken.push(await start('npm', ['start'], clone))
      await run(clone, 'git', 'clean', '-xdfq', '--exclude', 'node_modules')
    }
    return taken
  } finally {
    await rm(clone, { recursive: true })
  }
}

const startPackage = async (): Promise<number[]> => {
  await makePackages()
  const project = await createProject(['assay'])
  try {
    const taken: number[] = []
    for (let i = 0; i < PACKAGE_STARTS; i++) {
      const fresh = await mkdtemp(join(project.directory, 'fresh-'))
      taken.push(await start(join(project.directory, 'node_modules/.bin/assay'), ['serve'], fresh))
    }
    return taken
  } finally {
    await project.remove()
  }
}

const rowOf = (what: string, taken: readonly number[], most: number): Row => {
  const longest = Math.max(...taken)
  return {
    what,
    ours: `${median(taken).toFixed(1)} s, longest ${longest.toFixed(1)} s`,
    peer: '',
    theirs: '',
    ratio: '',
    mustReach: `longest ≤ ${most} s`,
    ok: longest <= most,
  }
}

report([
  rowOf('first npm start of a clone, to /health/ready', await startClone(), MOST_CLONE_SECONDS),
  rowOf('first assay serve of the package, to /health/ready', await startPackage(), MOST_PACKAGE_SECONDS),
])
