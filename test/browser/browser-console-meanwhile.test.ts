/** The console's pages while others change what they show, and where the focus is once what had it is gone. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import type { PaymentPage } from '../../src/domain/payments/schemas.ts'
import type { PodCreated } from '../../src/domain/pods/schemas.ts'
import { ok } from '../support/client.ts'
import {
  type ConsolePages,
  confirmOn,
  eachInFreshBrowser,
  expectUsable,
  fillOn,
  ownerOf,
  settledOn,
  signInOn,
} from '../support/console-page.ts'
import { holdNext } from '../support/contexts.ts'
import { signIn } from '../support/domain/accounts.ts'
import { addMember } from '../support/domain/team.ts'
import { terminalTill } from '../support/domain/tills.ts'

/** Waits until the heading of the page has the focus. */
const headingHasFocus = (page: Page) =>
  page.waitForFunction(() => document.activeElement?.matches('main h1'), undefined, { timeout: 5000 })

describe('the console’s pages in Chromium, while others change what they show', function () {
  this.timeout(600_000)
  let pages: ConsolePages

  eachInFreshBrowser((started) => {
    pages = started
  })

  it('let an operator revoke a key with a right that no session has, and offer no replacement of it', async () => {
    const { app } = pages
    for (const [label, scopes] of [
      ['reaches inwards', ['verify', 'egress:private']],
      ['web shop', ['verify']],
    ])
      await ok(app, 'POST', '/console/api/keys', { key: app.adminKey, body: { label, scopes } })
    const operator = await addMember(app, { key: app.adminKey }, 'owner')
    const page = await pages.open('/console/keys')
    await signInOn(page, operator)
    await page.waitForSelector('td >> text=reaches inwards')
    const buttonsOf = (label: string) => page.locator(`tr:has-text("${label}") button`).allTextContents()
    expect(await buttonsOf('web shop')).to.deep.equal(['Replace web shop', 'Revoke web shop'])
    expect(await buttonsOf('reaches inwards')).to.deep.equal(['Revoke reaches inwards'])
    await page.click('tr:has-text("reaches inwards") button')
    expect(await page.innerText('dialog')).to.not.include('replace it')
    await page.keyboard.press('Escape')
    await page.waitForFunction(() => document.activeElement?.textContent === 'Revoke reaches inwards')
    await page.click('tr:has-text("reaches inwards") button')
    await page.click('dialog button:text("Cancel")')
    await page.waitForFunction(() => document.activeElement?.textContent === 'Revoke reaches inwards')
    await confirmOn(page, 'Revoke reaches inwards', 'reaches inwards', 'Revoke key')
    await page.waitForSelector('td >> text=reaches inwards', { state: 'detached' })
    await headingHasFocus(page)
  })

  it('keep the focus in the page where a session is ended, one or all others', async () => {
    const page = await pages.openSignedIn('/console/account')
    const { email, password } = page.account
    for (let session = 0; session < 3; session++) await signIn(pages.app, { email, password })
    await page.reload()
    await page.waitForSelector('text=End this session')
    await page.focus('td button:text("End this session")')
    await page.keyboard.press('Enter')
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 3)
    await headingHasFocus(page)
    await page.focus('text=End all other sessions')
    await page.keyboard.press('Enter')
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
    await headingHasFocus(page)
  })

  it('keep the new name that somebody else gave a pod whose rules are changed', async () => {
    const page = await pages.openSignedIn('/console/pods')
    const { headers } = await signIn(pages.app, page.account)
    const { podId } = await ok<PodCreated>(pages.app, 'POST', '/console/api/pods', {
      headers,
      body: { name: 'age' },
    })
    await page.reload()
    await page.click('td button:has-text("Change")')
    await ok(pages.app, 'PATCH', `/console/api/pods/${podId}`, { headers, body: { name: 'Age of buyers' } })
    await fillOn(page, { rules: '[{ "field": "age", "op": "gte", "value": 18 }]' }, 'dialog')
    await page.click('dialog button:text("Save")')
    await page.waitForSelector('dialog', { state: 'detached' })
    await page.waitForSelector('td >> text=Age of buyers')
    expect(await page.innerText('tbody')).to.include('1 rule')
    // Where nobody changed anything, nothing is sent.
    let sent = 0
    page.on('request', (request) => {
      if (request.method() === 'PATCH') sent++
    })
    await page.click('td button:has-text("Change")')
    await page.click('dialog button:text("Save")')
    await page.waitForSelector('dialog', { state: 'detached' })
    expect(sent).to.equal(0)
    await page.click('td button:has-text("Change")')
    await fillOn(page, { name: 'Age' }, 'dialog')
    await page.click('dialog button:text("Save")')
    await page.waitForSelector('td strong:text-is("Age")')
    expect(await page.innerText('tbody')).to.include('1 rule')
  })

  it('show how a late payment stands that somebody else decided on since it was shown', async () => {
    const page = await pages.openSignedIn('/console/payments')
    const owner = await ownerOf(pages.app, page.account)
    const till = await terminalTill(pages.app, owner)
    const stolen = await terminalTill(pages.app, owner)
    await pages.app.request('DELETE', `/console/api/keys/${stolen.keyId}`, { key: owner.apiKey })
    await till.sync([stolen.payment({ amountMinor: 990, transactionId: 'txn_late' })])
    await page.reload()
    await page.click('td button:has-text("Reject")')
    const { headers } = await signIn(pages.app, page.account)
    const { payments } = await ok<PaymentPage>(pages.app, 'GET', '/console/api/payments', { headers })
    const path = `/console/api/payments/${payments[0]?.paymentId}/accept`
    await ok(pages.app, 'POST', path, { headers })
    await fillOn(page, { reason: 'The till was stolen.' }, 'dialog')
    await page.click('dialog button:text("Reject payment")')
    await page.waitForSelector('dialog [role="alert"]:has-text("not late")')
    await page.keyboard.press('Escape')
    await page.waitForSelector('td >> text=by an operator')
    expect(await page.innerText('tbody')).to.include('Accepted')
    expect(await page.isVisible('td button')).to.equal(false)
  })

  it('know what the operator changed of the organisation once somebody turns to the window', async () => {
    const page = await pages.openSignedIn('/console/account')
    await page.waitForSelector('text=Inactive: the free proofs are used')
    await ok(pages.app, 'PATCH', `/console/api/organisations/${page.account.organisationId}`, {
      key: pages.app.adminKey,
      body: { subscription: 'active' },
    })
    await page.fill('[name="currentPassword"]', 'half typed')
    await page.evaluate(() => dispatchEvent(new Event('focus')))
    await page.waitForSelector('dt:text-is("Subscription") + dd .state:text-is("Active")')
    expect(await page.inputValue('[name="currentPassword"]')).to.equal('half typed')
  })

  it('say all that is wrong with a field, each with its place in it', async () => {
    const page = await pages.openSignedIn('/console/pods')
    await page.click('summary:text("Create a pod")')
    const rules = [
      { field: 'age', op: 'gte', value: 18, unit: 'years' },
      { field: 'country', op: 'eq', value: 'GB', strict: true },
    ]
    await fillOn(page, { name: 'age', rules: JSON.stringify(rules) })
    await page.click('button:text("Create pod")')
    const wrong = '.field:has([name="rules"]) .error'
    await page.waitForSelector(wrong)
    expect(await page.innerText(wrong)).to.match(
      /^\/0\/unit: Is not known.+\. \/1\/strict: Is not known.+\.$/,
    )
    await expectUsable(page, 'two faults in one field')
  })

  it('stay signed in when an answer to the session before says late that it has ended', async () => {
    const page = await pages.openSignedIn('/console')
    let letGo = (): void => undefined
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    await pages.context.route(
      /\/console\/api\/keys\?/,
      async (route) => {
        await held
        await route.fulfill({
          status: 401,
          json: { error: 'unauthorized', message: 'The session has ended.' },
        })
      },
      { times: 1 },
    )
    const asked = page.waitForRequest(/\/console\/api\/keys\?/)
    await page.click('.sidebar a:text("API keys")')
    await asked
    await page.click('button:text("Sign out")')
    await signInOn(page, page.account)
    await page.waitForSelector('text=No key is active')
    const late = page.waitForResponse((response) => response.status() === 401)
    letGo()
    await late
    await page.click('.sidebar a:text("Team")')
    await page.waitForSelector('h1:text("Team")')
    await settledOn(page)
    // What is answered to this session ends it.
    await pages.context.clearCookies()
    await page.click('.sidebar a:text("API keys")')
    await page.waitForSelector('text=Your session has ended')
  })

  it('show nothing to whoever comes back to a page that was left before its session ended', async () => {
    const page = await pages.openSignedIn('/console/team')
    await pages.context.clearCookies()
    // As browsers tell a page that they kept as it was.
    await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })))
    await page.waitForSelector('text=Your session has ended')
    expect(await page.innerText('body')).to.not.include(page.account.email.toLowerCase())
  })

  it('sign out once, however often that is pressed', async () => {
    const page = await pages.openSignedIn('/console')
    const { given, letGo } = await holdNext(pages.context, /\/console\/api\/session$/)
    let sent = 0
    page.on('request', (request) => {
      if (request.method() === 'DELETE') sent++
    })
    const press = () =>
      page.locator('button:text("Sign out")').evaluate((button) => (button as HTMLElement).click())
    await press()
    await given
    await press()
    letGo()
    await page.waitForSelector('h1:text("Sign in")')
    expect(sent).to.equal(1)
    expect(await page.innerText('main')).to.not.include('has ended')
  })

  it('keep an invitation whatever place of the page the address leads to', async () => {
    const page = await pages.open(`/console/join#${'a1B'.repeat(14)}c`)
    await page.waitForSelector('[name="password"]')
    await page.focus('a.skip')
    await page.keyboard.press('Enter')
    await page.waitForFunction(() => location.hash === '#main')
    await fillOn(page, { password: 'correct horse battery' })
    const sent = page.waitForRequest(/invitations\/accept$/)
    await page.click('button:text("Join")')
    expect((await sent).postDataJSON()).to.include({ invitation: `${'a1B'.repeat(14)}c` })
    await page.goto('about:blank')
    await page.goto(`${pages.app.url}/console/join#main`)
    await page.waitForSelector('text=no invitation in it')
  })
})
