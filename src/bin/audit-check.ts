/**
 * `npm run audit:check`: asks the registry for weaknesses that are known of the packages of package-lock.json. Fails for one of any weight in what
 * is published, and for a high one in what only builds and tests. Where the registry answers no such question it says so, and passes; it fails
 * where the answer is missing for another reason.
 * @module
 */
import { spawnSync } from 'node:child_process'
import { readWebPackages } from './build-steps/build-web.ts'

/** What `npm audit --json` prints: weaknesses by package, or why it knows of none. */
interface Audit {
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity: string; readonly range: string }>>
  /** What the registry answered. */
  readonly statusCode?: number
  readonly message?: string
  /** What npm itself could not do. */
  readonly error?: { readonly summary: string }
}

const GRAVE: readonly string[] = ['high', 'critical']
/** Of a registry that has no audits, as some mirrors. */
const NO_AUDITS: readonly unknown[] = [404, 405, 501]

/**
 * @param published the audit without what only builds and tests
 * @param all that of all packages
 * @param inPages packages that only build by package-lock.json, but whose code is in the published pages
 * @returns what is wrong, a line for each; and why less was looked at, where the registry has no audits
 */
export const judge = (
  published: Audit,
  all: Audit,
  inPages: readonly string[],
): { readonly faults: readonly string[]; readonly skipped: string | undefined } => {
  const isPublished = (name: string): boolean =>
    Object.hasOwn(published.vulnerabilities ?? {}, name) || inPages.includes(name)
  const found = Object.entries({ ...all.vulnerabilities, ...published.vulnerabilities })
    .filter(([name, { severity }]) => isPublished(name) || GRAVE.includes(severity))
    .map(
      ([name, { severity, range }]) =>
        `${name} ${range}: ${severity}${isPublished(name) ? ', in what is published' : ''}`,
    )
  const unanswered = [published, all].filter(({ vulnerabilities }) => vulnerabilities === undefined)
  const reasonOf = ({ message, error }: Audit): string => message ?? error?.summary ?? 'no answer'
  const failed = unanswered.filter(({ statusCode }) => !NO_AUDITS.includes(statusCode))
  return {
    faults: [...found, ...failed.map((one) => `npm audit failed: ${reasonOf(one)}`)],
    skipped: unanswered.map(reasonOf)[0],
  }
}

const ask = (...args: readonly string[]): Audit => {
  const { stdout, error } = spawnSync('npm', ['audit', '--json', ...args], { encoding: 'utf8' })
  return error ? { message: error.message } : (JSON.parse(stdout || '{}') as Audit)
}

if (process.argv[1] === import.meta.filename) {
  const { faults, skipped } = judge(ask('--omit=dev'), ask(), readWebPackages())
  for (const line of faults) console.error(line)
  if (faults.length > 0) process.exitCode = 1
  else if (skipped !== undefined) console.log(`SKIPPED: the registry answers no audit: ${skipped}`)
}
