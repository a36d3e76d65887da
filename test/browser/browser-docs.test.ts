/** The documentation in Chromium: readable by everybody, with and without JavaScript. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { breachesOfStructure } from '../support/axe.ts'
import { type ConsolePages, expectUsable, startConsolePages } from '../support/console-page.ts'

const FIRST_PAINT_MS = 1000
/** Another program may have the processor meanwhile; what a page can do is what it did at best. */
const TRIES = 5

describe('documentation in Chromium', () => {
  let pages: ConsolePages
  before(async () => {
    pages = await startConsolePages()
  })
  after(() => pages?.close())
  afterEach(() => expect(pages.complaints).to.deep.equal([]))

  const open = async (path: string): Promise<Page> => {
    const page = await pages.context.newPage()
    await page.goto(new URL(path, pages.app.url).href)
    return page
  }

  describe('without JavaScript', () => {
    beforeEach(() => pages.fresh({ javaScriptEnabled: false }))

    it('lists everything on its first page, from which the reader gets everywhere', async () => {
      const page = await open('/')
      await page.click('nav >> text=Docs')
      expect(await page.innerText('h1')).to.equal('Documentation')
      expect(await page.locator('main .operations li').count()).to.be.greaterThan(150)
      await page.click('main >> text=Verify data and get a signed result')
      await page.waitForURL('**/docs/api-verification#verify')
      expect(await page.isVisible('text=Neither stored nor logged')).to.equal(true)
      await page.click('nav.contents >> text=Rules')
      expect(await page.innerText('h1')).to.equal('Rules')
      expect(await page.innerText('nav.contents [aria-current]')).to.equal('Rules')
    })

    it('shows folded members and errors when they are opened', async () => {
      const page = await open('/docs/api-verification')
      const operation = page.locator('[data-operation="verify"]')
      await operation.locator('summary:has-text("options")').first().click()
      expect(await operation.locator('.member code:text-is("ttl")').isVisible()).to.equal(true)
      await operation.locator('.errors summary').click()
      await operation.locator('a:has-text("free_allocation_used")').click()
      await page.waitForURL('**/docs/errors#free_allocation_used')
    })

    it('offers nothing that needs it', async () => {
      const page = await open('/docs/api-verification')
      expect(await page.locator('main :is(button, input, textarea)').count()).to.equal(0)
      expect(await page.locator('.finder :is(button, input)').count()).to.equal(0)
    })
  })

  describe('with it', () => {
    beforeEach(() => pages.fresh())

    for (const path of [
      '/docs',
      '/docs/start',
      '/docs/aml',
      '/docs/api-proofs',
      '/docs/errors',
      '/docs/webhook-events',
    ])
      it(`${path} is usable by everybody: a phone and a desktop, light and dark, the narrowest screen`, async () => {
        await expectUsable(await open(path), path)
      })

    // Their colours are those of one style sheet, which the pages above show.
    it('axe finds nothing on any page but what colours could be', async () => {
      const page = await open('/docs')
      const addresses = await page.$$eval('nav.contents a', (links) => [
        ...new Set(links.map((link) => (link as HTMLAnchorElement).pathname)),
      ])
      expect(addresses.length).to.be.greaterThan(50)
      const found: string[] = []
      for (const address of addresses) {
        await page.goto(new URL(address, pages.app.url).href)
        for (const breach of await breachesOfStructure(page)) found.push(`${address}: ${breach}`)
      }
      expect(found).to.deep.equal([])
    }).timeout(300_000)

    it('what is folded is usable as well', async () => {
      const page = await open('/docs/api-verification')
      await page.evaluate(() => {
        for (const details of document.querySelectorAll('details')) details.open = true
      })
      await expectUsable(page, 'unfolded')
    })

    it('shows its contents beside a page and, on a phone, below it', async () => {
      const page = await open('/docs/kyc')
      const current = page.locator('nav.contents [aria-current]')
      expect(await page.isVisible('.to-contents')).to.equal(false)
      const box = await current.boundingBox()
      expect(box?.y, 'scrolled to where the reader is').to.be.within(0, 900)
      await page.setViewportSize({ width: 390, height: 844 })
      await page.click('.to-contents')
      await page.click('nav.contents >> text=AML')
      expect(await page.innerText('h1')).to.equal('AML')
    })

    const search = async (page: Page, text: string): Promise<string[]> => {
      await page.fill('#sought', text)
      await page.waitForFunction((sought) => {
        const said = document.querySelector('.found-count')?.textContent ?? ''
        return sought.includes('nowhere') ? said.startsWith('Nothing') : /^\d+ place/.test(said)
      }, text)
      return page.locator('.found-title').allInnerTexts()
    }

    it('searches in what is loaded when the field is used, by keyboard alone', async () => {
      const page = await open('/docs')
      const asked: string[] = []
      page.on('request', (request) => asked.push(request.url()))
      await page.focus('#sought')
      await page.waitForFunction(() =>
        performance.getEntriesByType('resource').some(({ name }) => name.includes('index-asked')),
      )
      expect(asked).to.have.length.within(1, 3)
      expect(await search(page, 'double_spend')).to.include('double_spend')
      await expectUsable(page, 'found')
      expect((await search(page, 'POST /api/proof/generate'))[0]).to.equal(
        'Prove whether rules hold for data',
      )
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('ArrowUp')
      expect(await page.evaluate(() => document.activeElement?.id)).to.equal('sought')
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('Enter')
      await page.waitForURL('**/docs/api-proofs#generateProof')
      await page.fill('#sought', 'merkle')
      await page.waitForSelector('#found a')
      await page.keyboard.press('Escape')
      expect(await page.isVisible('#found')).to.equal(false)
    })

    it('says when nothing is found, and when the search cannot be loaded', async () => {
      const page = await open('/docs/kyc')
      expect(await search(page, 'nowhere at all')).to.deep.equal([])
      expect(await page.innerText('.found-count')).to.include('“nowhere at all”')
      await pages.context.route(/index-asked/, (route) => route.abort())
      const other = await open('/docs/kyc')
      await other.fill('#sought', 'kyc')
      await other.waitForSelector('text=could not be loaded')
    })

    it('searches and offers forms whatever stands behind the # of the address', async () => {
      const page = await open('/docs/api-verification#100%')
      await page.waitForSelector('#sought')
      await page.waitForSelector('[data-operation="verify"] button:has-text("Try it")')
    })

    /** Opens the form of an operation. */
    const trial = async (path: string, operation: string) => {
      const page = await open(path)
      const section = page.locator(`[data-operation="${operation}"]`)
      await section.locator('button:has-text("Try it")').click()
      await section.locator('form').waitFor()
      const fill = (name: string, value: string) => section.locator(`[name="${name}"]`).fill(value)
      const send = async (): Promise<string> => {
        await section.locator('button[type="submit"]').click()
        await section.locator('.outcome:not([data-verdict="pending"])').waitFor()
        return section.locator('.outcome').innerText()
      }
      return { page, section, fill, send }
    }

    it('runs an example with the reader’s key, which is kept nowhere', async () => {
      const { apiKey } = await pages.app.organisation()
      const { page, fill, send } = await trial('/docs/api-verification', 'verify')
      await fill('key', apiKey)
      const text = await send()
      expect(text).to.match(/^200 in \d+ ms/)
      expect(text).to.include('x-request-id').and.to.include('"decision": "YES"')
      await expectUsable(page, 'an answer')
      const kept = await page.evaluate(() =>
        JSON.stringify([
          Object.entries(localStorage),
          Object.entries(sessionStorage),
          document.cookie,
          location.href,
        ]),
      )
      expect(kept).to.not.include(apiKey)
      // The next form of this page knows the key, another page doesn't.
      const other = page.locator('[data-operation="verifyBatch"]')
      await other.locator('button:has-text("Try it")').click()
      expect(await other.locator('[name="key"]').inputValue()).to.equal(apiKey)
      await page.reload()
      await page.locator('[data-operation="verify"] button:has-text("Try it")').click()
      expect(await page.inputValue('[data-operation="verify"] [name="key"]')).to.equal('')
    })

    it('shows what the service refuses, and what is wrong before it is asked', async () => {
      const { section, fill, send } = await trial('/docs/api-verification', 'verify')
      expect(await send()).to.match(/^401[\s\S]*"unauthorized"/)
      await fill('body', '{"data":')
      await section.locator('button[type="submit"]').click()
      expect(await section.locator('#verify-body-error').innerText()).to.include('This is not JSON')
      await fill('body', '{"data":{"n": 12345678901234567890}}')
      await fill('key', (await pages.app.organisation()).apiKey)
      await section.locator('button[type="submit"]').click()
      await section.locator('.outcome >> text=number_not_exact').waitFor()
    })

    it('says that a form cannot be loaded until it is', async () => {
      await pages.context.route(/\/trial-/, (route) => route.abort())
      const page = await open('/docs/api-verification')
      const section = page.locator('[data-operation="verify"]')
      const button = section.locator('button:has-text("Try it")')
      const words = section.locator('text=The form could not be loaded')
      await button.click()
      await words.waitFor()
      await pages.context.unrouteAll()
      await button.click()
      await section.locator('form').waitFor()
      expect(await words.count()).to.equal(0)
    })

    it('fills in paths, and asks without a key where none is needed', async () => {
      const { section, fill, send } = await trial('/docs/api-circuits', 'getVerificationKey')
      expect(await section.locator('[name="key"]').count()).to.equal(0)
      await fill('path.circuitId', '')
      await section.locator('button[type="submit"]').click()
      expect(await section.locator('.error:has-text("This is needed.")').count()).to.equal(1)
      await fill('path.circuitId', 'a/b c')
      expect(await send()).to.match(/^404/)
      await fill('path.circuitId', 'yesno')
      await section.locator('button[type="submit"]').click()
      await section.locator('.word:has-text("200")').waitFor()
    })

    it('says so when there is no answer', async () => {
      const { section } = await trial('/docs/api-verification', 'verify')
      await pages.context.setOffline(true)
      await section.locator('button[type="submit"]').click()
      await section.locator('text=It is not known whether').waitFor()
    })

    it('offers no form for what only a session may do, nor for streams', async () => {
      const page = await open('/docs/api-console')
      expect(await page.locator('[data-operation="deleteSession"] button').count()).to.equal(0)
      const chat = await open('/docs/api-chat')
      expect(
        await chat.locator('[data-operation]:has(.path:text-is("/api/stream")) button').count(),
      ).to.equal(0)
      expect(await chat.locator('[data-operation]:has(.path:text-is("/api/stats")) button').count()).to.equal(
        1,
      )
    })

    it('paints within a second', async () => {
      for (const path of ['/docs', '/docs/start', '/docs/api-agent-trust']) {
        const times: number[] = []
        for (let time = 0; time < TRIES; time++) {
          await pages.fresh()
          const page = await open(path)
          const paint = await page.waitForFunction(
            () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime,
          )
          times.push((await paint.jsonValue()) ?? Number.NaN)
        }
        expect(Math.min(...times), `${path}: ${times}`).to.be.lessThan(FIRST_PAINT_MS)
      }
    })
  })
})
