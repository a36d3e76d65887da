/** Native rapidsnark, built by who has it (docs/proving.md), in a process of its own that keeps its files in memory. @module */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const SOURCE = fileURLToPath(new URL('rapidsnark.c', import.meta.url))
const LIBRARY = 'librapidsnark-fr-fq.a'
/** Where its makefiles put it, below the checkout. */
const PLACES = ['build_native/src', 'build_prover/src', 'package/lib']

export interface Rapidsnark {
  /** @returns milliseconds of one run */
  run(): Promise<number>
  close(): Promise<void>
}

/**
 * Compiles the program that runs it.
 * @param checkout of iden3/rapidsnark, built
 * @param folder where the program is put
 * @returns what starts it with arguments, on one thread
 */
export const buildRapidsnark = (checkout: string, folder: string) => {
  const place = PLACES.map((name) => join(checkout, name)).find((name) => existsSync(join(name, LIBRARY)))
  if (place === undefined) throw new Error(`there is no ${LIBRARY} below ${checkout}`)
  const program = join(folder, 'rapidsnark')
  const object = `${program}.o`
  execFileSync('cc', ['-O2', '-c', SOURCE, `-I${checkout}/src`, '-o', object])
  execFileSync('c++', [object, join(place, LIBRARY), '-lgmp', '-fopenmp', '-lpthread', '-o', program])

  return async (...args: readonly string[]): Promise<Rapidsnark> => {
    const child = spawn(program, args, {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, OMP_NUM_THREADS: '1' },
    })
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const run = async (): Promise<number> => {
      child.stdin.write('.')
      const { value, done } = await lines.next()
      if (done) throw new Error(`rapidsnark ended at ${args.join(' ')}`)
      return Number(value)
    }
    // The first run tells that it is ready, and does not count.
    await run()
    return {
      run,
      async close() {
        child.stdin.end()
        if (child.exitCode === null) await once(child, 'exit')
      },
    }
  }
}
