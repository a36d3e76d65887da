/** The page that checks, in Chromium: what it is given, and what it says. */
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { startTestApp, type TestApp, type TestOrganisation } from './app.ts'
import { type Camera, launchChromium } from './chromium.ts'
import { type Contexts, createContexts } from './contexts.ts'

/** Once it is over, however it ends. */
const SETTLED = '#told .verdict:not([data-verdict="pending"])'

export interface CheckPages extends Contexts {
  readonly app: TestApp
  readonly owner: TestOrganisation
  /** How far the service's clock is ahead of that of the browser; every context begins with none. */
  shiftMs: number
  open(): Promise<Page>
  close(): Promise<void>
}

export const startCheckPages = async (camera?: Camera): Promise<CheckPages> => {
  let shiftMs = 0
  const clock = { now: () => Date.now() + shiftMs }
  const [browser, app]: [Browser, TestApp] = await Promise.all([
    launchChromium(camera),
    startTestApp({ clock }),
  ])
  const contexts = createContexts(browser)
  const pages: CheckPages = {
    app,
    owner: await app.organisation(),
    complaints: contexts.complaints,
    get context() {
      return contexts.context
    },
    get shiftMs() {
      return shiftMs
    },
    set shiftMs(value) {
      shiftMs = value
    },
    async fresh(options) {
      shiftMs = 0
      await contexts.fresh(options)
    },
    async open() {
      const page = await pages.context.newPage()
      await page.goto(`${app.url}/verify`)
      await page.waitForSelector('#given')
      return page
    },
    async close() {
      await browser.close()
      await app.close()
    },
  }
  return pages
}

/** What the page says, once it says something. */
export interface Told {
  readonly word: string
  readonly tone: string | null
  /** Beside the word. */
  readonly text: string
  /** Of all checks that failed. */
  readonly faults: readonly string[]
}

export const toldOn = async (page: Page): Promise<Told> => {
  await page.waitForSelector(SETTLED)
  const verdict = page.locator(SETTLED)
  return {
    word: await verdict.locator('.word').innerText(),
    tone: await verdict.getAttribute('data-verdict'),
    text: await verdict.innerText(),
    faults: await page.$$eval('[data-fault]', (rows) =>
      rows.map((row) => row.getAttribute('data-fault') ?? ''),
    ),
  }
}

/** Checks the verdict, and that just these checks failed. @returns what was told */
export const expectTold = (told: Told, word: string, tone: string, ...faults: readonly string[]): Told => {
  expect(told, JSON.stringify(told)).to.include({ word, tone })
  expect(told.faults).to.deep.equal(faults)
  return told
}

/** Pastes it, and waits until it was checked. */
export const paste = async (page: Page, given: string | object): Promise<Told> => {
  // What was found before goes with the text.
  await page.fill('#given', '')
  await page.waitForSelector(SETTLED, { state: 'detached' })
  await page.fill('#given', typeof given === 'string' ? given : JSON.stringify(given))
  await page.click('form.give button[type="submit"]')
  return toldOn(page)
}

/** Another payload under the signature of this one. */
export const repaid = (jws: string, change: object): string => {
  const [header, payload = '', signature] = jws.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const changed = Buffer.from(JSON.stringify({ ...claims, ...change })).toString('base64url')
  return `${header}.${changed}.${signature}`
}

/** Another header over the same payload. */
export const reheaded = (jws: string, change: object): string => {
  const [header = '', payload, signature] = jws.split('.')
  const members = JSON.parse(Buffer.from(header, 'base64url').toString())
  return `${Buffer.from(JSON.stringify({ ...members, ...change })).toString('base64url')}.${payload}.${signature}`
}

/**
 * Hooks of a suite: one service and browser for all its tests, with a new page for each, after which no page may have
 * complained.
 *
 * @param use gets both before each test @param prepare is called once, before all of them
 */
export const onCheckPage = (
  use: (pages: CheckPages, page: Page) => void,
  prepare?: (pages: CheckPages) => Promise<void>,
): void => {
  let pages: CheckPages
  before(async () => {
    pages = await startCheckPages()
    await prepare?.(pages)
  })
  after(() => pages?.close())
  beforeEach(async () => {
    await pages.fresh()
    use(pages, await pages.open())
  })
  afterEach(() => expect(pages.complaints).to.deep.equal([]))
}
