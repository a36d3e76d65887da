/** What somebody who means harm can do to the console: nothing. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { type ConsolePages, fillOn, signInOn, startConsolePages } from '../support/console-page.ts'
import { signUp } from '../support/domain/accounts.ts'

const MARKUP = '<img src=x onerror="document.title=1"><b>bold</b>'
const COOKIE = 'assay_session'

describe('the security of the console in Chromium', function () {
  this.timeout(300_000)
  let pages: ConsolePages

  before(async () => {
    pages = await startConsolePages()
  })
  after(() => pages?.close())
  beforeEach(() => pages.fresh())

  const sessionCookie = async () => (await pages.context.cookies()).find(({ name }) => name === COOKIE)
  const createKeyOn = async (page: Page, label: string): Promise<string> => {
    await page.click('text=Create a key')
    await fillOn(page, { label })
    await page.click('button:text("Create key")')
    await page.waitForSelector('.secrets')
    return page.inputValue('.secrets input')
  }

  it('shows names with markup as they are, and runs nothing of them', async () => {
    const account = {
      email: `${Date.now()}@shop.example`,
      password: 'correct horse battery',
      organisation: MARKUP,
    }
    await pages.app.request('POST', '/console/api/accounts', { body: account })
    const page = await pages.open('/console/keys')
    await signInOn(page, account)
    await page.waitForSelector('.sidebar')
    await createKeyOn(page, MARKUP)
    await page.click('td button:has-text("Revoke")')
    await fillOn(page, { name: 'another' }, 'dialog')
    await page.click('dialog button:text("Revoke key")')
    await page.waitForSelector('dialog .error >> text=Type')
    for (const place of ['.who', '.secrets h2', 'td', 'dialog h2', 'dialog .error'])
      expect(await page.innerText(place), place).to.include(MARKUP)
    expect(await page.$$('#console img, #console b')).to.deep.equal([])
    expect(await page.title()).to.equal('API keys · Console · Assay')
    expect(pages.complaints).to.deep.equal([])
  })

  it('runs no script that came another way, and makes no markup of text', async () => {
    const page = await pages.openSignedIn('/console')
    const refused = await page.evaluate(() => {
      const script = document.createElement('script')
      const attempts: [string, () => void][] = [
        ['innerHTML', () => Object.assign(document.body, { innerHTML: '<b>x</b>' })],
        ['script text', () => Object.assign(script, { text: 'document.title = "run"' })],
      ]
      return attempts
        .filter(([, attempt]) => {
          try {
            attempt()
            return false
          } catch {
            return true
          }
        })
        .map(([name]) => name)
    })
    expect(refused).to.deep.equal(['innerHTML', 'script text'])
  })

  it('changes nothing for a request without the token, or with that of another session', async () => {
    const page = await pages.openSignedIn('/console/keys')
    const { email, password } = await signUp(pages.app)
    const signedIn = await pages.app.request<{ csrfToken: string }>('POST', '/console/api/session', {
      body: { email, password },
    })
    const statuses: string[] = []
    const tokens: Record<string, string>[] = [{}, { 'X-CSRF-Token': signedIn.body.csrfToken }]
    for (const token of tokens)
      statuses.push(
        await page.evaluate(async (headers: Record<string, string>) => {
          const answer = await fetch('/console/api/keys', {
            method: 'POST',
            headers: { 'Content-Type': 'application/json', ...headers },
            body: '{"label":"forged"}',
          })
          return `${answer.status} ${(await answer.json()).error}`
        }, token),
      )
    expect(statuses).to.deep.equal(['403 csrf_required', '403 csrf_required'])
  })

  it('sends no cookie with what another site posts', async () => {
    await pages.openSignedIn('/console')
    await pages.context.route('http://evil.example/', (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<form method="post" action="${pages.app.url}/console/api/keys"></form>`,
      }),
    )
    const evil = await pages.context.newPage()
    await evil.goto('http://evil.example/')
    const [request] = await Promise.all([
      evil.waitForRequest(/\/console\/api\/keys/),
      evil.evaluate(() => document.forms[0]?.submit()),
    ])
    expect(await request.headerValue('cookie')).to.equal(null)
  })

  it('can’t be framed by another site', async () => {
    await pages.context.route('http://evil.example/', (route) =>
      route.fulfill({ contentType: 'text/html', body: `<iframe src="${pages.app.url}/console"></iframe>` }),
    )
    const evil = await pages.context.newPage()
    await evil.goto('http://evil.example/')
    await evil.waitForFunction(() => document.readyState === 'complete')
    const framed = evil.frames().find((frame) => frame !== evil.mainFrame())
    expect(framed?.url()).to.match(/^chrome-error:/)
    expect(await framed?.$('main')).to.equal(null)
  })

  it('takes no session that was planted before signing in, and ends its own at sign-out', async () => {
    const planted = 'A'.repeat(43)
    await pages.context.addCookies([{ name: COOKIE, value: planted, url: pages.app.url }])
    const page = await pages.openSignedIn('/console')
    const cookie = await sessionCookie()
    expect(cookie?.value).to.not.equal(planted)
    expect(cookie).to.include({ httpOnly: true, sameSite: 'Lax', path: '/' })
    expect(await page.evaluate(() => document.cookie)).to.equal('')
    await page.click('text=Sign out')
    await page.waitForSelector('h1:text("Sign in")')
    expect(await sessionCookie()).to.equal(undefined)
    for (const value of [planted, cookie?.value]) {
      const { status } = await pages.app.request('GET', '/console/api/me', {
        headers: { cookie: `${COOKIE}=${value}` },
      })
      expect(status).to.equal(401)
    }
  })

  it('puts no secret into an address, into storage or into the history', async () => {
    const addresses: string[] = []
    pages.context.on('request', (request) => addresses.push(request.url()))
    const page = await pages.openSignedIn('/console/keys')
    const apiKey = await createKeyOn(page, 'kept nowhere')
    const { csrfToken } = await page.evaluate(async () => (await fetch('/console/api/me')).json())
    await page.click('.sidebar a:text("Account")')
    await page.waitForSelector('h1:text("Account")')
    const kept = await page.evaluate(async () =>
      JSON.stringify([
        { ...localStorage },
        { ...sessionStorage },
        await indexedDB.databases(),
        await caches.keys(),
        history.state,
        location.href,
      ]),
    )
    expect(kept).to.match(/^\[\{\},\{\},\[\],\[\],null,/)
    for (const secret of [apiKey, csrfToken, page.account.password]) {
      expect(secret).to.be.a('string').and.not.equal('')
      expect(kept).to.not.include(secret)
      expect(addresses.join(' ')).to.not.include(secret)
      expect(await page.content()).to.not.include(secret)
    }
  })
})
