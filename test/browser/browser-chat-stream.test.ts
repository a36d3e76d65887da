/** Chromium's own EventSource on the live stream, on a page of another origin, while the server is killed under it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { type Follower, playKills } from '../support/chat/stream-kills.ts'
import { launchChromium } from '../support/chromium.ts'

const ROUNDS = 2

/** What the page keeps. */
interface Seen {
  readonly ids: number[]
  begun: number
}

const followIn = async (page: Page, url: string): Promise<Follower> => {
  await page.evaluate((address) => {
    const seen: Seen = { ids: [], begun: 0 }
    Object.assign(globalThis, { seen })
    const source = new EventSource(address)
    source.addEventListener('message', ({ lastEventId }) => seen.ids.push(Number(lastEventId)))
    source.addEventListener('state', () => seen.begun++)
  }, `${url}/api/stream`)
  const seen = () => page.evaluate(() => (globalThis as unknown as { seen: Seen }).seen)
  return { ids: async () => (await seen()).ids, begun: async () => (await seen()).begun }
}

describe('the live stream in Chromium', () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })
  after(() => browser?.close())

  it(`loses and repeats nothing through ${ROUNDS} kills of the server`, async function () {
    this.timeout(300_000)
    const dataDir = mkdtempSync(join(tmpdir(), 'assay-stream-'))
    try {
      const page = await browser.newPage()
      await playKills(ROUNDS, { DATA_DIR: dataDir }, async (url) => [await followIn(page, url)])
    } finally {
      rmSync(dataDir, { recursive: true, force: true })
    }
  })
})
