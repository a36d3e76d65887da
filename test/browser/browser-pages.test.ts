/** The pages in a real browser: what people see, with the network and the service as they may be. */
import { expect } from 'chai'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { startTestApp, type TestApp, type TestOrganisation } from '../support/app.ts'
import { isLive, postMessage } from '../support/chat/chat-page.ts'
import { launchChromium } from '../support/chromium.ts'
import { expectUsable } from '../support/console-page.ts'
import { holdNext } from '../support/contexts.ts'
import { expectLight, MAX_BYTES_GZIPPED } from '../support/page-weight.ts'
import { DATA, signedResult, verified } from '../support/verification.ts'

const HOUR_MS = 3_600_000
const UNKNOWN_HASH = 'A'.repeat(43)
const PASSING_RULES = [{ field: 'age', op: 'gte', value: 18 }]
const FAILING_RULES = [{ field: 'age', op: 'gt', value: 99 }]

describe('pages in Chromium', () => {
  let browser: Browser
  let app: TestApp
  let owner: TestOrganisation
  let context: BrowserContext
  /** How far the service's clock is from that of the browser. */
  let shiftMs = 0
  /** What the browser complained of: blocked by the policy, or thrown by a script. */
  let complaints: string[] = []

  before(async () => {
    ;[browser, app] = await Promise.all([
      launchChromium(),
      startTestApp({ clock: { now: () => Date.now() + shiftMs } }),
    ])
    owner = await app.organisation()
  })
  after(async () => {
    await browser?.close()
    await app?.close()
  })
  const openContext = async (options: BrowserContextOptions = {}) => {
    context = await browser.newContext(options)
    complaints = []
    context.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    context.on('weberror', (error) => complaints.push(String(error.error())))
  }
  beforeEach(async () => {
    shiftMs = 0
    await openContext()
  })
  afterEach(() => context.close())

  const open = async (address: string): Promise<Page> => {
    const page = await context.newPage()
    await page.goto(new URL(address, app.url).href)
    return page
  }
  const result = (options: object = {}) => signedResult(app, owner.apiKey, { data: DATA, options })
  const settled = async (page: Page): Promise<string> => {
    await page.waitForSelector('#again:not([hidden])')
    return page.innerText('#verdict')
  }
  /** Check → outcome, in the order they are shown. */
  const outcomes = (page: Page): Promise<Record<string, string>> =>
    page.$$eval('[data-check]', (rows) =>
      Object.fromEntries(
        rows.map((row) => [row.getAttribute('data-check'), row.getAttribute('data-outcome')]),
      ),
    )
  /** Checks that some results have nothing for. */
  const MAY_BE_SKIPPED = ['question', 'proof', 'inclusion']
  const failed = async (page: Page): Promise<string[]> =>
    Object.entries(await outcomes(page))
      .filter(
        ([name, outcome]) => outcome === 'failed' || (outcome !== 'passed' && !MAY_BE_SKIPPED.includes(name)),
      )
      .map(([name]) => name)
  /** Tampers with what the service answers to a script on its way to the page. */
  const intercept = (path: RegExp, change: (body: Record<string, unknown>) => object, status = 200) =>
    context.route(path, async (route) => {
      if (route.request().resourceType() !== 'fetch') return route.continue()
      const response = await route.fetch()
      return route.fulfill({ status, json: change(await response.json()) })
    })

  describe('the first page', () => {
    const healthIs = (page: Page, status: string) => page.waitForSelector(`#health[data-status="${status}"]`)
    const fill = async (page: Page, fields: { key?: string; data?: string; rules?: string }) => {
      for (const [id, text] of Object.entries(fields)) await page.fill(`#${id}`, text)
    }
    const sent = async (page: Page): Promise<string> => {
      await page.click('#send')
      await page.waitForSelector('#outcome:not([data-verdict="pending"]) .word')
      return page.innerText('#outcome')
    }

    it('shows how the service is, notices when the network is gone and when it is back', async () => {
      const page = await open('/')
      await healthIs(page, 'healthy')
      expect(await page.innerText('#health')).to.match(/All is well\s+Database connected, Redis/)
      expect(await page.innerText('#health-figures')).to.match(/Version 1\.0\.0, up for \d+ min/)
      await context.setOffline(true)
      await healthIs(page, 'unreachable')
      expect(await page.innerText('#health')).to.include('Unreachable')
      expect(await page.innerText('#health-figures')).to.equal('')
      await context.setOffline(false)
      await healthIs(page, 'healthy')
    })

    it('notices as well when only the service is gone, which no event tells', async () => {
      const page = await open('/')
      await healthIs(page, 'healthy')
      await context.route(/\/health$/, (route) => route.abort())
      await healthIs(page, 'unreachable')
      await context.unrouteAll()
      await healthIs(page, 'healthy')
    })

    it('says so when the service answers that it is not well', async () => {
      await intercept(/\/health$/, (body) => ({ ...body, status: 'unhealthy' }), 503)
      await healthIs(await open('/'), 'unhealthy')
    })

    it('verifies by keyboard alone, and leads to the page of the result', async () => {
      const page = await open('/')
      await page.keyboard.press('Tab')
      expect(await page.evaluate(() => document.activeElement?.textContent)).to.equal('Skip to the content')
      await page.focus('#key')
      await page.keyboard.type(owner.apiKey)
      for (const id of ['data', 'rules', 'send']) {
        await page.keyboard.press('Tab')
        expect(await page.evaluate(() => document.activeElement?.id)).to.equal(id)
      }
      await page.keyboard.press('Enter')
      await page.waitForSelector('#outcome[data-verdict="good"]')
      expect(await page.innerText('#outcome .word')).to.equal('Decision: YES')
      await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      await page.waitForURL('**/verify/qr/*')
      expect(await settled(page)).to.include('Valid: YES')
      expect(complaints).to.deep.equal([])
    })

    it('shows a NO, and that data is missing', async () => {
      const page = await open('/')
      const rules = JSON.stringify([{ field: 'height', op: 'gt', value: 1 }])
      await fill(page, { key: owner.apiKey, rules })
      const text = await sent(page)
      expect(text).to.include('Decision: NO').and.to.include('something that is missing')
    })

    it('points to the field that needs another look, and sends nothing', async () => {
      const page = await open('/')
      let asked = 0
      context.on('request', (request) => {
        if (request.method() === 'POST') asked++
      })
      const problem = async () => {
        await page.click('#send')
        const id = await page.evaluate(() => document.activeElement?.id)
        return [id, await page.getAttribute(`#${id}`, 'aria-invalid'), await page.innerText(`#${id}-error`)]
      }
      expect(await problem()).to.deep.equal(['key', 'true', 'An API key is needed, such as ak_live_….'])
      await fill(page, { key: owner.apiKey, data: '{"a":' })
      expect((await problem())[0]).to.equal('data')
      await fill(page, { data: '[]' })
      expect(await problem()).to.deep.equal([
        'data',
        'true',
        'This must be an object with at least one member.',
      ])
      await fill(page, { data: '{"a":1}', rules: '{}' })
      expect(await problem()).to.deep.equal(['rules', 'true', 'This must be an array of rules.'])
      expect(asked).to.equal(0)
    })

    it('tells a refusal in the words of the service', async () => {
      const page = await open('/')
      await fill(page, { key: 'ak_live_unknown' })
      expect(await sent(page)).to.include('401 unauthorized')
      expect(await page.innerText('#key-error')).to.equal('The service does not know this key.')
      await fill(page, { key: owner.apiKey, rules: '[{"field":"age","op":"near","value":1}]' })
      expect(await sent(page))
        .to.include('422 validation_failed')
        .and.to.include('/options/rules/0')
      expect(await page.innerText('#key-error')).to.equal('')
    })

    it('sends numbers as they were typed', async () => {
      const page = await open('/')
      await fill(page, { key: owner.apiKey, data: '{"n": 12345678901234567890}', rules: '' })
      expect(await sent(page)).to.include('422 number_not_exact')
    })

    it('shows markup as the text that it is', async () => {
      const markup = '<img src=x onerror=alert(1)>'
      await intercept(
        /\/verify$/,
        () => ({ error: markup, message: markup, details: [{ path: markup }] }),
        422,
      )
      const page = await open('/')
      await fill(page, { key: owner.apiKey })
      expect(await sent(page)).to.include(markup)
      expect(await page.$$('#outcome img')).to.deep.equal([])
    })

    it('says that nothing is known when there is no answer', async () => {
      const page = await open('/')
      await fill(page, { key: owner.apiKey })
      await context.setOffline(true)
      expect(await sent(page)).to.include('No answer')
    })
  })

  describe('the page of a signed result', () => {
    it('shows what was asked and what was signed, and runs every check, the proof and the log among them', async () => {
      const options = { ttl: 600, rules: PASSING_RULES }
      const { qrUrl, verificationId, digest } = await verified(app, owner.apiKey, { data: DATA, options })
      const page = await open(qrUrl)
      expect(await settled(page))
        .to.include('Valid: YES')
        .and.to.include('All checks passed.')
      expect(await page.innerText('#asked')).to.include('“age” is at least 18')
      const found = await outcomes(page)
      expect(Object.values(found).every((outcome) => outcome === 'passed')).to.equal(true)
      expect(Object.keys(found).slice(-3)).to.deep.equal(['question', 'proof', 'inclusion'])
      expect(await page.innerText('#claims'))
        .to.include(verificationId)
        .and.to.include(digest)
      expect(await page.innerText('#provenance')).to.include('WebCrypto')
      await page.waitForFunction(() => document.querySelector<HTMLImageElement>('#code')?.naturalWidth)
      expect(await page.title()).to.equal('Valid: YES · Assay')
      expect(complaints).to.deep.equal([])
    })

    it('does not believe a proof or a question that is another result’s', async () => {
      const ask = (value: number) =>
        verified(app, owner.apiKey, { data: DATA, options: { rules: [{ field: 'age', op: 'gte', value }] } })
      const [one, other] = [await ask(18), await ask(21)]
      const { body } = await app.request<object>('GET', new URL(other.qrUrl).pathname)
      const { asked, proof } = body as { asked: object; proof: string }
      await intercept(/\/verify\/qr\//, (answer) => ({ ...answer, asked, proof }))
      const page = await open(one.qrUrl)
      expect(await settled(page)).to.include('Not valid')
      expect(await failed(page)).to.deep.equal(['question', 'proof'])
    })

    it('says what was not checked, and asks to mistrust a YES to an unknown question', async () => {
      await intercept(/\/verify\/qr\//, (answer) => ({ ...answer, asked: null, proof: null }))
      const page = await open((await result({ rules: FAILING_RULES })).qrUrl)
      expect(await settled(page))
        .to.include('Valid: NO to an unknown question')
        .and.to.include('Not checked: Question, Zero-knowledge proof.')
      expect(await page.isVisible('#question')).to.equal(false)
      expect(await failed(page)).to.deep.equal([])
    })

    it('says that nothing was asked, and no YES', async () => {
      const page = await open((await result()).qrUrl)
      expect(await settled(page))
        .to.include('Valid: no question asked')
        .and.to.include('It attests the submitted data; no question was asked.')
      expect(await page.innerText('#asked')).to.include('No question was asked.')
      expect(await page.innerText('main')).to.not.include('YES')
    })

    it('does not show a NO as if all were well', async () => {
      const page = await open((await result({ rules: FAILING_RULES })).qrUrl)
      expect(await settled(page)).to.include('Valid: NO')
      expect(await page.getAttribute('#verdict', 'data-verdict')).to.equal('warn')
      expect(await failed(page)).to.deep.equal([])
    })

    it('does not believe a JWS that was changed on its way', async () => {
      const { qrUrl } = await result({ rules: FAILING_RULES })
      await intercept(/\/verify\/qr\//, (body) => {
        const [header, payload = '', signature] = String(body.jws).split('.')
        const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
        const forged = Buffer.from(JSON.stringify({ ...claims, decision: 'YES' })).toString('base64url')
        return { ...body, decision: 'YES', jws: `${header}.${forged}.${signature}` }
      })
      const page = await open(qrUrl)
      expect(await settled(page)).to.include('Not valid')
      expect(await failed(page)).to.deep.equal(['address', 'signature', 'issuer', 'expiry'])
      expect(await page.isVisible('#statement')).to.equal(false)
    })

    it('shows only what was signed, whatever else the answer says', async () => {
      await intercept(/\/verify\/qr\//, (body) => ({ ...body, decision: 'YES', verificationId: 'ver_other' }))
      const page = await open((await result({ rules: FAILING_RULES })).qrUrl)
      expect(await settled(page)).to.include('Valid: NO')
      expect(await page.innerText('main')).to.not.include('ver_other')
    })

    it('does not believe a genuine result under another one’s address', async () => {
      const other = await result()
      await intercept(/\/verify\/qr\//, (body) => ({ ...body, jws: other.jws }))
      const page = await open((await result()).qrUrl)
      expect(await settled(page)).to.include('Not valid')
      // The place in the log is that of the other result's entry.
      expect(await failed(page)).to.deep.equal(['address', 'inclusion'])
      expect(await page.isVisible('#statement')).to.equal(false)
    })

    it('says EXPIRED by the clock of the device, and when the service says so', async () => {
      shiftMs = -HOUR_MS
      const { qrUrl } = await result({ ttl: 60 })
      const page = await open(qrUrl)
      expect(await settled(page)).to.match(/^Expired/)
      expect(await failed(page)).to.deep.equal(['expiry'])
      shiftMs = 0
      await page.click('#again')
      await page.waitForSelector('[data-check="status"][data-outcome="failed"]')
      expect(await settled(page)).to.match(/^Expired/)
      expect(await failed(page)).to.deep.equal(['expiry', 'status'])
    })

    it('says REVOKED, though the signature still fits', async () => {
      const { qrUrl, verificationId } = await result()
      await app.request('POST', '/verify/revoke', { key: owner.apiKey, body: { verificationId } })
      const page = await open(qrUrl)
      expect(await settled(page)).to.match(/^Revoked/)
      expect(await failed(page)).to.deep.equal(['status'])
    })

    it('shows what was found last, whichever check ends first', async () => {
      const { qrUrl, verificationId } = await result({ rules: PASSING_RULES })
      const page = await open(qrUrl)
      await settled(page)
      const { given, letGo } = await holdNext(context, /\/verify\/qr\/[\w-]+$/)
      await page.click('#again')
      await given
      await app.request('POST', '/verify/revoke', { key: owner.apiKey, body: { verificationId } })
      await page.click('#again')
      await page.waitForSelector('#verdict-word:text-is("Revoked")')
      letGo()
      await page.waitForTimeout(2000)
      expect(await page.innerText('#verdict')).to.match(/^Revoked/)
    })

    it('says that there is no such result', async () => {
      const page = await open(`/verify/qr/${UNKNOWN_HASH}`)
      expect(await settled(page)).to.match(/^Not found/)
      expect(await page.isVisible('#checked')).to.equal(false)
    })

    it('says nothing about the result while log or key of the circuit can’t be fetched, and shows no answer', async () => {
      const options = { rules: PASSING_RULES }
      const { qrUrl } = await verified(app, owner.apiKey, { data: DATA, options })
      for (const [path, what] of [
        [/\/checkpoint$/, 'Entry in the log'],
        [/\/tile\//, 'Entry in the log'],
        [/\/vkey$/, 'Zero-knowledge proof'],
      ] as const) {
        await context.route(path, (route) => route.abort())
        const page = await open(qrUrl)
        expect(await settled(page))
          .to.match(/^Not verified/)
          .and.include(`could not check what matters: ${what}.`)
        expect(await page.getAttribute('#verdict', 'data-verdict')).to.equal('warn')
        expect(await failed(page)).to.deep.equal([])
        for (const id of ['question', 'statement']) expect(await page.isVisible(`#${id}`)).to.equal(false)
        await expectUsable(page, 'a result that is not verified')
        await context.unrouteAll()
        await page.click('#again')
        await page.waitForSelector('#verdict[data-verdict="good"]')
        expect(await page.isVisible('#statement')).to.equal(true)
      }
    }).timeout(120_000)

    it('says nothing about the result while the service is away, and checks once it is back', async () => {
      const page = await open((await result({ rules: PASSING_RULES })).qrUrl)
      await settled(page)
      await context.setOffline(true)
      await page.click('#again')
      await page.waitForSelector('#verdict[data-verdict="warn"]')
      expect(await page.innerText('#verdict')).to.match(/^Not checked/)
      expect(await page.isVisible('#checked')).to.equal(false)
      await context.setOffline(false)
      await page.click('#again')
      await page.waitForSelector('#verdict[data-verdict="good"]')
      expect(await failed(page)).to.deep.equal([])
    })

    it('checks with its own code where the browser has no WebCrypto, and names both addresses', async () => {
      // A page that came over plain HTTP from elsewhere than this device is no secure context.
      await context.route('http://pod.example/**', async (route) => {
        const { pathname, search } = new URL(route.request().url())
        return route.fulfill({ response: await route.fetch({ url: app.url + pathname + search }) })
      })
      const options = { rules: PASSING_RULES }
      const { qrUrl } = await verified(app, owner.apiKey, { data: DATA, options })
      const page = await open(new URL(new URL(qrUrl).pathname, 'http://pod.example').href)
      expect(await page.evaluate(() => isSecureContext)).to.equal(false)
      expect(await settled(page))
        .to.include('Valid: YES')
        .and.to.include('All checks passed.')
      expect(await page.innerText('#provenance')).to.include('the code of this page')
      const issuer = await page.innerText('[data-check="issuer"]')
      expect(issuer).to.include(app.url).and.to.include('http://pod.example')
    })
  })

  describe('for everybody', () => {
    it('axe finds nothing on any page, on a phone and a desktop, in light and dark, and nothing is cut off', async function () {
      this.timeout(300_000)
      const { qrUrl } = await result({ ttl: 600 })
      const landing = await open('/')
      await landing.waitForSelector('#health[data-status="healthy"]')
      await expectUsable(landing, 'the first page')
      await landing.click('#send')
      await expectUsable(landing, 'the first page with an error')
      await landing.fill('#key', 'ak_live_unknown')
      await landing.click('#send')
      await landing.waitForSelector('#outcome[data-verdict="bad"]')
      await expectUsable(landing, 'the first page, refused')
      await landing.fill('#key', owner.apiKey)
      await landing.click('#send')
      await landing.waitForSelector('#outcome[data-verdict="good"]')
      await landing.click('summary')
      await expectUsable(landing, 'the first page with a result')

      for (const [state, address, change] of [
        ['a result', qrUrl, {}],
        ['a result that has expired', qrUrl, { status: 'EXPIRED' }],
        ['a result that is not valid', qrUrl, { jws: 'e30.e30.AAAA' }],
        ['no such result', `/verify/qr/${UNKNOWN_HASH}`, {}],
      ] as const) {
        await context.unrouteAll()
        await context.route(/\/verify\/qr\//, async (route) => {
          if (route.request().resourceType() !== 'fetch') return route.continue()
          const response = await route.fetch()
          return route.fulfill({ response, json: { ...(await response.json()), ...change } })
        })
        const page = await open(address)
        await settled(page)
        await expectUsable(page, state)
      }
    })

    it(`loads less than ${MAX_BYTES_GZIPPED / 1000} KB, packed, for each page, which paints within a second`, async function () {
      this.timeout(120_000)
      await postMessage(app, { text: 'Something to read.' })
      for (const [address, isShown] of [
        ['/', (page: Page) => page.waitForSelector('#health[data-status="healthy"]')],
        ['/chat', (page: Page) => isLive(page).then(() => page.waitForSelector('[data-message]'))],
        [(await result({ rules: PASSING_RULES })).qrUrl, settled],
        ['/credentials', (page: Page) => page.waitForSelector('#create-box summary')],
      ] as const)
        await expectLight(context, new URL(address, app.url).href, isShown)
    })

    it('says what needs JavaScript, and how to do without', async () => {
      await context.close()
      await openContext({ javaScriptEnabled: false })
      for (const address of ['/', (await result()).qrUrl]) {
        const page = await open(address)
        expect(await page.innerText('noscript')).to.include('JavaScript')
        if (address !== '/') expect(await page.innerText('noscript')).to.include('Nothing was checked.')
      }
    })
  })
})
