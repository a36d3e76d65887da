/** States of the till that few see, in Chromium: what is printed, currencies, cards by NFC, shifts, and what went wrong. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
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

/** Below the time after which a till goes on without the service. */
const SLOW_MS = 200
/** Row 1 of a journal names it, row 2 its merchant, row 3 its limits. */
const FIRST_PAYMENT_ROW = 4

/** More than the page and its program take. */
const QUOTA_BYTES = 2_000_000

/** Runs in the page: puts into another database of it whatever still fits. */
const fillStorage = async (): Promise<void> => {
  const db = await new Promise<IDBDatabase>((resolve) => {
    const opening = indexedDB.open('filler')
    opening.onupgradeneeded = () => opening.result.createObjectStore('bytes', { autoIncrement: true })
    opening.onsuccess = () => resolve(opening.result)
  })
  // Random, since the browser keeps them compressed.
  for (let bytes = 2 ** 16; bytes >= 1; ) {
    const fits = await new Promise<boolean>((resolve) => {
      const change = db.transaction('bytes', 'readwrite')
      change.objectStore('bytes').add(crypto.getRandomValues(new Uint8Array(bytes)))
      change.oncomplete = () => resolve(true)
      change.onabort = () => resolve(false)
    })
    if (!fits) bytes /= 2
  }
}

