/**
 * Breaks the product on purpose, one place after the other, and has a run of `npm run test:chaos` find each. The edits are made
 * while a server is bundled into a temporary directory; no source is touched. CHAOS_MINUTES bounds each run (default 1); arguments are
 * the numbers of those to try, from 1.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { buildProgram } from '../../src/bin/build-steps/program-bundles.ts'
import { newDirectory, removeDirectory } from './world.ts'

interface Mutation {
  readonly what: string
  readonly file: string
  /** Text of the file, and what stands there instead. */
  readonly edits: readonly (readonly [from: string, to: string])[]
  /** Kinds of faults under which it shows; none but these happen. */
  readonly faults: string
  /** Invariants of which the run must find one broken. */
  readonly invariants: readonly string[]
}

const MUTATIONS: readonly Mutation[] = [
  {
    what: 'commits are acknowledged before they are on disk',
    file: 'src/store/transactions.ts',
    edits: [
      [
        'BEGIN; SET LOCAL enable_seqscan',
        'BEGIN; SET LOCAL synchronous_commit = off; SET LOCAL enable_seqscan',
      ],
    ],
    faults: 'crash,failover',
    invariants: ['no lost write'],
  },
  {
    what: 'a commit whose connection broke is taken for done',
    file: 'src/store/transactions.ts',
    edits: [['if (await confirm(database, look)) return sent', 'return sent']],
    faults: 'crash,database,freeze',
    // What is not there is used up once more, is charged by nobody, and opens nothing.
    invariants: ['no lost write', 'no double spend', 'charges exact', 'no answer but the right ones'],
  },
  {
    what: 'a card token that has paid may pay again',
    file: 'src/domain/payments/decision.ts',
    edits: [
      [
        "const isConflict = spender !== undefined && wanted.status === 'accepted'",
        'const isConflict = false',
      ],
      ["if (proof && status === 'accepted')", "if (proof && status === 'accepted' && !spender)"],
    ],
    faults: 'kill',
    invariants: ['no double spend'],
  },
  {
    what: 'a reader who comes back misses the first message',
    file: 'src/domain/chat/stream/replay.ts',
    edits: [['events.filter(({ id }) => id > cursor)', 'events.filter(({ id }) => id > cursor + 1)']],
    faults: 'kill,clients',
    invariants: ['readers see each message once'],
  },
  {
    what: 'a delivery that was given up counts as delivered',
    file: 'src/domain/webhooks/dispatcher.ts',
    edits: [["made.outcome === 'delivered' ? 'delivered' : 'dropped'", "'delivered'"]],
    faults: 'receiver',
    invariants: ['webhooks'],
  },
  {
    what: 'a lost connection to the database is 500',
    file: 'src/store/session.ts',
    edits: [
      [
        'if (error instanceof ConnectionLost || isTransient(error) || endsConnection(error)) return true',
        'if (error) return false',
      ],
    ],
    faults: 'crash,database',
    invariants: ['no 5xx but 503 with Retry-After'],
  },
]

const ROOT = join(import.meta.dirname, '../..')
const RUN = join(import.meta.dirname, 'run.ts')
const SEEDS = [1, 2, 3]
const { CHAOS_MINUTES = '1' } = process.env

const edited = ({ file, edits }: Mutation): string =>
  edits.reduce(
    (source, [from, to]) => {
      if (source.split(from).length !== 2) throw new Error(`${file} has not once: ${from}`)
      return source.replace(from, to)
    },
    readFileSync(join(ROOT, file), 'utf8'),
  )

/** A server with the edits, beside everything else that was built. @returns its file */
const buildServer = async (mutation: Mutation, directory: string): Promise<string> => {
  const outdir = join(directory, 'build')
  mkdirSync(outdir)
  for (const name of readdirSync(join(ROOT, 'build')))
    if (!name.startsWith('server')) symlinkSync(join(ROOT, 'build', name), join(outdir, name))
  for (const name of readdirSync(ROOT))
    if (name !== 'build') symlinkSync(join(ROOT, name), join(directory, name))
  const contents = edited(mutation)
  await buildProgram({
    absWorkingDir: ROOT,
    entryPoints: { server: 'src/bin/server.ts' },
    outdir,
    chunkNames: 'server-[name]-[hash]',
    plugins: [
      {
        name: 'mutation',
        setup: ({ onLoad }) =>
          onLoad({ filter: new RegExp(`/${mutation.file}$`) }, () => ({ contents, loader: 'ts' })),
      },
    ],
  })
  return join(outdir, 'server.js')
}

/** @returns what the run printed, and its status */
const play = async (mutation: Mutation, server: string, seed: number) => {
  const run = spawn(process.execPath, ['--import=tsx', RUN], {
    env: {
      ...process.env,
      CHAOS_SERVER: server,
      CHAOS_SEED: String(seed),
      CHAOS_MINUTES,
      CHAOS_FAULTS: mutation.faults,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(run, 'exit')
  const printed = await text(run.stdout)
  const [status] = (await ended) as [number | null]
  return { printed, status }
}

const find = async (mutation: Mutation): Promise<boolean> => {
  const directory = newDirectory()
  try {
    const server = await buildServer(mutation, directory)
    for (const seed of SEEDS) {
      const { printed, status } = await play(mutation, server, seed)
      const isWanted = (line: string) => mutation.invariants.some((one) => line.startsWith(`BROKEN: ${one}:`))
      const found = printed.split('\n').find(isWanted)
      if (status === 1 && found !== undefined) {
        console.log(`found, seed ${seed}: ${mutation.what}\n    ${found}`)
        return true
      }
      if (status !== 0) console.log(printed)
    }
    console.log(`NOT FOUND: ${mutation.what}`)
    return false
  } finally {
    removeDirectory(directory)
  }
}

const numbers = process.argv.slice(2).map(Number)
const chosen = MUTATIONS.filter((_, index) => numbers.length === 0 || numbers.includes(index + 1))
let missed = 0
for (const mutation of chosen) if (!(await find(mutation))) missed++
console.log(`${chosen.length - missed} of ${chosen.length} were found`)
process.exit(missed === 0 ? 0 : 1)
