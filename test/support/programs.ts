/** Child processes that run TypeScript of this repository. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/**
 * Flags of Node for programs of tests. V8 optimises WebAssembly in the background, which costs each process that opens the
 * embedded database a third of its start: worth it for what is run longer than a test does.
 */
export const NODE_FLAGS = ['--wasm-tiering-budget=100000000'] as const

export interface Program {
  readonly child: ChildProcess
  /** Lines of standard output, as they come. */
  readonly lines: string[]
  /** The first line that fits, come or to come. @throws Error when the program ends without it */
  line(pattern: RegExp): Promise<string>
  /** Everything written to standard error. */
  errors(): string
  /** SIGKILL, and waits for the end. */
  kill(): Promise<void>
  /** Waits for the end. @returns the exit status, null after a signal */
  ended(): Promise<number | null>
}

interface Options {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** What it reads from standard input; default: nothing. */
  readonly input?: string
}

/** Starts a command and reads its output line by line. */
export const startCommand = (command: string, args: readonly string[], options: Options = {}): Program => {
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: 'pipe',
  })
  child.stdin.end(options.input)
  const lines: string[] = []
  const waiting = new Set<() => void>()
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
  })
  const reader = createInterface({ input: child.stdout })
  reader.on('line', (line) => {
    lines.push(line)
    for (const look of waiting) look()
  })
  const closed = once(child, 'close').then(() => {
    for (const look of waiting) look()
  })
  let isClosed = false
  void closed.then(() => {
    isClosed = true
    for (const look of waiting) look()
  })

  return {
    child,
    lines,
    errors: () => errors,
    line: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = lines.find((line) => pattern.test(line))
          if (found === undefined && !isClosed) return
          waiting.delete(look)
          if (found !== undefined) resolve(found)
          else
            reject(
              new Error(`The program ended without a line like ${pattern}:\n${lines.join('\n')}\n${errors}`),
            )
        }
        waiting.add(look)
        look()
      }),
    kill: async () => {
      child.kill('SIGKILL')
      await closed
    },
    ended: async () => {
      await closed
      return child.exitCode
    },
  }
}

/** Starts a TypeScript program. */
export const startProgram = (file: string, args: readonly string[] = [], options: Options = {}): Program =>
  startCommand(process.execPath, ['--import=tsx', file, ...args], options)
