/** The console’s pages about payments and connections: payments, terminals, merchants, pods, webhooks, alerts. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import {
  type ConsolePages,
  confirmOn,
  eachInFreshBrowser,
  expectUsable,
  fillOn,
  ownerOf,
  settledOn,
} from '../support/console-page.ts'
import { newAccount } from '../support/domain/accounts.ts'
import { terminalTill } from '../support/domain/tills.ts'

/** A public address, to which nothing is sent: no event happens while it is registered. */
const ENDPOINT = 'https://93.184.216.34/assay'

describe('the console’s pages of payments and connections in Chromium', function () {
  this.timeout(600_000)
  let pages: ConsolePages

  eachInFreshBrowser((started) => {
    pages = started
  })

  const errorOf = (page: Page, field: string): Promise<string> =>
    page.innerText(`.field:has([name="${field}"]) .error`)

  it('terminals are created for a merchant with limits, work with what is shown once, and are revoked', async () => {
    const page = await pages.openSignedIn('/console/merchants')
    await page.click('text=Create a merchant')
    await fillOn(page, { name: 'Market stall', 'limits.floorLimit': 'much' })
    await page.click('button:text("Create merchant")')
    await page.waitForSelector('.field:has([name="limits.floorLimit"]) .error')
    await fillOn(page, { 'limits.floorLimit': '40' })
    await page.click('button:text("Create merchant")')
    await page.waitForSelector('td >> text=Market stall')
    expect(await page.innerText('tr:has-text("Market stall")')).to.include('single payment 40')
    await expectUsable(page, 'merchants')

    await page.click('.sidebar a:text("Terminals")')
    await page.waitForSelector('text=There is no terminal yet')
    await expectUsable(page, 'no terminals')
    await page.click('text=Create a terminal')
    await fillOn(page, { label: 'Till 3', 'limits.maxOfflineAgeMs': '12' })
    await page.selectOption('[name="merchantId"]', { label: 'Market stall' })
    await expectUsable(page, 'the form of a terminal')
    await page.click('button:text("Create terminal")')
    await page.waitForSelector('.secrets')
    await expectUsable(page, 'a terminal that was created')
    const [terminalId = '', terminalSecret = '', apiKey = '', command = ''] = await page.$$eval(
      '.secrets input',
      (inputs) => inputs.map((input) => (input as HTMLInputElement).value),
    )
    expect(command).to.include(`--api-key '${apiKey}'`).and.to.include(pages.app.url)
    const authenticate = () =>
      pages.app.request<{ config: object }>('POST', '/api/merchant/terminals/authenticate', {
        key: apiKey,
        body: { terminalId, terminalSecret },
      })
    const { body } = await authenticate()
    expect(body.config).to.include({ floorLimit: 40, maxOfflineAgeMs: 12 * 3_600_000 })
    await page.click('text=I have kept it')
    expect(await page.content()).to.not.include(terminalSecret)
    expect(await page.innerText('tbody'))
      .to.include('Market stall')
      .and.to.include('age 12 h')

    await confirmOn(page, 'Revoke', 'Till 3', 'Revoke terminal')
    await page.waitForSelector('text=There is no terminal yet')
    expect((await authenticate()).status).to.equal(401)
    await page.click('text=All, with revoked ones')
    await page.waitForSelector('td >> text=Revoked')
  })

  it('payments are found by the filters of the address, downloaded, and accepted when they are late', async () => {
    const page = await pages.openSignedIn('/console/payments')
    expect(await page.innerText('.empty')).to.include('There is no payment yet')
    const owner = await ownerOf(pages.app, page.account)
    const till = await terminalTill(pages.app, owner)
    const stolen = await terminalTill(pages.app, owner)
    const good = till.payment({ amountMinor: 1250 })
    await till.validate(good)
    await till.validate({ ...till.payment({ cardToken: 'tok_twice' }), transactionId: 'txn_first' })
    await till.validate({ ...till.payment({ cardToken: 'tok_twice' }), transactionId: 'txn_second' })
    const late = stolen.payment({ amountMinor: 990 })
    await pages.app.request('DELETE', `/console/api/keys/${stolen.keyId}`, { key: owner.apiKey })
    await till.sync([late])

    await page.reload()
    await settledOn(page)
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 4)
    await expectUsable(page, 'payments')
    await page.selectOption('[name="status"]', 'conflict')
    await page.click('button:text("Filter")')
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
    expect(new URL(page.url()).search).to.equal('?status=conflict')
    expect(await page.innerText('tbody'))
      .to.include('txn_second')
      .and.to.include('Card token used twice')
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=Download as CSV')])
    expect(download.suggestedFilename()).to.match(/\.csv$/)
    await page.reload()
    await settledOn(page)
    expect(await page.inputValue('[name="status"]')).to.equal('conflict')
    await fillOn(page, { minAmount: '100000' })
    await page.click('button:text("Filter")')
    await page.waitForSelector('text=No payment is like this')
    await page.click('text=Clear the filters')
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 4)

    await page.click('td button:has-text("Accept")')
    await expectUsable(page, 'the window of a late payment')
    await page.click('dialog button:text("Accept payment")')
    await page.waitForSelector('text=by an operator')
    expect(await page.isVisible('td button:has-text("Accept")')).to.equal(false)
  })

  it('pods are created with rules and changed, and say what a domain needs', async () => {
    const page = await pages.openSignedIn('/console/pods')
    await page.click('text=Create a pod')
    await fillOn(page, { name: 'Age check', rules: '[{' })
    await page.click('button:text("Create pod")')
    await page.waitForSelector('text=This is not JSON')
    await fillOn(page, { rules: '[{ "field": "age", "op": "older", "value": 18 }]' })
    await page.click('button:text("Create pod")')
    await page.waitForSelector('.field:has([name="rules"]) .error:not(:has-text("JSON"))')
    await expectUsable(page, 'the form of a pod with an error')
    await fillOn(page, { rules: '[{ "field": "age", "op": "gte", "value": 18 }]' })
    await page.click('button:text("Create pod")')
    await page.waitForSelector('.secrets')
    expect(await page.inputValue('.secrets input')).to.match(/^pk_pod_/)
    await page.click('text=I have kept it')
    await settledOn(page)
    expect(await page.innerText('tbody'))
      .to.include('1 rule')
      .and.to.include('0 verifications')
    await expectUsable(page, 'pods')

    await page.click('td button:has-text("Change")')
    await fillOn(page, { name: 'Over 21', rules: '' }, 'dialog')
    await page.click('dialog button:text("Save")')
    await page.waitForSelector('td >> text=No rules: always YES')
    expect(await page.innerText('tbody')).to.include('Over 21')

    await fillOn(page, { domain: 'nonsense' })
    await page.click('button:text("Check and bind")')
    await page.waitForSelector('text=This is not a host name.')
  })

  it('webhooks are registered, changed, paused, given another secret and removed', async () => {
    const page = await pages.openSignedIn('/console/webhooks')
    await expectUsable(page, 'no webhooks')
    await page.click('text=Register an endpoint')
    await fillOn(page, { label: 'Orders', url: 'http://shop.example/hook' })
    await page.check('input[value="proof.verified"]')
    await page.click('button:text("Register endpoint")')
    await page.waitForSelector('.field:has([name="url"]) .error')
    expect(await errorOf(page, 'url')).to.match(/https/)
    await fillOn(page, { url: ENDPOINT })
    await page.click('button:text("Register endpoint")')
    await page.waitForSelector('.secrets')
    const secret = await page.inputValue('.secrets input')
    expect(secret).to.match(/^whsec_/)
    await page.click('text=I have kept it')
    await page.waitForSelector('td >> text=Orders')
    await expectUsable(page, 'webhooks')

    await page.click('td button:has-text("Change")')
    await fillOn(page, { label: 'Orders, new' }, 'dialog')
    await expectUsable(page, 'the window of an endpoint')
    await page.click('dialog button:text("Save")')
    await page.waitForSelector('td >> text=Orders, new')
    await page.click('td button:has-text("Pause")')
    await page.click('dialog button:text("Pause")')
    await page.waitForSelector('td >> text=Paused')
    await page.click('td button:has-text("New secret")')
    await page.click('dialog button:text("Replace secret")')
    await page.waitForSelector('.secrets')
    expect(await page.inputValue('.secrets input')).to.not.equal(secret)
    await page.click('text=I have kept it')
    await confirmOn(page, 'Remove', 'Orders, new', 'Remove endpoint')
    await page.waitForSelector('text=There is no endpoint yet')
  })

  it('alerts say what happened and what to do, and are narrowed by the address', async () => {
    const page = await pages.openSignedIn('/console/alerts')
    expect(await page.innerText('.empty')).to.equal('Nothing needs a look.')
    const { email } = page.account
    const headers = { 'x-forwarded-for': '198.51.100.9' }
    for (let attempt = 0; attempt < 11; attempt += 1) {
      const body = { email, password: `wrong ${newAccount().email}` }
      await pages.app.request('POST', '/console/api/session', { body, headers })
    }
    await page.reload()
    await page.waitForSelector('td >> text=Many wrong passwords or secrets')
    await expectUsable(page, 'alerts')
    await page.selectOption('[name="severity"]', 'critical')
    await page.click('button:text("Filter")')
    await page.waitForSelector('.empty')
    expect(new URL(page.url()).search).to.equal('?severity=critical')
    await page.fill('[name="since"]', '2020-01-01')
    await page.selectOption('[name="severity"]', 'medium')
    await page.click('button:text("Filter")')
    await page.waitForSelector('td >> text=Medium')
    await page.click('.sidebar a:text("Home")')
    await page.waitForSelector('td >> text=Many wrong passwords or secrets')
  })
})
