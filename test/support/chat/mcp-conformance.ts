/** The conformance suite of the Model Context Protocol, run as its users run it. */
import { execFile } from 'node:child_process'
import * as fs from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SUITE = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'))
const MAX_OUTPUT_BYTES = 16 * 2 ** 20

/**
 * The suite imports `globSync`, which Node has since version 22, for a command that is not used here. An older Node is
 * given one that finds nothing.
 */
const GLOB_SYNC = `
export * from 'node:fs'
export const globSync = () => []`
const asModule = (source: string): string => `data:text/javascript,${encodeURIComponent(source)}`
const RESOLVE = `
export const resolve = (name, context, next) =>
  name === 'fs' && context.parentURL?.includes('/conformance/')
    ? { url: ${JSON.stringify(asModule(GLOB_SYNC))}, shortCircuit: true }
    : next(name, context)`
const HOOK = `
import { register } from 'node:module'
register(${JSON.stringify(asModule(RESOLVE))})`
const nodeFlags = 'globSync' in fs ? [] : ['--import', asModule(HOOK)]

export interface ConformanceRun {
  /** 0: nothing failed but what was expected, and all of that did. */
  readonly status: number
  /** Colours taken out. */
  readonly output: string
}

/**
 * Runs what a revision requires of a server.
 * @param expectedFailures path of the list; absent: none
 */
export const runConformance = async (
  url: string,
  revision: string,
  expectedFailures?: string,
): Promise<ConformanceRun> => {
  const results = await mkdtemp(join(tmpdir(), 'assay-conformance-'))
  const expected = expectedFailures === undefined ? [] : ['--expected-failures', expectedFailures]
  const flags = ['server', '--url', url, '--requirements', revision, '--output-dir', results, ...expected]
  try {
    return await new Promise((resolve) => {
      execFile(
        process.execPath,
        [...nodeFlags, SUITE, ...flags],
        { maxBuffer: MAX_OUTPUT_BYTES },
        (error, stdout, stderr) => {
          const status = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
          // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
          resolve({ status, output: `${stdout}${stderr}`.replaceAll(/\u001b\[\d+m/g, '') })
        },
      )
    })
  } finally {
    await rm(results, { recursive: true, force: true })
  }
}
