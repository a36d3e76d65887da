/**
 * `npm run bench` runs every benchmark, `npm run bench core ledger` the named ones. Each prints a table with its
 * peers side by side and ends with a non-zero status when a goal was missed.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'

const folder = new URL('../../bench/', import.meta.url).pathname
const subjects = readdirSync(folder)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -3))
const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !subjects.includes(name))
if (unknown.length > 0) {
  console.error(`No benchmark named ${unknown.join(', ')}. There are: ${subjects.join(', ')}.`)
  process.exit(2)
}

let missed = 0
for (const subject of asked.length > 0 ? asked : subjects) {
  console.log(`\n== ${subject}`)
  const { status } = spawnSync(process.execPath, ['--import=tsx', `${folder}${subject}.ts`], {
    stdio: 'inherit',
  })
  if (status !== 0) missed++
}
process.exit(missed === 0 ? 0 : 1)
