/** The till in Chromium: terminals of an organisation, a link that can be slow or cut, and what people do on the page. */
import { expect } from 'chai'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { TerminalCreated } from '../../src/domain/terminals/schemas.ts'
import { startTestApp, type TestApp, type TestOrganisation } from './app.ts'
import { type Camera, launchChromium } from './chromium.ts'
import { ok } from './client.ts'
import { type SlowProxy, startSlowProxy } from './servers/slow-proxy.ts'

/** Pages are slow while other files run beside them. */
const PATIENCE_MS = 30_000
const PHONE = { width: 390, height: 844 }

export interface Shop {
  readonly app: TestApp
  readonly browser: Browser
  /** Between browsers and the service; pages have its origin. */
  readonly link: SlowProxy
  /** The one of the running test. */
  readonly organisation: TestOrganisation
  /** What browsers complained of: blocked by the policy, or thrown by a script. */
  readonly complaints: string[]
  /** How far the service's clock is ahead of the real one. */
  shiftMs: number
  terminal(limits?: object): Promise<TerminalCreated>
  /** A browser that was never here. */
  device(): Promise<BrowserContext>
  /** The address that a device scans, through the link. */
  addressOf(terminal: TerminalCreated): string
  /** Pairs a new device with a new terminal. */
  paired(limits?: object): Promise<{ page: Page; context: BrowserContext; terminal: TerminalCreated }>
  /** What the service has booked, by transaction id. */
  booked(): Promise<{ transactionId: string; status: string; amount: number }[]>
  /** Begins anew: an organisation without terminals, no device, nothing complained of, a link that is fast, the right time. */
  anew(): Promise<void>
  close(): Promise<void>
}

export const startShop = async (camera?: Camera): Promise<Shop> => {
  let shiftMs = 0
  const clock = { now: () => Date.now() + shiftMs }
  const [browser, app] = await Promise.all([launchChromium(camera), startTestApp({ clock })])
  const link = await startSlowProxy(app.url, 0)
  let organisation = await app.organisation()
  const complaints: string[] = []
  const contexts: BrowserContext[] = []
  let made = 0
  const shop: Shop = {
    app,
    browser,
    link,
    get organisation() {
      return organisation
    },
    complaints,
    get shiftMs() {
      return shiftMs
    },
    set shiftMs(value) {
      shiftMs = value
    },
    terminal: (limits) =>
      ok(app, 'POST', '/console/api/terminals', {
        key: organisation.apiKey,
        body: { label: `Till ${++made}`, ...(limits && { limits }) },
      }),
    async device() {
      const context = await browser.newContext({ viewport: PHONE, locale: 'en-GB' })
      context.setDefaultTimeout(PATIENCE_MS)
      context.on('weberror', (error) => complaints.push(String(error.error())))
      context.on('console', (message) => {
        if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
          complaints.push(message.text())
      })
      contexts.push(context)
      return context
    },
    addressOf: ({ pairing }) => pairing.url.replace(/^[^#]*/, `${link.url}/terminal`),
    async paired(limits) {
      const [context, terminal] = await Promise.all([shop.device(), shop.terminal(limits)])
      const page = await context.newPage()
      await page.goto(shop.addressOf(terminal))
      await page.click('button:has-text("Become Till")')
      await page.waitForSelector('.keypad')
      await online(page)
      return { page, context, terminal }
    },
    async booked() {
      const { payments } = await ok<{
        payments: { transactionId: string; status: string; amount: number }[]
      }>(app, 'GET', '/console/api/payments', { key: organisation.apiKey })
      return payments
    },
    async anew() {
      await Promise.all(contexts.splice(0).map((context) => context.close()))
      complaints.length = 0
      made = 0
      link.cut(false)
      link.delayMs = 0
      shiftMs = 0
      organisation = await app.organisation()
    },
    async close() {
      await Promise.all(contexts.map((context) => context.close()))
      await browser.close()
      await link.close()
      await app.close()
    },
  }
  return shop
}

export const online = async (page: Page): Promise<void> => {
  await page.waitForSelector('.till-bar .state:text("Online")')
}

export const offline = async (page: Page): Promise<void> => {
  await page.waitForSelector('.till-bar .state:text("Offline")')
}

/** Types digits of minor units on the keypad, and the card token. */
export const enter = async (page: Page, digits: string, cardToken: string): Promise<void> => {
  for (const digit of digits) await page.click(`.keypad button:text-is("${digit}")`)
  await page.fill('[name="cardToken"]', cardToken)
}

/** Takes a payment. @returns the heading and the text of what the page says then */
export const take = async (page: Page, digits: string, cardToken: string): Promise<string> => {
  await enter(page, digits, cardToken)
  await page.click('button.pay')
  await page.waitForSelector('.result')
  return page.innerText('.result')
}

export const nextPayment = async (page: Page): Promise<void> => {
  await page.click('button:text("Next payment")')
  await page.waitForSelector('.keypad')
}

export const showView = async (page: Page, name: string): Promise<void> => {
  await page.click(`.tabs button:text("${name}")`)
  expect(await page.getAttribute(`.tabs button:text("${name}")`, 'aria-current')).to.equal('page')
}

/** Waits until the service has so many payments. */
export const bookedCount = async (shop: Shop, count: number): Promise<void> => {
  const until = Date.now() + PATIENCE_MS
  while ((await shop.booked()).length < count && Date.now() < until)
    await new Promise((resolve) => setTimeout(resolve, 100))
  expect(await shop.booked()).to.have.length(count)
}

/** Lets so much time pass since the test began, for the service and a page alike. */
export const setClocks = async (shop: Shop, page: Page, aheadMs: number): Promise<void> => {
  shop.shiftMs = aheadMs
  await page.clock.setSystemTime(Date.now() + aheadMs)
}

/**
 * Hooks of a suite: one shop for all its tests, with a new organisation for each, after which no browser may have
 * complained.
 *
 * @param use gets the shop once it has started
 */
export const inShop = (use: (shop: Shop) => void): void => {
  let shop: Shop
  before(async () => {
    shop = await startShop()
    use(shop)
  })
  after(() => shop?.close())
  beforeEach(() => shop.anew())
  afterEach(() => expect(shop.complaints).to.deep.equal([]))
}
