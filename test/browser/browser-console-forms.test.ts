/** The console's forms when answers are lost: what is sent again is done once, and what somebody changed is all that is sent. */
import { expect } from 'chai'
import type { Page, Request } from 'playwright-core'
import type { OrganisationCreated } from '../../src/domain/accounts/schemas.ts'
import { ok } from '../support/client.ts'
import {
  type ConsolePages,
  eachInFreshBrowser,
  expectUsable,
  fillOn,
  settledOn,
  signInOn,
} from '../support/console-page.ts'
import { signIn } from '../support/domain/accounts.ts'
import { addMember } from '../support/domain/team.ts'

const KEY = 'idempotency-key'

/** Forms that make something whose secret is shown once. */
const MAKING = [
  {
    what: 'a key',
    path: '/console/keys',
    summary: 'Create a key',
    action: 'Create key',
    route: '/console/api/keys',
    values: { label: 'web shop' },
    other: { label: 'warehouse' },
  },
  {
    what: 'a terminal',
    path: '/console/terminals',
    summary: 'Create a terminal',
    action: 'Create terminal',
    route: '/console/api/terminals',
    values: { label: 'till 1' },
    other: { label: 'till 2' },
  },
  {
    what: 'a webhook endpoint',
    path: '/console/webhooks',
    summary: 'Register an endpoint',
    action: 'Register endpoint',
    route: '/api/webhooks',
    values: { label: 'orders', url: 'https://93.184.215.14/hooks' },
    other: { label: 'stock' },
  },
] as const

