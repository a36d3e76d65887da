/** Status lists as strangers read them, over HTTP and by other implementations. */
import { expect } from 'chai'
import { createRemoteJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import { systemCaller } from '../../../src/caller.ts'
import { STATUS_LIST_ENTRIES, statusNumber, statusPlace } from '../../../src/protocol/status.ts'
import { readStatusList } from '../../../src/protocol/status-list.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { setIn } from '../../support/domain/statuses.ts'
import { verifyWithPython } from '../../support/outside-programs.ts'

const MINUTE_MS = 60_000

describe('a status list', () => {
  let app: TestApp
  let organisation: string
  let now = Math.floor(Date.now() / 1000) * 1000 + 400
  before(async () => {
    app = await startTestApp({ clock: { now: () => now } })
    organisation = (await app.organisation()).organisationId
  })
  after(() => app.close())
  const later = (ms: number): void => {
    now += ms
  }
  const get = (list = 0, headers: Record<string, string> = {}) =>
    app.request<string>('GET', `/status/${list}`, { headers })
  const set = (status: number, andFail = false): Promise<void> =>
    app.services.ledger.append(systemCaller(organisation, 'test'), (tx) => {
      app.services.statuses.set(tx, status)
      tx.append({ type: 'revoke', data: {} })
      if (andFail) throw new Error('taken back')
    })

  it('is a JWT that libraries verify with the published keys', async function () {
    const { status, headers, body } = await get(0, { origin: 'https://reader.example' })
    expect(status).to.equal(200)
    expect(headers.get('content-type')).to.equal('application/statuslist+jwt')
    expect(headers.get('access-control-allow-origin')).to.equal('*')
    const keys = createRemoteJWKSet(new URL(`${app.url}/.well-known/jwks.json`))
    const { payload, protectedHeader } = await jwtVerify(body, keys, { currentDate: new Date(now) })
    const iat = Math.floor(now / 1000)
    expect(protectedHeader).to.deep.equal({ alg: 'ES256', typ: 'statuslist+jwt', kid: protectedHeader.kid })
    expect(payload).to.deep.include({
      iss: app.url,
      sub: `${app.url}/status/0`,
      iat,
      exp: iat + 300,
      ttl: 60,
    })
    const { body: set } = await app.request<object>('GET', '/.well-known/jwks.json')
    for (const library of ['jwcrypto', 'authlib'] as const)
      expect(verifyWithPython(this, library, body, set)).to.deep.equal(payload)
    expect(setIn(body)).to.deep.equal([])
  })

  it('is published anew every minute, changed or not, and kept by caches until then', async () => {
    later(MINUTE_MS)
    const first = await get()
    expect(first.headers.get('cache-control')).to.equal('public, max-age=60')
    later(MINUTE_MS - 1500)
    const same = await get()
    expect(same.body).to.equal(first.body)
    expect(same.headers.get('cache-control')).to.equal('public, max-age=2')
    const tag = same.headers.get('etag') ?? ''
    expect((await get(0, { 'if-none-match': tag })).status).to.equal(304)
    later(1500)
    const next = await get(0, { 'if-none-match': tag })
    expect(next.status).to.equal(200)
    expect(next.body).to.not.equal(first.body)
    expect(setIn(next.body)).to.deep.equal([])
  })

  it('has what was set, from the next publication on; inside it holds at once', async () => {
    const { statuses } = app.services
    const [kept, revoked] = [await statuses.reserve(), await statuses.reserve()]
    later(MINUTE_MS)
    await get()
    await set(revoked)
    expect(await statuses.isSet(revoked)).to.equal(true)
    expect(await statuses.isSet(kept)).to.equal(false)
    expect(setIn((await get()).body)).to.deep.equal([])
    later(MINUTE_MS)
    expect(setIn((await get()).body)).to.deep.equal([statusPlace(revoked).index])
    expect(statuses.referenceTo(revoked)).to.deep.equal({
      status_list: { idx: statusPlace(revoked).index, uri: `${app.url}/status/0` },
    })
  })

  it('is told of in the decision that sets it, and in later ones; a second time has no effect', async () => {
    const { statuses, ledger, database } = app.services
    const caller = systemCaller(organisation, 'test')
    const status = await statuses.reserve()
    const ask = () =>
      ledger.append(caller, (tx) => {
        const before = statuses.isSetIn(tx, status)
        statuses.set(tx, status)
        tx.append({ type: 'revoke', data: {} })
        return [before, statuses.isSetIn(tx, status)]
      })
    expect(await ask()).to.deep.equal([false, true])
    const row = () => database.knex('revoked_statuses').where({ status }).first()
    const first = await row()
    later(1000)
    expect(await ask()).to.deep.equal([true, true])
    expect(await row()).to.deep.equal(first)
    const untouched = await statuses.reserve()
    await set(untouched, true).catch(() => undefined)
    expect(await statuses.isSet(untouched)).to.equal(false)
  })

  it('says nothing of what nobody was given, and keeps no earlier ones', async () => {
    expect(await get(1)).to.deep.include({ status: 404 })
    expect((await get(999_999_999)).status).to.equal(404)
    for (const wrong of ['00', '-1', 'x', '1e3', '12345678901'])
      expect((await app.request('GET', `/status/${wrong}`)).status, wrong).to.be.oneOf([404, 422])
    const { status, body } = await app.request<{ error: string }>('GET', '/status/0?time=1686925000')
    expect([status, body.error]).to.deep.equal([501, 'not_implemented'])
  })

  it('is read whole when every entry of it is set', async () => {
    const LIST = 7
    await app.services.database.knex.raw(
      `SELECT setval('status_blocks', ${(LIST * STATUS_LIST_ENTRIES) / 64})`,
    )
    const first = statusNumber({ list: LIST, index: 0 })
    const setAll = (from: number, to: number) =>
      app.services.database.knex.raw(
        'INSERT INTO revoked_statuses (status, revoked_at) SELECT s, 1 FROM generate_series(?::bigint, ?::bigint) s',
        [from, to],
      )
    // And those beside it, which are none of its own.
    await app.services.database.knex('revoked_statuses').insert([
      { status: statusNumber({ list: LIST - 1, index: STATUS_LIST_ENTRIES - 1 }), revoked_at: 1 },
      { status: statusNumber({ list: LIST + 1, index: 0 }), revoked_at: 1 },
    ])
    await setAll(first + 1, first + STATUS_LIST_ENTRIES - 1)
    const { body } = await get(LIST)
    const keys = (await app.request<JSONWebKeySet>('GET', '/.well-known/jwks.json')).body
    const read = await readStatusList(body, {
      keys: keys as { keys: { kty: string }[] },
      issuer: app.url,
      list: LIST,
      now: Math.floor(now / 1000),
    })
    if ('reason' in read) throw new Error(read.reason)
    expect(setIn(body)).to.have.length(STATUS_LIST_ENTRIES - 1)
    expect(read.statusList.isSet(0)).to.equal(false)
    for (const index of [1, 16_383, 16_384, 16_385, STATUS_LIST_ENTRIES - 1])
      expect(read.statusList.isSet(index), String(index)).to.equal(true)
  })
})
