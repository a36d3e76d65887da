/** Hands what a bench measured to `npm run bench`; a bench that is run by itself only prints. @module */
import { appendFileSync } from 'node:fs'
import { type Row, resultsOf } from '../../src/bin/benchmarks/results.ts'

const { BENCH_ROWS: file, BENCH_SUBJECT: subject = '' } = process.env

const append = (line: object): void => {
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(line)}\n`)
}

/** @throws Error where a row holds no figures */
export const record = (rows: readonly Row[]): void => {
  for (const row of rows) for (const result of resultsOf(subject, row)) append(result)
}

/** Says that a part was left out. */
export const skipped = (part: string, why: string): void => {
  console.log(`SKIPPED: ${part}: ${why}`)
  append({ skipped: `${part}: ${why}` })
}

process.on('uncaughtExceptionMonitor', (error) => append({ failed: error.message.split('\n')[0] }))
