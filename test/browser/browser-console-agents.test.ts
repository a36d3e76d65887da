/** The console's page of agents and devices: registered, proven, suspended, revoked. */
import { expect } from 'chai'
import type { AgentList } from '../../src/domain/agents/enrol/schemas.ts'
import { ok } from '../support/client.ts'
import {
  type ConsolePages,
  confirmOn,
  eachInFreshBrowser,
  expectUsable,
  fillOn,
  signInInstead,
} from '../support/console-page.ts'
import { signIn } from '../support/domain/accounts.ts'
import { newAgentKey } from '../support/domain/agents.ts'
import { addMember } from '../support/domain/team.ts'

describe('the console’s page of agents in Chromium', function () {
  this.timeout(600_000)
  let pages: ConsolePages

  eachInFreshBrowser((started) => {
    pages = started
  })

  it('registers an agent with its key, which signs; then it is suspended, resumed, looked up and revoked', async () => {
    const page = await pages.openSignedIn('/console/agents')
    await page.waitForSelector('text=There is no agent yet.')
    await expectUsable(page, 'no agents')
    const key = await newAgentKey()
    await page.click('text=Register an agent')
    await fillOn(page, { name: 'Shopping assistant', public_key: '{', 'limits.per_day': '200' })
    await page.click('button:text("Register agent")')
    await page.waitForSelector('.field:has([name="public_key"]) .error >> text=not JSON')
    await fillOn(page, { public_key: JSON.stringify(key.jwk) })
    await page.click('button:text("Register agent")')
    await page.waitForSelector('.field:has([name="limits.currency"]) .error')
    await expectUsable(page, 'an agent with limits without a currency')
    await fillOn(page, { 'limits.currency': 'gbp', 'limits.allowed_actions': 'purchase, search' })
    await fillOn(page, { 'principal.type': 'person', 'principal.reference': 'customer-42' })
    await page.click('button:text("Register agent")')
    await page.waitForSelector('h2:text("has to sign")')
    const message = await page.innerText('section pre')
    await fillOn(page, { 'proof_of_possession.signature': key.sign('something else') })
    await page.click('button:text("Hand in the signature")')
    await page.waitForSelector('section .error:not(:empty)')
    await expectUsable(page, 'a challenge with a wrong signature')
    await fillOn(page, { 'proof_of_possession.signature': key.sign(message) })
    await page.click('button:text("Hand in the signature")')
    await page.waitForSelector('td >> text=Key verified')
    expect(await page.innerText('tbody'))
      .to.include('for person customer-42')
      .and.to.include('200 GBP a day')
      .and.to.include('only to purchase, search')
    await expectUsable(page, 'an active agent')

    await page.click('td button:has-text("Suspend")')
    await page.click('dialog button[type="submit"]')
    await page.waitForSelector('td >> text=Suspended')
    await page.click('td button:has-text("Resume")')
    await page.click('dialog button[type="submit"]')
    await page.waitForSelector('td .state:text-is("Active")')
    await page.click('td button:has-text("History")')
    await page.waitForSelector('dialog li >> text=Resumed')
    await expectUsable(page, 'the history of an agent')
    await page.click('dialog button:text("Close")')
    await page.click('td button:has-text("Badge")')
    await page.waitForSelector('dialog img')
    await page.waitForFunction('document.querySelector("dialog img").naturalWidth > 0')
    await expectUsable(page, 'the badge of an agent')
    await page.click('dialog button:text("Close")')
    await confirmOn(page, 'Revoke', 'Shopping assistant', 'Revoke agent')
    await page.waitForSelector('td >> text=Revoked')
    const { headers } = await signIn(pages.app, page.account)
    const { agents } = await ok<AgentList>(pages.app, 'GET', '/console/api/agents', { headers })
    expect(agents.map(({ status, kid }) => [status, kid])).to.deep.equal([['revoked', key.kid]])
  })

  it('shows the key that was made for an agent or a device once; viewers change nothing', async () => {
    const page = await pages.openSignedIn('/console/agents')
    await page.click('text=Register an agent')
    await fillOn(page, { name: 'Night-shift buyer' })
    await page.click('button:text("Register agent")')
    await page.waitForSelector('.secrets')
    // Another would take the place of what is shown this once.
    expect(await page.isVisible('summary:text("Register an agent")')).to.equal(false)
    expect(JSON.parse(await page.inputValue('.secrets input'))).to.include.keys('d', 'x')
    await expectUsable(page, 'an agent whose key was made for it')
    await page.click('text=I have kept it')
    await page.click('text=Register a device')
    await page.fill('#main section [name="name"]', 'Scanner at gate 4')
    await page.click('button:text("Register device")')
    await page.waitForSelector('.secrets')
    const secret = JSON.parse(await page.inputValue('.secrets input')).d
    await page.click('text=I have kept it')
    expect(await page.content()).to.not.include(secret)
    await page.waitForSelector('td >> text=Scanner at gate 4')
    await expectUsable(page, 'an agent and a device')
    const { headers } = await signIn(pages.app, page.account)
    await confirmOn(page, 'Revoke Scanner at gate 4', 'Scanner at gate 4', 'Revoke device')
    await page.waitForSelector('tr:has-text("Scanner at gate 4") >> text=Revoked')

    await signInInstead(page, await addMember(pages.app, { headers }, 'viewer'))
    await page.waitForSelector('td >> text=Night-shift buyer')
    expect(await page.isVisible('text=Register an agent')).to.equal(false)
    expect(await page.isVisible('td button')).to.equal(false)
  })
})
