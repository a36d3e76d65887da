/** API keys, through the real app. */
import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { DEFAULT_SCOPES } from '../../../src/caller.ts'
import { createCore } from '../../../src/core/index.ts'
import type { Key, KeyCreated, KeyRotated } from '../../../src/domain/accounts/schemas.ts'
import { sharedApp, startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'

interface Failure {
  error: string
}

describe('API keys of an organisation', () => {
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    app = await sharedApp()
  })
  beforeEach(async () => {
    owner = await app.organisation()
  })

  const create = (body: object = {}, key = owner.apiKey, path = '/console/api/keys') =>
    app.request<KeyCreated & Failure>('POST', path, { key, body })
  const list = async (key = owner.apiKey) =>
    (await app.request<{ keys: Key[] }>('GET', '/console/api/keys', { key })).body.keys
  const me = async (key: string) => (await app.request('GET', '/console/api/me', { key })).status
  const revoke = (keyId: string, key = owner.apiKey) =>
    app.request<Failure>('DELETE', `/console/api/keys/${keyId}`, { key })
  const rotate = (keyId: string, body: object = {}, key = owner.apiKey) =>
    app.request<KeyRotated & Failure>('POST', `/console/api/keys/${keyId}/rotate`, { key, body })
  const entriesAbout = async (keyId: string): Promise<{ type: string; data: Record<string, unknown> }[]> => {
    const rows = await app.services.database.knex('ledger_entries').where({ key_id: keyId }).orderBy('idx')
    return rows.map(({ entry }: { entry: string }) => JSON.parse(entry))
  }

  it('are created on both routes, with the default scopes of their creator', async () => {
    for (const path of ['/console/api/keys', '/v1/api-keys']) {
      const { status, body } = await create({ label: 'web shop' }, owner.apiKey, path)
      expect(status).to.equal(201)
      expect(body).to.deep.include({ label: 'web shop', scopes: [...DEFAULT_SCOPES] })
      expect(body.apiKey).to.match(/^ak_live_[0-9A-Za-z]{49}$/)
      expect(await me(body.apiKey)).to.equal(200)
    }
  })

  it('work as X-API-Key and as Bearer, and two different ones in one request are refused', async () => {
    const { apiKey } = (await create()).body
    const path = '/console/api/me'
    expect((await app.request('GET', path, { bearer: apiKey })).status).to.equal(200)
    expect((await app.request('GET', path, { bearer: apiKey, key: apiKey })).status).to.equal(200)
    const both = await app.request<Failure>('GET', path, { bearer: apiKey, key: owner.apiKey })
    expect({ status: both.status, error: both.body.error }).to.deep.equal({
      status: 400,
      error: 'ambiguous_credentials',
    })
  })

  it('that are revoked while a request is being sent do nothing with it, and others do', async () => {
    const { apiKey, keyId } = (await create({ scopes: ['keys'] })).body
    const sendSlowly = async (key: string) => {
      const body = '{"label":"made by a slow one"}'
      const request = httpRequest(`${app.url}/console/api/keys`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': body.length, 'x-api-key': key },
      })
      const answered = once(request, 'response') as Promise<[IncomingMessage]>
      request.write(body.slice(0, 5))
      return async () => {
        request.end(body.slice(5))
        const [response] = await answered
        response.resume()
        return response.statusCode
      }
    }
    const endings = [await sendSlowly(apiKey), await sendSlowly(owner.apiKey)]
    // Both were looked at before they go on.
    await pause(500)
    expect((await revoke(keyId)).status).to.equal(204)
    await pause(1500)
    expect(await Promise.all(endings.map((end) => end()))).to.deep.equal([401, 201])
    expect((await list()).filter(({ label }) => label === 'made by a slow one')).to.have.length(1)
  })

  it('are refused when malformed, unknown or of another kind', async () => {
    const { apiKey } = (await create()).body
    const wrong = [`${apiKey}0`, apiKey.slice(0, -1), `x${apiKey.slice(1)}`, 'mt_x', 'A'.repeat(64), '-']
    for (const text of wrong) {
      const { status, headers } = await app.request('GET', '/console/api/me', { key: text })
      expect(status, text).to.equal(401)
      expect(headers.get('www-authenticate')).to.be.a('string')
    }
  })

  it('never get more scopes than their creator has', async () => {
    for (const scopes of [['admin'], ['egress:private'], ['verify', 'admin']]) {
      const { status, body } = await create({ scopes })
      expect({ status, error: body.error }).to.deep.equal({ status: 403, error: 'insufficient_scope' })
    }
    const narrow = (await create({ scopes: ['keys', 'verify'] })).body
    expect((await create({ scopes: ['merchant'] }, narrow.apiKey)).status).to.equal(403)
    expect((await create({}, narrow.apiKey)).body.scopes).to.deep.equal(['verify'])
  })

  it('can be managed only with scope keys', async () => {
    const { apiKey, keyId } = (await create({ scopes: ['merchant', 'verify'] })).body
    expect((await create({}, apiKey)).status).to.equal(403)
    expect((await create({}, apiKey, '/v1/api-keys')).status).to.equal(403)
    expect((await rotate(keyId, {}, apiKey)).status).to.equal(403)
    expect((await revoke(keyId, apiKey)).status).to.equal(403)
    expect((await app.request('GET', '/console/api/keys', { key: apiKey })).status).to.equal(403)
  })

  it('can not be replaced or revoked by a key with fewer scopes, which would win their rights', async () => {
    const strong = (await create({ scopes: ['keys', 'verify', 'merchant'] })).body
    const weak = (await create({ scopes: ['keys', 'verify'] })).body
    expect((await rotate(strong.keyId, {}, weak.apiKey)).body.error).to.equal('insufficient_scope')
    expect((await revoke(strong.keyId, weak.apiKey)).body.error).to.equal('insufficient_scope')
    expect((await rotate(weak.keyId, {}, strong.apiKey)).status).to.equal(201)
  })

  it('are kept as a hash and a sealed HMAC state that makes the same MACs', async () => {
    const { apiKey, keyId } = (await create()).body
    const row = await app.services.database.knex('api_keys').where({ id: keyId }).first()
    expect(Buffer.from(row.digest)).to.deep.equal(createHash('sha256').update(apiKey).digest())
    expect(JSON.stringify(row)).to.not.contain(apiKey.slice(12))
    expect(row.sealed_midstate).to.have.length(64 + 29)
    const { midstate, organisation, revokedAt } = await app.services.accounts.midstate(keyId)
    expect({ organisation, revokedAt }).to.deep.equal({
      organisation: owner.organisationId,
      revokedAt: undefined,
    })
    const mac = createCore().hmac(midstate, 'message')
    expect(Buffer.from(mac)).to.deep.equal(createHmac('sha256', apiKey).update('message').digest())
  })

  it('tell when they were last used, to the minute, and no use within it costs a write', async () => {
    let now = Date.now()
    const own = await startTestApp({ clock: { now: () => now } })
    try {
      const shop = await own.organisation()
      const { body } = await own.request<KeyCreated>('POST', '/console/api/keys', {
        key: shop.apiKey,
        body: {},
      })
      const use = (key = body.apiKey) => own.request('GET', '/console/api/me', { key })
      const seen = async () => {
        const { body: list } = await own.request<{ keys: Key[] }>('GET', '/console/api/keys', {
          key: shop.apiKey,
        })
        return list.keys.find(({ keyId }) => keyId === body.keyId)?.lastUsedAt
      }
      expect(await seen()).to.equal(null)
      const first = new Date(now).toISOString()
      await use()
      expect(await seen()).to.equal(first)
      const writes: string[] = []
      const note = ({ sql }: { sql: string }) => /^update "api_keys"/.test(sql) && writes.push(sql)
      own.services.database.knex.on('query', note)
      now += 59_000
      for (let i = 0; i < 5; i++) await use()
      expect([await seen(), writes.length]).to.deep.equal([first, 0])
      now += 1_001
      for (let i = 0; i < 5; i++) await use()
      expect(await seen()).to.equal(new Date(now).toISOString())
      // One for each key that was used in the new minute: this one, and that which lists.
      expect(writes.length).to.equal(2)
      own.services.database.knex.off('query', note)
      const last = new Date(now).toISOString()
      await own.request('DELETE', `/console/api/keys/${body.keyId}`, { key: shop.apiKey })
      now += 120_000
      expect((await use()).status).to.equal(401)
      expect(await seen()).to.equal(last)
    } finally {
      await own.close()
    }
  })

  it('are listed newest first without their text, and never across organisations', async () => {
    const { apiKey, keyId } = (await create({ label: 'till' })).body
    const keys = await list()
    expect(keys).to.have.length(2)
    expect(keys[0]).to.include({
      keyId,
      label: 'till',
      status: 'active',
      hint: apiKey.slice(0, 12),
      revokedAt: null,
    })
    expect(JSON.stringify(keys)).to.not.contain(apiKey.slice(0, 13))
    const stranger = await app.organisation()
    expect((await list(stranger.apiKey)).map((key) => key.keyId)).to.not.include(keyId)
  })

  it('stop to work within a second of their revocation, which the log tells by id alone', async () => {
    const { apiKey, keyId } = (await create({ label: 'lost till' })).body
    expect(await me(apiKey)).to.equal(200)
    expect((await revoke(keyId)).status).to.equal(204)
    expect(await me(apiKey)).to.equal(401)
    expect((await revoke(keyId)).status).to.equal(204)
    expect((await list())[0]).to.include({ keyId, status: 'revoked' })
    const entries = (await entriesAbout(keyId)).filter(({ type }) => type === 'key.revoked')
    expect(entries).to.have.length(1)
    const { revokedBy, ...data } = entries[0]?.data ?? {}
    expect(data).to.deep.equal({ keyId })
    expect(revokedBy, 'the key that asked for it').to.match(/^key_/).and.not.equal(keyId)
    expect((await app.services.accounts.midstate(keyId)).revokedAt).to.be.a('number')
  })

  it('are refused once they are revoked, also by a server whose clock is behind that of the one that revoked them', async () => {
    let aheadMs = 60_000
    const own = await startTestApp({ clock: { now: () => Date.now() + aheadMs } })
    try {
      const { apiKey: key } = await own.organisation()
      const body = { label: 'spare' }
      const spare = (await own.request<KeyCreated>('POST', '/console/api/keys', { key, body })).body
      await own.request('DELETE', `/console/api/keys/${spare.keyId}`, { key })
      aheadMs = 0
      expect((await own.request('GET', '/console/api/me', { key: spare.apiKey })).status).to.equal(401)
    } finally {
      await own.close()
    }
  })

  it('of another organisation are not found', async () => {
    const { keyId } = (await create()).body
    const stranger = await app.organisation()
    expect((await revoke(keyId, stranger.apiKey)).status).to.equal(404)
    expect((await rotate(keyId, {}, stranger.apiKey)).status).to.equal(404)
    expect((await revoke('key_nowhere')).status).to.equal(404)
  })

  it('are replaced by keys with the same rights', async () => {
    const old = (await create({ label: 'web', scopes: ['verify', 'merchant'] })).body
    const { status, body } = await rotate(old.keyId)
    expect(status).to.equal(201)
    expect(body).to.deep.include({ label: 'web', scopes: ['verify', 'merchant'], replaces: old.keyId })
    expect(await me(old.apiKey)).to.equal(401)
    expect(await me(body.apiKey)).to.equal(200)
    expect((await rotate(old.keyId)).status).to.equal(409)
  })

  it('work beside their replacement for the overlap, and no longer', async () => {
    const old = (await create()).body
    const { body } = await rotate(old.keyId, { overlapSeconds: 1 })
    expect([await me(old.apiKey), await me(body.apiKey)]).to.deep.equal([200, 200])
    await new Promise((resolve) => setTimeout(resolve, 1100))
    expect([await me(old.apiKey), await me(body.apiKey)]).to.deep.equal([401, 200])
    expect((await list()).find(({ keyId }) => keyId === old.keyId)?.status).to.equal('expired')
  })

  it('are replaced once, also while the old one still works, and however many try at once', async () => {
    const old = (await create()).body
    const overlap = { overlapSeconds: 3600 }
    const answers = await Promise.all(Array.from({ length: 4 }, () => rotate(old.keyId, overlap)))
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 409, 409, 409])
    expect(await me(old.apiKey)).to.equal(200)
    const again = await rotate(old.keyId)
    expect([again.status, again.body.error]).to.deep.equal([409, 'conflict'])
    const next = answers.find(({ status }) => status === 201)?.body.keyId ?? ''
    expect((await rotate(next)).status).to.equal(201)
  })

  it('show the same once-shown text to a repeated request with an Idempotency-Key', async () => {
    const send = () =>
      app.request<KeyCreated>('POST', '/v1/api-keys', {
        key: owner.apiKey,
        body: { label: 'once' },
        headers: { 'idempotency-key': 'create-once' },
      })
    const first = await send()
    const again = await send()
    expect(again.body).to.deep.equal(first.body)
    expect(again.headers.get('idempotency-replayed')).to.equal('true')
    expect((await list()).filter(({ label }) => label === 'once')).to.have.length(1)
  })

  it('that made a proof are found among live, replaced and revoked ones with scope merchant', async () => {
    const { accounts } = app.services
    const live = (await create({ scopes: ['merchant'] })).body
    const gone = (await create({ scopes: ['merchant'] })).body
    const other = (await create({ scopes: ['verify'] })).body
    await revoke(gone.keyId)
    const keys = await accounts.merchantKeys({ organisation: owner.organisationId })
    const ids = keys.map(({ keyId }) => keyId)
    expect(ids).to.include.members([live.keyId, gone.keyId]).and.not.include(other.keyId)
    expect(keys.find(({ keyId }) => keyId === gone.keyId)?.revokedAt).to.be.a('number')
  })
})

