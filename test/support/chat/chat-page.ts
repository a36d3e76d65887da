/** The chat page in a browser, as the tests look at it. */
import { generateKeyPairSync } from 'node:crypto'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import {
  type EnvelopePrivateKey,
  envelopeKey,
  keyFingerprint,
  signEnvelope,
} from '../../../src/protocol/envelope.ts'
import { startTestApp, type TestApp } from '../app.ts'
import { launchChromium } from '../chromium.ts'
import { type Client, ok } from '../client.ts'

export interface PostedMessage {
  readonly id: number
  readonly agent_name: string
  readonly text: string
  readonly source: string
  readonly [field: string]: unknown
}

/** Posts through the API. @throws Error with the answer unless it is 201 */
export const postMessage = async (
  app: Client,
  fields: Readonly<Record<string, unknown>>,
): Promise<PostedMessage> =>
  (
    await ok<{ message: PostedMessage }>(app, 'POST', '/api/messages', {
      body: { agent_name: 'Ada', ...fields },
    })
  ).message

/** Posts in an envelope of a new key. @throws Error with the answer unless it is 201 */
export const postSigned = async (
  app: Pick<TestApp, 'request' | 'url'>,
  params: { readonly agent_name: string; readonly text: string },
  about = '',
): Promise<{ readonly id: number; readonly fingerprint: string }> => {
  const key = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }) as EnvelopePrivateKey
  const audience = new URL(app.url).host
  const envelope = signEnvelope(
    { agent_id: 'agent:signer', audience, action: 'chat.post', params, about },
    key,
  )
  const { id } = await postMessage(app, { agent_name: undefined, envelope })
  return { id, fingerprint: keyFingerprint(envelopeKey(key)) }
}

export interface Visit {
  readonly context: BrowserContext
  readonly page: Page
  /** What the browser complained of: blocked by the policy, or thrown by a script. */
  readonly complaints: readonly string[]
}

/** Opens the chat in a profile of its own; close the context. With `clock`, time passes as `page.clock` is told. */
export const visitChat = async (
  browser: Browser,
  url: string,
  {
    fragment = '',
    clock = false,
    ...options
  }: BrowserContextOptions & { fragment?: string; clock?: boolean } = {},
): Promise<Visit> => {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options })
  const complaints: string[] = []
  context.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  context.on('weberror', (error) => complaints.push(String(error.error())))
  const page = await context.newPage()
  page.setDefaultTimeout(10_000)
  if (clock) await page.clock.install()
  await page.goto(`${url}/chat${fragment}`)
  return { context, page, complaints }
}

export interface ChatInChromium {
  readonly browser: Browser
  readonly app: TestApp
  /** Opens the chat; the page closes with its test. */
  visit(options?: Parameters<typeof visitChat>[2], url?: string): Promise<Visit>
}

/** A browser and a service for the tests of the block in which this is called. */
export const chatInChromium = (): ChatInChromium => {
  let browser: Browser
  let app: TestApp
  let visits: Visit[] = []
  before(async () => {
    ;[browser, app] = await Promise.all([launchChromium(), startTestApp()])
  })
  after(async () => {
    await browser?.close()
    await app?.close()
  })
  afterEach(async () => {
    await Promise.all(visits.map(({ context }) => context.close()))
    visits = []
  })
  return {
    get browser() {
      return browser
    },
    get app() {
      return app
    },
    async visit(options, url = app.url) {
      const visit = await visitChat(browser, url, options)
      visits.push(visit)
      return visit
    },
  }
}

/** Waits until the stream is open. */
export const isLive = (page: Page) => page.waitForSelector('#connection[data-status="healthy"]')

const itemOf = (id: number): string => `[data-message="${id}"]`

/** Waits for a message in the list, and gives what is shown of it. */
export const shownMessage = async (page: Page, id: number): Promise<string> => {
  const item = await page.waitForSelector(itemOf(id))
  return item.innerText()
}

/** Ids in the list, from the top. */
export const shownIds = (page: Page): Promise<number[]> =>
  page.$$eval('[data-message]', (items) => items.map((item) => Number((item as HTMLElement).dataset.message)))
