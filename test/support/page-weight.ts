/** What a page loads, and how soon it paints: both are kept small on every page. */
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import type { BrowserContext, Page, Response } from 'playwright-core'

export const MAX_BYTES_GZIPPED = 100_000
const FIRST_PAINT_MS = 1000
/** A machine may be busy with other things. */
const PAINTS = 5

/** The page itself, and not what an organisation has in it; a stream has no end. */
const isOfThePage = (response: Response): boolean =>
  !response.url().includes('/console/api/') &&
  !response.headers()['content-type']?.startsWith('text/event-stream')

/**
 * Opens a page until it painted within a second once, and checks what it loaded each time.
 * @param isShown waits until it has loaded what it needs at first
 */
export const expectLight = async (
  context: BrowserContext,
  address: string,
  isShown: (page: Page) => Promise<unknown>,
): Promise<void> => {
  const paints: number[] = []
  while (paints.length < PAINTS && !paints.some((time) => time < FIRST_PAINT_MS)) {
    const page = await context.newPage()
    const bodies: Promise<Buffer>[] = []
    page.on('response', (response) => {
      if (isOfThePage(response)) bodies.push(response.body())
    })
    await page.goto(address)
    await isShown(page)
    const sizes = (await Promise.all(bodies)).map((body) => gzipSync(body).length)
    expect(sizes.length, address).to.be.greaterThan(3)
    expect(
      sizes.reduce((sum, size) => sum + size, 0),
      address,
    ).to.be.lessThan(MAX_BYTES_GZIPPED)
    const paint = await page.waitForFunction(
      () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime,
    )
    paints.push((await paint.jsonValue()) ?? Number.NaN)
    await page.close()
  }
  expect(Math.min(...paints), `${address}: ${paints}`).to.be.lessThan(FIRST_PAINT_MS)
}
