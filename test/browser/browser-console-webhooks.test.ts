/** A webhook endpoint through its life in the console: registered, tested, failing, and well again. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import type { AlertPage, AlertType } from '../../src/domain/security/schemas.ts'
import { FAILING_DROPS } from '../../src/domain/webhooks/store.ts'
import { verifyWebhook } from '../../src/protocol/webhook/webhook.ts'
import { ok } from '../support/client.ts'
import {
  type ConsolePages,
  eachInFreshBrowser,
  expectUsable,
  fillOn,
  ownerOf,
  settledOn,
} from '../support/console-page.ts'
import {
  answer,
  arrivals,
  deliveryOf,
  newPath,
  settled,
  startWebhookApp,
  until,
  verify,
  type WebhookApp,
} from '../support/webhooks.ts'

describe('a webhook endpoint in the console in Chromium', function () {
  this.timeout(600_000)
  let pages: ConsolePages
  let context: WebhookApp

  eachInFreshBrowser(
    (started) => {
      pages = started
    },
    async () => {
      context = await startWebhookApp()
      return { ...context.app, close: () => context.close() }
    },
  )

  /** Registers an endpoint that answers 204. @returns its path, its id and the secret that is shown once */
  const registerOn = async (page: Page) => {
    const path = newPath()
    context.receiver.on(path, answer(204))
    await page.click('text=Register an endpoint')
    await fillOn(page, { label: 'Orders', url: context.receiver.url + path })
    await page.check('input[value="proof.verified"]')
    await page.click('button:text("Register endpoint")')
    await page.waitForSelector('.secrets')
    const secret = await page.inputValue('.secrets input')
    await page.click('text=I have kept it')
    await page.waitForSelector('td >> text=Orders')
    return { path, secret }
  }
  const testOn = async (page: Page): Promise<string> => {
    await page.click('td button:has-text("Test")')
    await page.click('dialog button:text("Send a test event")')
    await page.waitForSelector('dialog', { state: 'detached' })
    return page.innerText('main [role="status"] .notice')
  }
  const lastDelivery = (page: Page): Promise<string> => page.innerText('td[data-title="Last delivery"]')
  const show = async (page: Page, path: string): Promise<void> => {
    await page.goto(pages.app.url + path)
    await settledOn(page)
  }

  it('is tested at once, with the secret that was shown once, and its last delivery is seen', async () => {
    const page = await pages.openSignedIn('/console/webhooks')
    const { path, secret } = await registerOn(page)
    expect(await page.content()).to.not.include(secret)
    expect(await lastDelivery(page)).to.include('None yet')

    expect(await testOn(page))
      .to.include('Orders: The test was delivered')
      .and.match(/Answered 204 after \d+ ms/)
    const [request] = await arrivals(context.receiver, path, 1)
    if (request === undefined) throw new Error('no request')
    const { body: rawBody, headers, at: now } = request
    expect(verifyWebhook({ rawBody, headers, secret, now }).valid).to.equal(true)
    expect(deliveryOf(request).event).to.equal('webhook.test')
    expect(await lastDelivery(page)).to.include('Answered 204')
    await expectUsable(page, 'a webhook that was tested')

    context.receiver.on(path, answer(503))
    expect(await testOn(page))
      .to.include('Orders: The test was not delivered')
      .and.include('Answered 503')
    expect(await lastDelivery(page))
      .to.include('Answered 503')
      .and.not.include('given up')
    await expectUsable(page, 'a webhook whose test failed')
  })

  it('raises an alert when it fails, on Home and in Alerts, and another when it delivers again', async () => {
    const page = await pages.openSignedIn('/console/webhooks')
    const { apiKey } = await ownerOf(pages.app, page.account)
    const { path } = await registerOn(page)
    const alerted = async (type: AlertType): Promise<void> => {
      await settled(pages.app)
      await until(type, async () => {
        const { alerts } = await ok<AlertPage>(pages.app, 'GET', '/console/api/alerts', { key: apiKey })
        return alerts.some((alert) => alert.type === type)
      })
    }
    await verify(pages.app, apiKey)
    await settled(pages.app)
    await show(page, '/console/webhooks')
    expect(await lastDelivery(page)).to.include('Answered 204')
    await show(page, '/console')
    expect(await page.innerText('main')).to.include('Nothing needs a look.')

    context.receiver.on(path, answer(500))
    for (let event = 0; event < FAILING_DROPS; event++) await verify(pages.app, apiKey)
    await arrivals(context.receiver, path, 1 + FAILING_DROPS * 3)
    await alerted('webhook_failing')
    await show(page, '/console/webhooks')
    expect(await lastDelivery(page))
      .to.include('Answered 500')
      .and.include('fails since')
      .and.include(`${FAILING_DROPS} events were given up`)
    await expectUsable(page, 'a webhook that fails')
    for (const address of ['/console', '/console/alerts']) {
      await show(page, address)
      await page.waitForSelector('td >> text=A webhook endpoint fails')
      expect(await page.innerText('main')).to.not.include('delivers again')
    }
    await page.waitForSelector('td >> text=Make it answer with a status of 200 to 299')

    context.receiver.on(path, answer(204))
    await verify(pages.app, apiKey)
    await arrivals(context.receiver, path, 1 + FAILING_DROPS * 3 + 1)
    await alerted('webhook_recovered')
    await show(page, '/console/webhooks')
    expect(await lastDelivery(page))
      .to.include('Answered 204')
      .and.not.include('fails since')
    for (const address of ['/console', '/console/alerts']) {
      await show(page, address)
      await page.waitForSelector('td >> text=A webhook endpoint delivers again')
    }
    for (let left = 2; left > 0; left--) {
      await page.click('td button:has-text("Resolve")')
      await page.click('dialog button[type="submit"]:text("Resolve")')
      await page.waitForSelector('dialog', { state: 'detached' })
      await page.waitForFunction((rows) => document.querySelectorAll('tbody tr').length === rows, left - 1)
    }
    await page.click('.sidebar a:text("Home")')
    await page.waitForSelector('text=Nothing needs a look.')
  })
})
