/** The console's page of agents and devices: registered, proven, suspended, revoked. */
import { expect } from 'chai'
import type { AgentList } from '../../src/domain/agents/enrol/schemas.ts'
import { startTestApp } from '../support/app.ts'
import { ok } from '../support/client.ts'
import {
  type ConsolePages,
  confirmOn,
  eachInFreshBrowser,
  expectUsable,
  fillOn,
  settledOn,
  signInInstead,
} from '../support/console-page.ts'
import { signIn } from '../support/domain/accounts.ts'
import { newAgentKey } from '../support/domain/agents.ts'
import { addMember } from '../support/domain/team.ts'

const HOUR_MS = 3_600_000

describe('the console’s page of agents in Chromium', function () {
  this.timeout(600_000)
  let pages: ConsolePages
  let aheadMs = 0

  eachInFreshBrowser(
    (started) => {
      pages = started
    },
    () => startTestApp({ clock: { now: () => Date.now() + aheadMs } }),
  )
  afterEach(() => {
    aheadMs = 0
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
    await pages.context.route('**/agent-trust/badge', (one) => one.abort(), { times: 1 })
    const asked = page.waitForRequest('**/agent-trust/badge')
    await page.click('td button:has-text("Badge")')
    // No form remembers what it sent: asked for again, there is another badge, and nothing else is promised.
    expect(await page.innerText('dialog [role="alert"]')).to.match(/what was sent\.(?! Send)/)
    expect((await asked).headers()).to.not.have.property('idempotency-key')
    await page.click('dialog button:text("Try again")')
    await page.waitForSelector('dialog img')
    await page.waitForFunction(
      () => (document.querySelector<HTMLImageElement>('dialog img')?.naturalWidth ?? 0) > 0,
    )
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
    const acts = await page.$$eval('td button', (buttons) => buttons.map((one) => one.textContent))
    expect(acts).to.deep.equal(['History Night-shift buyer'])
    await page.click('td button:has-text("History")')
    await page.waitForSelector('dialog li >> text=Registered')
    await expectUsable(page, 'the history of an agent for viewers')
  })

  it('shows long lists whole, page by page, and finds its place again after something was done', async () => {
    const page = await pages.openSignedIn('/console/agents')
    const { headers } = await signIn(pages.app, page.account)
    const make = (path: string, name: string) =>
      ok<{ agent_id: string }>(pages.app, 'POST', path, { headers, body: { name } })
    const { agent_id } = await make('/v1/agents', 'agent 0')
    await make('/v1/devices', 'device 0')
    for (let number = 1; number <= 50; number++)
      await Promise.all([make('/v1/agents', `agent ${number}`), make('/v1/devices', `device ${number}`)])
    for (let number = 0; number < 30; number++)
      for (const act of ['suspend', 'resume'])
        await ok(pages.app, 'POST', `/console/api/agents/${agent_id}/${act}`, { headers })
    await page.reload()
    await settledOn(page)
    const rowOf = (name: string) => `tr:has(strong:text-is("${name}"))`
    for (const kind of ['agent', 'device']) {
      await page.waitForSelector(rowOf(`${kind} 1`))
      expect(await page.isVisible(rowOf(`${kind} 0`)), kind).to.equal(false)
    }
    await page.click('section[aria-labelledby="devices"] button:text("Show more")')
    await page.waitForSelector(rowOf('device 0'))
    await page.click('button:text("Show more")')
    await page.waitForSelector(rowOf('agent 0'))
    expect(await page.isVisible('button:text("Show more")')).to.equal(false)
    expect(await page.$$eval('tbody tr', (rows) => rows.length)).to.equal(102)

    await page.click(`${rowOf('agent 0')} button:has-text("History")`)
    await page.click('dialog button:text("Show more")')
    await page.waitForSelector('dialog li >> text=Registered')
    expect(await page.$$eval('dialog li', (entries) => entries.length)).to.equal(61)
    await expectUsable(page, 'a long history of an agent')
    await page.click('dialog button:text("Close")')
    await page.click(`${rowOf('agent 0')} button:has-text("Suspend")`)
    await page.click('dialog button[type="submit"]')
    await page.waitForSelector(`${rowOf('agent 0')} >> text=Suspended`)
  })

  it('says why an agent expired, and revokes it all the same', async () => {
    const page = await pages.openSignedIn('/console/agents')
    const { headers } = await signIn(pages.app, page.account)
    const key = await newAgentKey()
    const expires_at = new Date(Date.now() + HOUR_MS / 2).toISOString()
    const limits = { currency: 'GBP', per_day: 5, expires_at }
    for (const body of [
      { name: 'Summer buyer', limits },
      { name: 'Silent buyer', public_key: key.jwk },
    ])
      await ok(pages.app, 'POST', '/v1/agents', { headers, body })
    aheadMs = HOUR_MS
    await page.reload()
    await settledOn(page)
    const summer = 'tr:has-text("Summer buyer")'
    expect(await page.innerText(`${summer} td[data-title="State"]`)).to.include('Expired')
    expect(await page.getAttribute(`${summer} td[data-title="State"] time`, 'datetime')).to.equal(expires_at)
    expect(await page.innerText('tr:has-text("Silent buyer") td[data-title="State"]'))
      .to.include('Expired')
      .and.to.include('it did not sign within an hour')
    await expectUsable(page, 'agents that expired')
    await confirmOn(page, 'Revoke Summer buyer', 'Summer buyer', 'Revoke agent')
    await page.waitForSelector(`${summer} >> text=Revoked`)
    await confirmOn(page, 'Revoke Silent buyer', 'Silent buyer', 'Revoke agent')
    await page.waitForSelector('tr:has-text("Silent buyer") >> text=Revoked')
  })
})
