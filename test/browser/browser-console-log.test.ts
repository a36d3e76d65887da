/** The console's log explorer: what it checks in the browser, and what it says when something is wrong. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { ok } from '../support/client.ts'
import {
  type ConsolePages,
  eachInFreshBrowser,
  expectUsable,
  ownerOf,
  settledOn,
} from '../support/console-page.ts'

describe('the console’s log in Chromium', function () {
  this.timeout(600_000)
  let pages: ConsolePages

  eachInFreshBrowser((started) => {
    pages = started
  })

  const verifyFor = async (page: Page & { account: Parameters<typeof ownerOf>[1] }) => {
    const { apiKey: key } = await ownerOf(pages.app, page.account)
    const body = { data: { age: 36 }, options: { rules: [{ field: 'age', op: 'gte', value: 18 }] } }
    await ok(pages.app, 'POST', '/verify', { key, body })
  }
  const outcomes = (page: Page, within: string): Promise<(string | null)[]> =>
    page.$$eval(`${within} .findings li`, (rows) => rows.map((row) => row.getAttribute('data-outcome')))

  it('checks the checkpoint, and that it goes on from the one that this browser saw', async () => {
    const page = await pages.openSignedIn('/console/log')
    const whole = 'section:has(#whole)'
    expect(await outcomes(page, whole)).to.deep.equal(['passed', 'passed', 'skipped'])
    expect(await page.innerText(whole)).to.include('has seen no checkpoint of the log before')
    await expectUsable(page, 'the log')
    await page.click('text=The checkpoint, and one')
    const kept = await page.innerText(`${whole} pre`)
    await verifyFor(page)
    await page.reload()
    await settledOn(page)
    expect(await outcomes(page, whole)).to.deep.equal(['passed', 'passed', 'passed'])
    expect(await page.innerText(whole)).to.include('none was changed or taken out')

    await page.click('text=The checkpoint, and one')
    const compare = async (text: string): Promise<(string | null)[]> => {
      await page.fill('textarea', text)
      await page.click('button:text("Compare")')
      await page.waitForSelector('[role="status"] .findings')
      return outcomes(page, '[role="status"]')
    }
    expect(await compare(kept)).to.deep.equal(Array.from({ length: 5 }, () => 'passed'))
    await expectUsable(page, 'an earlier checkpoint')
    // Another one was not compared yet.
    await page.fill('textarea', 'another')
    expect(await outcomes(page, '[role="status"]')).to.deep.equal([])
    const changed = kept.replace(/\n\d+\n/, '\n1\n')
    expect(await compare(changed)).to.deep.equal(['passed', 'passed', 'failed', 'failed', 'skipped'])
    expect(await page.innerText('[role="status"] .findings'))
      .to.include('not signed by the log')
      .and.to.include('does not fit what stands there')
  })

  it('accuses no log that publishes less than it has, and one that has less than it signed', async () => {
    const page = await pages.openSignedIn('/console/log')
    const whole = 'section:has(#whole)'
    await page.click('text=The checkpoint, and one')
    const earlier = await page.innerText(`${whole} pre`)
    await verifyFor(page)
    await page.reload()
    await settledOn(page)
    const saidAgain = async (): Promise<string> => {
      await page.reload()
      await settledOn(page)
      return page.innerText(whole)
    }
    // As while witnesses have not seen more.
    await pages.context.route(/\/checkpoint$/, (route) => route.fulfill({ body: `${earlier.trim()}\n` }))
    expect(await saidAgain()).to.include('Check it again in a few minutes')
    expect(await outcomes(page, whole)).to.deep.equal(['passed', 'passed', 'skipped'])
    await pages.context.route(/\/api\/audit\/consistency/, (route) =>
      route.fulfill({ status: 400, json: { error: 'invalid_query', message: 'The log has 1 entries.' } }),
    )
    expect(await saidAgain()).to.include('a log never shrinks')
    expect(await outcomes(page, whole)).to.deep.equal(['passed', 'passed', 'failed'])
  })

  it('checks an entry’s text and its place under the checkpoint, and says what that does not show', async () => {
    const page = await pages.openSignedIn('/console/log')
    await verifyFor(page)
    await page.reload()
    await page.selectOption('[name="type"]', 'verify')
    await page.click('button:text("Filter")')
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
    expect(await page.innerText('tbody')).to.include('Something was verified')
    expect(new URL(page.url()).search).to.equal('?type=verify')
    await page.click('td button:has-text("Check")')
    await page.waitForSelector('dialog .findings')
    expect(await outcomes(page, 'dialog')).to.deep.equal([
      ...Array.from({ length: 4 }, () => 'passed'),
      'skipped',
    ])
    await page.click('text=What was recorded')
    expect(await page.innerText('dialog pre')).to.include('"type": "verify"')
    await expectUsable(page, 'an entry')
  })

  it('says so when an entry was changed, when a checkpoint is not signed, and when nothing can be fetched', async () => {
    const page = await pages.openSignedIn('/console/account')
    await pages.context.route(/\/api\/audit\?|\/api\/audit$/, async (route) => {
      const response = await route.fetch()
      await route.fulfill({
        response,
        body: (await response.text()).replaceAll('\\"actor\\"', '\\"actress\\"'),
      })
    })
    await pages.context.route(/\/checkpoint$/, async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, body: (await response.text()).replace(/\n(\d+)\n/, '\n1$1\n') })
    })
    await page.click('.sidebar a:text("Log")')
    await page.waitForSelector('.findings')
    expect(await outcomes(page, 'section:has(#whole)')).to.deep.equal(['failed', 'failed', 'skipped'])
    await page.click('td button:has-text("Check")')
    await page.waitForSelector('dialog .findings')
    expect(await outcomes(page, 'dialog')).to.deep.equal(['failed', 'failed', 'failed', 'skipped', 'skipped'])
    await expectUsable(page, 'an entry that was changed')
    await pages.context.unrouteAll()
    await pages.context.route(/\/checkpoint/, (route) => route.abort())
    await page.reload()
    await page.waitForSelector('section:has(#whole) [role="alert"] >> text=does not answer')
  })

  for (const [what, change, said] of [
    ['is missing', (note: string) => note.replace(/— [^\n]+\n$/, ''), 'cosignature is missing'],
    [
      'was altered',
      (note: string) => note.replace(/.{4}(?=[^\n]{100}\n$)/, 'AbCd'),
      'does not fit what stands there',
    ],
  ] as const)
    it(`believes no checkpoint whose post-quantum cosignature ${what}, and keeps none`, async () => {
      const page = await pages.openSignedIn('/console/account')
      await verifyFor(page)
      await pages.context.route(/\/checkpoint$/, async (route) => {
        const response = await route.fetch()
        const note = await response.text()
        const body = change(note)
        expect(body).to.not.equal(note)
        await route.fulfill({ response, body })
      })
      await page.click('.sidebar a:text("Log")')
      await page.waitForSelector('.findings')
      expect(await outcomes(page, 'section:has(#whole)')).to.deep.equal(['passed', 'failed', 'skipped'])
      expect(await page.innerText('.findings')).to.include(said)
      expect(await page.innerText('section:has(#whole)')).to.not.match(/It has \d+ entries/)
      expect(await page.evaluate('Object.keys(localStorage)')).to.deep.equal([])
      await expectUsable(page, `a checkpoint whose cosignature ${what}`)
      await page.click('td button:has-text("Check")')
      await page.waitForSelector('dialog .findings')
      expect(await outcomes(page, 'dialog')).to.deep.equal([
        'passed',
        'passed',
        'failed',
        'skipped',
        'skipped',
      ])
    })

  it('is green for nothing when the code that checks the cosignature can’t be fetched', async () => {
    const page = await pages.openSignedIn('/console/account')
    const chunks: string[] = []
    await pages.context.route(/\/assets\/.*cosignature/, (route) => {
      chunks.push(route.request().url())
      return route.abort()
    })
    await page.click('.sidebar a:text("Log")')
    await page.waitForSelector('section:has(#whole) [role="alert"] >> text=does not answer')
    expect(chunks.length).to.be.greaterThan(0)
    expect(await outcomes(page, 'section:has(#whole)')).to.deep.equal([])
    await pages.context.unrouteAll()
  })
})
