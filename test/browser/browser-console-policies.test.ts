/** The console's pages of policies: written as JSON, tried on sample facts, put in force. */
import { expect } from 'chai'
import { type ConsolePages, eachInFreshBrowser, expectUsable, settledOn } from '../support/console-page.ts'

describe('the console’s policies in Chromium', function () {
  this.timeout(600_000)
  let pages: ConsolePages

  eachInFreshBrowser((started) => {
    pages = started
  })

  it('are written with errors in place, tried before they are saved, and then in force', async () => {
    const page = await pages.openSignedIn('/console/policies')
    await expectUsable(page, 'policies')
    await page.fill('[name="policyId"]', 'an order')
    await page.click('button:text("Open")')
    await page.waitForSelector('.field .error')
    await page.fill('[name="policyId"]', 'order')
    await page.click('button:text("Open")')
    await page.waitForSelector('text=Nobody wrote it yet')
    const save = 'button:text("Save and put in force")'
    await page.fill('[name="rules"]', '[{')
    await page.click(save)
    await page.waitForSelector('.field:has([name="rules"]) .error >> text=not JSON')
    await page.fill(
      '[name="rules"]',
      '[{ "effect": "permit", "rules": [{ "field": "context.amount", "op": "near" }] }]',
    )
    await page.click(save)
    await page.waitForSelector('.field:has([name="rules"]) .error:has-text("/rules/0")')
    await expectUsable(page, 'a policy with an error')

    const rules = [
      { effect: 'permit', reason: 'SMALL', rules: [{ field: 'context.amount', op: 'lte', value: 100 }] },
    ]
    await page.fill('[name="rules"]', JSON.stringify(rules))
    await page.click('button:text("Try the rules")')
    await page.waitForSelector('.notice >> text=YES')
    expect(await page.innerText('.notice'))
      .to.include('SMALL')
      .and.to.include('Nothing was recorded')
    await page.fill('[name="facts"]', '{ "context": { "amount": 101 } }')
    await page.click('button:text("Try the rules")')
    await page.waitForSelector('.notice >> text=NO_RULE_PERMITS')
    await expectUsable(page, 'a dry run')
    await page.click(save)
    await page.waitForSelector('text=Version 1 is in force')
    await page.reload()
    await settledOn(page)
    expect(JSON.parse(await page.inputValue('[name="rules"]'))).to.deep.equal(rules)
  })

  it('of circuits are there from the start, and are tried with a currency', async () => {
    const page = await pages.openSignedIn('/console/policies')
    await page.click('td a:text-is("yesno")')
    await page.waitForSelector('text=In force as it was from the start')
    await page.click('button:text("Try the rules")')
    await page.waitForSelector('.notice >> text=RULE_PERMITS')
    await page.click('text=All policies')
    await page.waitForSelector('h2:text("Of circuits")')
  })
})
