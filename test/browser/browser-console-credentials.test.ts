/** The console’s pages of credentials: people and their cases, tokens, tickets, and the consents of one subject. */
import { expect } from 'chai'
import { ok } from '../support/client.ts'
import {
  type ConsolePages,
  confirmOn,
  eachInFreshBrowser,
  expectUsable,
  fillOn,
  ownerOf,
  settledOn,
  signInOn,
} from '../support/console-page.ts'
import { signIn } from '../support/domain/accounts.ts'
import { consentRoutesOf } from '../support/domain/consents.ts'
import { hybridRoutesOf } from '../support/domain/hybrid-tokens.ts'
import { ANNA, kycRoutesOf } from '../support/domain/kyc.ts'
import { addMember } from '../support/domain/team.ts'
import { ticketRoutesOf } from '../support/domain/tickets.ts'
import { tokenRoutesOf } from '../support/domain/tokens.ts'

const { document: _, ...INCOMPLETE } = ANNA

describe('the console’s pages of credentials in Chromium', function () {
  this.timeout(600_000)
  let pages: ConsolePages

  eachInFreshBrowser((started) => {
    pages = started
  })

  it('consents of one subject are found, have a history, and one is withdrawn while the other stays', async () => {
    const page = await pages.openSignedIn('/console/consents')
    expect(await page.innerText('.empty')).to.include('Type whose consents you look for')
    await expectUsable(page, 'consents of nobody')
    await page.click('button:text("Find consents")')
    await page.waitForSelector('.field:has([name="subject"]) .error')
    await expectUsable(page, 'consents with an error')
    const { apiKey } = await ownerOf(pages.app, page.account)
    const consents = consentRoutesOf(pages.app, apiKey)
    await consents.logged({ purposes: ['newsletter'], dataCategories: ['email'] })
    await consents.logged({ purposes: ['analytics'] })
    await consents.logged({ subjectId: 'bob', purposes: ['telephone'] })

    await fillOn(page, { subject: 'ada' })
    await page.click('button:text("Find consents")')
    await page.waitForSelector('td >> text=newsletter')
    expect(new URL(page.url()).search).to.equal('?subject=ada')
    expect(await page.innerText('tbody'))
      .to.include('analytics')
      .and.to.not.include('telephone')
    await expectUsable(page, 'consents')
    await page.click('tr:has-text("newsletter") button:has-text("Withdraw")')
    await fillOn(page, { name: 'bob', reason: 'asked by telephone' }, 'dialog')
    await page.click('dialog button:text("Withdraw consent")')
    await page.waitForSelector('dialog .error >> text=Type ada to go on')
    await expectUsable(page, 'the withdrawal of a consent')
    await fillOn(page, { name: 'ada' }, 'dialog')
    await page.click('dialog button:text("Withdraw consent")')
    await page.waitForSelector('tr:has-text("newsletter") >> text=Withdrawn')
    expect(await page.innerText('tr:has-text("newsletter")')).to.include('asked by telephone')
    expect(await page.innerText('tr:has-text("analytics")')).to.include('Given')
    expect(await consents.reason({ subjectId: 'ada', purpose: 'newsletter' })).to.equal('withdrawn')
    expect(await consents.reason({ subjectId: 'ada', purpose: 'analytics' })).to.equal(undefined)
    await page.click('tr:has-text("newsletter") button:has-text("History")')
    await page.waitForSelector('dialog li:nth-child(2)')
    await expectUsable(page, 'the history of a consent')
    await page.click('dialog button:text("Close")')
    await fillOn(page, { subject: 'nobody' })
    await page.focus('button:text("Find consents")')
    await page.keyboard.press('Enter')
    await page.waitForSelector('.empty >> text=Nothing was recorded of nobody')
    expect(await page.evaluate(() => document.activeElement?.textContent)).to.equal('Find consents')
    await page.goBack()
    await page.waitForSelector('tr:has-text("newsletter")')
    expect(await page.inputValue('[name="subject"]')).to.equal('ada')
  })

  it('show what was asked for last, whichever answer comes first', async () => {
    const page = await pages.openSignedIn('/console/people')
    const kyc = kycRoutesOf(pages.app, (await ownerOf(pages.app, page.account)).apiKey)
    await kyc.verified('anna')
    await kyc.verify({ userId: 'bob', data: INCOMPLETE })
    let held: (() => Promise<void>) | undefined
    await page.route('**/console/api/people?userId=anna', (route) => {
      held = () => route.continue()
    })
    const find = async (userId: string) => {
      await page.fill('.filter-form [name="userId"]', userId)
      await page.click('button:text("Filter")')
    }
    await find('anna')
    await page.waitForSelector('text=Loading…')
    await find('bob')
    await page.waitForSelector('tbody tr:has-text("bob")')
    const late = page.waitForResponse((response) => response.url().endsWith('userId=anna'))
    await held?.()
    await (await late).finished()
    await page.waitForTimeout(100)
    expect(await page.innerText('tbody'))
      .to.include('bob')
      .and.not.to.include('anna')
  })

  it('a case of KYC is decided by a second person, and the person can be shown and forgotten', async () => {
    const page = await pages.openSignedIn('/console/people')
    expect(await page.innerText('.empty')).to.include('Nobody was checked yet')
    await expectUsable(page, 'no people')
    const { apiKey } = await ownerOf(pages.app, page.account)
    const kyc = kycRoutesOf(pages.app, apiKey)
    await kyc.verified('anna')
    await kyc.verify({ userId: 'bob', data: INCOMPLETE })
    const { headers } = await signIn(pages.app, page.account)
    await ok(pages.app, 'PUT', '/console/api/review-settings', { headers, body: { secondReviewer: true } })
    const second = await addMember(pages.app, { headers }, 'operator')

    await page.reload()
    await page.waitForSelector('tr:has-text("bob") >> text=Waits for a decision')
    await expectUsable(page, 'people')
    await page.selectOption('[name="status"]', 'review')
    await page.focus('button:text("Filter")')
    await page.keyboard.press('Enter')
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
    expect(new URL(page.url()).search).to.equal('?status=review')
    expect(await page.evaluate(() => document.activeElement?.closest('.filter-form') !== null)).to.equal(true)
    await page.click('td button:has-text("Decide")')
    await page.click('dialog button:text-is("Decide")')
    await page.waitForSelector('dialog .error:not(:empty)')
    await expectUsable(page, 'the decision on a case')
    await page.selectOption('dialog [name="verdict"]', 'approve')
    await fillOn(page, { reason: 'The passport was seen.' }, 'dialog')
    await page.click('dialog button:text-is("Decide")')
    await page.waitForSelector('td >> text=To approve, proposed by you')
    expect((await kyc.standing('bob')).body.status).to.equal('review')

    await page.click('button:text("Sign out")')
    await signInOn(page, second)
    await page.waitForSelector(
      `td >> text=To approve, proposed by ${page.account.email.toLowerCase()}The passport was seen.`,
    )
    await expectUsable(page, 'a case that waits for a second reviewer')
    await page.click('td button:has-text("Decide")')
    await page.selectOption('dialog [name="verdict"]', 'approve')
    await fillOn(page, { reason: 'So did I.' }, 'dialog')
    await page.click('dialog button:text-is("Decide")')
    await page.waitForSelector('.empty >> text=Nobody is like this')
    expect((await kyc.standing('bob')).body.status).to.equal('verified')

    await page.click('text=Clear the filters')
    await page.waitForSelector('tr:has-text("bob") >> text=Verified')
    await page.click('tr:has-text("bob") button:has-text("Show")')
    await page.click('text=All that is stored')
    await page.waitForSelector('dialog pre >> text=So did I.')
    await expectUsable(page, 'a person')
    await page.click('dialog button:text("Close")')
    await page.click('tr:has-text("anna") button:has-text("Forget")')
    await fillOn(page, { name: 'anna' }, 'dialog')
    await page.click('dialog button:text("Forget this person")')
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
    expect((await kyc.held('anna')).status).to.equal(404)
  })

  it('a person who was checked again is shown with both checks, each under its own time', async () => {
    const page = await pages.openSignedIn('/console/people')
    const kyc = kycRoutesOf(pages.app, (await ownerOf(pages.app, page.account)).apiKey)
    await kyc.verified('anna')
    for (const userId of ['anna', 'bob']) await kyc.verify({ userId, data: INCOMPLETE })
    await page.reload()
    const show = async (userId: string): Promise<string> => {
      await page.click(`tr:has-text("${userId}") button:has-text("Show")`)
      return page.innerText('dialog')
    }
    const [standing = '', again = '', ...rest] = (await show('anna')).split(
      /Checked again .+; this waits for a decision:/,
    )
    expect(rest).to.deep.equal([])
    expect(standing)
      .to.match(/Checked .+ by internal, level basic/)
      .and.include('Passed')
      .and.not.include('Not passed')
    expect(again).to.include('Not passed')
    await expectUsable(page, 'a person who was checked again')
    await page.click('dialog button:text("Close")')
    expect(await show('bob'))
      .to.include('Not passed')
      .and.not.include('Checked again')
  })

  it('tokens are found by subject, hybrid ones by their id, and revoked by name', async () => {
    const page = await pages.openSignedIn('/console/tokens')
    expect(await page.innerText('.empty')).to.include('There is no token yet')
    await expectUsable(page, 'no tokens')
    const { apiKey } = await ownerOf(pages.app, page.account)
    const tokens = tokenRoutesOf(pages.app, apiKey)
    await tokens.issued({ ttl: 3600 })
    const other = await tokens.issued({ subject: 'member-8', type: 'qr', singleUse: true, ttl: 3600 })
    await page.reload()
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 2)
    await expectUsable(page, 'tokens')
    await fillOn(page, { subject: 'member-8' })
    await page.click('button:text("Filter")')
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
    expect(new URL(page.url()).search).to.equal('?subject=member-8')
    await confirmOn(page, 'Revoke', 'member-8', 'Revoke token')
    await page.waitForSelector('td >> text=Revoked')
    expect((await tokens.status(other.tokenId)).body.status).to.equal('revoked')

    const hybrid = await hybridRoutesOf(pages.app, apiKey).issued()
    await page.click('text=Find one by its id')
    await fillOn(page, { tokenId: 'hyt_1' })
    await page.click('button:text("Find")')
    await page.waitForSelector('details .error:not(:empty)')
    await fillOn(page, { tokenId: hybrid.token_id })
    await page.click('button:text("Find")')
    await page.waitForSelector('button:text("Revoke it")')
    await fillOn(page, { tokenId: other.tokenId })
    expect(await page.innerText('details [role="status"]')).to.equal('')
    await fillOn(page, { tokenId: hybrid.token_id })
    await page.click('button:text("Find")')
    await page.click('button:text("Revoke it")')
    await fillOn(page, { name: hybrid.token_id }, 'dialog')
    await expectUsable(page, 'the revocation of a token')
    await page.click('dialog button:text("Revoke token")')
    await page.waitForSelector('dialog', { state: 'detached' })
    expect((await tokens.status(hybrid.token_id)).body.status).to.equal('revoked')
  })

  it('tickets are found by state and revoked by name, and a viewer only looks', async () => {
    const page = await pages.openSignedIn('/console/tickets')
    expect(await page.innerText('.empty')).to.include('There is no ticket yet')
    await expectUsable(page, 'no tickets')
    const { apiKey: key } = await ownerOf(pages.app, page.account)
    const body = { subject: 'member-7', claims: { gate: 'B' }, single_use: true, ttl: 86_400 }
    await ok(pages.app, 'POST', '/v1/qr/tickets', { key, body })
    await page.reload()
    await page.waitForSelector('td >> text=gate B')
    await expectUsable(page, 'tickets')
    await confirmOn(page, 'Revoke', 'member-7', 'Revoke ticket')
    await page.waitForSelector('td >> text=Revoked')
    await page.selectOption('[name="status"]', 'active')
    await page.click('button:text("Filter")')
    await page.waitForSelector('.empty >> text=No ticket is like this')

    const { headers } = await signIn(pages.app, page.account)
    await ok(pages.app, 'POST', '/v1/qr/tickets', { key, body })
    const viewer = await addMember(pages.app, { headers }, 'viewer')
    await page.click('button:text("Sign out")')
    await signInOn(page, viewer)
    await page.waitForSelector('td >> text=gate B')
    await settledOn(page)
    expect(await page.isVisible('td button')).to.equal(false)
  })

  it('lists of one subject say that older ones are still being read, and show them once they were', async () => {
    const page = await pages.openSignedIn('/console/tokens')
    const { apiKey } = await ownerOf(pages.app, page.account)
    await tokenRoutesOf(pages.app, apiKey).issued({ subject: 'ada' })
    await ticketRoutesOf(pages.app, apiKey).issued({ subject: 'ada' })
    const { knex } = pages.app.services.database
    for (const table of ['tokens', 'tickets'] as const) {
      const [row] = await knex(table)
        .where({ organisation: page.account.organisationId })
        .select('id', 'subject')
      await knex(table).where({ id: row.id }).update({ subject: null })
      await page.goto(`${pages.app.url}/console/${table}?subject=ada`)
      await page.waitForSelector('main [role="status"]:has-text("Older ones are still being read")')
      expect(await page.locator('tbody tr').count()).to.equal(0)
      await expectUsable(page, `${table} of which older ones are still being read`)
      await knex(table).where({ id: row.id }).update({ subject: row.subject })
      await page.click('button:text("Look again")')
      await page.waitForSelector('td >> text=ada')
      expect(await page.innerText('main')).to.not.include('still being read')
    }
  })
})
