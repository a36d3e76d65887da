/**
 * The programs of README.md and docs/, as a reader runs them: those of a document in a process of their own, in order, against a
 * real server. test/support/docs/given says what each takes for granted, and what it must come to.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect } from 'chai'
import { sharedApp, type TestApp } from './support/app.ts'
import { documentPrograms, fileOf, writePrograms } from './support/docs/programs.ts'
import { startProgram } from './support/programs.ts'
import { onEmbedded } from './support/servers/database.ts'

const LONGEST_MS = 120_000
const LONGEST_RUN_MS = 100_000

const programs = documentPrograms().filter(({ notRun }) => notRun.length === 0)
const documents = [...new Set(programs.map(({ document }) => document))]

onEmbedded.describe('programs', () => {
  let app: TestApp
  let env: Record<string, string>
  let directory: string
  before(async function () {
    this.timeout(LONGEST_MS)
    app = await sharedApp()
    const { apiKey, organisationId } = await app.organisation()
    /** Documents name a service, whose host envelopes are for, and organisations. */
    const here = (text: string) =>
      text
        .replaceAll(/https:\/\/assay\.example(\.org)?|http:\/\/127\.0\.0\.1:8080/g, app.url)
        .replaceAll("'assay.example'", `'${new URL(app.url).host}'`)
        .replaceAll(/org_(\d\d)?…/g, organisationId)
    directory = await writePrograms(programs, here)
    env = {
      ASSAY_URL: app.url,
      KEY: apiKey,
      ORGANISATION: organisationId,
      OPERATOR_KEY: app.adminKey,
      TSX_TSCONFIG_PATH: join(directory, 'tsconfig.json'),
    }
  })
  after(() => rmSync(directory, { recursive: true }))

  for (const document of documents)
    it(`of ${document} do what it says`, async function () {
      this.timeout(LONGEST_MS)
      const cwd = join(directory, basename(document, '.md'))
      mkdirSync(cwd)
      const start = join(cwd, 'start.ts')
      const parts = programs.filter((program) => program.document === document)
      writeFileSync(start, parts.map((part) => `await import('../${fileOf(part)}')\n`).join(''))
      const run = startProgram(start, [], { cwd, env })
      // One that hears nothing waits for ever.
      const waiting = setTimeout(() => run.kill(), LONGEST_RUN_MS)
      const status = await run.ended()
      clearTimeout(waiting)
      const said = parts.reduce(
        (text, part) => text.replaceAll(join(directory, fileOf(part)), document),
        run.errors(),
      )
      expect(status, said).to.equal(0)
    })
})
