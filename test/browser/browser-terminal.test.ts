import { expect } from 'chai'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { PaymentInput, PaymentResult, Pending, Status } from '../../src/terminal/index.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { launchChromium } from '../support/chromium.ts'
import { rejection } from '../support/rejection.ts'
import {
  callTill,
  openTerminalPage,
  openTill,
  readyTerminalPage,
  serveTerminalPage,
  type TerminalScope,
  terminalFile,
} from '../support/terminal-page.ts'

const pay = (page: Page, input: PaymentInput): Promise<PaymentResult> => callTill(page, 'pay', input)
const pending = (page: Page): Promise<Pending> => callTill(page, 'pending')
const status = (page: Page): Promise<Status> => callTill(page, 'status')
const probe = (page: Page): Promise<boolean> => callTill(page, 'probe')

describe('terminal in Chromium', () => {
  let browser: Browser
  let app: TestApp
  let pages: Awaited<ReturnType<typeof serveTerminalPage>>
  let context: BrowserContext

  before(async () => {
    pages = await serveTerminalPage()
    ;[browser, app] = await Promise.all([launchChromium(), startTestApp()])
  })
  after(async () => {
    await browser?.close()
    await app?.close()
    pages.close()
  })
  // Each test has a context of its own: storage is fresh, tabs share it.
  beforeEach(async () => {
    context = await browser.newContext()
  })
  afterEach(() => context.close())

  const cutOff = () => context.route(`${app.url}/**`, (route) => route.abort())
  const reconnect = () => context.unroute(`${app.url}/**`)

  const openPage = (address = pages.address): Promise<Page> => openTerminalPage(context, address)
  const newOptions = async (): Promise<object> => {
    const { apiKey, merchantId } = await app.organisation()
    return { baseUrl: app.url, apiKey, merchantId }
  }

  it('says that it needs a secure context', async () => {
    await context.route('http://till.example/**', async (route) => {
      const found = await terminalFile(new URL(route.request().url()).pathname)
      return found ? route.fulfill(found) : route.abort()
    })
    const page = await openPage('http://till.example/')
    const error = await rejection(openTill(page, await newOptions()))
    expect(String(error)).to.include('HTTPS or localhost')
  })

  it('keeps offline payments over a reload and uploads them once the server is back', async () => {
    const options = await newOptions()
    await cutOff()
    const page = await openPage()
    await openTill(page, options)
    const results = [
      await pay(page, { cardToken: 'tok_1', amount: 12.5 }),
      await pay(page, { cardToken: 'tok_2', amount: 1, paymentMethod: 'nfc' }),
    ]
    for (const result of results)
      expect(result).to.include({ accepted: true, queued: true, synced: false, proofBytes: 49 })

    await page.reload()
    await readyTerminalPage(page)
    await openTill(page, options)
    expect(await pending(page)).to.deep.include({ count: 2, sums: { GBP: '13.50' } })
    expect((await pay(page, { cardToken: 'tok_1', amount: 12.5 })).error).to.match(/^DOUBLE_SPEND: /)

    await reconnect()
    await page.waitForFunction(() => (globalThis as TerminalScope).till.pending().count === 0)
    const events = await page.evaluate(() => (globalThis as TerminalScope).events)
    expect(events).to.deep.include(['online', undefined])
    expect(events.filter(([event]) => event === 'synced').map(([, id]) => id)).to.deep.equal(
      results.map(({ transactionId }) => transactionId),
    )
    expect((await status(page)).rejected).to.deep.equal([])
    expect((await pay(page, { cardToken: 'tok_2', amount: 1 })).error).to.match(/^DOUBLE_SPEND: /)
  })

  it('asks the server while it is there, which knows cards used at other tills', async () => {
    const options = await newOptions()
    const other = await browser.newContext()
    try {
      const page = await openPage()
      await openTill(page, options)
      expect(await probe(page)).to.equal(true)
      expect(await pay(page, { cardToken: 'tok_1', amount: 5 })).to.include({ accepted: true, synced: true })
      const otherPage = await openTerminalPage(other, pages.address)
      await openTill(otherPage, options)
      expect(await probe(otherPage)).to.equal(true)
      const refused = await pay(otherPage, { cardToken: 'tok_1', amount: 5 })
      expect(refused).to.include({ accepted: false, queued: false })
      expect(refused.error).to.match(/^DOUBLE_SPEND: /)
    } finally {
      await other.close()
    }
  })

  it('lets one tab in and takes over once that is closed', async () => {
    const options = await newOptions()
    const first = await openPage()
    await openTill(first, options)
    const second = await openPage()
    const refusal = await openTill(second, options).catch((error: unknown) => String(error))
    expect(refusal).to.include('Another tab uses this terminal')
    await first.close()
    // The browser gives the lock back a moment after the tab is gone: whoever waits for it gets it then.
    await second.evaluate(() => navigator.locks.request('assay-terminal:assay-terminal', () => {}))
    await openTill(second, options)
    expect(await pay(second, { cardToken: 'tok_1', amount: 1 })).to.include({ accepted: true })
  })

  it('stops at damage, and recovers what can be read', async () => {
    const options = await newOptions()
    await cutOff()
    const page = await openPage()
    await openTill(page, options)
    for (const card of ['tok_1', 'tok_2', 'tok_3']) await pay(page, { cardToken: card, amount: 1 })
    await page.evaluate(async () => {
      const scope = globalThis as TerminalScope
      await scope.till.close()
      const db = await new Promise<IDBDatabase>((resolve) => {
        const request = indexedDB.open('assay-terminal')
        request.onsuccess = () => resolve(request.result)
      })
      // Row 1 names the terminal's journal, row 2 its merchant; row 4 is the second payment.
      const store = db.transaction('frames', 'readwrite').objectStore('frames')
      const read = store.get(4)
      await new Promise<void>((resolve) => {
        read.onsuccess = () => {
          const frame = read.result as Uint8Array
          frame[40] = (frame[40] ?? 0) ^ 1
          store.put(frame, 4).onsuccess = () => resolve()
        }
      })
      db.close()
    })
    const refusal = await openTill(page, options).catch((error: unknown) => String(error))
    expect(refusal).to.include("recoverIndexedDb('assay-terminal')")
    const found = await page.evaluate(() => (globalThis as TerminalScope).recover())
    expect(found).to.include({ frames: 4, nullifiersLost: false })
    await openTill(page, options)
    expect((await pending(page)).count).to.equal(2)
  })
})
