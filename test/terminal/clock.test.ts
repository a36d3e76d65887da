/** Terminals whose clock is wrong, with the real server, which goes by its own. */
import { expect } from 'chai'
import type { Terminal } from '../../src/terminal/index.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../support/app.ts'
import { terminals } from '../support/domain/terminals.ts'

const HOUR_MS = 3_600_000
/** Two minutes after a clock without a battery began anew. */
const RESTARTED_AT = 120_000

describe('a terminal whose clock is wrong', () => {
  const open = terminals()
  let app: TestApp
  let shop: TestOrganisation
  before(async () => {
    app = await sharedApp()
    shop = await app.organisation()
  })

  /** A terminal of the shop that finds no server until `connect`, but uploads when told to; and the paths that it asks. */
  const openWith = async (
    now: () => number,
  ): Promise<{ terminal: Terminal; asked: string[]; connect: () => Promise<void> }> => {
    const { body } = await app.request<{
      terminalId: string
      terminalSecret: string
      merchantId: string
      apiKey: string
    }>('POST', '/console/api/terminals', { key: shop.apiKey, body: { label: 'Till' } })
    const { terminalId, terminalSecret, merchantId, apiKey } = body
    const asked: string[] = []
    let isFound = false
    const terminal = await open({
      ...{ baseUrl: app.url, terminalId, terminalSecret, merchantId, apiKey, clock: { now } },
      fetch: (input, init) => {
        const { pathname } = new URL(String(input))
        asked.push(pathname)
        return pathname === '/health' && !isFound ? Promise.reject(new TypeError('cut')) : fetch(input, init)
      },
    })
    const connect = async () => {
      isFound = true
      expect(await terminal.probe()).to.equal(true)
    }
    return { terminal, asked, connect }
  }
  const alerts = async (): Promise<string[]> => {
    const { body } = await app.request<{ alerts: { type: string }[] }>('GET', '/api/security/alerts', {
      bearer: shop.apiKey,
    })
    return body.alerts.map(({ type }) => type)
  }

  it('is told that its payments are too old where the clock began anew in 1970, and nobody is alarmed', async () => {
    const { terminal, connect } = await openWith(() => RESTARTED_AT)
    expect(await terminal.pay({ cardToken: 'tok_offline', amount: 1 })).to.include({ queued: true })
    await terminal.flush()
    expect(terminal.status().rejected.map(({ code }) => code)).to.deep.equal(['TOO_OLD'])
    await connect()
    expect((await terminal.pay({ cardToken: 'tok_online', amount: 1 })).error).to.match(/^TOO_OLD: /)
    expect(terminal.undecided()).to.deep.equal([])
    expect(await alerts()).to.deep.equal([])
  })

  it('signs in once, though by its clock a new token ends within the hour', async () => {
    const { terminal, asked } = await openWith(() => Date.now() + 13 * HOUR_MS)
    for (const cardToken of ['tok_1', 'tok_2']) {
      await terminal.pay({ cardToken, amount: 1 })
      // Its stamp is ahead as well: the payment is put off.
      expect((await terminal.flush()).error).to.match(/^CLOCK_SKEW: /)
    }
    expect(asked.filter((path) => path.endsWith('/authenticate'))).to.have.length(1)
    expect(asked.filter((path) => path.endsWith('/sync'))).to.have.length(2)
  })
})
