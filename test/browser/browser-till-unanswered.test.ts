/** The till in Chromium with payments that are not known, and a service that answers for them no more: how it is unpaired. */
import { expect } from 'chai'
import type { BrowserContext, Page } from 'playwright-core'
import type { TerminalCreated } from '../../src/domain/terminals/schemas.ts'
import { expectUsable } from '../support/console-page.ts'
import { bookedCount, inShop, nextPayment, online, type Shop, showView, take } from '../support/till-page.ts'

const AUTHENTICATE = '**/api/merchant/terminals/authenticate'
const VALIDATE = '**/api/merchant/payments/validate'
const UNPAIRED = 'h1:text("Make this device a till")'
const LIST = '#unanswered-title'
const LEAVE = 'button:has-text("Unpair, and leave")'

/** All that a database of the page keeps in a store, as text; bytes as what they spell. */
const keptIn = (page: Page, name: string, store: string): Promise<string> =>
  page.evaluate(
    ([database, of]) =>
      new Promise<string>((resolve) => {
        const opening = indexedDB.open(database)
        opening.onsuccess = () => {
          const reading = opening.result.transaction(of).objectStore(of).getAll()
          reading.onsuccess = () => {
            opening.result.close()
            const texts = reading.result.map((one: unknown) =>
              one instanceof Uint8Array ? new TextDecoder().decode(one) : JSON.stringify(one),
            )
            resolve(texts.join('\n'))
          }
        }
      }),
    [name, store] as const,
  )

