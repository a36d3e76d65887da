/** The console's page of screening: findings that two people decide, and the watch lists. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { ok } from '../support/client.ts'
import {
  type ConsolePages,
  confirmOn,
  eachInFreshBrowser,
  expectUsable,
  fillOn,
  ownerOf,
  signInInstead,
} from '../support/console-page.ts'
import { signIn } from '../support/domain/accounts.ts'
import { listedText, screeningRoutesOf } from '../support/domain/screening.ts'
import { addMember } from '../support/domain/team.ts'

const PERSON = { userId: 'ivan', name: 'Ivan Arkadyevich Testov', dateOfBirth: '1961-04-12' }
const KEPT = { id: 'kept-1', name: PERSON.name, birthDate: PERSON.dateOfBirth }
const REASON = 'Born in another town; the passport was seen.'

describe('the console’s page of screening in Chromium', function () {
  this.timeout(600_000)
  let pages: ConsolePages

  const directory = mkdtempSync(join(tmpdir(), 'assay-lists-'))
  const file = join(directory, 'kept.ftm.json')
  writeFileSync(file, listedText([KEPT]))
  eachInFreshBrowser(
    (started) => {
      pages = started
    },
    { AML_LISTS: directory },
  )
  after(() => rmSync(directory, { recursive: true }))

  const decideOn = async (page: Page, button: string, verdict: string, reason: string): Promise<void> => {
    await page.click(`td button:has-text("${button}")`)
    await page.selectOption('dialog [name="verdict"]', verdict)
    await fillOn(page, { reason }, 'dialog')
    await page.click('dialog button[type="submit"]')
  }

  it('shows what one member proposed of a finding, which counts once another member decides the same', async () => {
    const page = await pages.openSignedIn('/console/screening')
    await page.waitForSelector('text=Nothing waits for a decision')
    await expectUsable(page, 'screening without findings')
    const { account } = page
    const { headers } = await signIn(pages.app, account)
    const first = await addMember(pages.app, { headers }, 'operator')
    const second = await addMember(pages.app, { headers }, 'operator')
    const viewer = await addMember(pages.app, { headers }, 'viewer')
    const { apiKey } = await ownerOf(pages.app, account)
    const routes = screeningRoutesOf(pages.app, apiKey)
    await routes.subscribed(PERSON)

    await page.click('button:text("Ask for a second reviewer")')
    await expectUsable(page, 'asking for a second reviewer')
    await page.click('dialog button[type="submit"]')
    await page.waitForSelector('text=Two members decide')

    await signInInstead(page, first)
    expect(await page.isVisible('button:text("Let one reviewer decide")')).to.equal(false)
    await page.click('td button:has-text("Decide")')
    await page.click('dialog button[type="submit"]')
    await page.waitForSelector('dialog .error:has-text("fill")')
    await expectUsable(page, 'a decision without a reason')
    await page.keyboard.press('Escape')
    await decideOn(page, 'Decide', 'not_this_person', REASON)
    await page.waitForSelector('td >> text=Waits for a second reviewer')
    await expectUsable(page, 'a decision that waits')
    // Nobody confirms their own.
    await page.click('td button:has-text("Change proposal")')
    expect(await page.innerText('dialog .notice')).to.include('you can’t')
    await page.keyboard.press('Escape')
    await decideOn(page, 'Change proposal', 'not_this_person', 'I am still sure.')
    await page.waitForSelector('td >> text=I am still sure.')
    expect(await page.innerText('tbody')).to.include('Waits for a second reviewer')
    expect((await routes.findings({ status: 'open' })).findings[0]?.decision).to.equal(null)

    await signInInstead(page, viewer)
    await page.waitForSelector('td >> text=Waits for a second reviewer')
    await page.waitForSelector(`td >> text=${first.email.toLowerCase()}`)
    expect(await page.isVisible('td button')).to.equal(false)

    await signInInstead(page, second)
    await page.click('td button:has-text("Review")')
    await page.waitForSelector(
      `dialog >> text=Proposed by ${first.email.toLowerCase()}. If you decide the same`,
    )
    await expectUsable(page, 'confirming what another member proposed')
    await page.keyboard.press('Escape')
    await decideOn(page, 'Review', 'not_this_person', 'I saw it, too.')
    await page.waitForSelector('text=Nothing waits for a decision')
    await page.selectOption('[name="status"]', 'decided')
    await page.click('button:text("Filter")')
    await page.waitForSelector('td >> text=I saw it, too.')
    expect(await page.innerText('tbody'))
      .to.include('Not this person')
      .and.to.include(`by you, proposed by ${first.email.toLowerCase()}`)
    await expectUsable(page, 'a decided finding')
    const [decided] = (await routes.findings({ status: 'decided' })).findings
    expect(decided?.decision).to.deep.include({ reason: 'I saw it, too.', proposedBy: first.accountId })
    expect(decided?.decision?.decidedBy.accountId).to.equal(second.accountId)
  })

  it('lets nobody decide on a finding that somebody else has decided on since it was shown', async () => {
    const page = await pages.openSignedIn('/console/screening')
    const { apiKey } = await ownerOf(pages.app, page.account)
    const routes = screeningRoutesOf(pages.app, apiKey)
    const { findings } = await routes.subscribed(PERSON)
    await page.reload()
    await page.click('td button:has-text("Decide")')
    await routes.decided(findings[0]?.findingId ?? expect.fail('nothing found'), {
      verdict: 'confirmed',
      reason: REASON,
    })
    await page.selectOption('dialog [name="verdict"]', 'not_this_person')
    await fillOn(page, { reason: 'Another face.' }, 'dialog')
    await page.click('dialog button[type="submit"]')
    await page.waitForSelector('dialog [role="alert"]:has-text("since you looked")')
    await expectUsable(page, 'a finding that was decided meanwhile')
    await page.keyboard.press('Escape')
    // What is waiting is read again.
    await page.waitForSelector('text=Nothing waits for a decision')
    const [decided] = (await routes.findings({ status: 'decided' })).findings
    expect(decided?.decision).to.deep.include({ verdict: 'confirmed', reason: REASON })
    await page.selectOption('[name="status"]', 'decided')
    await page.click('button:text("Filter")')
    await decideOn(page, 'Decide again', 'not_this_person', 'Another face.')
    await page.waitForSelector('td >> text=Another face.')
  })

  it('says what the lists are, and lets only the operator change them', async () => {
    const page = await pages.openSignedIn('/console/screening')
    await page.waitForSelector('td >> text=kept')
    expect(await page.isVisible('text=Upload a list')).to.equal(false)
    const operator = await addMember(pages.app, { key: pages.app.adminKey }, 'owner')
    await signInInstead(page, operator)
    await page.click('text=Upload a list')
    await fillOn(page, { listId: 'own' })
    const files = (text: string) =>
      page.setInputFiles('[name="files"]', {
        name: 'own.ftm.json',
        mimeType: 'application/json',
        buffer: Buffer.from(text),
      })
    await files('{')
    await page.click('button:text("Upload list")')
    await page.waitForSelector('form .error:text("own.ftm.json")')
    await expectUsable(page, 'a list with an error')

    // Somebody who is on the new list, and was found on none before.
    const { apiKey } = await ok<{ apiKey: string }>(pages.app, 'POST', '/console/api/keys', {
      key: pages.app.adminKey,
      body: { scopes: ['aml'] },
    })
    await screeningRoutesOf(pages.app, apiKey).subscribed({ userId: 'new', name: 'Nadezhda Probatova' })
    await files(listedText([{ id: 'own-1', name: 'Nadezhda Probatova' }]))
    await page.click('button:text("Upload list")')
    await page.waitForSelector('td >> text=own')
    await page.waitForSelector('text=The one person is screened')
    await page.reload()
    await page.waitForSelector('td >> text=Nadezhda Probatova')
    await expectUsable(page, 'screening by the operator')

    await page.click('text=Read the lists again')
    await page.click('button:text("Reload")')
    await page.waitForSelector('text=The lists were read.')
    writeFileSync(file, '{')
    await page.click('button:text("Reload")')
    await page.waitForSelector('.notice >> text=Its entries from before stay in use.')
    await page.click('tr:has-text("kept") summary')
    await expectUsable(page, 'a list that could not be read again')
    await confirmOn(page, 'Remove own', 'own', 'Remove list')
    await page.waitForSelector('td strong:text-is("own")', { state: 'detached' })
  })
})
