/** The console in Chromium: an app, accounts, and what people do on every page. */
import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'
import { startTestApp, type TestApp } from './app.ts'
import { breaches, breachesOfColour } from './axe.ts'
import { launchChromium } from './chromium.ts'
import { ok } from './client.ts'
import { type Contexts, createContexts, DESKTOP } from './contexts.ts'
import { signIn, signUp } from './domain/accounts.ts'

const PHONE = { width: 390, height: 844 }
/** WCAG 1.4.10: no scrolling in two directions at this width. */
const NARROWEST = { width: 320, height: 640 }

/** A folder for pictures of every state, for people to look at. */
const { PICTURES } = process.env

/** What is typed into a form: name of a field → text. */
type Values = Readonly<Record<string, string>>

export interface ConsolePages extends Contexts {
  readonly app: TestApp
  /** Opens an address, once its page has shown what it asked for. */
  open(path: string): Promise<Page>
  /** Opens an address for somebody who was never here, with an account of their own. */
  openSignedIn(path: string): Promise<Page & { readonly account: Awaited<ReturnType<typeof signUp>> }>
  close(): Promise<void>
}

/** Waits until nothing is being asked for any more. */
export const settledOn = async (page: Page): Promise<void> => {
  await page.waitForSelector('main h1')
  await page.waitForFunction(() => !document.querySelector('main')?.textContent?.includes('Loading…'))
}

export const fillOn = async (page: Page, values: Values, within = 'main'): Promise<void> => {
  for (const [name, value] of Object.entries(values)) await page.fill(`${within} [name="${name}"]`, value)
}

/** Signs out whoever is signed in, and in as somebody else. */
export const signInInstead = async (
  page: Page,
  account: { email: string; password: string },
): Promise<void> => {
  await page.click('button:text("Sign out")')
  await signInOn(page, account)
  await page.waitForSelector(`.who :text("${account.email.toLowerCase()}")`)
  await settledOn(page)
}

export const signInOn = async (page: Page, { email, password }: { email: string; password: string }) => {
  await page.waitForSelector('h1:text("Sign in")')
  await fillOn(page, { email, password })
  await page.click('button:text("Sign in")')
}

/** Chooses the act of a row, types the name that the window asks for, and confirms. */
export const confirmOn = async (page: Page, act: string, name: string, action: string): Promise<void> => {
  await page.click(`td button:has-text("${act}")`)
  await page.fill('dialog [name="name"]', name)
  await page.click(`dialog button:text("${action}")`)
  await page.waitForSelector('dialog', { state: 'detached' })
}

/** Each look, with what is looked for: colours differ in the dark, and a phone shows nothing there that a desktop doesn't. */
const LOOKS = [
  { viewport: PHONE, colorScheme: 'light', find: breaches },
  { viewport: PHONE, colorScheme: 'dark' },
  { viewport: DESKTOP, colorScheme: 'light', find: breaches },
  { viewport: DESKTOP, colorScheme: 'dark', find: breachesOfColour },
] as const

/** Everybody can use what is shown now: on a phone and a desktop, in light and dark, and on the narrowest screen. */
export const expectUsable = async (page: Page, state: string): Promise<void> => {
  for (const look of LOOKS) {
    const { viewport, colorScheme } = look
    if (!('find' in look) && PICTURES === undefined) continue
    await page.setViewportSize(viewport)
    await page.emulateMedia({ colorScheme })
    if ('find' in look)
      expect(await look.find(page), `${state}, ${viewport.width} px, ${colorScheme}`).to.deep.equal([])
    if (PICTURES !== undefined)
      await page.screenshot({
        path: `${PICTURES}/${state} ${viewport.width} ${colorScheme}.png`.replaceAll(/[^\w./-]+/g, '-'),
        fullPage: true,
      })
  }
  await page.setViewportSize(NARROWEST)
  expect(await page.evaluate(() => document.documentElement.scrollWidth), state).to.equal(NARROWEST.width)
  await page.setViewportSize(DESKTOP)
}

/** A key of the account's organisation with every right, for what programs do meanwhile. */
export const ownerOf = async (
  app: TestApp,
  account: { email: string; password: string; organisationId: string; merchantId: string },
) => {
  const { headers } = await signIn(app, account)
  const scopes = [
    'merchant',
    'audit',
    'keys',
    'verify',
    'pod',
    'proof',
    'token',
    'consent',
    'export',
    'kyc',
    'aml',
  ]
  const { apiKey } = await ok<{ apiKey: string }>(app, 'POST', '/console/api/keys', {
    headers,
    body: { scopes },
  })
  return { ...account, apiKey }
}

/** The env of the app, over what suits most tests; or what starts one, which is closed with the pages. */
type Start = Readonly<Record<string, string>> | (() => Promise<TestApp>)

export const startConsolePages = async (start: Start = {}): Promise<ConsolePages> => {
  const starting = typeof start === 'function' ? start() : startTestApp({ env: start })
  const [browser, app]: [Browser, TestApp] = await Promise.all([launchChromium(), starting])
  const contexts = createContexts(browser)
  const pages: ConsolePages = {
    app,
    complaints: contexts.complaints,
    fresh: contexts.fresh,
    get context() {
      return contexts.context
    },
    async open(path) {
      const page = await pages.context.newPage()
      await page.goto(new URL(path, app.url).href)
      await settledOn(page)
      return page
    },
    async openSignedIn(path) {
      const account = await signUp(app)
      const page = await pages.open(path)
      await signInOn(page, account)
      await page.waitForSelector('.sidebar')
      await settledOn(page)
      return Object.assign(page, { account })
    },
    async close() {
      await browser.close()
      await app.close()
    },
  }
  return pages
}

/** Call inside `describe`: one app for its tests, and for each a browser that was never here and complains of nothing. */
export const eachInFreshBrowser = (started: (pages: ConsolePages) => void, start?: Start): void => {
  let pages: ConsolePages
  before(async () => {
    pages = await startConsolePages(start)
    started(pages)
  })
  after(() => pages?.close())
  beforeEach(() => pages.fresh())
  afterEach(() => expect(pages.complaints).to.deep.equal([]))
}