describe('unpairing the till in Chromium, with payments that are not known', function () {
  this.timeout(600_000)
  let shop: Shop

  inShop((started) => {
    shop = started
  })

  /** A till, online, with a payment that the service has booked and whose answer was lost. */
  const notKnown = async (): Promise<{ page: Page; context: BrowserContext; terminal: TerminalCreated }> => {
    const till = await shop.paired({ floorLimit: 20, storedSumLimit: 25 })
    await till.page.waitForSelector('.limits >> text=of £25.00')
    shop.link.delayMs = 3000
    expect(await take(till.page, '3000', 'tok_1')).to.include('Not known')
    await nextPayment(till.page)
    await bookedCount(shop, 1)
    shop.link.delayMs = 0
    await online(till.page)
    return till
  }

  const revoke = ({ terminalId }: TerminalCreated) =>
    shop.app.request('DELETE', `/console/api/terminals/${terminalId}`, { key: shop.organisation.apiKey })

  const askToUnpair = async (page: Page): Promise<void> => {
    await showView(page, 'This till')
    await page.click('summary')
    await page.fill('#unpair-name', 'Till 1')
    await page.click('button:text-is("Unpair")')
  }

  it('is no way out as long as the service takes the till, can’t be reached, or something else says no', async () => {
    const { page, terminal } = await notKnown()
    await askToUnpair(page)
    await page.waitForSelector('#unpair-problem:has-text("Take it again first, with the same card token.")')
    expect(await page.innerText('#unpair-problem')).to.include('revoke this till in the console')
    await expectUsable(page, 'a till that is not unpaired')

    const saysNothing = async (): Promise<void> => {
      await page.click('button:text-is("Unpair")')
      await page.waitForSelector('#unpair-problem:has-text("did not say whether it still takes this till")')
      expect(await page.$(LIST)).to.equal(null)
      await page.fill('#unpair-name', 'Till')
      await page.click('button:text-is("Unpair")')
      await page.waitForSelector('#unpair-problem:has-text("Type Till 1 to confirm.")')
      await page.fill('#unpair-name', 'Till 1')
    }
    await revoke(terminal)
    await page.check('.switch input')
    await page.waitForSelector('.state:text("Airplane mode")')
    await saysNothing()
    await page.uncheck('.switch input')
    shop.link.cut(true)
    await saysNothing()
    shop.link.cut(false)
    for (const answer of [
      { status: 401, contentType: 'text/html', body: '<h1>Sign in to this Wi-Fi</h1>' },
      { status: 401, json: { error: 'login_required', message: 'Sign in.' } },
      { status: 403, json: { error: 'unauthorized', message: 'Not from here.' } },
      { status: 503, json: { error: 'unavailable', message: 'Later.' } },
    ]) {
      await page.route(AUTHENTICATE, (route) => route.fulfill(answer))
      await saysNothing()
      await page.unroute(AUTHENTICATE)
    }
    await page.click('button:text-is("Unpair")')
    await page.waitForSelector(LIST)
  })

  it('lists each first, and leaves them undecided in the journal once somebody has agreed', async () => {
    const { page, terminal } = await notKnown()
    const [booked] = await shop.booked()
    await revoke(terminal)
    await page.evaluate('globalThis.print = () => (globalThis.papers = (globalThis.papers ?? 0) + 1)')
    await askToUnpair(page)
    await page.waitForSelector(LIST)
    for (const said of [
      'Till 1',
      terminal.terminalId,
      terminal.merchantId,
      '£30.00',
      String(booked?.transactionId),
      'What it doesn’t list was not charged, and will not be.',
      'Unpairing books nothing and takes nothing back.',
    ])
      expect(await page.innerText('details')).to.include(said)
    await expectUsable(page, 'payments for which the service answers no more')

    await page.click('button:text("Print this list")')
    expect(await page.evaluate('papers')).to.equal(1)
    await page.emulateMedia({ media: 'print' })
    expect((await page.innerText('body')).replaceAll(/\s+/g, ' ').trim()).to.match(
      /^Not known, and no longer answered Till 1, terminal ter_\w+ .* £30\.00, .+ txn_\w+ The console says it, .* As of .+ device\.$/,
    )
    await page.emulateMedia({ media: null })

    // Nothing happens before it is confirmed, and whoever goes back begins anew.
    await page.$eval(LEAVE, (button) => (button as HTMLElement).click())
    expect(await page.getAttribute(LEAVE, 'aria-disabled')).to.equal('true')
    await page.click('button:text("Keep this till paired")')
    await page.click('button:text-is("Unpair")')
    await page.waitForSelector('#unpair-problem:has-text("Type Till 1 to confirm.")')
    await page.fill('#unpair-name', 'Till 1')
    await page.click('button:text-is("Unpair")')
    await page.check('details input[type="checkbox"]')
    expect(await page.innerText(LEAVE)).to.equal('Unpair, and leave £30.00 not known')
    await page.click(LEAVE)
    await page.waitForSelector(UNPAIRED)

    expect(await keptIn(page, 'assay-till', 'kept')).to.not.include(terminal.apiKey)
    const journal = await keptIn(page, `assay-terminal-${terminal.terminalId}`, 'frames')
    expect(journal)
      .to.include(`"undecided":true,"transactionId":"${booked?.transactionId}"`)
      .and.not.match(/"kind":"(void|synced|queued|rejected)"/)
    expect(await shop.booked()).to.deep.equal([booked])
  })

  it('stays paired where a payment is taken while the service is asked', async () => {
    const { page, terminal } = await notKnown()
    await revoke(terminal)
    await page.route(VALIDATE, (route) => route.abort())
    /** Agrees to what is listed, and takes a payment before the service has answered. */
    const takeMeanwhile = async (digits: string, cardToken: string): Promise<string> => {
      await askToUnpair(page)
      await page.check('details input[type="checkbox"]')
      let answer = (): void => undefined
      const gate = new Promise<void>((resolve) => {
        answer = resolve
      })
      await page.route(AUTHENTICATE, async (route) => {
        await gate
        await route.continue()
      })
      const asked = page.waitForRequest(AUTHENTICATE)
      await page.click(LEAVE)
      const request = await asked
      await showView(page, 'Sell')
      await online(page)
      const said = await take(page, digits, cardToken)
      answer()
      expect((await request.response())?.status()).to.equal(401)
      await page.unroute(AUTHENTICATE)
      await nextPayment(page)
      return said
    }
    expect(await takeMeanwhile('3500', 'tok_2')).to.include('Not known')
    await askToUnpair(page)
    await page.waitForSelector(LIST)
    expect(await page.innerText('details'))
      .to.include('£30.00')
      .and.include('£35.00')
    await showView(page, 'Payments')
    expect(await takeMeanwhile('500', 'tok_3')).to.include('Kept on this device')
    await askToUnpair(page)
    await page.waitForSelector('#unpair-problem:has-text("Payments wait for upload")')
    expect(await keptIn(page, 'assay-till', 'kept')).to.include(terminal.apiKey)
  })

  it('begins anew after a reload, and is known to another window', async () => {
    const { page, context, terminal } = await notKnown()
    await revoke(terminal)
    await askToUnpair(page)
    await page.check('details input[type="checkbox"]')
    await page.reload()
    await online(page)
    const second = await context.newPage()
    await second.goto(`${shop.link.url}/terminal`)
    await second.waitForSelector('h1:text("Open in another window")')
    await showView(page, 'Payments')
    expect(await page.innerText('.notice')).to.include('£30.00')
    await askToUnpair(page)
    await page.waitForSelector(LIST)
    expect(await page.getAttribute(LEAVE, 'aria-disabled')).to.equal('true')
    await second.click('button:text("Try again")')
    await second.waitForSelector('h1:text("Open in another window")')
    await page.check('details input[type="checkbox"]')
    await page.click(LEAVE)
    await page.waitForSelector(UNPAIRED)
    await second.click('button:text("Try again")')
    await second.waitForSelector(UNPAIRED)
  })
})
