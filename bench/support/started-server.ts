/** Servers as `npm start` starts them: with the variables and the options of Node that this script sets. @module */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ServerProcess, startServerProcess } from '../../test/support/servers/server-process.ts'

const ROOT = join(import.meta.dirname, '../..')

/** What the script sets, in front of the file that it runs. */
const startScript = (root: string) => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly scripts: { readonly start: string }
  }
  const words = manifest.scripts.start.split(' ')
  return {
    variables: Object.fromEntries(words.flatMap((word) => (/^\w+=/.test(word) ? [word.split('=')] : []))),
    options: words.filter((word) => word.startsWith('--')),
  }
}

/**
 * A server of a built checkout, by default this one, without limits of rates and keeping nothing where `env` doesn't say otherwise.
 * @param env its variables besides those of the script
 * @param more options of Node besides those of the script
 * @throws Error with what it printed, where it doesn't start
 */
export const startAsNpmDoes = (
  env: Readonly<Record<string, string>>,
  root = ROOT,
  more: readonly string[] = [],
): Promise<ServerProcess> => {
  const { variables, options } = startScript(root)
  return startServerProcess(
    {
      MASTER_KEY: randomBytes(32).toString('hex'),
      RATE_LIMITS: 'off',
      DATA_DIR: 'memory',
      ...variables,
      ...env,
    },
    undefined,
    [...options, ...more, join(root, 'build/server.js')],
  )
}

/** @throws Error where it has none */
export const pidOf = ({ process: { pid } }: ServerProcess): number => {
  if (pid === undefined) throw new Error('the server has no process')
  return pid
}
