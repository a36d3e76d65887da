/** The console's page Verify: a question in, a result out whose proof and receipt are checked in the browser. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import type { VerificationResult } from '../../src/domain/verification/schemas.ts'
import {
  type ConsolePages,
  eachInFreshBrowser,
  expectUsable,
  fillOn,
  signInInstead,
} from '../support/console-page.ts'
import { signIn } from '../support/domain/accounts.ts'
import { addMember } from '../support/domain/team.ts'
import { eventually } from '../support/eventually.ts'

describe('the console’s page Verify in Chromium', function () {
  this.timeout(600_000)
  let pages: ConsolePages

  eachInFreshBrowser((started) => {
    pages = started
  })

  const verifyOn = async (page: Page): Promise<void> => {
    await page.click('main button:text-is("Verify")')
    await page.waitForSelector('.findings', { timeout: 120_000 })
  }
  const findingsOn = (page: Page): Promise<string[]> =>
    page.$$eval('.findings li', (items) =>
      items.map((item) => `${item.querySelector('strong')?.textContent}: ${item.dataset.outcome}`),
    )
  /** The same with something of the answer changed on its way. */
  const changeAnswers = async (page: Page, change: (answer: VerificationResult) => object): Promise<void> => {
    await page.route('**/verify', async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      const response = await route.fetch()
      await route.fulfill({ response, json: change(await response.json()) })
    })
  }

  it('says what is wrong with data and rules where they stand', async () => {
    const page = await pages.openSignedIn('/console/verify')
    await expectUsable(page, 'verify')
    for (const [values, field, words] of [
      [{ data: '{' }, 'data', 'not JSON'],
      [{ data: '[]' }, 'data', 'must be an object'],
      [{ data: '{}' }, 'data', 'fewer than 1'],
      [{ data: '{"age": 36}', 'options.rules': '{}' }, 'options.rules', 'array'],
      [{ 'options.rules': '[{ "field": "age", "op": "near", "value": 1 }]' }, 'options.rules', 'startsWith'],
    ] as const) {
      await fillOn(page, values)
      await page.click('main button:text-is("Verify")')
      await page.waitForSelector(`.field:has([name="${field}"]) .error >> text=/${words}/i`)
    }
    await expectUsable(page, 'a question with an error')
    expect(await page.isVisible('#result')).to.equal(false)
  })

  it('shows a YES, a NO and an attestation, each proven, recorded and checked', async () => {
    const page = await pages.openSignedIn('/console/verify')
    await verifyOn(page)
    await page.waitForSelector('.notice >> text=YES')
    await page.waitForSelector('text=The checks of this browser passed')
    const checks = await findingsOn(page)
    expect(checks).to.include('Zero-knowledge proof: passed').and.to.include('Entry in the log: passed')
    expect(checks).to.include('Receipt: passed').and.to.include('Question: passed')
    expect(checks.filter((check) => !check.endsWith('passed'))).to.deep.equal([])
    await expectUsable(page, 'a YES')
    expect(await page.innerText('.notice')).to.not.include('before you changed it')
    await fillOn(page, { data: '{"name": "Ada", "age": 17}' })
    await page.waitForSelector('.notice[data-tone="warn"] >> text=before you changed it')
    await expectUsable(page, 'a YES to what was changed since')

    // The question is not published with its value; who asked knows it.
    await fillOn(page, { 'options.rules': '[{ "field": "name", "op": "eq", "value": "Bob" }]' })
    await page.click('main button:text-is("Verify")')
    await page.waitForSelector('.notice >> text=NO', { timeout: 120_000 })
    await page.waitForSelector('text=The checks of this browser passed')
    expect((await findingsOn(page)).filter((check) => !check.endsWith('passed'))).to.deep.equal([])

    await fillOn(page, { 'options.rules': '', 'options.ttl': '3600', 'options.nonce': 'n-1' })
    await page.click('main button:text-is("Verify")')
    await page.waitForSelector('.notice >> text=no question was asked', { timeout: 120_000 })
    await page.waitForSelector('text=The checks of this browser passed')
    await expectUsable(page, 'an attestation')
  })

  it('says nothing of an answer while the key of the circuit can’t be fetched', async () => {
    const page = await pages.openSignedIn('/console/verify')
    await page.route('**/vkey', (route) => route.abort())
    await verifyOn(page)
    await page.waitForSelector('text=Not verified: something that matters could not be checked')
    expect((await findingsOn(page)).filter((check) => !check.endsWith('passed'))).to.deep.equal([
      'Zero-knowledge proof: skipped',
    ])
    await expectUsable(page, 'an answer that is not verified')
  })

  it('says nothing of an answer while the code that checks its proof can’t be fetched', async () => {
    const page = await pages.openSignedIn('/console/verify')
    const chunks: string[] = []
    await pages.context.route(/\/assets\/result-proof/, (route) => {
      chunks.push(route.request().url())
      return route.abort()
    })
    await verifyOn(page)
    await page.waitForSelector('text=Not verified: something that matters could not be checked')
    expect(await page.innerText('.findings')).to.include('load this page again')
    expect(chunks).to.have.length(1)
  })

  it('says that the page failed where nobody foresaw what went wrong', async () => {
    const page = await pages.openSignedIn('/console/verify')
    await changeAnswers(page, (answer) => ({ ...answer, qrUrl: 'nowhere' }))
    await page.click('main button:text-is("Verify")')
    await page.waitForSelector('[role="alert"] >> text=This page failed. Load it again.')
    expect(await page.innerText('main')).to.not.include('Loading…')
    await eventually('the fault on record', () => pages.complaints.join().includes('TypeError'))
    await pages.fresh()
  })

  it('believes no proof and no receipt that are of something else', async () => {
    const page = await pages.openSignedIn('/console/verify')
    await changeAnswers(page, (answer) => ({
      ...answer,
      receipt: { ...answer.receipt, root: '0'.repeat(64) },
    }))
    await verifyOn(page)
    await page.waitForSelector('text=a check failed')
    expect((await findingsOn(page)).filter((check) => check.endsWith('failed'))).to.deep.equal([
      'Receipt: failed',
    ])
    await expectUsable(page, 'a receipt of another log')

    await page.unroute('**/verify')
    await changeAnswers(page, (answer) => ({ ...answer, decision: 'NO' }))
    await page.click('main button:text-is("Verify")')
    await page.waitForSelector('.findings >> text=the decision', { timeout: 120_000 })
    expect((await findingsOn(page)).filter((check) => check.endsWith('failed'))).to.deep.equal([
      'Answer: failed',
    ])
    await page.waitForSelector('text=a check failed')

    let first: VerificationResult | undefined
    await page.unroute('**/verify')
    await changeAnswers(page, (answer) => {
      first ??= answer
      return { ...answer, proof: first.proof }
    })
    for (let round = 0; round < 2; round++) {
      await page.reload()
      await page.waitForSelector('[name="data"]')
      await verifyOn(page)
    }
    expect((await findingsOn(page)).filter((check) => check.endsWith('failed'))).to.deep.equal([
      'Zero-knowledge proof: failed',
    ])
  })

  it('is not for roles that change nothing', async () => {
    const page = await pages.openSignedIn('/console/verify')
    const { headers } = await signIn(pages.app, page.account)
    await signInInstead(page, await addMember(pages.app, { headers }, 'viewer'))
    await page.waitForSelector('text=verifies nothing')
    expect(await page.isVisible('[name="data"]')).to.equal(false)
    await expectUsable(page, 'verify for a viewer')
  })
})
