/** The till in Chromium when things change behind what it shows: payments, journals, keys, and whose till it is. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { expectUsable } from '../support/console-page.ts'
import {
  bookedCount,
  enter,
  inShop,
  nextPayment,
  offline,
  online,
  type Shop,
  setClocks,
  showView,
  take,
} from '../support/till-page.ts'

const HOUR_MS = 3_600_000
const SYNC = '**/api/merchant/transactions/sync'
/** Row 1 of a journal says how much was written with it, row 2 its merchant, row 3 its limits; payments follow. */
const [WRITTEN_ROW, MERCHANT_ROW] = [1, 2]
const FIRST_PAYMENT_ROW = 4

/** Damages a row of the journal of a till. */
const damage = (page: Page, terminalId: string, row: number): Promise<void> =>
  page.evaluate(
    ([name, key]) =>
      new Promise<void>((resolve) => {
        const opening = indexedDB.open(name)
        opening.onsuccess = () => {
          const store = opening.result.transaction('frames', 'readwrite').objectStore('frames')
          const reading = store.get(key)
          reading.onsuccess = () => {
            const frame = reading.result as Uint8Array
            frame[40] = (frame[40] ?? 0) ^ 1
            store.put(frame, key).onsuccess = () => {
              opening.result.close()
              resolve()
            }
          }
        }
      }),
    [`assay-terminal-${terminalId}`, row] as const,
  )

