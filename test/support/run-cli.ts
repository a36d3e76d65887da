/** `npx assay` as it is built, run once. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { NODE_FLAGS } from './programs.ts'

const CLI = join(import.meta.dirname, '../../build/cli.js')

export interface CliRun {
  readonly status: number | null
  readonly output: string
  readonly errors: string
}

/** @param env the only variables that it gets, besides PATH and HOME */
export const startCli = (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
  const { PATH, HOME } = process.env
  const child = spawn(process.execPath, [...NODE_FLAGS, CLI, ...args], {
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const run = Promise.all([ended, text(child.stdout), text(child.stderr)]).then(
    ([status, output, errors]): CliRun => ({ status, output, errors }),
  )
  return { child, run }
}

export const runCli = (args: readonly string[], env?: Readonly<Record<string, string>>): Promise<CliRun> =>
  startCli(args, env).run
