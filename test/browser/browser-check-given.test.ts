/** The page that checks, in Chromium: what was found is about what was given last, and about nothing else. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { type CheckPages, onCheckPage, paste } from '../support/check-page.ts'
import { expectUsable } from '../support/console-page.ts'
import { DATA, verified } from '../support/verification.ts'

const RULES = [{ field: 'age', op: 'gte', value: 18 }]

describe('what was given to the page that checks, in Chromium', function () {
  this.timeout(600_000)
  let pages: CheckPages
  let page: Page

  onCheckPage((started, opened) => {
    pages = started
    page = opened
  })

  const drop = (text: string): Promise<void> =>
    page.evaluate(`{
      const data = new DataTransfer()
      data.items.add(${JSON.stringify(text)}, 'text/plain')
      document.dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true }))
    }`)

  for (const [what, text] of [
    ['nothing', ''],
    ['blanks', ' \n '],
  ] as const)
    it(`leaves no verdict of what was given before, when ${what} is dropped, and says that it is nothing`, async () => {
      const { jws } = await verified(pages.app, pages.owner.apiKey, { data: DATA, options: { rules: RULES } })
      expect(await paste(page, jws)).to.include({ word: 'Valid: YES', tone: 'good' })
      await drop(text)
      await page.waitForSelector('#told .verdict', { state: 'detached' })
      await page.waitForSelector('#given-error:has-text("Paste something first")')
      // An effect, which comes after what is shown.
      await page.waitForFunction(`document.title === 'Verify · Assay'`)
      await expectUsable(page, `check after ${what} was dropped`)
      await drop(jws)
      await page.waitForSelector('.word:text("Valid: YES")')
      expect(await page.innerText('#given-error')).to.equal('')
    })
})
