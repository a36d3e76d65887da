/** The console’s exports: a file is made, comes in, is saved, and is checked in the browser, which says what it can’t show. */
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import type { Download, Page } from 'playwright-core'
import { ok } from '../support/client.ts'
import { type ConsolePages, eachInFreshBrowser, expectUsable, ownerOf } from '../support/console-page.ts'
import { holdNext } from '../support/contexts.ts'
import { signIn } from '../support/domain/accounts.ts'
import { exported } from '../support/domain/exports.ts'

const FORMATS = ['csv', 'ndjson', 'json', 'cef', 'leef', 'ecs', 'ocsf']

describe('the console’s exports in Chromium', function () {
  this.timeout(600_000)
  let pages: ConsolePages

  eachInFreshBrowser((started) => {
    pages = started
  })

  const openWithEvents = async () => {
    const page = await pages.openSignedIn('/console/exports')
    const { apiKey: key } = await ownerOf(pages.app, page.account)
    const body = { data: { age: 36 }, options: { rules: [{ field: 'age', op: 'gte', value: 18 }] } }
    for (let i = 0; i < 3; i++) await ok(pages.app, 'POST', '/verify', { key, body })
    return page
  }
  const make = async (page: Page, format: string): Promise<Download> => {
    await page.selectOption('[name="format"]', format)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.click('button:text("Make and check")'),
    ])
    return download
  }
  const outcomes = async (page: Page, within: string): Promise<(string | null)[]> => {
    await page.waitForSelector(`${within} .findings li`)
    return page.$$eval(`${within} .findings li`, (rows) =>
      rows.map((row) => row.getAttribute('data-outcome')),
    )
  }
  const LEFT = ['skipped', 'skipped']
  /** Content, manifest, checkpoint, cosignature, log, issuer, completeness. */
  const HOLDS = [...Array.from({ length: 7 }, () => 'passed'), ...LEFT]
  /** Of the organisation and the window that were asked for, too. */
  const GOOD = ['passed', 'passed', ...HOLDS]
  /** Beside its verdict. */
  const told = (page: Page, word: string, within = '[role="status"]') =>
    page.waitForSelector(`${within} .state:text-is("${word}")`)

  it('evidence comes in each of its forms, is saved, and holds', async () => {
    const page = await openWithEvents()
    await expectUsable(page, 'exports')
    for (const form of ['ndjson', 'json', 'zip']) {
      const download = await make(page, `evidence ${form}`)
      expect(download.suggestedFilename()).to.match(new RegExp(`^assay-evidence-\\w+-\\w+\\.${form}$`))
      await page.waitForSelector(`.job h2:has-text(".${form}")`)
      expect(await outcomes(page, '.job'), form).to.deep.equal(GOOD)
      expect(await page.innerText('.job'))
        .to.include('Nothing in it was changed since the service exported it')
        .and.to.include('the window is all there')
        .and.to.match(/[4-9] entries stand in the tree/)
        .and.to.include(page.account.organisationId)
    }
    await expectUsable(page, 'evidence that holds')
    const { headers } = await signIn(pages.app, page.account)
    const { manifest } = await ok<{ manifest: { rows: number } }>(
      pages.app,
      'GET',
      '/api/export/evidence?format=json',
      { headers },
    )
    expect(manifest.rows).to.be.greaterThan(6)
  })

  it('evidence that was changed on its way, or is somebody else’s file, is refused with what is wrong', async () => {
    const page = await openWithEvents()
    await pages.context.route(/\/api\/export\/evidence/, async (route) => {
      const response = await route.fetch()
      const text = (await response.text()).replace('"auditEvent":"verify"', '"auditEvent":"prove"')
      await route.fulfill({ response, body: text })
    })
    const download = await make(page, 'evidence ndjson')
    expect(await outcomes(page, '.job')).to.deep.equal(['failed'])
    expect(await page.innerText('.job'))
      .to.include('Not valid')
      .and.to.match(/A line was changed, .*: line \d+/)
    await expectUsable(page, 'evidence that was changed')
    const changed = await readFile(await download.path())
    await pages.context.unrouteAll()

    await page.click('text=Check evidence that you have')
    const choose = (name: string, buffer: Buffer) =>
      page.setInputFiles('[name="file"]', { name, mimeType: 'application/octet-stream', buffer })
    const check = async (name: string, buffer: Buffer): Promise<void> => {
      await choose(name, buffer)
      await page.click('button:text-is("Check")')
    }
    const said = () => page.innerText('details [role="status"]')
    await check('changed.ndjson', changed)
    await told(page, 'Not valid')
    expect(await outcomes(page, '[role="status"]')).to.deep.equal(['failed'])
    const zip = await readFile(await (await make(page, 'evidence zip')).path())
    await page.waitForSelector('.job h2:has-text(".zip")')
    await check('kept.zip', zip)
    await told(page, 'Valid')
    expect(await outcomes(page, '[role="status"]')).to.deep.equal(HOLDS)
    expect(await said()).to.match(/^kept\.zip\s+Valid/)
    // Of another file nothing is said before it is checked, nor by a check of the one before that ends meanwhile.
    await choose('cut.zip', zip.subarray(0, zip.length - 10))
    expect(await said()).to.equal('')
    const { given, letGo } = await holdNext(pages.context, /\/jwks\.json$/)
    await check('kept.zip', zip)
    await given
    await choose('changed.ndjson', changed)
    letGo()
    await page.waitForSelector('button[aria-disabled="false"]:text-is("Check")')
    expect(await said()).to.equal('')
    await check('cut.zip', zip.subarray(0, zip.length - 10))
    await page.waitForSelector('[role="status"] .findings >> text=cut off, or made by another program')
    await check('damaged.zip', Buffer.from(zip).fill(0xff, 60, 120))
    await page.waitForSelector('[role="status"] .findings >> text=it is damaged')
    await expectUsable(page, 'a file that is no evidence')
    const other = await pages.app.organisation()
    const { text } = await exported(pages.app, other, 'evidence')
    await check('others.ndjson', Buffer.from(text))
    await page.waitForSelector(`[role="status"] .notice:has-text("${other.organisationId}")`)
    await told(page, 'Valid')
    expect(await page.innerText('details [role="status"]')).to.include(
      'This is not your organisation’s evidence',
    )
    await expectUsable(page, 'evidence of another organisation')
    await pages.context.route(/\/api\/export\/evidence/, async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, body: text })
    })
    await make(page, 'evidence ndjson')
    await told(page, 'Not valid', '.job')
    expect(await outcomes(page, '.job')).to.deep.equal(['failed', 'failed', ...HOLDS])
  })

  it('the formats for other tools are read line by line, and say that nobody signs them', async () => {
    const page = await openWithEvents()
    for (const format of FORMATS) {
      const download = await make(page, `siem ${format}`)
      await page.waitForSelector(`.job h2:text-is("${download.suggestedFilename()}")`)
      const counted = format === 'json' ? 'passed' : 'skipped'
      expect(await outcomes(page, '.job'), format).to.deep.equal(['passed', 'passed', counted, 'skipped'])
      const rows = Number(/Each of the (\d+) rows/.exec(await page.innerText('.job'))?.[1])
      const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\n').length
      const around = format === 'json' ? 2 : format === 'csv' ? 1 : 0
      expect(rows, format)
        .to.equal(lines - around)
        .and.to.be.greaterThan(6)
    }
    await expectUsable(page, 'an export for other tools')
    await pages.context.route(/\/api\/export\/siem/, async (route) => {
      const response = await route.fetch()
      const text = (await response.text()).replaceAll(page.account.organisationId, 'org_of_others')
      await route.fulfill({ response, body: text })
    })
    await make(page, 'siem leef')
    await page.waitForSelector('.job h2:has-text(".leef")')
    expect(await outcomes(page, '.job')).to.deep.equal(['passed', 'failed', 'skipped', 'skipped'])
  })

  it('what is wrong stands beside its field, a limit is told, and a broken connection leaves nothing behind', async () => {
    const page = await openWithEvents()
    await page.fill('[name="since"]', '2031-01-01')
    await page.click('button:text("Make and check")')
    await page.waitForSelector('.field:has([name="since"]) .error >> text=The window ends before it begins')
    await expectUsable(page, 'an export with an error')
    await page.fill('[name="since"]', '2020-01-01')
    await page.fill('[name="limit"]', '3')
    let goOn = (): void => undefined
    const held = new Promise<void>((resolve) => {
      goOn = resolve
    })
    await pages.context.route(/\/api\/export\//, async (route) => {
      await held
      await route.continue()
    })
    await page.selectOption('[name="format"]', 'evidence ndjson')
    await page.click('button:text("Make and check")')
    await page.waitForSelector('progress')
    await expectUsable(page, 'an export in progress')
    goOn()
    await page.waitForSelector('.job .notice >> text=more rows were there than were asked for')
    await pages.context.unrouteAll()
    await pages.context.route(/\/api\/export\//, (route) => route.abort())
    await page.click('button:text("Make and check")')
    await page.waitForSelector('form > .error >> text=does not answer')
    expect(await page.isVisible('.job')).to.equal(false)
  })
})
