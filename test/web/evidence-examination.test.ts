/** What the console’s exports say of evidence: whose and of which window it is, and files that can’t be read. */
import { buffer } from 'node:stream/consumers'
import { expect } from 'chai'
import { ZipFile } from 'yazl'
import { examineEvidence } from '../../src/web/console/exports/evidence-examination.ts'
import { examineLines } from '../../src/web/console/exports/lines-examination.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../support/app.ts'
import { exported, verifySomething } from '../support/domain/exports.ts'

const since = Date.parse('2020-01-01')
const DAY_MS = 24 * 3_600_000

/** A file whose disk is gone. */
class GoneFile extends Blob {
  override slice(): Blob {
    return this
  }
  override stream(): never {
    throw new DOMException('The file is not there any more.', 'NotReadableError')
  }
  override arrayBuffer(): never {
    return this.stream()
  }
}

describe('what the console says of exports', () => {
  let app: TestApp
  let owner: TestOrganisation
  let asked: { organisationId: string; since: number; until: number }
  let evidence = ''
  const browsersFetch = globalThis.fetch

  before(async () => {
    app = await sharedApp()
    owner = await app.organisation()
    await verifySomething(app, owner)
    const until = Date.now() + DAY_MS
    asked = { organisationId: owner.organisationId, since, until }
    const window = { since: new Date(since).toISOString(), until: new Date(until).toISOString() }
    evidence = (await exported(app, owner, 'evidence', window)).text
    // In a browser, addresses without a host are those of the service of the page.
    globalThis.fetch = (path, init) =>
      browsersFetch(new URL(String(path), app.url), { ...init, cache: undefined })
  })
  after(() => {
    globalThis.fetch = browsersFetch
  })

  const examined = async (file: Blob, own: string, answers?: typeof asked) => {
    const found = await examineEvidence(file, { organisationId: own, asked: answers }, () => undefined)
    const failed = found.report.checks.filter(({ outcome }) => outcome === 'failed')
    return { ...found, faults: failed.map(({ fault }) => fault) }
  }

  it('evidence that was asked for holds, and is told with organisation and window', async () => {
    const { report, faults, foreign } = await examined(new Blob([evidence]), owner.organisationId, asked)
    expect(faults).to.deep.equal([])
    expect(report.verdict).to.equal('VALID')
    expect(foreign).to.equal(undefined)
    expect(Object.fromEntries(report.facts ?? [])).to.include({
      Organisation: owner.organisationId,
      Window: `2020-01-01T00:00:00.000Z up to ${new Date(asked.until).toISOString()}`,
    })
  })

  it('an answer of another organisation or window is refused', async () => {
    const file = new Blob([evidence])
    const other = { ...asked, organisationId: 'org_of_others' }
    expect((await examined(file, other.organisationId, other)).faults).to.deep.equal([
      'ORGANISATION_MISMATCH',
    ])
    for (const change of [{ since: since + 1 }, { until: asked.until - 1 }]) {
      const { report, faults } = await examined(file, owner.organisationId, { ...asked, ...change })
      expect(faults).to.deep.equal(['WINDOW_MISMATCH'])
      expect(report.verdict).to.equal('INVALID')
    }
  })

  it('genuine evidence of another organisation is genuine, and called another’s', async () => {
    const { report, faults, foreign } = await examined(new Blob([evidence]), 'org_of_others')
    expect(faults).to.deep.equal([])
    expect([report.verdict, report.tone, foreign]).to.deep.equal(['VALID', 'warn', owner.organisationId])
  })

  it('an archive that is damaged, in its data or around them, is said to be damaged', async () => {
    const archive = new ZipFile()
    archive.addBuffer(Buffer.from(evidence), 'evidence.ndjson')
    archive.end()
    const whole = await buffer(archive.outputStream)
    const damaged = Uint8Array.from(whole).fill(0xff, 60, 120)
    for (const [bytes, why] of [
      [damaged, 'it is damaged'],
      [whole.subarray(0, -10), 'cut off'],
    ] as const) {
      const { report, faults } = await examined(new Blob([new Uint8Array(bytes)]), owner.organisationId)
      expect(faults).to.deep.equal(['NOT_EVIDENCE'])
      expect([report.tone, report.text].join())
        .to.match(/^bad,.*The archive can’t be read/)
        .and.to.include(why)
    }
  })

  it('of a file that can’t be read nothing is said, but that', async () => {
    const { report } = await examined(new GoneFile(), owner.organisationId)
    expect(report.verdict).to.equal('UNKNOWN')
    expect(report.checks[0]?.detail).to.equal('The file can’t be read: The file is not there any more.')
    const lines = await examineLines(new GoneFile(), { ...asked, format: 'ndjson' }, () => undefined)
    expect(lines.report.verdict).to.equal('UNKNOWN')
  })

  it('lines that are no text, and a document with a damaged end, are refused', async () => {
    const noText = new Blob([Uint8Array.from([0xff, 0x0a])])
    const damaged = new Blob(['{"rows":[\n],"count":nothing}\n'])
    for (const [file, fault] of [
      [noText, 'LINE_MALFORMED'],
      [damaged, 'LINE_MALFORMED'],
    ] as const) {
      const { report } = await examineLines(file, { ...asked, format: 'json' }, () => undefined)
      expect([report.verdict, report.fault]).to.deep.equal(['INVALID', fault])
    }
  })
})
