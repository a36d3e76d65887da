/** The console’s proofs: found, shown with what they prove, checked in the browser, and spent once. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import {
  type ConsolePages,
  eachInFreshBrowser,
  expectUsable,
  fillOn,
  ownerOf,
  settledOn,
  signInOn,
} from '../support/console-page.ts'
import { holdNext } from '../support/contexts.ts'
import { signIn } from '../support/domain/accounts.ts'
import { ANNA, kycRoutesOf } from '../support/domain/kyc.ts'
import { asPresented, generated, PERSON, postVerifyProof } from '../support/domain/proof-api.ts'
import { addMember } from '../support/domain/team.ts'

describe('the console’s proofs in Chromium', function () {
  this.timeout(600_000)
  let pages: ConsolePages

  eachInFreshBrowser((started) => {
    pages = started
  })

  const yesno = (value: number) => ({
    circuit_id: 'yesno',
    inputs: { data: PERSON, rules: [{ field: 'age', op: 'gte', value }] },
  })
  const outcomes = async (page: Page): Promise<(string | null)[]> => {
    await page.waitForSelector('dialog .findings li')
    return page.$$eval('dialog .findings li', (rows) => rows.map((row) => row.getAttribute('data-outcome')))
  }
  const GOOD = ['passed', 'passed', 'passed', 'passed', 'skipped', 'skipped']

  it('are found by the filters of the address, checked in the browser, and spent once', async () => {
    const page = await pages.openSignedIn('/console/proofs')
    expect(await page.innerText('.empty')).to.include('There is no proof yet')
    await expectUsable(page, 'no proofs')
    const { apiKey } = await ownerOf(pages.app, page.account)
    const yes = await generated(pages.app, apiKey, yesno(18))
    await generated(pages.app, apiKey, yesno(65))
    await page.reload()
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 2)
    await expectUsable(page, 'proofs')
    await page.selectOption('[name="decision"]', 'YES')
    await page.click('button:text("Filter")')
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
    expect(new URL(page.url()).search).to.equal('?decision=YES')
    expect(await page.innerText('tbody')).to.include(yes.proof_id)

    await page.click('td button:has-text("Show and check")')
    expect(await outcomes(page)).to.deep.equal(GOOD)
    expect(await page.innerText('dialog'))
      .to.include('It shows a YES')
      .and.to.include('is at least')
    await page.click('dialog button:text("Ask the service")')
    await page.waitForSelector('dialog >> text=It counts, now')
    await expectUsable(page, 'a proof')
    await page.click('dialog button:text("Spend it")')
    await fillOn(page, { name: 'yes' }, 'dialog')
    await page.click('dialog button:text("Spend proof")')
    await page.waitForSelector('dialog .error:not(:empty)')
    await expectUsable(page, 'spending a proof')
    await fillOn(page, { name: yes.proof_id.slice(-6) }, 'dialog')
    await page.click('dialog button:text("Spend proof")')
    await page.waitForSelector('dialog', { state: 'detached' })
    await page.waitForSelector('td >> text=/^Spent$/')
    const again = await postVerifyProof(pages.app, apiKey, { ...asPresented(yes), consume: true })
    expect(again.status).to.equal(409)
    await page.click('td button:has-text("Show and check")')
    await page.click('dialog button:text("Ask the service")')
    await page.waitForSelector('dialog >> text=DOUBLE_SPEND')
    expect(await page.isVisible('dialog button:text("Spend it")')).to.equal(false)
  })

  it('count as the service says last, whichever answer comes first', async () => {
    const page = await pages.openSignedIn('/console/proofs')
    const { apiKey } = await ownerOf(pages.app, page.account)
    const yes = await generated(pages.app, apiKey, yesno(18))
    await page.reload()
    await page.click('td button:has-text("Show and check")')
    const { given, letGo } = await holdNext(pages.context, /\/v1\/proofs\/verify$/)
    await page.click('dialog button:text("Ask the service")')
    await given
    await postVerifyProof(pages.app, apiKey, { ...asPresented(yes), consume: true })
    await page.click('dialog button:text("Ask the service")')
    await page.waitForSelector('dialog >> text=It does not count')
    const late = page.waitForResponse(/\/v1\/proofs\/verify$/)
    letGo()
    await (await late).finished()
    await page.waitForTimeout(200)
    expect(await page.innerText('dialog')).to.include('It does not count')
  })

  it('say what was asked of a person in words, and whatever was changed in them is found', async () => {
    const page = await pages.openSignedIn('/console/proofs')
    const { apiKey } = await ownerOf(pages.app, page.account)
    await kycRoutesOf(pages.app, apiKey).verified('anna', ANNA)
    const inputs = { userId: 'anna', minLevel: 'basic', minAge: 18 }
    const made = await generated(pages.app, apiKey, { circuit_id: 'kyc', inputs })
    await page.reload()
    await page.click('td button:has-text("Show and check")')
    expect(await outcomes(page)).to.deep.equal(GOOD)
    expect(await page.innerText('dialog'))
      .to.include('Born on this day or before')
      .and.to.match(/Countries\s+any/)
    await expectUsable(page, 'a proof of a person')
    await page.click('dialog button:text("Close")')

    const alter = (change: (text: string) => string) =>
      pages.context.route(new RegExp(`/proofs/${made.proof_id}$`), async (route) => {
        const response = await route.fetch()
        await route.fulfill({ response, body: change(await response.text()) })
      })
    await alter((text) => text.replace('"nonce":"', '"nonce":"other-').replace('"YES"', '"NO"'))
    await page.click('td button:has-text("Show and check")')
    expect(await outcomes(page)).to.deep.equal(['passed', 'passed', 'failed', 'failed', 'skipped', 'skipped'])
    await expectUsable(page, 'a proof that was changed')
    await page.click('dialog button:text("Close")')
    await pages.context.unrouteAll()
    await pages.context.route(/\/vkey/, (route) => route.abort())
    await page.click('td button:has-text("Show and check")')
    await page.waitForSelector('dialog [role="alert"] >> text=does not answer')
  })

  it('are looked at and checked by a viewer, who spends none', async () => {
    const page = await pages.openSignedIn('/console/account')
    const { apiKey } = await ownerOf(pages.app, page.account)
    await generated(pages.app, apiKey, yesno(18))
    const { headers } = await signIn(pages.app, page.account)
    const viewer = await addMember(pages.app, { headers }, 'viewer')
    await page.click('button:text("Sign out")')
    await signInOn(page, viewer)
    await page.click('.sidebar a:text-is("Proofs")')
    await page.waitForSelector('h1:text-is("Proofs")')
    await settledOn(page)
    await page.click('td button:has-text("Show and check")')
    expect(await outcomes(page)).to.deep.equal(GOOD)
    expect(await page.isVisible('dialog button:text("Spend it")')).to.equal(false)
  })
})
