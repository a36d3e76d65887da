/** A shell that keeps its variables and directory from one step to the next, as a reader's does. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

const STEP_TIMEOUT_MS = 120_000
const END_OF_STEP = '\u001e'

/** As `set -o pipefail` and with answers that are errors told by the exit status; curl prints them all the same. */
const PRELUDE = `set -o pipefail
curl() { command curl --fail-with-body "$@"; }
`

export interface CommandResult {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

export const startShell = (directory: string, env: NodeJS.ProcessEnv) => {
  const bash = spawn('bash', ['--noprofile', '--norc'], { cwd: directory, env, stdio: 'pipe' })
  const exited = once(bash, 'exit')
  let stdout = ''
  let stderr = ''
  let wake = () => {}
  bash.stdout.on('data', (chunk) => {
    stdout += chunk
    wake()
  })
  bash.stderr.on('data', (chunk) => (stderr += chunk))
  bash.stdin.write(PRELUDE)

  return {
    /** @throws Error after STEP_TIMEOUT_MS */
    async run(commands: string): Promise<CommandResult> {
      stdout = ''
      stderr = ''
      const mark = new RegExp(`\n${END_OF_STEP}(\\d+)\n$`)
      bash.stdin.write(`{ ${commands}\n} </dev/null\nprintf '\\n${END_OF_STEP}%d\\n' $?\n`)
      const giveUpAt = performance.now() + STEP_TIMEOUT_MS
      for (let ended = mark.exec(stdout); ; ended = mark.exec(stdout)) {
        if (ended) return { status: Number(ended[1]), stdout: stdout.slice(0, ended.index), stderr }
        const left = giveUpAt - performance.now()
        if (left <= 0) throw new Error(`still running after ${STEP_TIMEOUT_MS / 1000} s:\n${commands}`)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, left)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
    },
    async end(): Promise<void> {
      bash.stdin.end()
      bash.kill()
      await exited
    },
  }
}

export type Shell = ReturnType<typeof startShell>
