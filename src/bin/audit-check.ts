/**
 * `npm run audit:check`: asks the registry for weaknesses that are known of the packages of package-lock.json. Fails for one of any weight in what
 * is published, and for a high one in what only builds and tests. Where the registry answers no such question it says so, and passes.
 * @module
 */
import { spawnSync } from 'node:child_process'

interface Audit {
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity: string; readonly range: string }>>
  readonly message?: string
}

const ask = (...args: readonly string[]): Audit => {
  const { stdout } = spawnSync('npm', ['audit', '--json', ...args], { encoding: 'utf8' })
  return JSON.parse(stdout || '{}') as Audit
}

const GRAVE: readonly string[] = ['high', 'critical']
const [published, all] = [ask('--omit=dev'), ask()]
if (published.vulnerabilities === undefined || all.vulnerabilities === undefined)
  console.log(`SKIPPED: the registry answers no audit${published.message ? `: ${published.message}` : ''}`)
else {
  const isPublished = (name: string): boolean => Object.hasOwn(published.vulnerabilities ?? {}, name)
  const found = Object.entries(all.vulnerabilities).filter(
    ([name, { severity }]) => isPublished(name) || GRAVE.includes(severity),
  )
  for (const [name, { severity, range }] of found)
    console.error(`${name} ${range}: ${severity}${isPublished(name) ? ', in what is published' : ''}`)
  process.exitCode = found.length > 0 ? 1 : 0
}
