/**
 * The reporter of CI: mocha's own, which also writes the files in which something failed, a line each, into the file that
 * FAILED_FILES names, so that they can be run once more with nothing beside them.
 * @module
 */
import { appendFileSync } from 'node:fs'
import { relative } from 'node:path'
import Mocha from 'mocha'

// biome-ignore lint/style/noDefaultExport: what mocha loads a reporter by
export default class FailedFiles extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options?: Mocha.MochaOptions) {
    super(runner, options)
    const failed = new Set<string>()
    runner.on(Mocha.Runner.constants.EVENT_TEST_FAIL, ({ file }) => {
      failed.add(file === undefined ? 'unknown' : relative(process.cwd(), file))
    })
    runner.on(Mocha.Runner.constants.EVENT_RUN_END, () => {
      const { FAILED_FILES } = process.env
      if (FAILED_FILES) appendFileSync(FAILED_FILES, [...failed].map((file) => `${file}\n`).join(''))
    })
  }
}
