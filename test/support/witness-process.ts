/** `npx assay witness` as it is built, in a process of its own. */
import { join } from 'node:path'
import { type Program, startCommand } from './programs.ts'

const CLI = join(import.meta.dirname, '../../build/cli.js')

export interface WitnessProcess extends Program {
  readonly url: string
  /** Verifier keys: Ed25519, ML-DSA-44. */
  readonly keys: readonly [string, string]
}

/** @param args beyond name, directory and file of logs @throws Error when it does not start */
export const startWitness = async (
  name: string,
  directory: string,
  logs: string,
  ...args: string[]
): Promise<WitnessProcess> => {
  const flags = ['--name', name, '--directory', directory, '--logs', logs]
  const program = startCommand(process.execPath, [
    CLI,
    'witness',
    ...flags,
    ...(args.includes('--port') ? [] : ['--port', '0']),
    ...args,
  ])
  const line = await program.line(/is listening on/)
  const [ed = '', pq = ''] = program.lines.filter((text) => text.startsWith(`${name}+`))
  return { ...program, url: line.split(' ').at(-1) ?? '', keys: [ed, pq] }
}
