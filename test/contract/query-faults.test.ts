/**
 * Each query that a request sends to the database fails once: before it has an effect and after it. The answer is a success, or an
 * error that asks to come back; nothing is half done; and the same request, sent again, has been done once.
 */
import { expect } from 'chai'
import { startTestApp, type TestApp, type TestOrganisation } from '../support/app.ts'
import { isSuccess } from '../support/client.ts'
import { FLOWS, type Flow, type Send } from '../support/flows.ts'
import { DATABASE_URL } from '../support/servers/database.ts'
import {
  FAILURES,
  type Failure,
  injectQueryFaults,
  type QueryFaults,
} from '../support/servers/query-faults.ts'

/** Longer than whatever asks the database by itself pauses. */
const IDLE_MS = 1_300

/** The embedded database is in the process: there is no connection that could break, and a COMMIT that was made is not refused. */
const failuresOf = (text: string): readonly Failure[] =>
  DATABASE_URL === undefined
    ? FAILURES.filter(
        (failure) => failure === 'refused' || (failure === 'refused after' && text !== 'COMMIT'),
      )
    : FAILURES.filter((failure) => failure !== 'refused after')

describe('a query that fails', function () {
  this.timeout(240_000)
  let app: TestApp
  let faults: QueryFaults
  let idle: ReadonlySet<string>

  before(async () => {
    faults = injectQueryFaults()
    app = await startTestApp()
    idle = await faults.textsDuring(() => new Promise((resolve) => setTimeout(resolve, IDLE_MS)))
  })
  after(async () => {
    faults.restore()
    await app.close()
  })

  const prepared = async (flow: Flow): Promise<{ owner: TestOrganisation; send: Send; count: number }> => {
    const owner = await app.organisation()
    const send = await flow.prepare(app, owner)
    return { owner, send, count: await countEntries(owner) }
  }
  const countEntries = async ({ organisationId }: TestOrganisation): Promise<number> => {
    const { rows } = await app.services.database.query<{ count: number }>(
      'SELECT count(*) AS count FROM ledger_entries WHERE organisation = $1',
      [organisationId],
    )
    return rows[0]?.count ?? 0
  }

  /** @returns what is wrong, or undefined; whether the request met the failure */
  const attempt = async (flow: Flow, text: string, failure: Failure) => {
    const { owner, send, count } = await prepared(flow)
    faults.failNext(text, failure)
    const first = await send()
    const isHit = faults.wasHit()
    const what = `${flow.name}: ${failure}: ${text.slice(0, 100)}`
    if (!isSuccess(first)) {
      const told = `${what}: ${first.status} ${JSON.stringify(first.body)}`
      expect(first.status, told).to.equal(503)
      expect(Number(first.headers.get('retry-after')), told).to.be.above(0)
      const made = (await countEntries(owner)) - count
      if (flow.isEach) expect(made, `${what}: too much`).to.be.at.most(flow.entries)
      else expect(made, `${what}: half done`).to.be.oneOf([0, flow.entries])
    }
    const second = flow.addsUp && isSuccess(first) ? first : await send()
    if (!isSuccess(second))
      expect(flow.doneBefore, `${what}, again: ${second.status} ${JSON.stringify(second.body)}`).to.include(
        second.body.error,
      )
    expect((await countEntries(owner)) - count, `${what}: done once`).to.equal(flow.entries)
    return isHit
  }

  for (const flow of FLOWS) {
    it(`leaves nothing half done, and is made good by asking again, when ${flow.name}`, async () => {
      const { send } = await prepared(flow)
      const texts = await faults.textsDuring(async () => expect(isSuccess(await send())).to.equal(true))
      let hits = 0
      for (const text of texts)
        for (const failure of idle.has(text) ? [] : failuresOf(text))
          if (await attempt(flow, text, failure)) hits++
      expect(hits, 'failures that the request met').to.be.above(2)
    })
  }
})
