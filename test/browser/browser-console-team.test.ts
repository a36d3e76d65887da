/** The console's pages about people: the team, joining by a link, and where an account is signed in. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import {
  type ConsolePages,
  eachInFreshBrowser,
  expectUsable,
  fillOn,
  settledOn,
  signInOn,
} from '../support/console-page.ts'
import { newAccount, signUp } from '../support/domain/accounts.ts'

const PASSWORD = 'correct horse battery'

describe('the console’s pages of the team in Chromium', function () {
  this.timeout(600_000)
  let pages: ConsolePages

  eachInFreshBrowser((started) => {
    pages = started
  })

  const inviteOn = async (page: Page, email: string, role: string): Promise<string> => {
    await page.click('text=Invite somebody')
    await fillOn(page, { email })
    await page.selectOption('[name="role"]', role)
    await page.click('button:text("Make the link")')
    await page.waitForSelector('.secrets')
    return page.inputValue('.secrets input')
  }

  it('invites by a link that is shown once, by which somebody joins with the role', async () => {
    const page = await pages.openSignedIn('/console/team')
    expect(await page.innerText('tbody')).to.include(page.account.email.toLowerCase())
    await page.click('text=Invite somebody')
    await fillOn(page, { email: 'nobody' })
    await page.click('button:text("Make the link")')
    await page.waitForSelector('.field:has([name="email"]) .error')
    await expectUsable(page, 'an invitation with an error')
    await page.reload()
    await settledOn(page)

    const email = newAccount().email.toLowerCase()
    const link = await inviteOn(page, email, 'viewer')
    await expectUsable(page, 'an invitation that was made')
    await page.click('text=I have kept it')
    expect(await page.content()).to.not.include(link.split('#')[1])
    await page.waitForSelector(`td >> text=${email}`)
    await page.goto(link)
    await page.waitForSelector('text=You are signed in as')
    await expectUsable(page, 'joining while signed in')
    await page.click('main button:text("Sign out")')
    await page.waitForSelector('[name="password"]')
    await fillOn(page, { password: 'short' })
    await page.click('button:text("Join")')
    await page.waitForSelector('.field .error')
    await expectUsable(page, 'joining')
    await fillOn(page, { password: PASSWORD })
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await page.click('button:text("Join")')
    await page.waitForSelector('.sidebar')
    await settledOn(page)
    expect(await page.innerText('.who')).to.include(email)
    expect(page.url()).to.equal(`${pages.app.url}/console`)
    const token = link.split('#')[1] ?? ''
    expect(asked.join()).to.not.include(token)
    expect(
      await page.evaluate(() =>
        JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
      ),
    ).to.not.include(token)
    expect(await page.isVisible('.sidebar a:text("Team")')).to.equal(false)
    // The way back leads past the link, which is used up.
    await page.goBack()
    expect(page.url()).to.not.include(token)
  })

  it('says why a link does not work', async () => {
    const page = await pages.open('/console/join')
    expect(await page.innerText('main')).to.include('no invitation in it')
    await expectUsable(page, 'joining without an invitation')
    await page.goto(`${pages.app.url}/console/join#${'a'.repeat(43)}`)
    await fillOn(page, { password: PASSWORD })
    await page.click('button:text("Join")')
    await page.waitForSelector('form [role="alert"]:not(:empty)')
    expect(await page.innerText('form [role="alert"]')).to.include('The invitation is unknown')
  })

  it('withdraws an invitation, changes a role, removes a member, and keeps the last owner', async () => {
    const page = await pages.openSignedIn('/console/team')
    const email = newAccount().email.toLowerCase()
    const link = await inviteOn(page, email, 'operator')
    await page.click('text=I have kept it')
    await page.click('td button:has-text("Withdraw")')
    await page.click('dialog button:text("Withdraw")')
    await page.waitForSelector('text=Nobody is invited now.')
    const accept = (invitation: string | undefined) =>
      pages.app.request('POST', '/console/api/invitations/accept', {
        body: { invitation, password: PASSWORD },
      })
    expect((await accept(link.split('#')[1])).status).to.equal(410)

    const second = await inviteOn(page, email, 'operator')
    expect((await accept(second.split('#')[1])).status).to.equal(201)
    await page.reload()
    await settledOn(page)
    await expectUsable(page, 'two members')
    const row = `tr:has-text("${email}")`
    await page.click(`${row} button:has-text("Change role")`)
    await page.selectOption('dialog select', 'owner')
    await page.click('dialog button:text("Save")')
    await page.waitForSelector(`${row} >> text=owner`)
    await page.click(`${row} button:has-text("Remove")`)
    await page.fill('dialog [name="name"]', email)
    await page.click('dialog button:text("Remove member")')
    await page.waitForSelector(row, { state: 'detached' })

    await page.click('td button:has-text("Change role")')
    await page.selectOption('dialog select', 'viewer')
    await page.click('dialog button:text("Save")')
    await page.waitForSelector('dialog [role="alert"]:not(:empty)')
    expect(await page.innerText('dialog')).to.match(/owner/)
    await expectUsable(page, 'the last owner')
    await page.keyboard.press('Escape')
    await page.click('td button:has-text("Remove")')
    await page.fill('dialog [name="name"]', page.account.email.toLowerCase())
    await page.click('dialog button:text("Remove member")')
    await page.waitForSelector('dialog [role="alert"]:not(:empty)')
    expect(await page.innerText('dialog [role="alert"]')).to.match(/owner/)
  })

  it('shows with which device an account is signed in where, and ends one session or all others', async () => {
    const page = await pages.openSignedIn('/console/account')
    const { email, password } = page.account
    const signInElsewhere = () =>
      pages.app.request('POST', '/console/api/session', {
        body: { email, password },
        headers: { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0' },
      })
    for (let i = 0; i < 3; i++) await signInElsewhere()
    await page.reload()
    await page.waitForSelector('text=Firefox on Linux')
    await expectUsable(page, 'sessions')
    await page.click('text=End this session')
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 3)
    await page.click('text=End all other sessions')
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
    expect(await page.isVisible('text=This one')).to.equal(true)
    expect(await page.isVisible('text=End all other sessions')).to.equal(false)
  })

  it('says so when the code of a page can’t be had', async () => {
    const page = await pages.openSignedIn('/console/account')
    await pages.context.route(/\/assets\/team-/, (route) => route.abort())
    await page.click('.sidebar a:text("Team")')
    await page.waitForSelector('text=could not be loaded')
    await expectUsable(page, 'a page that could not be loaded')
    await pages.context.unrouteAll()
    await page.click('text=Load the console again')
    await page.waitForSelector('h1:text("Team")')
    const other = await signUp(pages.app)
    await page.click('text=Sign out')
    await signInOn(page, other)
    await page.waitForSelector('h1:text("Team")')
  })
})
