/** The system's Chromium, without a window, with a profile of its own. */
import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium } from 'playwright-core'

const EXECUTABLE = '/usr/bin/chromium'

const optionsWith = (extra: readonly string[]) => {
  if (!existsSync(EXECUTABLE)) {
    throw new Error(`Browser tests need Chromium at ${EXECUTABLE}: apt-get install chromium`)
  }
  return {
    executablePath: EXECUTABLE,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...extra,
    ],
  }
}

/** @param extra arguments @throws Error that says how to install it */
export const launchChromium = (extra: readonly string[] = []): Promise<Browser> =>
  chromium.launch(optionsWith(extra))

/** One that keeps what pages keep, in a folder, until it is started there again. @throws Error as above */
export const launchInFolder = (folder: string): Promise<BrowserContext> =>
  chromium.launchPersistentContext(folder, { ...optionsWith([]), locale: 'en-GB' })