describe('the console’s forms in Chromium', function () {
  this.timeout(600_000)
  let pages: ConsolePages

  eachInFreshBrowser((started) => {
    pages = started
  })

  /** Lets a request reach the service, and its answer get lost. @param times how often */
  const loseAnswers = (path: string, times: number) =>
    pages.context.route(
      (url) => url.pathname === path,
      async (route) => {
        if (route.request().method() === 'GET') return route.fallback()
        await route.fetch()
        await route.abort()
      },
      { times },
    )
  /** What was sent to a route, in order. */
  const sentTo = (page: Page, path: string): Request[] => {
    const sent: Request[] = []
    page.on('request', (request) => {
      if (request.method() !== 'GET' && new URL(request.url()).pathname === path) sent.push(request)
    })
    return sent
  }
  const keysOf = (requests: readonly Request[]): (string | undefined)[] =>
    requests.map((request) => request.headers()[KEY])
  const expectLost = async (page: Page, within = 'form'): Promise<void> => {
    await page.waitForSelector(`${within} [role="alert"]:has-text("does not answer")`)
    expect(await page.innerText(`${within} [role="alert"]:not(:empty)`)).to.include('is not done twice')
  }

  for (const { what, path, summary, action, route, values, other } of MAKING)
    it(`make ${what} once when the answer was lost, and show what the first one was`, async () => {
      const page = await pages.openSignedIn(path)
      const sent = sentTo(page, route)
      const press = () => page.click(`button:text("${action}")`)
      const made = () => page.locator('main td:first-child strong').allInnerTexts()
      await page.click(`summary:text("${summary}")`)
      await fillOn(page, values)
      if ('url' in values) await page.check('input[value="proof.verified"]')

      await loseAnswers(route, 2)
      for (let lost = 1; lost <= 2; lost++) {
        await press()
        await page.waitForFunction(() => document.querySelector('button[aria-disabled="false"]') !== null)
        await expectLost(page)
      }
      await expectUsable(page, `${what} whose answer was lost`)
      await press()
      await page.waitForSelector('.secrets')
      const [first, second, third] = keysOf(sent)
      expect(first).to.match(/^[\x21-\x7e]{16,255}$/)
      expect([second, third]).to.deep.equal([first, first])
      const secrets = await page
        .locator('.secrets input')
        .evaluateAll((inputs) => inputs.map((input) => (input as HTMLInputElement).value))
      await page.waitForSelector('td >> text=Active')
      expect(await made()).to.deep.equal([values.label])
      if (what === 'a key')
        await ok(pages.app, 'GET', '/console/api/me', { key: secrets[0] ?? expect.fail('no key') })

      // Another after it, of the same words: nobody asked for the first one again.
      await page.click('text=I have kept it')
      await page.click(`summary:text("${summary}")`)
      await fillOn(page, values)
      if ('url' in values) await page.check('input[value="proof.verified"]')
      await press()
      await page.waitForSelector('.secrets')
      await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 2)
      expect(await page.locator('.secrets input').first().inputValue()).to.not.equal(secrets[0])

      // A changed field is another request, whatever became of the first.
      await page.click('text=I have kept it')
      await page.click(`summary:text("${summary}")`)
      await fillOn(page, values)
      if ('url' in values) await page.check('input[value="proof.verified"]')
      await loseAnswers(route, 1)
      await press()
      await expectLost(page)
      await fillOn(page, other)
      await press()
      await page.waitForSelector('.secrets')
      expect(new Set(keysOf(sent)).size).to.equal(4)
    })

  it('make one under a session that another window began meanwhile', async () => {
    const page = await pages.openSignedIn('/console/keys')
    const sent = sentTo(page, '/console/api/keys')
    await page.click('text=Create a key')
    await fillOn(page, { label: 'once' })
    await loseAnswers('/console/api/keys', 1)
    await page.click('button:text("Create key")')
    await expectLost(page)
    const again = await pages.open('/console')
    await again.click('text=Sign out')
    await signInOn(again, page.account)
    await again.waitForSelector('.sidebar')
    await page.click('button:text("Create key")')
    await page.waitForSelector('.secrets')
    expect(new Set(keysOf(sent)).size).to.equal(1)
    await page.waitForSelector('td >> text=once')
    expect(await page.locator('tbody tr').count()).to.equal(1)
  })

  it('send nothing of a key where no route takes one, and none for what changes nothing twice', async () => {
    const page = await pages.openSignedIn('/console/screening')
    const settings = sentTo(page, '/console/api/review-settings')
    const session = sentTo(page, '/console/api/session')
    await page.click('button:text("Ask for a second reviewer")')
    await page.click('dialog button[type="submit"]')
    await page.waitForSelector('text=Two members decide')
    await page.click('button:text("Sign out")')
    await signInOn(page, page.account)
    await page.waitForSelector('.sidebar')
    expect([settings.length, session.length]).to.deep.equal([1, 2])
    expect(keysOf([...settings, ...session])).to.deep.equal([undefined, undefined, undefined])
  })

  it('are over the page as soon as they are in it, so that no key is lost', async () => {
    const page = await pages.openSignedIn('/console/keys')
    const { headers } = await signIn(pages.app, page.account)
    const body = { label: 'shop', scopes: ['verify'] }
    await ok(pages.app, 'POST', '/console/api/keys', { headers, body })
    await page.reload()
    await settledOn(page)
    const isModal = await page.locator('td button:has-text("Replace")').evaluate((button: HTMLElement) => {
      const seen = new Promise<boolean>((resolve) => {
        const observer = new MutationObserver(() => {
          const dialog = document.querySelector('dialog')
          if (dialog !== null) resolve(dialog.matches(':modal'))
        })
        observer.observe(document.body, { childList: true, subtree: true })
      })
      button.click()
      return seen
    })
    expect(isModal).to.equal(true)
    await page.keyboard.press('Escape')
    await page.waitForSelector('dialog', { state: 'detached' })
  })

  it('begin anew in a window that was closed', async () => {
    const page = await pages.openSignedIn('/console/keys')
    const { headers } = await signIn(pages.app, page.account)
    const { keyId } = await ok<{ keyId: string }>(pages.app, 'POST', '/console/api/keys', {
      headers,
      body: { label: 'shop', scopes: ['verify'] },
    })
    const route = `/console/api/keys/${keyId}/rotate`
    const sent = sentTo(page, route)
    await page.reload()
    await settledOn(page)
    await pages.context.route(`**${route}`, (one) => one.abort(), { times: 1 })
    await page.click('td button:has-text("Replace")')
    await page.click('dialog button:text("Replace key")')
    await expectLost(page, 'dialog form')
    await page.keyboard.press('Escape')
    await page.click('td button:has-text("Replace")')
    await page.click('dialog button:text("Replace key")')
    await page.waitForSelector('.secrets')
    expect(new Set(keysOf(sent)).size).to.equal(2)
  })

  it('change what was changed and nothing else, so that two operators keep out of each other’s way', async () => {
    const { organisationId } = await ok<OrganisationCreated>(
      pages.app,
      'POST',
      '/console/api/organisations',
      { key: pages.app.adminKey, body: { name: 'Shared shop' } },
    )
    const operator = await addMember(pages.app, { key: pages.app.adminKey }, 'owner')
    const open = async (): Promise<Page> => {
      const page = await pages.open('/console/organisations?name=Shared')
      await page.click('td button:has-text("Change")')
      return page
    }
    const first = await pages.open('/console')
    await signInOn(first, operator)
    await first.waitForSelector('.sidebar')
    const [one, other, third] = [await open(), await open(), await open()]
    const sent = [one, other, third].map((page) =>
      sentTo(page, `/console/api/organisations/${organisationId}`),
    )
    const save = async (page: Page): Promise<void> => {
      await page.click('dialog button:text("Save")')
      await page.waitForSelector('dialog', { state: 'detached' })
    }
    await one.selectOption('dialog [name="subscription"]', 'inactive')
    await save(one)
    await fillOn(other, { rateLimitPerMinute: '77' }, 'dialog')
    await save(other)
    await save(third)
    expect(sent.map((requests) => requests.map((request) => request.postDataJSON()))).to.deep.equal([
      [{ subscription: 'inactive' }],
      [{ rateLimitPerMinute: 77 }],
      [],
    ])
    for (const page of [other, third]) {
      await page.waitForSelector('td >> text=Inactive')
      expect(await page.innerText('tbody')).to.include('77')
    }
  })
})
