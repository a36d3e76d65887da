/** Directories that are gone after the test that asked for them. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Call inside `describe`. @returns a function that makes an empty directory */
export const temporaryDirectories = (): (() => Promise<string>) => {
  const made: string[] = []
  afterEach(async () => {
    for (const directory of made.splice(0)) await rm(directory, { recursive: true, force: true })
  })
  return async () => {
    const directory = await mkdtemp(join(tmpdir(), 'assay-test-'))
    made.push(directory)
    return directory
  }
}
