/** The console's pages of policies: written as JSON, tried on sample facts, put in force. */
import { expect } from 'chai'
import type { StoredPolicy } from '../../src/domain/policies/schemas.ts'
import { ok } from '../support/client.ts'
import {
  type ConsolePages,
  eachInFreshBrowser,
  expectUsable,
  settledOn,
  signInInstead,
} from '../support/console-page.ts'
import { holdNext } from '../support/contexts.ts'
import { signIn } from '../support/domain/accounts.ts'
import { addMember } from '../support/domain/team.ts'

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
    // What a program may not send is not made into something else that may be sent.
    const inexact =
      '[{ "effect": "permit", "rules": [{ "field": "context.amount", "op": "lt", "value": 9007199254740993 }] }]'
    const twice = '[{ "effect": "deny", "rules": [], "effect": "permit" }]'
    for (const [rules, wrong] of [
      [inexact, 'kept exactly'],
      [twice, 'duplicate member'],
    ] as const) {
      await page.fill('[name="rules"]', rules)
      await page.click(save)
      await page.waitForSelector(`form:has([name="rules"]) .error:has-text("${wrong}")`)
    }

    const rules = [
      { effect: 'permit', reason: 'SMALL', rules: [{ field: 'context.amount', op: 'lte', value: 100 }] },
    ]
    await page.fill('[name="rules"]', JSON.stringify(rules))
    await page.click('button:text("Try the rules")')
    await page.waitForSelector('.notice >> text=YES')
    expect(await page.innerText('.notice'))
      .to.include('SMALL')
      .and.to.include('Nothing was recorded')
    // Other rules, or other facts, were not decided about.
    const untold = () => page.waitForSelector('.notice', { state: 'detached', timeout: 2000 })
    const tryButton = 'button:text("Try the rules")'
    await page.fill('[name="rules"]', '[]')
    await untold()
    await page.fill('[name="rules"]', JSON.stringify(rules))
    const { given, letGo } = await holdNext(pages.context, /\/try$/)
    await page.click(tryButton)
    await given
    await page.fill('[name="rules"]', '[]')
    letGo()
    await page.waitForSelector(`${tryButton}[aria-disabled="false"]`)
    await untold()
    await page.fill('[name="rules"]', JSON.stringify(rules))
    await page.click(tryButton)
    await page.waitForSelector('.notice >> text=YES')
    await page.fill('[name="facts"]', '{ "context": { "amount": 101 } }')
    await untold()
    await page.click(tryButton)
    await page.waitForSelector('.notice >> text=NO_RULE_PERMITS')
    await expectUsable(page, 'a dry run')
    await page.click(save)
    await page.waitForSelector('text=Version 1 is in force')
    expect(await page.inputValue('[name="facts"]')).to.equal('{ "context": { "amount": 101 } }')
    await page.click(tryButton)
    await page.waitForSelector('.notice >> text=NO_RULE_PERMITS')
    await page.reload()
    await settledOn(page)
    expect(JSON.parse(await page.inputValue('[name="rules"]'))).to.deep.equal(rules)
  })

  it('are read, and not tried, by those who may not have data verified', async () => {
    const page = await pages.openSignedIn('/console/policies?policy=order')
    const { headers } = await signIn(pages.app, page.account)
    const viewer = await addMember(pages.app, { headers }, 'viewer')
    await page.waitForSelector('h2:text("Dry run")')
    await signInInstead(page, viewer)
    await page.waitForSelector('text=Nobody wrote it yet')
    expect(await page.innerText('main')).to.not.match(/Dry run|You may try/)
    expect(await page.isVisible('main button[type="submit"]')).to.equal(false)
    await expectUsable(page, 'a policy that is only read')
  })

  it('of circuits are there from the start, and are tried with a currency', async () => {
    const page = await pages.openSignedIn('/console/policies')
    await page.click('td a:text-is("yesno")')
    await page.waitForSelector('text=The initial policy is in force')
    await page.click('button:text("Try the rules")')
    await page.waitForSelector('.notice >> text=RULE_PERMITS')
    await page.click('text=All policies')
    await page.waitForSelector('h2:text("There from the start")')
  })

  it('are listed by name with the version in force, page by page, beside those from the start', async () => {
    const page = await pages.openSignedIn('/console/policies')
    await page.waitForSelector('.empty >> text=has written no policy yet')
    const standing = (policyId: string) =>
      page.innerText(`[aria-labelledby="initial"] tr:has(a:text-is("${policyId}")) [data-title="In force"]`)
    expect(await standing('yesno')).to.equal('The initial one')
    await expectUsable(page, 'no policy of the organisation')

    const { headers } = await signIn(pages.app, page.account)
    const write = (policyId: string, rules: object[]) =>
      ok<StoredPolicy>(pages.app, 'PUT', `/console/api/policies/${policyId}`, { headers, body: { rules } })
    const permit = [{ effect: 'permit', rules: [{ field: 'context.amount', op: 'lte', value: 100 }] }]
    await write('order', [])
    // Written again as it is, it is the same version.
    for (const policyId of ['order', 'order', 'yesno']) await write(policyId, permit)
    const { updatedAt } = await write('refund', [])
    await page.reload()
    await settledOn(page)
    const written = '[aria-labelledby="written"] tbody tr'
    const shown = () =>
      page.$$eval(`${written} td:first-child`, (cells) => cells.map((cell) => cell.textContent ?? ''))
    expect(await shown()).to.deep.equal(['order', 'refund', 'yesno'])
    const rowOf = (policyId: string) => page.innerText(`${written}:has(a:text-is("${policyId}"))`)
    expect(await rowOf('order'))
      .to.include('Version 2')
      .and.to.include('Resources of this type')
    expect(await rowOf('yesno'))
      .to.include('Version 1')
      .and.to.include('one comparison')
    expect(await rowOf('refund')).to.include('None: denies everything')
    expect(await page.getAttribute(`${written}:has-text("refund") time`, 'datetime')).to.equal(updatedAt)
    expect(await standing('yesno')).to.equal('Version 1')
    expect(await standing('kyc')).to.equal('The initial one')
    await expectUsable(page, 'policies of the organisation')
    await page.click(`${written} a:text-is("order")`)
    await page.waitForSelector('text=Version 2 is in force')
    expect(page.url()).to.equal(`${pages.app.url}/console/policies?policy=order`)

    // More than a page, of which the names come before those of all circuits.
    for (let number = 100; number < 150; number++) await write(`a${number}`, permit)
    await page.click('text=All policies')
    await page.waitForSelector('button:text("Show more")')
    expect(await shown())
      .to.have.length(50)
      .and.not.include('order')
    expect(await standing('yesno')).to.equal('')
    await expectUsable(page, 'a first page of policies')
    await page.click('button:text("Show more")')
    await page.waitForSelector(`${written} a:text-is("order")`)
    expect(await shown()).to.have.length(53)
    await page.waitForFunction(
      () => document.activeElement?.textContent === 'The list ends here, with 53.',
      undefined,
      { timeout: 2000 },
    )
    expect(await page.isVisible('button:text("Show more")')).to.equal(false)
    expect(await standing('yesno')).to.equal('Version 1')
  })
})