describe('a key that leaked', () => {
  let app: TestApp
  let owner: TestOrganisation
  let leaked: KeyCreated
  before(async () => {
    app = await sharedApp()
  })
  beforeEach(async () => {
    owner = await app.organisation()
    leaked = (
      await app.request<KeyCreated>('POST', '/console/api/keys', {
        key: owner.apiKey,
        body: { label: 'till' },
      })
    ).body
  })
  const revokeLeaked = (text: string, key?: string) =>
    app.request<Failure & { keyId: string; revokedAt: string }>('POST', '/console/api/keys/revoke', {
      key,
      body: { key: text },
    })
  const works = async () =>
    (await app.request('GET', '/console/api/me', { key: leaked.apiKey })).status === 200

  it('is revoked by whoever holds it, with or without a credential, once', async () => {
    const stranger = await app.organisation()
    expect(await works()).to.equal(true)
    const first = await revokeLeaked(leaked.apiKey)
    expect(first.status).to.equal(200)
    expect(first.body.keyId).to.equal(leaked.keyId)
    expect(await works()).to.equal(false)
    const again = await revokeLeaked(leaked.apiKey, stranger.apiKey)
    expect(again.body).to.deep.equal(first.body)
    const rows = await app.services.database.knex('ledger_entries').where({ key_id: leaked.keyId })
    const entries = rows.map(({ entry }: { entry: string }) => JSON.parse(entry))
    const revocations = entries.filter(({ type }) => type === 'key.revoked')
    expect(revocations).to.have.length(1)
    expect(revocations[0]).to.include({ org: owner.organisationId })
    expect(JSON.stringify(rows)).to.not.contain(leaked.apiKey.slice(8))
  })

  it('is revoked by presenting it as the credential too', async () => {
    expect((await revokeLeaked(leaked.apiKey, leaked.apiKey)).status).to.equal(200)
    expect(await works()).to.equal(false)
  })

  it('is revoked by an administrator whosever it is, by its text or its id', async () => {
    expect((await revokeLeaked(leaked.keyId, app.adminKey)).body.keyId).to.equal(leaked.keyId)
    expect(await works()).to.equal(false)
    expect((await revokeLeaked(leaked.apiKey, app.adminKey)).status).to.equal(200)
  })

  it('is not revoked by its id, or by a text that is no key', async () => {
    const stranger = await app.organisation()
    for (const key of [undefined, stranger.apiKey, owner.apiKey])
      expect((await revokeLeaked(leaked.keyId, key)).status).to.equal(404)
    const other = leaked.apiKey.endsWith('x') ? 'y' : 'x'
    expect((await revokeLeaked(leaked.apiKey.slice(0, -1) + other)).status).to.equal(404)
    expect((await revokeLeaked('key_00000000000000000000000000', app.adminKey)).status).to.equal(404)
    expect((await revokeLeaked(leaked.apiKey, 'ak_live_unknown')).status).to.equal(401)
    expect(await works()).to.equal(true)
  })

  it('is guessed at no faster than 60 times a minute from one address', async () => {
    const headers = { 'x-forwarded-for': '198.51.100.91' }
    const answers = await Promise.all(
      Array.from({ length: 61 }, () =>
        app.request('POST', '/console/api/keys/revoke', { body: { key: 'x' }, headers }),
      ),
    )
    expect(answers.filter(({ status }) => status === 429)).to.have.length(1)
  })
})

describe('the admin key', () => {
  it('of the default organisation may do everything', async () => {
    const app = await sharedApp()
    const { body } = await app.request<{ organisation: string; scopes: string[]; subscription: string }>(
      'GET',
      '/console/api/me',
      { key: app.adminKey },
    )
    expect(body).to.include({ organisation: 'default', subscription: 'active' })
    expect(body.scopes).to.include.members(['admin', 'keys', 'egress:private'])
  })

  it('may look like a generated key without being one', async () => {
    const chosen = 'ak_live_chosen_by_an_operator'
    const app = await startTestApp({ env: { ADMIN_API_KEY: chosen } })
    try {
      expect((await app.request('GET', '/console/api/me', { key: chosen })).status).to.equal(200)
    } finally {
      await app.close()
    }
  })
})