describe('the till in Chromium, when things change behind what it shows', function () {
  this.timeout(600_000)
  let shop: Shop

  inShop((started) => {
    shop = started
  })

  const airplane = async (page: Page): Promise<void> => {
    await page.check('.switch input')
    await page.waitForSelector('.state:text("Airplane mode")')
  }
  const heading = (page: Page): Promise<string> => page.innerText('#result-title')

  it('says of the payment that it shows that it was booked, taken back, or refused meanwhile', async () => {
    const [{ page }, other] = [await shop.paired(), await shop.paired()]
    await airplane(page)
    expect(await take(page, '300', 'tok_void')).to.include('Kept on this device')
    await page.click('button:text("Receipt")')
    expect(await page.innerText('.receipt')).to.include('Waits for upload')
    await showView(page, 'Payments')
    await page.click('.sales li:has-text("£3.00") button:has-text("Void")')
    await page.click('button:text("Void £3.00")')
    await page.waitForSelector('.report:has-text("Void")')
    await showView(page, 'Sell')
    expect(await heading(page)).to.equal('Void')
    await page.click('button:text("Receipt")')
    expect(await page.innerText('.result'))
      .to.match(/State\s+Void/)
      .and.not.match(/Accepted|Kept on this device|Waits for upload/)
    await expectUsable(page, 'a payment that was taken back while it was shown')
    await nextPayment(page)

    expect(await take(page, '400', 'tok_booked')).to.include('Kept on this device')
    await page.uncheck('.switch input')
    await page.waitForSelector('.result >> text=The service has booked it.')
    expect(await heading(page)).to.equal('Accepted')
    await nextPayment(page)

    await airplane(page)
    expect(await take(page, '700', 'tok_both')).to.include('Accepted')
    await page.click('button:text("Receipt")')
    expect(await take(other.page, '700', 'tok_both')).to.include('Accepted')
    await bookedCount(shop, 2)
    await page.uncheck('.switch input')
    await page.waitForSelector('#result-title:text("Refused later")')
    expect(await page.innerText('.result'))
      .to.include('talk to the customer')
      .and.match(/State\s+Refused later: card token used elsewhere/)
    expect(await page.getAttribute('.result', 'data-tone')).to.equal('bad')
    await expectUsable(page, 'a payment that was refused while it was shown')
  })

  it('no longer says that an upload failed once everything was uploaded', async () => {
    const { page } = await shop.paired()
    await airplane(page)
    await take(page, '300', 'tok_1')
    await showView(page, 'Payments')
    await page.click('button:text("Upload now")')
    await page.waitForSelector('[role="alert"]:has-text("airplane mode")')
    await expectUsable(page, 'an upload that failed')
    await page.uncheck('.switch input')
    await page.waitForSelector('text=Nothing waits')
    expect(await page.$$('.error')).to.deep.equal([])
  })

  it('says that a payment is not void where its upload had begun', async () => {
    const { page } = await shop.paired()
    await airplane(page)
    await take(page, '300', 'tok_1')
    await showView(page, 'Payments')
    await page.click('.sales li button:has-text("Void")')
    const button = await page.waitForSelector('button:text("Void £3.00")')
    const begun = page.waitForRequest(SYNC)
    shop.link.delayMs = 2000
    await page.uncheck('.switch input')
    await begun
    // Pressed before the page has shown that it is too late.
    await button.evaluate((element) => (element as HTMLElement).click())
    await page.waitForSelector('[role="alert"]:has-text("Not void: its upload had begun. It may be booked.")')
    shop.link.delayMs = 0
    await bookedCount(shop, 1)
    await page.waitForSelector('.report:has-text("Booked")')
  })

  it('keeps a payment void that its list has as void, though the journal lost that', async () => {
    const { page, terminal } = await shop.paired()
    await airplane(page)
    for (const [digits, card] of [
      ['300', 'tok_1'],
      ['500', 'tok_2'],
    ] as const) {
      await take(page, digits, card)
      await nextPayment(page)
    }
    await showView(page, 'Payments')
    await page.click('.sales li:has-text("£3.00") button:has-text("Void")')
    await page.click('button:text("Void £3.00")')
    await page.waitForSelector('.report:has-text("Void")')
    await damage(page, terminal.terminalId, FIRST_PAYMENT_ROW + 2)
    shop.link.cut(true)
    await page.reload()
    await page.click('summary:text("Recover what can be read")')
    await page.click('button:text("Keep what can be read, and go on")')
    await offline(page)
    expect(await page.innerText('.till-bar')).to.include('1 waiting, £5.00')
    expect(await page.getAttribute('.notice', 'data-tone')).to.equal('good')
    expect(await take(page, '300', 'tok_1')).to.include('used before')
    shop.link.cut(false)
    await bookedCount(shop, 1)
    expect((await shop.booked())[0]).to.include({ amount: 5 })
    await showView(page, 'Payments')
    await page.waitForSelector('text=Nothing waits')
    expect(await page.innerText('.report')).to.match(/Void\s+1\s+£3\.00/)
  })

  it('says that used card tokens may be forgotten where what listed them can’t be read', async () => {
    const { page, terminal } = await shop.paired()
    await airplane(page)
    await take(page, '300', 'tok_1')
    // Without both, nobody knows whether the list of used cards, which would be row 2, was there.
    for (const row of [WRITTEN_ROW, MERCHANT_ROW]) await damage(page, terminal.terminalId, row)
    shop.link.cut(true)
    await page.reload()
    await page.click('summary:text("Recover what can be read")')
    await page.evaluate(() => {
      const { request } = LockManager.prototype
      LockManager.prototype.request = async function (this: LockManager, ...args: unknown[]) {
        await new Promise((resolve) => setTimeout(resolve, 500))
        return Reflect.apply(request, this, args)
      } as typeof request
    })
    await page.click('button:text("Keep what can be read, and go on")')
    // It can't be pressed again meanwhile.
    await page.waitForSelector('[role="status"]:text("Opening…")', { timeout: 400 })
    await offline(page)
    expect(await page.innerText('.notice'))
      .to.include('no payment of the list is missing')
      .and.include('Card tokens that were used before may be forgotten')
    expect(await page.getAttribute('.notice', 'data-tone')).to.equal('bad')
    await expectUsable(page, 'recovered, with card tokens forgotten')
  })

  it('says so, too, where a payment that was booked can’t be read: offline it takes that card again', async () => {
    const { page, terminal } = await shop.paired()
    await take(page, '300', 'tok_1')
    await bookedCount(shop, 1)
    await damage(page, terminal.terminalId, FIRST_PAYMENT_ROW)
    shop.link.cut(true)
    await page.reload()
    await page.click('summary:text("Recover what can be read")')
    await page.click('button:text("Keep what can be read, and go on")')
    await offline(page)
    expect(await page.innerText('.notice'))
      .to.include('no payment of the list is missing')
      .and.include('Card tokens that were used before may be forgotten')
    expect(await page.getAttribute('.notice', 'data-tone')).to.equal('bad')
    expect(await take(page, '300', 'tok_1')).to.include('Kept on this device')
  })

  it('says that a payment was not decided where something fails that should not, and takes it again', async () => {
    const { page } = await shop.paired()
    await enter(page, '300', 'tok_1')
    await page.evaluate(() => {
      const { now } = Date
      Date.now = () => {
        Date.now = now
        throw new Error('no clock today')
      }
    })
    await page.click('button.pay')
    await page.waitForSelector('[role="alert"]:has-text("no clock today")')
    await expectUsable(page, 'a payment that was not decided')
    await page.click('button.pay')
    await page.waitForSelector('#result-title')
    expect(await heading(page)).to.equal('Accepted')
    expect(await page.$$('[role="alert"]')).to.deep.equal([])
    await bookedCount(shop, 1)
  })

  it('shows nothing of the terminal that the device was before', async () => {
    const [{ page, terminal }, next] = [await shop.paired(), await shop.terminal()]
    // Stamped after the other terminal begins, by a clock that is put right meanwhile.
    await setClocks(shop, page, HOUR_MS)
    await take(page, '300', 'tok_1')
    await bookedCount(shop, 1)
    await setClocks(shop, page, 0)
    await showView(page, 'This till')
    await page.click('summary')
    await page.fill('#unpair-name', 'Till 1')
    await page.click('button:text("Unpair")')
    await page.waitForSelector('h1:text("Make this device a till")')
    await page.fill('#pairing-code', shop.addressOf(next))
    await page.click('button:text("Use it")')
    await page.click('button:has-text("Become Till 2")')
    await online(page)
    await showView(page, 'Sell')
    expect(await page.$('.result')).to.equal(null)
    await page.waitForSelector('.keypad')
    await showView(page, 'Payments')
    expect(await page.innerText('main'))
      .to.include('No payment yet.')
      .and.not.match(/£3\.00/)
    expect(await page.innerText('main')).to.not.include(terminal.terminalId)
  })

  it('knows of the shift that another window began', async () => {
    const { page, context } = await shop.paired()
    const second = await context.newPage()
    await second.goto(`${shop.link.url}/terminal`)
    await second.waitForSelector('h1:text("Open in another window")')
    await airplane(page)
    await take(page, '300', 'tok_1')
    await showView(page, 'Payments')
    await page.click('button:text("Close shift")')
    await page.click('button:text("Begin a new shift")')
    await page.waitForSelector('.report >> text=No payment yet.')
    await page.close()
    await second.click('button:text("Try again")')
    await online(second)
    await bookedCount(shop, 1)
    await showView(second, 'Payments')
    expect(await second.innerText('.report')).to.include('No payment yet.')
  })

  it('doesn’t know of a payment whose answer was lost where its key is revoked before it is taken again', async () => {
    const { page, terminal } = await shop.paired({ floorLimit: 20, storedSumLimit: 25 })
    await page.waitForSelector('.limits >> text=of £25.00')
    shop.link.delayMs = 3000
    expect(await take(page, '3000', 'tok_1')).to.include('Not known')
    await page.waitForSelector('.till-bar strong:text("1 not known")')
    await nextPayment(page)
    await bookedCount(shop, 1)
    await shop.app.request('DELETE', `/console/api/keys/${terminal.keyId}`, { key: shop.organisation.apiKey })
    shop.link.delayMs = 0
    await online(page)
    expect(await take(page, '3000', 'tok_1'))
      .to.include('Not known')
      .and.include('says nothing of the attempt before')
      .and.not.include('Refused')
    await nextPayment(page)
    expect(await take(page, '1000', 'tok_1'))
      .to.include('Refused')
      .and.include('A payment of 30 GBP with this card token is undecided')
    await expectUsable(page, 'a card token with an undecided payment')
    await showView(page, 'Payments')
    expect(await page.innerText('.notice')).to.include('£30.00')
  })

  it('takes digits from the keyboard, but none of a shortcut', async () => {
    const { page } = await shop.paired()
    await page.keyboard.press('5')
    for (const shortcut of ['Control+0', 'Alt+1', 'Meta+7', 'Control+Backspace'])
      await page.keyboard.press(shortcut)
    expect(await page.innerText('output.sum')).to.equal('£0.05')
  })

  it('takes a card token for the same whatever blanks are typed around it', async () => {
    const { page } = await shop.paired()
    await airplane(page)
    expect(await take(page, '300', ' tok_1 ')).to.include('Accepted')
    await nextPayment(page)
    expect(await take(page, '300', 'tok_1')).to.include('used before')
    await nextPayment(page)
    await enter(page, '300', '  ')
    expect(await page.getAttribute('button.pay', 'aria-disabled')).to.equal('true')
  })
})
