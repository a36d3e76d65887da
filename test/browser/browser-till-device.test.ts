/** The till and its device in Chromium: the camera, being installed, and new versions. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import readQrCode from 'jsqr'
import type { Served } from '../../src/domain/system/pages.ts'
import { BLANK, filmOf, filmOfPicture } from '../support/camera.ts'
import { expectUsable, fillOn, settledOn, signInOn } from '../support/console-page.ts'
import { signUp } from '../support/domain/accounts.ts'
import { readPng } from '../support/png.ts'
import { bookedCount, enter, offline, online, type Shop, startShop, take } from '../support/till-page.ts'

/** jsqr names its own type of module wrongly. */
const readQr = readQrCode as unknown as typeof readQrCode.default

/** What a page got of the camera. */
interface Filmed {
  readonly stream?: MediaStream
}

/** Below the time after which a till goes on without the service. */
const SLOW_MS = 800

describe('the till and its device in Chromium', function () {
  this.timeout(600_000)
  let folder: string
  let shop: Shop

  const film = () => join(folder, 'camera.y4m')
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'assay-till-'))
    await writeFile(film(), BLANK)
    shop = await startShop({ film: film(), mustBeGranted: true })
  })
  after(async () => {
    await shop?.close()
    await rm(folder, { recursive: true })
  })
  beforeEach(() => shop.anew())
  afterEach(() => expect(shop.complaints).to.deep.equal([]))

  it('is paired by scanning the code that the console shows when a terminal is created', async () => {
    const { app } = shop
    const desk = await (await shop.device()).newPage()
    await desk.goto(`${app.url}/console/terminals`)
    await signInOn(desk, await signUp(app))
    await settledOn(desk)
    await desk.click('text=Create a terminal')
    await fillOn(desk, { label: 'Stall' })
    await desk.click('button:text("Create terminal")')
    await desk.waitForSelector('.qr')
    const shown = readPng(await desk.locator('.qr').screenshot())
    const address = readQr(shown.data, shown.width, shown.height)?.data ?? expect.fail('no QR code')
    expect(await desk.inputValue('.secrets .field:has-text("Pairing address") input')).to.equal(address)

    await writeFile(film(), filmOfPicture(shown))
    const counter = await shop.device()
    await counter.grantPermissions(['camera'], { origin: app.url })
    const page = await counter.newPage()
    await page.goto(`${app.url}/terminal`)
    await page.click('button:text("Scan the QR code")')
    await page.waitForSelector('h2:text("Stall")')
    expect(await page.$('video')).to.equal(null)
    await page.click('button:text("Become Stall")')
    await online(page)
    await enter(page, '250', 'tok_1')
    await page.click('button.pay')
    await page.waitForSelector('.result h1:text("Accepted")')
  })

  it('reads a card token with the camera, also without a network', async () => {
    const { link } = shop
    const { page, context } = await shop.paired()
    await writeFile(film(), filmOf('tok_from_a_screen'))
    await context.grantPermissions(['camera'], { origin: link.url })
    await page.evaluate(() => navigator.serviceWorker.ready)
    link.cut(true)
    await offline(page)
    await enter(page, '250', '')
    await page.click('button:text("Scan QR code")')
    await page.waitForFunction(
      () => (document.querySelector('[name="cardToken"]') as HTMLInputElement).value === 'tok_from_a_screen',
    )
    expect(await page.$('video')).to.equal(null)
    await page.click('button.pay')
    await page.waitForSelector('text=Kept on this device')
  })

  it('says that it may not use the camera, and takes the token by hand', async () => {
    const { page } = await shop.paired()
    await page.click('button:text("Scan QR code")')
    await page.waitForSelector('text=This page may not use the camera')
    await page.click('button:text("Stop looking")')
    await enter(page, '1', 'tok_typed')
    await page.click('button.pay')
    await page.waitForSelector('text=The service has booked it')
  })

  it('can be installed: a manifest, an icon, a start without a network', async () => {
    const { link } = shop
    const { page, context } = await shop.paired()
    await page.evaluate(() => navigator.serviceWorker.ready)
    const session = await context.newCDPSession(page)
    const manifest = await session.send('Page.getAppManifest')
    expect(manifest.errors).to.deep.equal([])
    expect(manifest.url).to.match(/^http:.*\/assets\/terminal-\w+\.webmanifest$/)
    const { installabilityErrors } = await session.send('Page.getInstallabilityErrors')
    // Contexts of tests keep nothing, as private windows do.
    const errors = installabilityErrors.filter(({ errorId }) => errorId !== 'in-incognito')
    expect(errors).to.deep.equal([])
    // Everything that it is made of is on the device: also what is loaded later.
    const kept = await page.evaluate(async () => {
      const [name = ''] = await caches.keys()
      return (await (await caches.open(name)).keys()).map(({ url }) => new URL(url).pathname)
    })
    expect(kept).to.include('/terminal')
    expect(kept.filter((path) => /jsQR/.test(path))).to.have.length(1)
    link.cut(true)
    await page.reload()
    await offline(page)
    link.cut(false)
    await online(page)
  })

  it('asks the service past the program that keeps it, which would hold a new version up', async () => {
    const { page, context } = await shop.paired()
    await page.evaluate(() => navigator.serviceWorker.ready)
    const session = await context.newCDPSession(page)
    const sources = new Map<string, string | undefined>()
    session.on('Network.responseReceived', ({ response }) =>
      sources.set(new URL(response.url).pathname, response.serviceWorkerRouterInfo?.matchedSourceType),
    )
    await session.send('Network.enable')
    await page.reload()
    await online(page)
    await take(page, '250', 'tok_1')
    await bookedCount(shop, 1)
    const asked = ['/health', '/api/merchant/payments/validate'].map((path) => sources.get(path))
    expect(asked).to.deep.equal(['network', 'network'])
  })

  /** Works while the server has been updated: another page, and another program that keeps it. */
  const updated = async (work: () => Promise<void>): Promise<void> => {
    const { pages } = shop.app.services
    const { terminal, terminalWorker } = pages
    const change = ({ body, headers }: Served, from: RegExp, to: string): Served => {
      expect(body).to.match(from)
      return { body: body.replace(from, to), headers }
    }
    try {
      Object.assign(pages, {
        terminal: change(terminal, /<title>.*<\/title>/, '<title>The new till</title>'),
        terminalWorker: change(terminalWorker, /assay-till-\w+/, 'assay-till-new'),
      })
      await work()
    } finally {
      Object.assign(pages, { terminal, terminalWorker })
    }
  }

  it('lets nobody choose another till while the service is asked about one', async () => {
    const [context, terminal] = await Promise.all([shop.device(), shop.terminal()])
    const page = await context.newPage()
    await page.goto(shop.addressOf(terminal))
    shop.link.delayMs = SLOW_MS
    await page.click('button:has-text("Become Till 1")')
    await page.waitForSelector('text=Asking the service…')
    await page.locator('button:text("Another one")').evaluate((button) => (button as HTMLElement).click())
    expect(await page.isVisible('#pairing-code')).to.equal(false)
    shop.link.delayMs = 0
    await online(page)
  })

  it('offers a new version, and uses it when somebody says so, with what waits', async () => {
    const { link } = shop
    const { page } = await shop.paired()
    await page.evaluate(() => navigator.serviceWorker.ready)
    await updated(async () => {
      await page.check('.switch input')
      await page.waitForSelector('.state:text("Airplane mode")')
      await take(page, '250', 'tok_1')
      await page.evaluate(async () => (await navigator.serviceWorker.ready).update())
      await page.waitForSelector('text=A new version of the till is ready.')
      await expectUsable(page, 'a new version')
      expect(await page.title()).to.equal('Till · Assay')
      link.cut(true)
      await page.click('button:text("Use it now")')
      await page.waitForFunction(() => document.title === 'The new till')
      await offline(page)
      expect(await page.innerText('.till-bar')).to.include('1 waiting, £2.50')
      expect(await page.$$('text=A new version')).to.deep.equal([])
      expect(await page.evaluate(() => caches.keys())).to.deep.equal(['assay-till-new'])
      expect(await take(page, '250', 'tok_1')).to.include('used before')
      link.cut(false)
      await bookedCount(shop, 1)
    })
  })

  it('uses a new version that another window began once its payment is decided and read', async () => {
    const { link } = shop
    const { page, context } = await shop.paired()
    await page.evaluate(() => navigator.serviceWorker.ready)
    const second = await context.newPage()
    await second.goto(`${link.url}/terminal`)
    await second.waitForSelector('h1:text("Open in another window")')
    await updated(async () => {
      await second.evaluate(async () => (await navigator.serviceWorker.ready).update())
      for (const window of [page, second])
        await window.waitForSelector('text=A new version of the till is ready.')
      await enter(page, '250', 'tok_1')
      link.delayMs = SLOW_MS
      await page.click('button.pay')
      await page.waitForSelector('button.pay:text("Deciding…")')
      await second.click('button:text("Use it now")')
      await second.waitForFunction(() => document.title === 'The new till')
      await page.waitForSelector('.result h1:text("Accepted")')
      expect(await page.title()).to.equal('Till · Assay')
      link.delayMs = 0
      await bookedCount(shop, 1)
      await page.click('button:text("Next payment")')
      await page.waitForFunction(() => document.title === 'The new till')
    })
  })

  it('lets a payment be typed to its end before a new version that another window began is used', async () => {
    const { link } = shop
    const { page, context } = await shop.paired()
    await page.evaluate(() => navigator.serviceWorker.ready)
    const second = await context.newPage()
    await second.goto(`${link.url}/terminal`)
    const elsewhere = 'h1:text("Open in another window")'
    await second.waitForSelector(elsewhere)
    await updated(async () => {
      await second.evaluate(async () => (await navigator.serviceWorker.ready).update())
      for (const window of [page, second])
        await window.waitForSelector('text=A new version of the till is ready.')
      await enter(page, '25', 'tok_1')
      let loads = 0
      page.on('load', () => loads++)
      await second.click('button:text("Use it now")')
      await second.waitForFunction(() => document.title === 'The new till')
      await second.waitForSelector(elsewhere)
      await page.click('.keypad button:text-is("0")')
      expect(await page.innerText('output.sum')).to.equal('£2.50')
      expect(await page.inputValue('[name="cardToken"]')).to.equal('tok_1')
      expect(loads).to.equal(0)
      await page.fill('[name="cardToken"]', '')
      for (let digits = 0; digits < 3; digits++) await page.click('[aria-label="Delete the last digit"]')
      await page.waitForFunction(() => document.title === 'The new till')
    })
  })

  it('lets go of the camera where what reads its pictures can’t be had', async () => {
    const context = await shop.device()
    await context.grantPermissions(['camera'], { origin: shop.app.url })
    await context.route(/\/assets\/jsQR/, (route) => route.abort())
    await context.addInitScript(() => {
      // A blank page has no camera.
      if (location.protocol !== 'http:') return
      const { getUserMedia } = MediaDevices.prototype
      MediaDevices.prototype.getUserMedia = async function (...args) {
        const stream = await getUserMedia.apply(this, args)
        Object.assign(globalThis, { stream })
        return stream
      }
    })
    const page = await context.newPage()
    await page.goto(`${shop.app.url}/verify`)
    await page.click('button:text("Scan a QR code")')
    await page.waitForSelector('text=The camera can’t be used')
    await page.waitForFunction(() => {
      const { stream } = globalThis as unknown as Filmed
      return stream?.getTracks().every(({ readyState }) => readyState === 'ended')
    })
  })

  it('offers a new version whose installing began before the page was there to see it', async () => {
    const { link } = shop
    const { page, context } = await shop.paired()
    await page.evaluate(() => navigator.serviceWorker.ready)
    await updated(async () => {
      await context.addInitScript(() => {
        const { register } = ServiceWorkerContainer.prototype
        ServiceWorkerContainer.prototype.register = async function (...args) {
          const registration = await register.apply(this, args)
          const found = new Promise((resolve) => registration.addEventListener('updatefound', resolve))
          await registration.update()
          await found
          return registration
        }
      })
      // So that it is being installed for a while.
      link.delayMs = SLOW_MS
      await page.reload()
      await page.waitForSelector('text=A new version of the till is ready.')
    })
  })
})
