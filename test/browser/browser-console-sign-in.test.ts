/** Signing in to the console with more than a password. */
import { expect } from 'chai'
import readQrCode from 'jsqr'
import type { Page } from 'playwright-core'
import {
  type ConsolePages,
  eachInFreshBrowser,
  expectUsable,
  fillOn,
  settledOn,
  signInOn,
  startConsolePages,
} from '../support/console-page.ts'
import { codeOf } from '../support/domain/totp.ts'
import { readPng } from '../support/png.ts'
import { type IdentityProvider, startIdentityProvider } from '../support/servers/identity-provider.ts'
import { freePort } from '../support/servers/server-process.ts'

/** jsqr names its own type of module wrongly. */
const readQr = readQrCode as unknown as typeof readQrCode.default

describe('one-time codes in Chromium', function () {
  this.timeout(600_000)
  let pages: ConsolePages

  eachInFreshBrowser((started) => {
    pages = started
  })

  /** Sets one-time codes up, with what the QR code says. @returns the secret, and the recovery codes that are shown */
  const setUpOn = async (page: Page, password: string) => {
    await page.click('text=Set up one-time codes')
    await fillOn(page, { password }, 'details[open]')
    await page.click('button:text("Go on")')
    await page.waitForSelector('.qr')
    const { data, width, height } = readPng(await page.locator('.qr').screenshot({ omitBackground: true }))
    const uri = new URL(readQr(data, width, height)?.data ?? expect.fail('no QR code'))
    const secret = uri.searchParams.get('secret') ?? ''
    expect(await page.inputValue('[aria-labelledby="scan"] input.code')).to.equal(secret)
    return { secret }
  }
  const switchOn = async (page: Page, secret: string): Promise<string[]> => {
    await fillOn(page, { code: codeOf({ secret }) })
    await page.click('button:text("Switch on")')
    await page.waitForSelector('.secrets')
    return (await page.inputValue('.secrets input')).split(' ')
  }
  const problemOf = async (page: Page): Promise<string> => {
    await page.waitForSelector('form [role="alert"]:not(:empty)')
    return page.innerText('form [role="alert"]:not(:empty)')
  }
  const signOutOn = async (page: Page): Promise<void> => {
    await page.click('text=Sign out')
    await page.waitForSelector('h1:text("Sign in")')
  }

  it('are set up by scanning, asked for from then on, and switched off', async () => {
    const page = await pages.openSignedIn('/console/account')
    const { password } = page.account
    const { secret } = await setUpOn(page, password)
    await fillOn(page, { code: '000000' })
    await page.click('button:text("Switch on")')
    expect(await problemOf(page)).to.match(/one-time code is wrong/)
    const recoveryCodes = await switchOn(page, secret)
    expect(recoveryCodes).to.have.length(10)
    await page.click('text=I have kept it')
    expect(await page.innerText('[aria-labelledby="second-factor"]')).to.include('Recovery codes left: 10')
    expect(await page.content()).to.not.include(secret)

    await signOutOn(page)
    await signInOn(page, page.account)
    await page.waitForSelector('text=also needs a code')
    await page.waitForFunction(() => document.activeElement?.getAttribute('name') === 'code')
    await fillOn(page, { code: '000000' })
    await page.click('button:text("Sign in")')
    expect(await problemOf(page)).to.match(/one-time code is wrong/)
    await fillOn(page, { code: recoveryCodes[0] ?? '' })
    await page.click('button:text("Sign in")')
    await page.waitForSelector('.sidebar')
    await settledOn(page)
    expect(await page.innerText('[aria-labelledby="second-factor"]')).to.include('Recovery codes left: 9')

    await page.click('text=Make new recovery codes')
    await fillOn(page, { password, code: recoveryCodes[1] ?? '' }, 'dialog')
    await page.click('dialog button:text("Make new codes")')
    await page.waitForSelector('.secrets')
    const [fresh = ''] = (await page.inputValue('.secrets input')).split(' ')
    await page.click('button:text("Switch off")')
    await fillOn(page, { password, code: recoveryCodes[2] ?? '' }, 'dialog')
    await page.click('dialog button:text("Switch off")')
    await page.waitForSelector('dialog [role="alert"]:not(:empty)')
    await fillOn(page, { password, code: fresh }, 'dialog')
    await page.click('dialog button:text("Switch off")')
    await page.waitForSelector('text=Your password alone opens the account.')
    // Codes that open nothing any more are not shown as such that do.
    expect(await page.$('.secrets')).to.equal(null)
    await signOutOn(page)
    await signInOn(page, page.account)
    await page.waitForSelector('.sidebar')
  })

  it('axe finds nothing in any state, in light and dark, and nothing is cut off', async () => {
    const page = await pages.openSignedIn('/console/account')
    await page.click('text=Set up one-time codes')
    await expectUsable(page, 'codes are off')
    await page.click('text=Set up one-time codes')
    const { secret } = await setUpOn(page, page.account.password)
    await page.click('button:text("Switch on")')
    await expectUsable(page, 'a code to scan')
    await switchOn(page, secret)
    await expectUsable(page, 'recovery codes')
    await page.click('text=I have kept it')
    await expectUsable(page, 'codes are on')
    await page.click('button:text("Switch off")')
    await page.click('dialog button:text("Switch off")')
    await expectUsable(page, 'switching off')
    await page.keyboard.press('Escape')
    await signOutOn(page)
    await signInOn(page, page.account)
    await page.waitForSelector('text=also needs a code')
    await page.click('button:text("Sign in")')
    await expectUsable(page, 'a code is asked for')
    await page.click('text=Start again')
    expect(await page.isVisible('[name="email"]')).to.equal(true)
  })
})

