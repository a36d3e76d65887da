/** Windows of the log, and events since a time, when a clock that was wrong has stamped entries. */
import { expect } from 'chai'
import type { AuditPage, Pseudonymised } from '../../../src/domain/audit/schemas.ts'
import type { EventPage } from '../../../src/domain/webhooks/schemas.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { ok } from '../../support/client.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const SUBJECTS = 5

describe('entries behind one that a clock far ahead has stamped', () => {
  const t = Date.now()
  let now = t
  let app: TestApp
  let apiKey: string
  let verified: string[]
  before(async () => {
    app = await startTestApp({ clock: { now: () => now } })
    apiKey = (await app.organisation()).apiKey
    const keys: string[] = []
    for (let n = 0; n < SUBJECTS; n++) keys.push(await newKey())
    now = t + 60 * DAY_MS
    await verify(apiKey)
    now = t
    verified = []
    for (const key of [...keys, apiKey]) verified.push(await verify(key))
  })
  after(() => app.close())

  const newKey = async (): Promise<string> => {
    const body = { label: 'one of five', scopes: ['verify'] }
    return (await ok<{ apiKey: string }>(app, 'POST', '/console/api/keys', { key: apiKey, body })).apiKey
  }
  const verify = async (key: string): Promise<string> => {
    const body = { data: { person: 'alice' }, options: {} }
    return (await ok<{ verificationId: string }>(app, 'POST', '/verify', { key, body })).verificationId
  }
  const get = <Body>(path: string): Promise<Body> => ok(app, 'GET', path, { key: apiKey })
  const moment = (ms: number): string => new Date(ms).toISOString()
  const verifiedIn = async (window: string): Promise<string[]> => {
    const { entries } = await get<AuditPage>(`/api/audit?type=verify&${window}`)
    return entries.map(({ at }) => at)
  }

  it('are in the windows of their time, wherever these end', async () => {
    const times = verified.map(() => moment(t))
    for (const until of [t + 1, t + HOUR_MS, t + 59 * DAY_MS, t + 60 * DAY_MS])
      expect(await verifiedIn(`until=${moment(until)}`), moment(until)).to.deep.equal(times)
    expect(await verifiedIn(`until=${moment(t + 61 * DAY_MS)}`)).to.have.members([
      ...times,
      moment(t + 60 * DAY_MS),
    ])
    expect(await verifiedIn(`since=${moment(t)}&until=${moment(t + 1)}`)).to.deep.equal(times)
    expect(await verifiedIn(`until=${moment(t)}`)).to.deep.equal([])
    expect(await verifiedIn(`since=${moment(t + MINUTE_MS)}&until=${moment(t + HOUR_MS)}`)).to.deep.equal([])
  })

  it('are counted', async () => {
    const { rows } = await get<Pseudonymised>('/api/audit/pseudonymised?k=5&fields=type')
    expect(rows.find(({ type }) => type === 'verify')?.subjects).to.equal(SUBJECTS)
  })

  it('are no events of a later time', async () => {
    const events = (since: number): Promise<EventPage> =>
      get(`/api/events?types=proof.verified&since=${moment(since)}`)
    const later = await events(t + MINUTE_MS)
    expect([later.events, later.nextCursor]).to.deep.equal([[], null])
    const { events: own } = await events(t)
    expect(own.map(({ event }) => event.created_at)).to.include(moment(t))
  })
})
