/** The console's pages for the operator: organisations, the chat, alerts of all. */
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import type { Me, OrganisationPage } from '../../src/domain/accounts/schemas.ts'
import type { PodCreated } from '../../src/domain/pods/schemas.ts'
import { ok } from '../support/client.ts'
import {
  type ConsolePages,
  confirmOn,
  eachInFreshBrowser,
  expectUsable,
  fillOn,
  settledOn,
  signInOn,
} from '../support/console-page.ts'
import { signIn, signUp } from '../support/domain/accounts.ts'
import { addMember } from '../support/domain/team.ts'

describe('the console’s pages for the operator in Chromium', function () {
  this.timeout(600_000)
  let pages: ConsolePages

  eachInFreshBrowser((started) => {
    pages = started
  })

  const openAsOperator = async (path: string): Promise<Page> => {
    const operator = await addMember(pages.app, { key: pages.app.adminKey }, 'owner')
    const page = await pages.open(path)
    await signInOn(page, operator)
    await page.waitForSelector('.sidebar')
    await settledOn(page)
    return page
  }

  it('show at once what an operator changes of their own organisation', async () => {
    const page = await openAsOperator('/console/account')
    const subscription = () => page.innerText('dt:text-is("Subscription") + dd')
    expect(await subscription()).to.equal('Active')
    const { organisationId } = await ok<Me>(pages.app, 'GET', '/console/api/me', { key: pages.app.adminKey })
    for (const [to, text] of [
      ['inactive', 'Inactive'],
      ['active', 'Active'],
    ] as const) {
      await page.click('.sidebar a:text("Organisations")')
      await page.click(`tr:has-text("${organisationId}") button`)
      await page.selectOption('dialog [name="subscription"]', to)
      await page.click('dialog button:text("Save")')
      await page.waitForSelector('dialog', { state: 'detached' })
      await page.click('.sidebar a:text("Account")')
      await page.waitForSelector('dt:text-is("Subscription")')
      expect(await subscription()).to.include(text)
    }
  })

  it('create organisations, change subscription and limit, find them, and activate their pods', async () => {
    const page = await openAsOperator('/console/organisations')
    await page.click('text=Create an organisation')
    await page.click('button:text("Create organisation")')
    await page.waitForSelector('.field:has([name="name"]) .error')
    await expectUsable(page, 'an organisation without a name')
    await page.fill('details [name="name"]', 'Zebra shop')
    await page.click('button:text("Create organisation")')
    await page.waitForSelector('.secrets')
    // Another would take the place of what is shown this once.
    expect(await page.isVisible('summary:text("Create an organisation")')).to.equal(false)
    const key = await page.inputValue('.secrets input')
    expect(await ok<Me>(pages.app, 'GET', '/console/api/me', { key })).to.include({
      organisation: 'Zebra shop',
      subscription: 'active',
    })
    await expectUsable(page, 'an organisation that was created')
    await page.click('text=I have kept it')

    const row = 'tr:has-text("Zebra shop")'
    await page.click(`${row} button`)
    await page.selectOption('dialog [name="subscription"]', 'inactive')
    await fillOn(page, { rateLimitPerMinute: '0' }, 'dialog')
    await page.click('dialog button:text("Save")')
    await page.waitForSelector('dialog .error:not(:empty)')
    // What was typed stays.
    expect(await page.inputValue('dialog [name="rateLimitPerMinute"]')).to.equal('0')
    await expectUsable(page, 'an organisation with a wrong limit')
    await fillOn(page, { rateLimitPerMinute: '77' }, 'dialog')
    await page.click('dialog button:text("Save")')
    await page.waitForSelector(`${row} >> text=Inactive`)
    const { organisations } = await ok<OrganisationPage>(
      pages.app,
      'GET',
      '/console/api/organisations?name=zebra',
      { key: pages.app.adminKey },
    )
    expect(organisations[0]).to.include({ subscription: 'inactive', rateLimitPerMinute: 77 })

    await page.fill('.filter-form [name="name"]', 'zebra')
    await page.click('button:text("Filter")')
    // Between both lists there is no row.
    await page.waitForSelector('tr:only-child:has(td):has-text("Zebra shop")')
    await expectUsable(page, 'one organisation')
    await page.fill('.filter-form [name="name"]', 'nobody is called so')
    await page.click('button:text("Filter")')
    await page.waitForSelector('text=No organisation is like this')
    await expectUsable(page, 'no organisation')

    const { podId } = await ok<PodCreated>(pages.app, 'POST', '/console/api/pods', {
      key,
      body: { name: 'age check' },
    })
    await fillOn(page, { podId: 'pod_00000000000000000000000000' })
    await page.click('button:text("Change the pod")')
    await page.waitForSelector('form [role="alert"]:not(:empty)')
    await fillOn(page, { podId })
    await page.click('button:text("Change the pod")')
    await page.waitForSelector('text=age check is active now.')
  })

  it('say who may post in the chat, find a message, and remove it for good', async () => {
    const page = await openAsOperator('/console/chat')
    await page.waitForSelector('text=Nobody has posted yet.')
    await expectUsable(page, 'the chat without messages')
    for (const text of ['Buy my pills now', 'A harmless remark'])
      await ok(pages.app, 'POST', '/api/messages', { body: { agent_name: 'Visitor', text } })
    await page.click('text=Post as the house')
    await fillOn(page, { agent_name: 'House', text: 'x' }, 'details')
    await page.click('button:text-is("Post")')
    await page.waitForSelector('details .error:not(:empty)')
    await expectUsable(page, 'a message of the house with an error')
    await fillOn(page, { text: 'Be kind to each other.' }, 'details')
    await page.click('button:text-is("Post")')
    await page.waitForSelector('td >> text=Be kind to each other.')
    await expectUsable(page, 'messages of the chat')

    await page.fill('.filter-form [name="q"]', 'pills')
    await page.click('button:text("Filter")')
    await page.waitForSelector('td >> text=Be kind to each other.', { state: 'detached' })
    const number = await page.innerText('td:first-child')
    await page.click('text=Clear the filters')
    await page.waitForSelector('td >> text=Be kind to each other.')
    await page.fill('.filter-form [name="id"]', number)
    await page.click('button:text("Filter")')
    await page.waitForSelector('td >> text=Be kind to each other.', { state: 'detached' })
    expect(await page.innerText('tbody')).to.include('Buy my pills now')
    await confirmOn(page, 'Remove', number, 'Remove message')
    await page.waitForSelector('text=No message is like this.')
    expect((await pages.app.request('GET', `/api/messages/${number}`)).status).to.equal(404)

    await page.click('button:text("Change who may post")')
    await page.selectOption('dialog [name="mode"]', 'paused')
    await fillOn(page, { reason: 'We tidy up.' }, 'dialog')
    await expectUsable(page, 'changing who may post')
    await page.click('dialog button:text("Save")')
    await page.waitForSelector('text=We tidy up.')
    const refused = await pages.app.request('POST', '/api/messages', {
      body: { agent_name: 'Visitor', text: 'Hello?' },
    })
    expect(refused.status).to.equal(503)
    await page.click('button:text("Change who may post")')
    await page.selectOption('dialog [name="mode"]', 'open')
    await page.click('dialog button:text("Save")')
    await page.waitForSelector('text=everybody may post')
  })

  it('show alerts of every organisation', async () => {
    const page = await openAsOperator('/console/all-alerts')
    const { organisationId } = await signUp(pages.app)
    pages.app.services.security.raise({
      organisation: organisationId,
      type: 'egress_blocked',
      subject: '10.1.2.3',
    })
    await page.waitForSelector('text=Nothing needs a look.')
    await expectUsable(page, 'no alerts of all')
    await page.reload()
    await page.waitForSelector(`td >> text=${organisationId}`)
    expect(await page.innerText('tbody')).to.include('10.1.2.3')
    await expectUsable(page, 'alerts of all')
  })

  it('are for nobody else', async () => {
    const page = await pages.openSignedIn('/console/organisations')
    await page.waitForSelector('text=Your account lacks the right')
    expect(await page.isVisible('.sidebar >> text=Operator')).to.equal(false)
    const { headers } = await signIn(pages.app, page.account)
    for (const path of ['organisations', 'posting', 'all-alerts'])
      expect((await pages.app.request('GET', `/console/api/${path}`, { headers })).status, path).to.equal(403)
  })
})