describe('states of the till in Chromium', function () {
  this.timeout(600_000)
  let shop: Shop

  inShop((started) => {
    shop = started
  })

  /** A till without a network, by its own switch, and the page of it. */
  const onItsOwn = async (): Promise<Page> => {
    const { page } = await shop.paired()
    await page.check('.switch input')
    await page.waitForSelector('.state:text("Airplane mode")')
    return page
  }
  const sell = async (page: Page, digits: string, cardToken: string): Promise<void> => {
    await take(page, digits, cardToken)
    await nextPayment(page)
  }
  const rowOf = (amount: string): string => `.sales > li:has-text("${amount}")`

  describe('print', () => {
    /** Presses a button that prints. @returns what is on the paper */
    const printed = async (page: Page, button: string): Promise<string> => {
      await page.click(button)
      expect(await page.evaluate('papers')).to.equal(1)
      await page.emulateMedia({ media: 'print' })
      const paper = await page.innerText('body')
      await page.emulateMedia({ media: null })
      // As browsers do once they have printed.
      await page.evaluate(`dispatchEvent(new Event('afterprint')); globalThis.papers = 0`)
      return paper.replaceAll(/\s+/g, ' ').trim()
    }
    const paperless = (page: Page) =>
      page.evaluate('globalThis.papers = 0; globalThis.print = () => globalThis.papers++')

    it('the receipt of the payment that was taken, and no more of the page', async () => {
      const page = await onItsOwn()
      await paperless(page)
      await take(page, '1250', 'tok_1')
      await page.click('button:text("Receipt")')
      const paper = await printed(page, '.receipt button:text("Print")')
      expect(paper).to.match(
        /^Receipt Till Till 1 Merchant mer_\w+ Time .+ Amount £12\.50 State Waits for upload Transaction txn_\w+$/,
      )
    })

    it('of all payments the one receipt that is asked for, and the report alone', async () => {
      const page = await onItsOwn()
      await paperless(page)
      await sell(page, '1250', 'tok_1')
      await sell(page, '300', 'tok_2')
      await showView(page, 'Payments')
      for (const amount of ['£12.50', '£3.00'])
        await page.click(`${rowOf(amount)} button:has-text("Receipt")`)
      for (const [amount, other] of [
        ['£12.50', '£3.00'],
        ['£3.00', '£12.50'],
      ] as const) {
        const paper = await printed(page, `${rowOf(amount)} button:text("Print")`)
        expect(paper)
          .to.match(/^Receipt Till Till 1 .* Transaction txn_\w+$/)
          .and.to.include(amount)
        expect(paper).to.not.include(other)
      }
      const report = await printed(page, 'button:text("Print report")')
      expect(report).to.match(/^This shift Till 1, since .+ Waits for upload 2 £15\.50$/)
      // On the screen everything is still there.
      expect(await page.innerText('main'))
        .to.include('2 payments wait for upload')
        .and.to.include('Newest first')
    })
  })

  it('takes payments in the currency that was chosen, with its decimals, and adds up each by itself', async () => {
    const { page } = await shop.paired()
    await sell(page, '250', 'tok_1')
    for (const [currency, digits, shown] of [
      ['JPY', '500', /JP¥500/],
      ['KWD', '1500', /KWD\s1\.500/],
    ] as const) {
      await showView(page, 'This till')
      await page.selectOption('#currency', currency)
      await showView(page, 'Sell')
      expect(await take(page, digits, `tok_${currency}`))
        .to.match(shown)
        .and.to.include('Accepted')
      await nextPayment(page)
    }
    await bookedCount(shop, 3)
    expect((await shop.booked()).map(({ amount }) => amount)).to.have.members([2.5, 500, 1.5])
    await page.reload()
    await online(page)
    expect(await page.innerText('.sum')).to.match(/KWD\s0\.000/)
    await showView(page, 'Payments')
    await page.waitForFunction(() => !document.querySelector('.report')?.textContent?.includes('Waits'))
    expect(await page.innerText('.report'))
      .to.match(/Booked\s+1\s+£2\.50/)
      .and.to.match(/Booked\s+1\s+JP¥500/)
      .and.to.match(/Booked\s+1\s+KWD\s1\.500/)
    await expectUsable(page, 'three currencies')
  })

  it('reads card tokens by NFC where the browser can, and says why it could not', async () => {
    const [context, terminal] = await Promise.all([shop.device(), shop.terminal()])
    // Chromium has it on Android only.
    await context.addInitScript(`{
      globalThis.readers = []
      globalThis.NDEFReader = class {
        async scan() {
          if (globalThis.nfcProblem) throw new DOMException(globalThis.nfcProblem, 'NotAllowedError')
          globalThis.readers.push(this)
        }
      }
      globalThis.tap = (...records) => readers.at(-1).onreading({
        message: { records: records.map(([recordType, text]) => ({
          recordType, data: new DataView(new TextEncoder().encode(text).buffer)
        })) },
      })
    }`)
    const page = await context.newPage()
    await page.goto(shop.addressOf(terminal))
    await page.click('button:has-text("Become Till")')
    await online(page)
    await page.evaluate(`globalThis.nfcProblem = 'NFC is switched off.'`)
    await page.click('button:text("Read card")')
    await page.waitForSelector('text=The card can’t be read: NFC is switched off.')
    await page.evaluate('globalThis.nfcProblem = undefined')
    await page.click('button:text("Read card")')
    await page.waitForSelector('text=Hold the card to the back of this device.')
    await expectUsable(page, 'waiting for a card')
    await page.waitForFunction(() => (globalThis as unknown as { readers: unknown[] }).readers.length === 1)
    await page.evaluate(`tap(['url', 'https://elsewhere.example'])`)
    await page.evaluate(`tap(['url', 'https://elsewhere.example'], ['text', ' tok_of_a_card\\r\\n'])`)
    await page.waitForSelector('text=Read.')
    expect(await page.inputValue('[name="cardToken"]')).to.equal('tok_of_a_card')
    await page.click('.keypad button:text-is("7")')
    await page.click('button.pay')
    await page.waitForSelector('.result h1:text("Accepted")')
    await nextPayment(page)
    expect(await take(page, '7', 'tok_of_a_card')).to.include('used before')
  })

  it('says how long a decision took, from the press of the button', async () => {
    const { page } = await shop.paired()
    shop.link.delayMs = SLOW_MS
    const [, ms] = /Decided in (\d+) ms/.exec(await take(page, '100', 'tok_1')) ?? []
    expect(Number(ms)).to.be.at.least(SLOW_MS)
  })

  it('begins a new shift once that is confirmed, and forgets nothing that waits', async () => {
    const page = await onItsOwn()
    await sell(page, '250', 'tok_1')
    await showView(page, 'Payments')
    await page.click('button:text("Close shift")')
    await expectUsable(page, 'about to close the shift')
    await page.click('button:text("Go on with this one")')
    expect(await page.innerText('.report')).to.match(/Waits for upload\s+1\s+£2\.50/)
    await page.click('button:text("Close shift")')
    await page.click('button:text("Begin a new shift")')
    await page.waitForSelector('.report >> text=No payment yet.')
    expect(await page.$('.sales')).to.equal(null)
    expect(await page.innerText('main')).to.include('1 payment waits for upload: £2.50')
    await expectUsable(page, 'a new shift')
    await showView(page, 'Sell')
    await sell(page, '100', 'tok_2')
    await page.reload()
    await bookedCount(shop, 2)
    await showView(page, 'Payments')
    await page.waitForSelector('.report tr:has-text("Booked")')
    expect(await page.innerText('.report')).to.match(/Booked\s+1\s+£1\.00/)
  })

  it('says that somebody has to decide on what was uploaded after its key was revoked', async () => {
    const { page, terminal } = await shop.paired()
    await page.check('.switch input')
    await page.waitForSelector('.state:text("Airplane mode")')
    await sell(page, '250', 'tok_1')
    const { status } = await shop.app.request('DELETE', `/console/api/keys/${terminal.keyId}`, {
      key: shop.organisation.apiKey,
    })
    expect(status).to.be.within(200, 204)
    await page.uncheck('.switch input')
    await bookedCount(shop, 1)
    expect((await shop.booked())[0]).to.include({ status: 'late', amount: 2.5 })
    await showView(page, 'Payments')
    await page.waitForSelector(`${rowOf('£2.50')} >> text=Waits for a decision in the console`)
    expect(await page.innerText('.report')).to.match(/Waits for a decision in the console\s+1\s+£2\.50/)
    await expectUsable(page, 'a late payment')
  })

  it('says that it doesn’t know of a payment that left the queue while the page was closed', async () => {
    const { page } = await shop.paired()
    await sell(page, '250', 'tok_1')
    await bookedCount(shop, 1)
    // The list as it is when a page is closed between the answer and its entry.
    await page.evaluate(
      () =>
        new Promise<void>((resolve) => {
          const opening = indexedDB.open('assay-till')
          opening.onsuccess = () => {
            const store = opening.result.transaction('sales', 'readwrite').objectStore('sales')
            const reading = store.getAll()
            reading.onsuccess = () => {
              store.put({ ...reading.result[0], state: 'waiting' }).onsuccess = () => resolve()
            }
          }
        }),
    )
    await page.reload()
    await online(page)
    await showView(page, 'Payments')
    expect(await page.innerText(rowOf('£2.50'))).to.include('booked if the console lists it, else void')
    expect(await page.innerText('main')).to.include('Nothing waits')
    await expectUsable(page, 'a payment that left unseen')
  })

  it('stops at a damaged journal, and goes on with what can be read once somebody says so', async () => {
    const { page, terminal } = await shop.paired()
    await page.check('.switch input')
    await page.waitForSelector('.state:text("Airplane mode")')
    for (const card of ['tok_1', 'tok_2', 'tok_3']) await sell(page, '100', card)
    await page.evaluate(
      ([name, row]) =>
        new Promise<void>((resolve) => {
          const opening = indexedDB.open(name)
          opening.onsuccess = () => {
            const store = opening.result.transaction('frames', 'readwrite').objectStore('frames')
            const reading = store.get(row)
            reading.onsuccess = () => {
              const frame = reading.result as Uint8Array
              frame[40] = (frame[40] ?? 0) ^ 1
              store.put(frame, row).onsuccess = () => {
                opening.result.close()
                resolve()
              }
            }
          }
        }),
      [`assay-terminal-${terminal.terminalId}`, FIRST_PAYMENT_ROW] as const,
    )
    shop.link.cut(true)
    await page.reload()
    const title = 'h1:text("The records of this till are damaged")'
    await page.waitForSelector(title)
    expect(await page.innerText('main'))
      .to.include('Tell whoever looks after your tills')
      .and.not.match(/IndexedDb|journal|assay-terminal|ter_/)
    await expectUsable(page, 'a damaged journal')
    await page.click('button:text("Try again")')
    await page.waitForSelector(title)
    await page.click('summary:text("Recover what can be read")')
    expect(await page.innerText('details')).to.include('if it was not uploaded before, no money comes of it')
    await expectUsable(page, 'about to recover')
    await page.click('button:text("Keep what can be read, and go on")')
    await offline(page)
    expect(await page.innerText('.till-bar')).to.include('2 waiting, £2.00')
    expect(await page.innerText('.notice'))
      .to.include('1 payment is missing')
      .and.match(/£1\.00, .+ txn_\w+/)
    await expectUsable(page, 'recovered, with a payment missing')
    await page.click('button:text("I have told them")')
    await page.waitForSelector('.notice', { state: 'detached' })
    await showView(page, 'Payments')
    expect(await page.innerText('.report'))
      .to.match(/Waits for upload\s+2\s+£2\.00/)
      .and.match(/Lost on this device: booked only if the console lists it\s+1\s+£1\.00/)
    await showView(page, 'Sell')
    expect(await take(page, '100', 'tok_3')).to.include('used before')
    await nextPayment(page)
    // What is lost is not known as used either, so that the customer can pay after all.
    expect(await take(page, '100', 'tok_1')).to.include('Accepted')
    shop.link.cut(false)
    await bookedCount(shop, 3)
  })

  it('accepts nothing beyond the quota of the browser, and goes on once there is room', async () => {
    const [context, terminal] = await Promise.all([shop.device(), shop.terminal()])
    const page = await context.newPage()
    // What Chromium has granted once it doesn't ask about again: the quota is small from the start.
    const session = await context.newCDPSession(page)
    const { origin } = new URL(shop.link.url)
    await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: QUOTA_BYTES })
    await page.goto(shop.addressOf(terminal))
    await page.click('button:has-text("Become Till")')
    await online(page)
    await page.check('.switch input')
    await page.waitForSelector('.state:text("Airplane mode")')
    await page.evaluate(fillStorage)
    expect(await take(page, '100', 'tok_1'))
      .to.include('Refused')
      .and.to.include('storage full')
    expect(await page.innerText('.till-bar')).to.not.include('waiting')
    await session.send('Storage.overrideQuotaForOrigin', { origin })
    await nextPayment(page)
    expect(await take(page, '100', 'tok_1')).to.include('Accepted')
  })
})
