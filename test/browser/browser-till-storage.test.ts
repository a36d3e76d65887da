/** The till in Chromium when the storage of the browser fails, and comes back; and where the focus is. */
import { expect } from 'chai'
import type { BrowserContext, Page } from 'playwright-core'
import { expectUsable } from '../support/console-page.ts'
import {
  bookedCount,
  inShop,
  nextPayment,
  offline,
  online,
  type Shop,
  showView,
  take,
} from '../support/till-page.ts'

type Fault = 'open' | 'write' | 'write settings' | undefined

interface Faulty {
  fault: Fault
}

describe('the till in Chromium, when the storage of the browser fails', function () {
  this.timeout(600_000)
  let shop: Shop

  inShop((started) => {
    shop = started
  })

  /** Lets the till's own database, beside the journal, fail where the page has a fault set. */
  const withFaults = (context: BrowserContext) =>
    context.addInitScript(() => {
      // A blank page has no storage.
      if (location.protocol !== 'http:') return
      const page = globalThis as unknown as Faulty
      page.fault = (sessionStorage.getItem('fault') ?? undefined) as Fault
      const { open } = IDBFactory.prototype
      IDBFactory.prototype.open = function (name, ...version) {
        if (page.fault === 'open' && name === 'assay-till') throw new DOMException('Internal error.')
        return open.call(this, name, ...version)
      }
      for (const method of ['put', 'add'] as const) {
        const write = IDBObjectStore.prototype[method]
        IDBObjectStore.prototype[method] = function (...args) {
          if (page.fault === 'write' && this.name === 'kept') throw new DOMException('No room.')
          if (page.fault === 'write settings' && args[1] === 'settings')
            throw new DOMException('No more room.')
          return write.apply(this, args)
        }
      }
    })
  const setFault = (page: Page, fault: Fault) =>
    page.evaluate((set) => {
      ;(globalThis as unknown as Faulty).fault = set
    }, fault)
  const hasFocus = (page: Page, text: string) =>
    page.waitForFunction((wanted) => document.activeElement?.textContent?.startsWith(wanted), text, {
      timeout: 5000,
    })

  it('opens once it can be read again, promises nothing before, and goes on as always', async () => {
    const { page, context } = await shop.paired()
    shop.link.cut(true)
    await offline(page)
    await take(page, '250', 'tok_1')
    await withFaults(context)
    await page.evaluate(() => sessionStorage.setItem('fault', 'open'))
    await page.reload()
    const title = 'h1:text("The till can’t be opened")'
    await page.waitForSelector(title)
    expect(await page.innerText('main'))
      .to.include('Internal error.')
      .and.include('doesn’t know whether any waits')
      .and.not.include('No payment is lost')
    await expectUsable(page, 'a till that can’t be opened')
    await page.focus('button:text("Try again")')
    await page.keyboard.press('Enter')
    await hasFocus(page, 'The till can’t be opened')
    await setFault(page, undefined)
    await page.click('button:text("Try again")')
    await offline(page)
    expect(await page.innerText('.till-bar')).to.include('1 waiting, £2.50')
    shop.link.cut(false)
    await bookedCount(shop, 1)
    await online(page)
    await page.waitForFunction(() => !document.querySelector('.till-bar')?.textContent?.includes('waiting'))
  })

  it('says so where it can’t keep a pairing, a currency or a new shift, and stays as it was', async () => {
    const [context, terminal] = await Promise.all([shop.device(), shop.terminal()])
    await withFaults(context)
    const page = await context.newPage()
    await page.goto(shop.addressOf(terminal))
    await page.waitForSelector('button:has-text("Become Till")')
    await setFault(page, 'write')
    await page.click('button:has-text("Become Till")')
    await page.waitForSelector('[role="alert"]:has-text("could not be kept on this device: No room.")')
    await expectUsable(page, 'a pairing that could not be kept')
    await setFault(page, 'write settings')
    await page.click('button:has-text("Become Till")')
    await page.waitForSelector(
      '[role="alert"]:has-text("The pairing could not be kept on this device: No more room.")',
    )
    const window = await context.newPage()
    await window.goto(`${shop.link.url}/terminal`)
    await window.waitForSelector('h1:text("Make this device a till")')
    await window.close()
    await setFault(page, undefined)
    await page.click('button:has-text("Become Till")')
    await online(page)
    await take(page, '250', 'tok_1')
    await bookedCount(shop, 1)
    await nextPayment(page)

    await setFault(page, 'write')
    const told = '[role="alert"]:has-text("The change could not be kept on this device: No room.")'
    await showView(page, 'This till')
    await page.selectOption('#currency', 'JPY')
    await page.waitForSelector(told)
    await page.waitForFunction(
      () => (document.querySelector('#currency') as HTMLSelectElement).value === 'GBP',
    )
    await showView(page, 'Payments')
    await page.click('button:text("Close shift")')
    await page.click('button:text("Begin a new shift")')
    await page.waitForSelector('button:text("Close shift")')
    expect(await page.innerText('.report')).to.match(/Booked\s+1\s+£2\.50/)
    await page.waitForSelector(told)
    await setFault(page, undefined)
    await page.click('button:text("Close shift")')
    await page.click('button:text("Begin a new shift")')
    await page.waitForSelector('.report >> text=No payment yet.')
    expect(await page.$$('[role="alert"]:has-text("could not be kept")')).to.deep.equal([])
  })

  it('lists all payments of a shift little by little, and says which of a long one it can’t count', async () => {
    const { page, terminal } = await shop.paired()
    await page.evaluate(
      (terminalId) =>
        new Promise<void>((resolve, reject) => {
          const opening = indexedDB.open('assay-till')
          opening.onsuccess = () => {
            const change = opening.result.transaction('sales', 'readwrite')
            const sale = { terminalId, amount: 1, currency: 'GBP', at: Date.now(), state: 'booked' }
            for (let payment = 0; payment < 4999; payment++)
              change.objectStore('sales').put({ ...sale, transactionId: `txn_${payment}` })
            change.onerror = reject
            change.oncomplete = () => {
              opening.result.close()
              resolve()
            }
          }
        }),
      terminal.terminalId,
    )
    await page.reload()
    await online(page)
    await showView(page, 'Payments')
    await page.waitForSelector('.report:has-text("£4,999.00")')
    expect(await page.innerText('.report')).to.not.include('not counted')
    expect(await page.locator('.sales > li').count()).to.equal(50)
    await page.click('button:text("Show more")')
    await page.waitForFunction(() => document.querySelectorAll('.sales > li').length === 100)
    expect(await page.innerText('main')).to.not.include('The console lists all')

    await showView(page, 'Sell')
    await take(page, '200', 'tok_1')
    await showView(page, 'Payments')
    await page.waitForSelector('.report:has-text("£5,001.00")')
    expect(await page.innerText('.report'))
      .to.include('Older ones of this shift are not counted')
      .and.include('its last 5,000 payments')
    await expectUsable(page, 'a shift of more payments than the device lists')
  })

  it('keeps the focus where what had it makes way: at what took its place, else at the heading', async () => {
    const { page } = await shop.paired()
    await page.check('.switch input')
    await page.waitForSelector('.state:text("Airplane mode")')
    await take(page, '300', 'tok_1')
    await nextPayment(page)
    await hasFocus(page, 'Take a payment')
    await showView(page, 'Payments')
    const press = async (button: string) => {
      await page.focus(`button:text("${button}")`)
      await page.keyboard.press('Enter')
    }
    await press('Close shift')
    await hasFocus(page, 'Go on with this one')
    await page.keyboard.press('Enter')
    await hasFocus(page, 'Close shift')
    await press('Void')
    await hasFocus(page, 'Keep it')
    await page.keyboard.press('Enter')
    await hasFocus(page, 'Void')
    await page.keyboard.press('Enter')
    await press('Void £3.00')
    await page.waitForSelector('.report:has-text("Void")')
    await hasFocus(page, 'Payments of this till')
  })

  it('takes the skip link for no pairing code, whether it is paired or not', async () => {
    const skip = async (page: Page): Promise<void> => {
      await page.focus('a.skip')
      await page.keyboard.press('Enter')
      await page.waitForFunction(() => location.hash === '#main')
    }
    const { page } = await shop.paired()
    await skip(page)
    await showView(page, 'Payments')
    expect(await page.innerText('main')).to.not.include('Unpair it first')
    const other = await (await shop.device()).newPage()
    await other.goto(`${shop.link.url}/terminal`)
    await other.waitForSelector('h1:text("Make this device a till")')
    await skip(other)
    await other.click('button:text("Scan the QR code")')
    await other.waitForSelector('button:text("Stop looking"), .error:not(:empty)')
    expect(await other.innerText('main')).to.not.include('no pairing code')
  })
})