describe('an identity provider in Chromium', function () {
  this.timeout(600_000)
  let pages: ConsolePages
  let provider: IdentityProvider

  before(async () => {
    const port = await freePort()
    const baseUrl = `http://127.0.0.1:${port}`
    provider = await startIdentityProvider(baseUrl)
    pages = await startConsolePages({ ...provider.env, PORT: String(port), BASE_URL: baseUrl })
  })
  after(async () => {
    await pages?.close()
    await provider?.close()
  })
  beforeEach(() => pages.fresh())

  /** What the provider shows: who one is, and whether this service may know. */
  const passOn = async (page: Page, login?: string): Promise<void> => {
    if (login !== undefined) {
      await page.fill('[name="login"]', login)
      await page.fill('[name="password"]', 'x')
      await page.click('button[type="submit"]')
    }
    if (login !== undefined) await page.click('button[type="submit"]')
  }

  it('is linked on the page Account, signs in from then on, and is unlinked', async () => {
    const page = await pages.openSignedIn('/console/account')
    await expectUsable(page, 'not linked')
    await page.click('text=Link the account')
    await fillOn(page, { password: page.account.password }, '[aria-labelledby="identity"]')
    await page.click('[aria-labelledby="identity"] button:text("Go on")')
    await passOn(page, 'ada')
    await page.waitForSelector('[aria-labelledby="identity"] >> text=Linked')
    expect(new URL(page.url()).search).to.equal('')
    await expectUsable(page, 'linked')
    await page.click('text=Sign out')
    await page.waitForSelector('button:text("Sign in with Example")')
    await expectUsable(page, 'sign-in with a provider')
    await page.click('button:text("Sign in with Example")')
    await page.waitForSelector('.sidebar')
    expect(await page.innerText('.who')).to.include(page.account.email.toLowerCase())
    expect(new URL(page.url()).pathname).to.equal('/console')
    await page.click('.sidebar a:text("Account")')
    await page.click('button:text("Unlink")')
    await expectUsable(page, 'unlinking')
    await page.click('dialog button:text("Unlink account")')
    await page.waitForSelector('text=Not linked')
    await page.click('text=Sign out')
    await page.click('button:text("Sign in with Example")')
    await page.waitForSelector('h1:text("Not signed in")')
    expect(await page.innerText('main [role="alert"]')).to.match(/No account is linked to this identity/)
    await expectUsable(page, 'nobody is linked')
    await page.click('text=Back to Sign in')
    await page.waitForSelector('h1:text("Sign in")')
    expect(pages.complaints).to.deep.equal([])
  })

  it('says that a sign-in was not begun here', async () => {
    const page = await pages.context.newPage()
    await page.goto(`${pages.app.url}/console/oidc?code=x&state=y`)
    await page.waitForSelector('h1:text("Not signed in")')
    expect(await page.innerText('main [role="alert"]')).to.match(/not begun in this browser/)
  })
})
