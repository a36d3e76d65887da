/** The till and its device in Chromium: the camera, being installed, and new versions. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { filmOf } from '../support/camera.ts'
import { enter, offline, online, type Shop, startShop } from '../support/till-page.ts'

describe('the till and its device in Chromium', function () {
  this.timeout(600_000)
  let shop: Shop | undefined
  let folder: string

  const open = async (cardToken: string, ...args: string[]): Promise<Shop> => {
    const film = join(folder, 'camera.y4m')
    await writeFile(film, filmOf(cardToken))
    shop = await startShop([
      '--use-fake-device-for-media-stream',
      `--use-file-for-fake-video-capture=${film}`,
      ...args,
    ])
    return shop
  }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'assay-till-'))
  })
  afterEach(async () => {
    await shop?.close()
    await rm(folder, { recursive: true })
    expect(shop?.complaints).to.deep.equal([])
  })

  it('reads a card token with the camera, also without a network', async () => {
    const { link, ...opened } = await open('tok_from_a_screen')
    const { page, context } = await opened.paired()
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
    const { page, context } = await (await open('tok_unseen', '--deny-permission-prompts')).paired()
    await context.clearPermissions()
    await page.click('button:text("Scan QR code")')
    await page.waitForSelector('text=This page may not use the camera')
    await page.click('button:text("Stop looking")')
    await enter(page, '1', 'tok_typed')
    await page.click('button.pay')
    await page.waitForSelector('text=The service has booked it')
  })

  it('can be installed: a manifest, an icon, a start without a network', async () => {
    const { link, ...opened } = await open('tok_unseen')
    const { page, context } = await opened.paired()
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
})
