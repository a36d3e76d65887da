/** The system's Chromium, without a window, with a profile of its own. */
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const EXECUTABLE = '/usr/bin/chromium'

/** @param extra arguments @throws Error that says how to install it */
export const launchChromium = (extra: readonly string[] = []): Promise<Browser> => {
  if (!existsSync(EXECUTABLE)) {
    throw new Error(`Browser tests need Chromium at ${EXECUTABLE}: apt-get install chromium`)
  }
  return chromium.launch({
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
  })
}
