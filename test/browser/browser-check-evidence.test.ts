/** Evidence files on the page that checks: good ones in each form, whatever was done to others, and that people can stop it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { ZipFile } from 'yazl'
import { type CheckPages, expectTold, onCheckPage, toldOn } from '../support/check-page.ts'
import { expectUsable } from '../support/console-page.ts'
import { exported, revokeKey, verifySomething } from '../support/domain/exports.ts'
import { eventually } from '../support/eventually.ts'
import { largeEvidence, resigned } from '../support/large-evidence.ts'

const MEBIBYTE = 1_048_576
const LARGE_BYTES = 24 * MEBIBYTE

describe('evidence on the page that checks, in Chromium', function () {
  this.timeout(600_000)
  let pages: CheckPages
  let page: Page
  let folder: string
  let evidence = ''

  onCheckPage(
    (started, opened) => {
      pages = started
      page = opened
    },
    async ({ app, owner }) => {
      folder = await mkdtemp(join(tmpdir(), 'assay-evidence-'))
      const other = await app.organisation()
      // Entries of others between its own.
      for (const one of [owner, other, owner]) await revokeKey(app, one)
      await verifySomething(app, owner)
      evidence = (await exported(app, owner, 'evidence')).text
    },
  )
  after(() => rm(folder, { recursive: true }))

  const give = async (content: string | Buffer, name = 'evidence.ndjson') => {
    // What was found before goes with the text.
    await page.fill('#given', 'x')
    await page.waitForSelector('#told .verdict', { state: 'detached' })
    await page.setInputFiles('input[type="file"]', {
      name,
      mimeType: 'application/octet-stream',
      buffer: Buffer.from(content),
    })
    return toldOn(page)
  }
  const valid = async (content: string | Buffer, name?: string) => {
    expectTold(await give(content, name), 'Valid', 'good')
  }
  const refused = async (content: string | Buffer, ...faults: string[]) =>
    expectTold(await give(content), 'Not valid', 'bad', ...faults)
  const lines = () => evidence.trimEnd().split('\n')
  const withLines = (change: (lines: string[]) => string[]) => `${change(lines()).join('\n')}\n`
  const archiveOf = (files: readonly (readonly [name: string, content: string])[], options = {}) => {
    const archive = new ZipFile()
    for (const [name, content] of files) archive.addBuffer(Buffer.from(content), name, options)
    archive.end()
    return buffer(archive.outputStream)
  }

  it('holds in each form of the export, and when it is pasted', async () => {
    await valid(evidence)
    await expectUsable(page, 'check evidence')
    await valid(
      (await exported(pages.app, pages.owner, 'evidence', { format: 'json' })).text,
      'evidence.json',
    )
    const { bytes } = await pages.app.request('GET', '/api/export/evidence?format=zip', {
      key: pages.owner.apiKey,
    })
    await valid(bytes, 'evidence.zip')
    await valid(await archiveOf([['evidence.ndjson', evidence]], { forceZip64Format: true }))
    await valid(await archiveOf([['evidence.ndjson', evidence]], { compress: false }))
    await page.fill('#given', evidence)
    await page.click('form.give button[type="submit"]')
    expect((await toldOn(page)).word).to.equal('Valid')
  })

  it('names what was done to it, and the line', async () => {
    const at = lines().findIndex((line) => line.includes('"index":'))
    const changed = lines()[at]?.replace(/"index":\d+/, '"index":9999') ?? ''
    const told = await refused(
      withLines((all) => all.with(at, changed)),
      'CHAIN_BROKEN',
    )
    expect(told.text).to.include(`line ${at + 1}`)
    await refused(
      withLines((all) => all.toSpliced(2, 1)),
      'CHAIN_BROKEN',
    )
    await refused(
      withLines((all) => all.slice(0, -1)),
      'CUT_OFF',
    )
    await refused(
      withLines((all) => [...all, '{}']),
      'TRAILING_DATA',
    )
    // Made right again by somebody without the key.
    await refused(await resigned(pages.app, evidence, { rows: 'one more', sign: false }), 'MANIFEST_MISMATCH')
    await refused(
      withLines((all) => all.map((line) => line.replace('"complete":true', '"complete":false'))),
      'MANIFEST_MISMATCH',
    )
    const other = { kid: 'A'.repeat(43) }
    await refused(await resigned(pages.app, evidence, { header: other }), 'KEY_UNKNOWN')
    await refused(await resigned(pages.app, evidence, { purpose: 'tokens' }), 'SIGNATURE_INVALID')
    await refused(
      await resigned(pages.app, evidence, { issuer: 'https://elsewhere.example' }),
      'CHECKPOINT_INVALID',
      'ISSUER_MISMATCH',
    )
  })

  it('takes archives only as the service makes them', async () => {
    const whole = ['evidence.ndjson', evidence] as const
    for (const files of [[whole, whole], [whole, ['other', 'x'] as const], [['VERIFY.txt', 'x'] as const]])
      await refused(await archiveOf(files), 'NOT_EVIDENCE')
    const archive = await archiveOf([whole])
    await refused(archive.subarray(0, archive.length - 30), 'NOT_EVIDENCE')
    const damaged = Buffer.from(archive)
    damaged.fill(0xff, 200, 260)
    expect(['NOT_EVIDENCE', 'CHAIN_BROKEN']).to.include((await give(damaged)).faults[0])
  })

  it('says nothing of it where keys or log can’t be fetched', async () => {
    for (const path of [/\/jwks\.json/, /\/jwks-pq/, /\/tile\//, /\/verify$/]) {
      await pages.context.route(path, (route) => route.fulfill({ status: 503, body: '{}' }))
      const told = await give(evidence)
      await pages.context.unrouteAll()
      expect(told, `${path}`).to.include({ word: 'Not verified', tone: 'warn' })
      expect(told.faults).to.deep.equal([])
    }
  })

  it('shows how far it is, and stops when somebody cancels', async () => {
    const file = join(folder, 'large.ndjson')
    await writeFile(file, largeEvidence(pages.app, evidence, LARGE_BYTES))
    await page.setInputFiles('input[type="file"]', file)
    await page.waitForSelector('progress')
    await expectUsable(page, 'check reading').catch(async (error: unknown) => {
      // It may be over before all of them were looked at.
      if ((await page.$('progress')) !== null) throw error
    })
    await page.setInputFiles('input[type="file"]', file)
    await page.click('button:text("Cancel")')
    expect(await toldOn(page)).to.include({ word: 'Not verified', tone: 'warn' })
    expect(await page.innerText('#told')).to.include('You stopped the check')
    await eventually('the thread’s end', () => page.workers().length === 0)
    await page.setInputFiles('input[type="file"]', file)
    expect(await toldOn(page)).to.include({ word: 'Valid', tone: 'good' })
  })
})
