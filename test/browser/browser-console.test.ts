/** The console’s frame: signing up, in and out, addresses, what is refused, and the pages that everybody has. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { addressOf, PAGES } from '../../src/web/console/directory.ts'
import {
  type ConsolePages,
  confirmOn,
  eachInFreshBrowser,
  expectUsable,
  fillOn,
  settledOn,
  signInInstead,
  signInOn,
} from '../support/console-page.ts'
import { newAccount, signUp } from '../support/domain/accounts.ts'
import { addMember } from '../support/domain/team.ts'
import { expectLight, MAX_BYTES_GZIPPED } from '../support/page-weight.ts'

describe('the console in Chromium', function () {
  this.timeout(600_000)
  let pages: ConsolePages

  eachInFreshBrowser((started) => {
    pages = started
  })

  const headingOf = (page: Page): Promise<string> => page.innerText('main h1')
  const waitForHeading = (page: Page, text: string) => page.waitForSelector(`main h1:text("${text}")`)

  describe('signing up, in and out', () => {
    it('opens an account with free proofs, stays signed in over a reload, and signs out', async () => {
      const page = await pages.open('/console')
      await page.click('text=Create one')
      await waitForHeading(page, 'Create an account')
      const { email, password, organisation } = newAccount()
      await fillOn(page, { email, password, organisation })
      await page.click('button:text("Create account")')
      await waitForHeading(page, 'Home')
      await page.waitForSelector('text=What to do first')
      expect(new URL(page.url()).pathname).to.equal('/console')
      expect(await page.innerText('.figures')).to.match(/Free proofs left\s+100\s+of 100/)
      await page.reload()
      await settledOn(page)
      expect(await page.innerText('.who')).to.include(organisation)
      await page.click('text=Sign out')
      await waitForHeading(page, 'Sign in')
      expect(await page.innerText('main')).to.not.include('has ended')
      await page.reload()
      await waitForHeading(page, 'Sign in')
    })

    it('names who has signed in in the window beside it as soon as it is turned to', async () => {
      const page = await pages.openSignedIn('/console')
      const other = await signUp(pages.app)
      await signInInstead(await pages.open('/console'), other)
      await page.evaluate(() => dispatchEvent(new Event('focus')))
      await page.waitForSelector(`.who :text("${other.email.toLowerCase()}")`, { timeout: 5000 })
    })

    it('says what is wrong in the service’s words, where it belongs', async () => {
      const page = await pages.open('/console/sign-up')
      await page.click('button:text("Create account")')
      await page.waitForFunction(() => document.activeElement?.getAttribute('name') === 'organisation')
      const taken = await signUp(pages.app)
      await fillOn(page, { organisation: ' ', email: taken.email, password: taken.password })
      await page.click('button:text("Create account")')
      await page.waitForSelector('[name="organisation"][aria-invalid="true"] + .hint')
      // What was said of a field goes with what stood there.
      await fillOn(page, { organisation: 'Shop' })
      await page.waitForSelector('[name="organisation"][aria-invalid="false"]')
      expect(await page.$$('.field .error')).to.deep.equal([])
      await page.click('button:text("Create account")')
      await page.waitForSelector('[role="alert"]:not(:empty)')
      expect(await page.innerText('form [role="alert"]')).to.match(/e-mail/)
      await page.goto(`${pages.app.url}/console`)
      await signInOn(page, { email: taken.email, password: 'another password' })
      await page.waitForSelector('[role="alert"]:not(:empty)')
      expect(await page.innerText('form [role="alert"]')).to.equal('The credentials are wrong.')
      expect(await page.inputValue('[name="email"]')).to.equal(taken.email)
    })

    it('asks to sign in again when the session has ended, and goes back to where one was', async () => {
      const page = await pages.openSignedIn('/console/keys?show=all')
      await pages.context.clearCookies()
      await page.click('text=Create a key')
      await fillOn(page, { label: 'web shop' })
      await page.click('button:text("Create key")')
      await waitForHeading(page, 'Sign in')
      expect(await page.innerText('main [role="alert"]')).to.include('Your session has ended')
      expect(await page.isVisible('.sidebar')).to.equal(false)
      await expectUsable(page, 'a session that has ended')
      await signInOn(page, page.account)
      await waitForHeading(page, 'API keys')
      expect(new URL(page.url()).search).to.equal('?show=all')
    })

    it('goes on under a session that another window began, and shows another account nothing of the first', async () => {
      const page = await pages.openSignedIn('/console/keys')
      const again = await pages.open('/console')
      await again.click('text=Sign out')
      await signInOn(again, page.account)
      await waitForHeading(again, 'Home')
      await page.click('text=Create a key')
      await fillOn(page, { label: 'after the change' })
      await page.click('button:text("Create key")')
      await page.waitForSelector('.secrets')
      const other = await signUp(pages.app)
      await again.click('text=Sign out')
      await signInOn(again, other)
      await waitForHeading(again, 'Home')
      await page.click('text=Create a key')
      await fillOn(page, { label: 'of the first' })
      await page.click('button:text("Create key")')
      await page.waitForSelector(`.who:has-text("${other.email.toLowerCase()}")`)
      await settledOn(page)
      expect(await page.isVisible('.secrets')).to.equal(false)
      expect(await page.innerText('main')).to.include('No key is active')
    })

    it('changes the password, which ends the other sessions', async () => {
      const page = await pages.openSignedIn('/console/account')
      const { email, password } = page.account
      await pages.app.request('POST', '/console/api/session', { body: { email, password } })
      await page.reload()
      await page.waitForSelector('text=End this session')
      const change = async (currentPassword: string, newPassword: string, again = newPassword) => {
        await fillOn(page, { currentPassword, newPassword, again })
        await page.click('button:text("Change password")')
      }
      await change(password, 'a better battery', 'another battery')
      await page.waitForSelector('text=This is not the same password.')
      await change('not the password', 'a better battery')
      await page.waitForSelector('text=The credentials are wrong.')
      await change(password, 'a better battery')
      await page.waitForSelector('text=all other sessions have ended')
      await page.waitForSelector('text=End this session', { state: 'detached' })
      expect(await page.isVisible('text=This one')).to.equal(true)
    })
  })

  describe('addresses', () => {
    it('lead to the same page on a reload, go back, and say so when there is none', async () => {
      const page = await pages.openSignedIn('/console')
      await page.click('.sidebar a:text("Account")')
      await waitForHeading(page, 'Account')
      await page.waitForFunction(() => document.activeElement?.tagName === 'H1')
      expect(await page.title()).to.equal('Account · Console · Assay')
      expect(await page.getAttribute('.sidebar [aria-current="page"]', 'href')).to.equal('/console/account')
      await page.click('.sidebar a:text("API keys")')
      await page.goBack()
      await waitForHeading(page, 'Account')
      await page.reload()
      await settledOn(page)
      expect(await headingOf(page)).to.equal('Account')
      await page.goto(`${pages.app.url}/console/nowhere`)
      await waitForHeading(page, 'There is no such page')
      expect(await page.isVisible('.sidebar')).to.equal(true)
      await page.click('text=Go to Home')
      await waitForHeading(page, 'Home')
    })

    it('are reached from the other pages', async () => {
      for (const path of ['/', '/chat', '/verify']) {
        const page = await pages.context.newPage()
        await page.goto(pages.app.url + path)
        await page.click('nav >> text=Console')
        await waitForHeading(page, 'Sign in')
      }
    })

    it('say that the service does not answer, and go on when it does', async () => {
      const page = await pages.openSignedIn('/console')
      await pages.context.route(/\/console\/api\//, (route) => route.abort())
      await page.click('.sidebar a:text("API keys")')
      await page.waitForSelector('main [role="alert"] >> text=does not answer')
      await pages.context.unrouteAll()
      await page.click('text=Try again')
      await page.waitForSelector('text=No key is active')
      await pages.context.route(/\/console\/api\/me/, (route) => route.abort())
      await page.reload()
      await waitForHeading(page, 'Not reached')
      await pages.context.unrouteAll()
      await page.click('text=Try again')
      await waitForHeading(page, 'API keys')
    })
  })

  describe('API keys', () => {
    it('are made with the scopes chosen, shown once, replaced and revoked', async () => {
      const page = await pages.openSignedIn('/console/keys')
      await page.click('text=Create a key')
      await fillOn(page, { label: 'web shop' })
      await page.check('input[value="merchant"]')
      await page.click('button:text("Create key")')
      await page.waitForSelector('.secrets')
      const apiKey = await page.inputValue('.secrets input')
      const meOf = (key: string) => pages.app.request<{ scopes: string[] }>('GET', '/console/api/me', { key })
      expect((await meOf(apiKey)).body.scopes).to.deep.equal(['verify', 'merchant'])

      // Beside the first, which nobody has kept yet.
      await page.click('td button:has-text("Replace")')
      await page.selectOption('dialog select', '0')
      await page.click('dialog button:text("Replace key")')
      await page.waitForSelector('.secrets >> nth=1')
      expect(await page.inputValue('.secrets >> nth=0 >> input')).to.equal(apiKey)
      const successor = await page.inputValue('.secrets >> nth=1 >> input')
      expect(successor).to.not.equal(apiKey)
      await page.waitForFunction(() => document.activeElement?.closest('.secrets:nth-of-type(2)') !== null)
      await page.click('.secrets >> nth=0 >> text=I have kept it')
      expect(await page.locator('.secrets').count()).to.equal(1)
      expect(await page.inputValue('.secrets input')).to.equal(successor)
      await page.reload()
      await settledOn(page)
      expect(await page.isVisible('.secrets')).to.equal(false)

      await page.click('td button:has-text("Revoke")')
      await page.fill('dialog input', 'another name')
      await page.click('dialog button:text("Revoke key")')
      await page.waitForSelector('dialog >> text=Type web shop to go on.')
      await page.keyboard.press('Escape')
      expect((await meOf(successor)).status).to.equal(200)
      await confirmOn(page, 'Revoke', 'web shop', 'Revoke key')
      await page.waitForSelector('text=No key is active')
      await page.click('text=All, with ended ones')
      await page.waitForSelector('td >> text=Revoked')
    })

    it('are refused without scopes, and the focus goes to what is wrong', async () => {
      const page = await pages.openSignedIn('/console/keys')
      await page.click('text=Create a key')
      await page.uncheck('input[value="verify"]')
      await fillOn(page, { label: 'nothing' })
      await page.click('button:text("Create key")')
      await page.waitForSelector('fieldset .error')
      await page.waitForFunction(() => document.activeElement?.getAttribute('name') === 'scopes')
    })

    it('are made by keyboard alone', async () => {
      const page = await pages.openSignedIn('/console/keys')
      await page.focus('summary')
      await page.keyboard.press('Enter')
      await page.keyboard.press('Tab')
      await page.keyboard.type('typed')
      await page.keyboard.press('Enter')
      await page.waitForSelector('.secrets')
      await page.waitForFunction(() => document.activeElement?.closest('.secrets') !== null)
    })
  })

  describe('for everybody', () => {
    it('axe finds nothing in any state, in light and dark, and nothing is cut off', async () => {
      const out = await pages.open('/console')
      await expectUsable(out, 'sign-in')
      await out.click('button:text("Sign in")')
      await expectUsable(out, 'sign-in with errors')
      await expectUsable(await pages.open('/console/sign-up'), 'sign-up')
      const page = await pages.openSignedIn('/console')
      await expectUsable(page, 'Home')
      for (const path of ['/console/account', '/console/nowhere', '/console/keys']) {
        await page.goto(pages.app.url + path)
        await settledOn(page)
        await expectUsable(page, path)
      }
      await page.click('text=Create a key')
      await fillOn(page, { label: 'a name that is as long as a name can be '.repeat(2) })
      await expectUsable(page, 'the form of a key')
      await page.click('button:text("Create key")')
      await page.waitForSelector('.secrets')
      await expectUsable(page, 'a key that was made')
      await page.click('td button:has-text("Revoke")')
      await page.click('dialog button:text("Revoke key")')
      await expectUsable(page, 'a window with an error')
      await page.keyboard.press('Escape')
      await page.setViewportSize({ width: 390, height: 844 })
      await page.click('text=Menu')
      await page.waitForSelector('.sidebar a:text("Account")')
      await expectUsable(page, 'the open menu')
      await page.setViewportSize({ width: 390, height: 844 })
      await page.click('.sidebar a:text("Account")')
      await waitForHeading(page, 'Account')
    })

    it('says without JavaScript what the console is, and how to do without', async () => {
      await pages.fresh({ javaScriptEnabled: false })
      const page = await pages.context.newPage()
      await page.goto(`${pages.app.url}/console/keys`)
      expect(await page.innerText('main'))
        .to.include('API keys')
        .and.to.include('JavaScript')
    })

    it(`loads less than ${MAX_BYTES_GZIPPED / 1000} KB, packed, for each page, which paints within a second`, async () => {
      // Owners of the organisation default see every page.
      const owner = await addMember(pages.app, { key: pages.app.adminKey }, 'owner')
      const first = await pages.open('/console')
      await signInOn(first, owner)
      await waitForHeading(first, 'Home')
      for (const { title, address } of PAGES.map((page) => ({ ...page, address: addressOf(page) }))) {
        await expectLight(pages.context, `${pages.app.url}${address}`, async (page) => {
          await waitForHeading(page, title)
          await settledOn(page)
        })
      }
    })
  })
})
