/** What people come to the console for, from beginning to end: keys, roles, exports, domains, payments. */
import { writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { startTestApp } from '../support/app.ts'
import { ok } from '../support/client.ts'
import {
  type ConsolePages,
  eachInFreshBrowser,
  expectUsable,
  fillOn,
  ownerOf,
  settledOn,
  signInOn,
} from '../support/console-page.ts'
import { signIn, signUp } from '../support/domain/accounts.ts'
import { createPod, movePod } from '../support/domain/pods.ts'
import { addMember } from '../support/domain/team.ts'
import { terminalTill } from '../support/domain/tills.ts'
import { eventually } from '../support/eventually.ts'
import { runCli } from '../support/run-cli.ts'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'

const PODS_HOST = 'pods.assay.example'
const DAY_MS = 24 * 3_600_000
const RULES = [{ field: 'age', op: 'gte', value: 18 }]
const VERIFICATION = { data: { age: 36 }, options: { rules: RULES } }
/** So slow that the few kilobytes of an export take seconds. */
const SLOW_LINE = { offline: false, latency: 50, downloadThroughput: 4000, uploadThroughput: 100_000 }
const FULL_LINE = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 }

describe('what people do in the console in Chromium', function () {
  this.timeout(600_000)
  let pages: ConsolePages
  let dns: DnsServer
  let agoMs = 0

  eachInFreshBrowser(
    (started) => {
      pages = started
    },
    async () => {
      dns = await startDnsServer()
      return startTestApp({
        env: { DNS_SERVERS: dns.address, CUSTOM_DOMAIN_CNAME: PODS_HOST },
        clock: { now: () => Date.now() - agoMs },
      })
    },
  )
  beforeEach(() => {
    agoMs = 0
  })
  after(() => dns?.close())

  const openAs = async (account: { email: string; password: string }, path: string): Promise<Page> => {
    const page = await pages.open(path)
    await signInOn(page, account)
    await page.waitForSelector('.sidebar')
    await settledOn(page)
    return page
  }
  const subscribe = (organisationId: string) =>
    ok(pages.app, 'PATCH', `/console/api/organisations/${organisationId}`, {
      key: pages.app.adminKey,
      body: { subscription: 'active' },
    })

  it('a key with chosen scopes does what they allow and no more, and is seen to be used', async () => {
    const page = await pages.openSignedIn('/console/keys')
    await page.click('text=Create a key')
    await fillOn(page, { label: 'web shop' })
    await page.check('input[value="export"]')
    await page.click('button:text("Create key")')
    await page.waitForSelector('.secrets')
    const key = await page.inputValue('.secrets input')
    await page.click('text=I have kept it')
    const used = () => page.innerText('tr:has-text("web shop") td[data-title="Last used"]')
    expect(await used()).to.include('Never')
    await expectUsable(page, 'a key that was never used')

    const before = Date.now()
    await ok(pages.app, 'POST', '/verify', { key, body: VERIFICATION })
    expect((await pages.app.request('GET', '/api/export/evidence', { key })).status).to.equal(200)
    const refused = await pages.app.request<{ error: string }>('GET', '/api/webhooks', { key })
    expect([refused.status, refused.body.error]).to.deep.equal([403, 'insufficient_scope'])
    await page.reload()
    await settledOn(page)
    expect(await used()).to.not.include('Never')
    const at = await page.getAttribute('td[data-title="Last used"] time', 'datetime')
    expect(Date.parse(at ?? '')).to.be.within(before, Date.now())
    await expectUsable(page, 'a key that was used')
  })

  it('a viewer finds nothing to change in any page, and is refused what the page does not offer', async () => {
    const owner = await signUp(pages.app)
    const { apiKey } = await ownerOf(pages.app, owner)
    const session = { headers: (await signIn(pages.app, owner)).headers }
    const pod = await createPod(pages.app, apiKey)
    const webhook = await ok<{ id: string }>(pages.app, 'POST', '/api/webhooks', {
      ...session,
      body: { label: 'Orders', url: 'https://93.184.216.34/assay', events: ['key.revoked'] },
    })
    const till = await terminalTill(pages.app, { ...owner, apiKey })
    const late = till.payment()
    await pages.app.request('DELETE', `/console/api/keys/${till.keyId}`, { key: apiKey })
    const other = await terminalTill(pages.app, { ...owner, apiKey })
    await other.sync([late])
    const { payments } = await ok<{ payments: { paymentId: string }[] }>(
      pages.app,
      'GET',
      '/console/api/payments?status=late',
      session,
    )
    expect(payments).to.have.length(1)

    const offers: Record<string, readonly string[]> = {
      webhooks: ['Register an endpoint', 'td button'],
      pods: ['Create a pod', 'Check and bind', 'td button'],
      payments: ['td button', 'Download as CSV'],
      terminals: ['Create a terminal', 'td button'],
      merchants: ['Create a merchant'],
      alerts: ['td button'],
    }
    const seen = async (page: Page) => {
      const found: string[] = []
      for (const [name, what] of Object.entries(offers)) {
        await page.goto(`${pages.app.url}/console/${name}`)
        await settledOn(page)
        await page.waitForSelector('main tbody tr')
        for (const one of what)
          if (await page.isVisible(one.startsWith('td') ? `main ${one}` : `main >> text=${one}`))
            found.push(`${name}: ${one}`)
      }
      return found
    }
    const all = Object.entries(offers).flatMap(([name, what]) => what.map((one) => `${name}: ${one}`))
    expect(await seen(await openAs(owner, '/console'))).to.deep.equal(all)

    await pages.fresh()
    const page = await openAs(await addMember(pages.app, session, 'viewer'), '/console')
    expect(await seen(page)).to.deep.equal([])
    for (const name of ['keys', 'team', 'exports']) {
      expect(await page.isVisible(`.sidebar a[href="/console/${name}"]`), name).to.equal(false)
      await page.goto(`${pages.app.url}/console/${name}`)
      await page.waitForSelector('main >> text=Your account lacks the right')
    }
    await expectUsable(page, 'a page that a viewer may not see')
    const writes: [string, string, object | undefined][] = [
      ['POST', '/api/webhooks', { label: 'x', url: 'https://93.184.216.34/x', events: ['key.revoked'] }],
      ['POST', `/api/webhooks/${webhook.id}/test`, undefined],
      ['DELETE', `/api/webhooks/${webhook.id}`, undefined],
      ['POST', '/console/api/keys', { label: 'x' }],
      ['POST', '/console/api/pods', { name: 'x' }],
      ['PATCH', `/console/api/pods/${pod.podId}`, { name: 'x' }],
      ['POST', '/domain/verify', { domain: 'verify.shop.example', podId: pod.podId }],
      ['POST', '/console/api/merchants', { name: 'x' }],
      ['POST', '/console/api/terminals', { label: 'x' }],
      ['POST', `/console/api/payments/${payments[0]?.paymentId}/accept`, undefined],
      ['POST', '/console/api/invitations', { email: 'x@shop.example', role: 'owner' }],
      ['POST', '/verify', VERIFICATION],
    ]
    const answers = await page.evaluate(async (asked) => {
      const { csrfToken } = await (await fetch('/console/api/me')).json()
      const headers = { 'Content-Type': 'application/json', 'X-CSRF-Token': csrfToken }
      return Promise.all(
        asked.map(async ([method, path, body]) => {
          const response = await fetch(path, { method, headers, body: body && JSON.stringify(body) })
          return [path, response.status, (await response.json()).error]
        }),
      )
    }, writes)
    expect(answers).to.deep.equal(writes.map(([, path]) => [path, 403, 'insufficient_scope']))
  })

  it('an export shows how far it is while it comes in, is saved, and holds there and elsewhere', async () => {
    const page = await pages.openSignedIn('/console/exports')
    const { apiKey: key } = await ownerOf(pages.app, page.account)
    for (let i = 0; i < 4; i++) await ok(pages.app, 'POST', '/verify', { key, body: VERIFICATION })
    await page.selectOption('[name="format"]', 'evidence ndjson')
    const line = await pages.context.newCDPSession(page)
    await line.send('Network.emulateNetworkConditions', SLOW_LINE)
    const coming = page.waitForEvent('download')
    await page.click('button:text("Make and check")')
    await page.waitForSelector('.job progress')
    const sofar = async (): Promise<number> =>
      Number(/(\d+) lines/.exec(await page.innerText('.job'))?.[1] ?? Number.NaN)
    const first = await sofar()
    expect(await page.innerText('p[role="status"]')).to.equal('The file is being made.')
    await page.waitForFunction((before) => {
      const said = document.querySelector<HTMLElement>('.job')?.innerText ?? ''
      return Number(/(\d+) lines/.exec(said)?.[1]) > before
    }, first)
    await line.send('Network.emulateNetworkConditions', FULL_LINE)
    const download = await coming
    await page.waitForSelector('.job .state:text-is("Valid")')
    expect(await page.innerText('.job'))
      .to.include(download.suggestedFilename())
      .and.to.include('the window is all there')
    expect(await page.$$eval('.job .findings [data-outcome="failed"]', (found) => found.length)).to.equal(0)
    const keys = `${await download.path()}.jwks.json`
    await writeFile(keys, JSON.stringify(await ok(pages.app, 'GET', '/.well-known/jwks.json')))
    const { status, output } = await runCli(['verify-evidence', '--keys', keys, await download.path()])
    expect(status, output).to.equal(0)
  })

  it('a pod with rules answers at a domain, once its records are in DNS', async () => {
    const page = await pages.openSignedIn('/console/pods')
    await subscribe(page.account.organisationId)
    await page.click('text=Create a pod')
    await fillOn(page, { name: 'Age check', rules: JSON.stringify(RULES) })
    await page.click('button:text("Create pod")')
    await page.waitForSelector('.secrets')
    const podKey = await page.inputValue('.secrets input')
    await page.click('text=I have kept it')
    await settledOn(page)
    expect(await page.innerText('tbody')).to.include('1 rule')
    const podId = await page.innerText('tbody code')
    await movePod(pages.app, podId, 'ACTIVE')

    const domain = `verify${Date.now()}.shop.example`
    const check = async (word: string): Promise<string[]> => {
      await fillOn(page, { domain })
      await page.click('button:text("Check and bind")')
      await page.waitForSelector(`[role="status"] >> text=${domain} ${word}`)
      return page.$$eval('[role="status"] input', (inputs) =>
        inputs.map((input) => (input as HTMLInputElement).value),
      )
    }
    const standing = () => page.innerText('td[data-title="Domains"]')
    const wanted = await check('does not lead to the pod yet')
    const [cnameOf = '', cname = '', txtOf = '', txt = ''] = wanted
    expect(wanted).to.deep.equal([domain, PODS_HOST, `_verify.${domain}`, `assay-pod=${podId}`])
    await expectUsable(page, 'the records of a domain')
    dns.set(cnameOf, 'CNAME', [cname])
    expect(await check('does not lead to the pod yet')).to.deep.equal([txtOf, txt])
    await fillOn(page, { domain: 'another.shop.example' })
    expect(await page.innerText('section:has(#domain) [role="status"]')).to.equal('')
    dns.set(txtOf, 'TXT', [txt])
    expect(await standing()).to.equal('None')
    expect(await check('leads to the pod')).to.deep.equal([])
    await page.waitForSelector('td >> text=Leads here')
    await expectUsable(page, 'a domain that is bound')

    const decided = async (age: number) => {
      const headers = { host: domain, 'x-pod-key': podKey }
      const { decision } = await ok<{ decision: string }>(pages.app, 'POST', '/verify', {
        headers,
        body: { age },
      })
      return decision
    }
    expect([await decided(36), await decided(17)]).to.deep.equal(['YES', 'NO'])
    await page.reload()
    await page.waitForSelector('td >> text=2 verifications')
    expect(await standing())
      .to.include(domain)
      .and.to.include('Leads here')
  })

  it('a domain that is not seen any more says since when, and is bound again once its records are back', async () => {
    const owner = await signUp(pages.app)
    const { apiKey } = await ownerOf(pages.app, owner)
    const { podId } = await createPod(pages.app, apiKey)
    const domain = `gone${Date.now()}.shop.example`
    const txtOf = `_verify.${domain}`
    const prove = () => dns.set(txtOf, 'TXT', [`assay-pod=${podId}`])
    dns.set(domain, 'CNAME', [PODS_HOST])
    prove()
    const { headers } = await signIn(pages.app, owner)
    await ok(pages.app, 'POST', '/domain/verify', { headers, body: { domain, podId } })
    /** A day later: sessions are over, and all domains were looked at again. */
    const openDayLater = async () => {
      agoMs -= DAY_MS
      await pages.app.services.domains.recheck()
      await pages.fresh()
      return openAs(owner, '/console/pods')
    }
    dns.set(txtOf, 'TXT', [])
    let page = await openDayLater()
    await page.waitForSelector('td >> text=Its records are gone')
    await expectUsable(page, 'a domain whose records are gone')
    const again = `td button:has-text("Check again ${domain}")`
    await page.click(again)
    await page.waitForSelector('dialog >> text=does not lead to the pod yet')
    await expectUsable(page, 'a domain that is checked again')
    await page.click('dialog button:text("Close")')
    prove()
    await page.click(again)
    await page.waitForSelector('dialog >> text=leads to the pod')
    await page.click('dialog button:text("Close")')
    await page.waitForSelector('td >> text=Leads here')

    dns.fail(txtOf, 'SERVFAIL')
    page = await openDayLater()
    await page.waitForSelector('td >> text=DNS does not answer')
    await expectUsable(page, 'a domain that nobody can look up')
    dns.fail(txtOf, undefined)
  })

  it('a form says that the page failed where nobody foresaw what went wrong', async () => {
    const page = await pages.openSignedIn('/console/pods')
    await createPod(pages.app, (await ownerOf(pages.app, page.account)).apiKey)
    await page.reload()
    await pages.context.route(/\/domain\/verify$/, (route) => route.fulfill({ json: null }))
    await fillOn(page, { domain: 'verify.shop.example' })
    await page.click('button:text("Check and bind")')
    await page.waitForSelector('form > .error >> text=This page failed. Load it again.')
    await eventually('the fault on record', () => pages.complaints.join().includes('TypeError'))
    await pages.fresh()
  })

  it('pods are read to their end, and the list is as long as it was after one was changed', async () => {
    const page = await pages.openSignedIn('/console/pods')
    const { apiKey } = await ownerOf(pages.app, page.account)
    for (let number = 0; number <= 50; number++) await createPod(pages.app, apiKey, { name: `pod ${number}` })
    await page.reload()
    await settledOn(page)
    const rowOf = (name: string) => `tr:has(strong:text-is("${name}"))`
    await page.waitForSelector(rowOf('pod 1'))
    expect(await page.isVisible(rowOf('pod 0'))).to.equal(false)
    const hint = 'Older pods can be chosen once the list above shows them.'
    await page.waitForSelector(`text=${hint}`)
    await expectUsable(page, 'pods that go on')
    await page.click('button:text("Show more")')
    await page.waitForSelector(rowOf('pod 0'))
    expect(await page.isVisible('button:text("Show more")')).to.equal(false)
    expect(await page.isVisible(`text=${hint}`)).to.equal(false)
    expect(await page.$$eval('select[name="podId"] option', (options) => options.length)).to.equal(51)

    await page.click(`${rowOf('pod 0')} button:has-text("Change")`)
    await page.fill('dialog input[name="name"]', 'the oldest')
    await page.click('dialog button:text("Save")')
    await page.waitForSelector(rowOf('the oldest'))
    expect(await page.$$eval('tbody tr', (rows) => rows.length)).to.equal(51)
  })

  it('payments are found by day, state and terminal, and a late one is decided', async () => {
    const owner = await signUp(pages.app)
    const withKey = { ...owner, ...(await ownerOf(pages.app, owner)) }
    agoMs = 2 * DAY_MS
    const at = Date.now() - agoMs
    const day = new Date(at).toISOString().slice(0, 10)
    const old = await terminalTill(pages.app, withKey)
    await old.validate({ ...old.payment({ at }), transactionId: 'txn_old' })
    agoMs = 0
    const today = new Date().toISOString().slice(0, 10)
    const till = await terminalTill(pages.app, withKey)
    const stolen = await terminalTill(pages.app, withKey)
    await till.validate({ ...till.payment(), transactionId: 'txn_new' })
    await till.validate({ ...till.payment({ cardToken: 'tok_twice' }), transactionId: 'txn_first' })
    await till.validate({ ...till.payment({ cardToken: 'tok_twice' }), transactionId: 'txn_second' })
    const late = stolen.payment({ amountMinor: 990, transactionId: 'txn_late' })
    await pages.app.request('DELETE', `/console/api/keys/${stolen.keyId}`, { key: withKey.apiKey })
    await till.sync([late])

    const page = await openAs(owner, '/console/payments')
    const shown = async (): Promise<string[]> =>
      (
        await page.$$eval('tbody td:first-child code', (codes) => codes.map((code) => code.textContent ?? ''))
      ).sort()
    const rowsShown = (count: number) =>
      page.waitForFunction((rows) => document.querySelectorAll('tbody tr').length === rows, count)
    const narrowedTo = async (
      filters: Readonly<Record<string, string>>,
      rows: readonly string[],
    ): Promise<void> => {
      for (const [name, value] of Object.entries(filters))
        if (name === 'status') await page.selectOption(`[name="${name}"]`, value)
        else await page.fill(`[name="${name}"]`, value)
      await page.click('button:text("Filter")')
      await rowsShown(rows.length)
      expect(await shown()).to.deep.equal([...rows].sort())
      expect(new URL(page.url()).search).to.equal(`?${new URLSearchParams(filters)}`)
      await page.click('text=Clear the filters')
      await rowsShown(5)
    }
    const ofToday = ['txn_first', 'txn_late', 'txn_new', 'txn_second']
    expect(await shown()).to.deep.equal([...ofToday, 'txn_old'].sort())
    await narrowedTo({ from: day, to: day }, ['txn_old'])
    await narrowedTo({ from: today }, ofToday)
    await narrowedTo({ terminalId: old.origin }, ['txn_old'])
    await narrowedTo({ terminalId: till.origin }, ofToday)
    await narrowedTo({ status: 'conflict' }, ['txn_second'])
    await narrowedTo({ status: 'accepted', from: today }, ['txn_first', 'txn_new'])
    await narrowedTo({ status: 'late' }, ['txn_late'])

    const row = 'tr:has-text("txn_late")'
    expect(await page.innerText(row)).to.include('Late: waits for you')
    await page.click(`${row} button:has-text("Accept")`)
    await page.click('dialog button:text("Accept payment")')
    await page.waitForSelector(`${row} >> text=by an operator`)
    await narrowedTo({ status: 'accepted', from: today }, ['txn_first', 'txn_late', 'txn_new'])
    await page.selectOption('[name="status"]', 'late')
    await page.click('button:text("Filter")')
    await page.waitForSelector('text=No payment is like this')
  })
})
