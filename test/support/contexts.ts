/** Contexts of a browser, one after the other, of which every complaint is kept. */
import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core'

/** Pages are slow while other files run beside them. */
const PATIENCE_MS = 30_000
export const DESKTOP = { width: 1280, height: 900 }
/** What the browser itself says of answers that are refused, which pages expect. */
const OF_THE_NETWORK = /^Failed to load resource/

export interface Contexts {
  readonly context: BrowserContext
  /** What the browser complained of in this context: blocked by the policy, or thrown by a script. */
  readonly complaints: readonly string[]
  /** Begins anew: no cookie, no page. */
  fresh(options?: BrowserContextOptions): Promise<void>
}

/** Holds the next answer from there back, once it was given, until `letGo`. */
export const holdNext = async (context: BrowserContext, address: RegExp) => {
  let letGo = (): void => undefined
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  let tell = (): void => undefined
  const given = new Promise<void>((resolve) => {
    tell = resolve
  })
  await context.route(
    address,
    async (route) => {
      const response = await route.fetch()
      tell()
      await held
      await route.fulfill({ response })
    },
    { times: 1 },
  )
  return { given, letGo }
}

export const createContexts = (browser: Browser): Contexts => {
  let context: BrowserContext | undefined
  const complaints: string[] = []
  return {
    complaints,
    get context() {
      if (context === undefined) throw new Error('fresh() was not called')
      return context
    },
    async fresh(options = {}) {
      await context?.close()
      context = await browser.newContext({ viewport: DESKTOP, locale: 'en-GB', ...options })
      context.setDefaultTimeout(PATIENCE_MS)
      complaints.length = 0
      context.on('console', (message) => {
        if (message.type() === 'error' && !OF_THE_NETWORK.test(message.text()))
          complaints.push(message.text())
      })
      context.on('weberror', (error) => complaints.push(String(error.error())))
    },
  }
}
