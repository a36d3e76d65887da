/** The programs of README.md and docs/ compile; test/slow-docs-programs.test.ts runs them. */
import { rmSync } from 'node:fs'
import { expect } from 'chai'
import { readDocuments } from './support/docs/code-blocks.ts'
import { documentPrograms, typeFaultsOf, writePrograms } from './support/docs/programs.ts'
import { onEmbedded } from './support/servers/database.ts'

/** `sh` is run by test/slow-docs.test.ts; the others are no programs. */
const LANGUAGES = ['ts', 'js', 'sh', 'json', 'sql', 'text', 'toml']

onEmbedded.describe('programs in documents', () => {
  const programs = documentPrograms()

  it('stand in blocks of which the tests know', () => {
    const fences = readDocuments().flatMap(({ name, text }) =>
      [...text.matchAll(/^(.*(?:```|~~~))(.+)$/gm)].map(([line]) => `${name}: ${line}`),
    )
    const known = LANGUAGES.map((language) => `: \`\`\`${language}`)
    expect(fences.filter((fence) => !known.some((end) => fence.endsWith(end)))).to.deep.equal([])
  })

  it('that are not run say why', () => {
    const reasons = programs.flatMap(({ notRun }) => notRun)
    expect(reasons).to.not.deep.equal([])
    for (const reason of reasons) expect(reason.length, reason).to.be.greaterThan(10)
  })

  it('import what is published, and use it as it is typed', async function () {
    this.timeout(120_000)
    const directory = await writePrograms(programs)
    try {
      expect(typeFaultsOf(directory, programs)).to.deep.equal([])
    } finally {
      rmSync(directory, { recursive: true })
    }
  })
})
