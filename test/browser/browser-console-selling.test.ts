/** The console’s pages about payments and connections: payments, terminals, merchants, pods, webhooks, alerts. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { ok } from '../support/client.ts'
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
    await page.waitForSelector('text=No terminal is active')
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
    const authenticate = (told: object = {}) =>
      pages.app.request<{ config: object }>('POST', '/api/merchant/terminals/authenticate', {
        key: apiKey,
        body: { terminalId, terminalSecret, ...told },
      })
    await page.click('text=I have kept it')
    expect(await page.content()).to.not.include(terminalSecret)
    await page.waitForSelector('td >> text=Market stall')
    const row = () => page.innerText('tbody tr')
    expect(await row())
      .to.include('age 12 h')
      .and.to.include('Never')
      .and.to.include('Not told')
    const { body } = await authenticate({
      version: '2.1.0',
      clock: Date.now() - 5 * 60_000,
      queued: {
        count: 3,
        sum: [
          { currency: 'GBP', amount: 1012.5 },
          { currency: 'JPY', amount: 900 },
        ],
      },
    })
    expect(body.config).to.include({ floorLimit: 40, maxOfflineAgeMs: 12 * 3_600_000 })
    await page.reload()
    await page.waitForSelector('td >> text=version 2.1.0')
    expect(await row())
      .to.include('Clock 5 min behind')
      .and.to.match(/3 payments\s+GBP\s1,012.50\s+JPY\s900\s+as last told/)
    await expectUsable(page, 'a terminal on which payments wait')
    await page.click('td button:has-text("Revoke")')
    expect(await page.innerText('dialog'))
      .to.match(/3 payments wait on it, GBP\s1,012.50, JPY\s900\./)
      .and.to.include('can’t be uploaded afterwards')
    await page.keyboard.press('Escape')
    await authenticate({ clock: Date.now() - 50_000, queued: { count: 0, sum: [] } })
    await page.reload()
    await page.waitForSelector('td >> text=Nothing')
    expect(await row()).to.not.include('Clock')

    await confirmOn(page, 'Revoke', 'Till 3', 'Revoke terminal')
    await page.waitForSelector('text=No terminal is active')
    expect((await authenticate()).status).to.equal(401)
    await page.click('text=All, with revoked ones')
    await page.waitForSelector('td >> text=Revoked')
  })

  it('a terminal is revoked by its name as it is seen, whatever blanks and accents it was given with', async () => {
    const page = await pages.openSignedIn('/console/terminals')
    const { apiKey: key } = await ownerOf(pages.app, page.account)
    const label = 'Till  3\u00a0Cafe\u0301'
    await ok(pages.app, 'POST', '/console/api/terminals', { key, body: { label } })
    await page.reload()
    await confirmOn(page, 'Revoke', 'Till 3 Caf\u00e9', 'Revoke terminal')
    await page.waitForSelector('text=No terminal is active')
  })

  it('terminals and keys are read to their end, and payments found by a terminal that no list shows', async () => {
    const page = await pages.openSignedIn('/console/terminals')
    const owner = await ownerOf(pages.app, page.account)
    const till = await terminalTill(pages.app, owner)
    await till.validate({ ...till.payment(), transactionId: 'txn_of_the_oldest' })
    const { knex } = pages.app.services.database
    // A thousand that are newer, of which fifty are in use.
    const copies = 'generate_series(1, 1000) AS i WHERE id = ?'
    const revokedAt = 'CASE WHEN i <= 50 THEN NULL ELSE created_at END'
    await knex.raw(
      `INSERT INTO terminals (id, organisation, merchant, label, secret_hash, limits, created_at, revoked_at)
        SELECT 'ter_9' || lpad(i::text, 25, '0'), organisation, merchant, 'newer', secret_hash, limits, created_at,
          ${revokedAt} FROM terminals, ${copies}`,
      [till.origin],
    )
    await knex.raw(
      `INSERT INTO api_keys (id, organisation, digest, sealed_midstate, hint, label, scopes, created_at, revoked_at)
        SELECT 'key_9' || lpad(i::text, 25, '0'), organisation, sha256(digest || int4send(i)), sealed_midstate,
          hint, 'newer', scopes, created_at, ${revokedAt} FROM api_keys, ${copies}`,
      [till.keyId],
    )
    for (const path of ['/console/terminals', '/console/keys']) {
      await page.goto(pages.app.url + path)
      await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 50)
      expect(await page.isVisible('td strong:text-is("till")')).to.equal(false)
      await page.click('button:text("Show more")')
      await page.waitForSelector('td strong:text-is("till")')
      expect(await page.isVisible('button:text("Show more")')).to.equal(false)
      await page.click('.filters a:has-text("All")')
      await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 50)
      await page.waitForSelector('td >> text=Revoked')
    }

    await page.goto(`${pages.app.url}/console/payments`)
    await page.waitForSelector('td >> text=txn_of_the_oldest')
    await page.waitForFunction(() => document.querySelectorAll('datalist option').length === 1000)
    await fillOn(page, { terminalId: `ter_${'9'.repeat(26)}` })
    await page.click('button:text("Filter")')
    await page.waitForSelector('text=No payment is like this')
    await fillOn(page, { terminalId: till.origin })
    await page.click('button:text("Filter")')
    await page.waitForSelector('td >> text=txn_of_the_oldest')
    expect(new URL(page.url()).search).to.equal(`?terminalId=${till.origin}`)
    expect(await page.inputValue('[name="terminalId"]')).to.equal(till.origin)
  })

  it('payments are found by the filters of the address, downloaded, and decided when they are late', async () => {
    const page = await pages.openSignedIn('/console/payments')
    expect(await page.innerText('.empty')).to.include('There is no payment yet')
    await expectUsable(page, 'no payments')
    const owner = await ownerOf(pages.app, page.account)
    const till = await terminalTill(pages.app, owner)
    const stolen = await terminalTill(pages.app, owner)
    const good = till.payment({ amountMinor: 1250 })
    await till.validate(good)
    await till.validate({ ...till.payment({ cardToken: 'tok_twice' }), transactionId: 'txn_first' })
    await till.validate({ ...till.payment({ cardToken: 'tok_twice' }), transactionId: 'txn_second' })
    const late = stolen.payment({ amountMinor: 990, transactionId: 'txn_late' })
    const later = stolen.payment({ amountMinor: 450, transactionId: 'txn_later' })
    await pages.app.request('DELETE', `/console/api/keys/${stolen.keyId}`, { key: owner.apiKey })
    await till.sync([late, later])

    await page.reload()
    await settledOn(page)
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 5)
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
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 5)

    await page.click('tr:has(code:text-is("txn_late")) button:has-text("Accept")')
    await expectUsable(page, 'the window of a late payment')
    await page.click('dialog button:text("Accept payment")')
    await page.waitForSelector('tr:has(code:text-is("txn_late")) >> text=by an operator')
    const row = 'tr:has(code:text-is("txn_later"))'
    await page.click(`${row} button:has-text("Reject")`)
    await page.click('dialog button:text("Reject payment")')
    await page.waitForSelector('dialog .field .error')
    await fillOn(page, { reason: 'The till was stolen.' }, 'dialog')
    await expectUsable(page, 'the window that rejects a late payment')
    await page.click('dialog button:text("Reject payment")')
    await page.waitForSelector(`${row} >> text=by an operator`)
    expect(await page.innerText(row))
      .to.include('Rejected')
      .and.to.include('“The till was stolen.”')
    expect(await page.isVisible('td button')).to.equal(false)
    await expectUsable(page, 'late payments that were decided')
    await page.selectOption('[name="status"]', 'rejected')
    await page.click('button:text("Filter")')
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
    expect(await page.innerText('tbody')).to.include('txn_later')
  })

  it('pods are created with rules and changed, and say what a domain needs', async () => {
    const page = await pages.openSignedIn('/console/pods')
    await page.waitForSelector('text=There is no pod yet')
    await expectUsable(page, 'no pods')
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
    await page.waitForSelector('td >> text=No rules: decides nothing')
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

  it('merchants are read to their end', async () => {
    const page = await pages.openSignedIn('/console/merchants')
    const { apiKey: key } = await ownerOf(pages.app, page.account)
    for (let number = 1; number <= 50; number++)
      await ok(pages.app, 'POST', '/console/api/merchants', { key, body: { name: `stall ${number}` } })
    await page.reload()
    await settledOn(page)
    const rowOf = (name: string) => `tr:has(strong:text-is("${name}"))`
    await page.waitForSelector(rowOf('stall 49'))
    expect(await page.isVisible(rowOf('stall 50'))).to.equal(false)
    await page.click('button:text("Show more")')
    await page.waitForSelector(rowOf('stall 50'))
    expect(await page.isVisible('button:text("Show more")')).to.equal(false)
    expect(await page.$$eval('tbody tr', (rows) => rows.length)).to.equal(51)
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
