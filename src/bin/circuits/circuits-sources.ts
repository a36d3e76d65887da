/** What the circuits are compiled from, and how. @module */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './circuits-files.ts'

const LIBRARY = 'circuits/lib'
const TOOLS = ['circom', 'circomlib'] as const

/** Of the compiler. */
export const OPTIONS = ['--O2', '--r1cs', '--wasm', '--sym', '-l', 'node_modules'] as const

/** Ids of the circuits: the names of their files. The catalogue has the same, but is made of what is built here. */
export const ids = readdirSync(join(ROOT, 'circuits'))
  .filter((name) => name.endsWith('.circom'))
  .map((name) => name.slice(0, -'.circom'.length))

const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const versionOf = (tool: string): string => JSON.parse(textOf(`node_modules/${tool}/package.json`)).version

/** SHA-256, in hex, of everything that a circuit's outputs depend on. */
export const sourceHash = (id: string): string => {
  const files = [
    `circuits/${id}.circom`,
    ...readdirSync(join(ROOT, LIBRARY))
      .sort()
      .map((name) => `${LIBRARY}/${name}`),
  ]
  const parts = [
    OPTIONS.join(' '),
    ...TOOLS.map((tool) => `${tool} ${versionOf(tool)}`),
    ...files.flatMap((file) => [file, textOf(file)]),
  ]
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part).update('\0')
  return hash.digest('hex')
}
