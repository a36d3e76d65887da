/** The console's pages of how things stand: alerts that are decided, and what was used by day. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { ok } from '../support/client.ts'
import {
  type ConsolePages,
  eachInFreshBrowser,
  expectUsable,
  ownerOf,
  settledOn,
  signInInstead,
} from '../support/console-page.ts'
import { newAccount, signIn } from '../support/domain/accounts.ts'
import { createPod, movePod } from '../support/domain/pods.ts'
import { addMember } from '../support/domain/team.ts'

describe('the console’s overview in Chromium', function () {
  this.timeout(600_000)
  let pages: ConsolePages

  eachInFreshBrowser((started) => {
    pages = started
  })

  /** Somebody guesses the password of an account. */
  const raiseAlert = async (email: string): Promise<void> => {
    const headers = { 'x-forwarded-for': '198.51.100.9' }
    for (let attempt = 0; attempt < 11; attempt += 1) {
      const body = { email, password: `wrong ${newAccount().email}` }
      await pages.app.request('POST', '/console/api/session', { body, headers })
    }
  }

  const decideOn = async (page: Page, action: string, reason?: string): Promise<void> => {
    await page.click(`td button:has-text("${action}")`)
    if (reason !== undefined) await page.fill('dialog textarea', reason)
    await page.click(`dialog button[type="submit"]:text("${action}")`)
    await page.waitForSelector('dialog', { state: 'detached' })
    await settledOn(page)
  }

  it('alerts are acknowledged, resolved, muted with a reason and reopened, and found by their state', async () => {
    const page = await pages.openSignedIn('/console/alerts')
    await raiseAlert(page.account.email)
    await page.reload()
    await page.waitForSelector('td >> text=Many wrong passwords')
    await page.click('td button:has-text("Mute")')
    await expectUsable(page, 'the window of a decision')
    await page.keyboard.press('Escape')
    await decideOn(page, 'Mute', 'It was me, with a new keyboard.')
    await page.waitForSelector('text=Nothing needs a look.')

    await page.selectOption('[name="status"]', 'muted')
    await page.click('button:text("Filter")')
    await page.waitForSelector('td >> text=It was me, with a new keyboard.')
    expect(new URL(page.url()).search).to.equal('?status=muted')
    expect(await page.innerText('tbody')).to.include('by you')
    await expectUsable(page, 'a muted alert')
    await page.click('td button:has-text("Reopen")')
    await page.waitForSelector('dialog >> text=The decision is taken back.')
    expect(await page.isVisible('dialog textarea'), 'nothing would keep a reason').to.equal(false)
    await page.keyboard.press('Escape')
    await decideOn(page, 'Reopen')
    await page.waitForSelector('text=No alert is like this.')
    await page.click('text=Clear the filters')
    await decideOn(page, 'Acknowledge')
    await page.goto(`${pages.app.url}/console/alerts?status=all`)
    await page.waitForSelector('td >> text=Acknowledged')
    await decideOn(page, 'Resolve', 'The password was changed.')
    await page.waitForSelector('td >> text=Resolved')
    expect(await page.isVisible('td button:has-text("Mute")')).to.equal(false)
    const { alerts } = (
      await pages.app.request<{ alerts: { status: string; decision: { reason: string } }[] }>(
        'GET',
        '/console/api/alerts',
        { key: (await ownerOf(pages.app, page.account)).apiKey },
      )
    ).body
    expect(alerts[0]).to.include({ status: 'resolved' })
    expect(alerts[0]?.decision).to.include({ reason: 'The password was changed.' })
  })

  it('Home says what to do first until all is done, to each member what their role may do', async () => {
    const page = await pages.openSignedIn('/console')
    const steps = async () =>
      (
        await page.$$eval('.steps li', (items) => items.map((item) => item.querySelector('h3')?.innerText))
      ).map((text) => text?.trim().replaceAll(/\s+/g, ' '))
    await page.waitForSelector('.steps')
    const [key, verify, check] = [
      'Create an API key',
      'Verify something',
      'Check a result as its recipient would',
    ]
    expect(await steps()).to.deep.equal([key, verify, check])
    const owner = await ownerOf(pages.app, page.account)
    await page.reload()
    await page.waitForSelector('.steps >> text=Done')
    expect(await steps()).to.deep.equal([`${key} Done`, verify, check])
    const body = { data: { age: 36 }, options: { rules: [{ field: 'age', op: 'gte', value: 18 }] } }
    await ok(pages.app, 'POST', '/verify', { key: owner.apiKey, body })
    await page.reload()
    await page.waitForSelector('text=Open the newest result')
    expect(await steps()).to.deep.equal([`${key} Done`, `${verify} Done`, check])
    await expectUsable(page, 'Home with first steps')
    await page.click('text=Open the newest result')
    await page.waitForURL('**/verify/qr/*')
    await page.goto(`${pages.app.url}/console`)
    await page.waitForSelector('h2:text("Open alerts")')
    await page.waitForLoadState('networkidle')
    expect(await page.isVisible('text=What to do first')).to.equal(false)

    const session = await signIn(pages.app, page.account)
    for (const [role, titles] of [
      ['operator', [`${verify} Done`, check]],
      ['viewer', [check]],
    ] as const) {
      await signInInstead(page, await addMember(pages.app, session, role))
      await page.waitForSelector('text=Open the newest result')
      expect(await steps(), role).to.deep.equal(titles)
    }
    await page.click('text=Hide these steps')
    await page.waitForSelector('.steps', { state: 'detached' })
    await page.reload()
    await page.waitForSelector('h2:text("Open alerts")')
    await page.waitForLoadState('networkidle')
    expect(await page.isVisible('.steps')).to.equal(false)
  })

  it('Home draws results and charges by day, and says the same in a table', async () => {
    const page = await pages.openSignedIn('/console')
    const results = '.days:has-text("Results")'
    expect(await page.getAttribute(`${results} svg`, 'aria-label')).to.match(/^Results: 0: none from /)
    const owner = await ownerOf(pages.app, page.account)
    const { podKey, podId } = await createPod(pages.app, owner.apiKey, { chargePerVerification: 0.5 })
    const body = { data: { age: 36 }, options: { rules: [{ field: 'age', op: 'gte', value: 18 }] } }
    await ok(pages.app, 'PATCH', `/console/api/organisations/${owner.organisationId}`, {
      key: pages.app.adminKey,
      body: { subscription: 'active' },
    })
    await movePod(pages.app, podId, 'ACTIVE')
    await ok(pages.app, 'POST', `/pod/${podId}/verify`, { headers: { 'x-pod-key': podKey }, body })
    await ok(pages.app, 'POST', '/verify', { key: owner.apiKey, body })
    await page.reload()
    await page.waitForSelector('.days:has-text("Charged by pods: GBP 0.50")')
    expect(await page.getAttribute(`${results} svg`, 'aria-label')).to.match(/^Results: 2 from .*, 2\.$/)
    expect(await page.locator(`${results} rect`).count()).to.equal(30)
    await page.click('text=The days as a table')
    const row = await page.innerText('details tbody tr')
    expect(row).to.match(/2\s+2\s+/)
    expect(row).to.match(/GBP\s0\.50/)
    await expectUsable(page, 'Home with usage')
    await page.click('.filters a:text("90 days")')
    await page.waitForFunction(() => document.querySelectorAll('.days rect').length === 180)
    expect(new URL(page.url()).search).to.equal('?days=90')
  })
})
