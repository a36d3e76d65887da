/** The list of API keys, page by page and by state. */
import { expect } from 'chai'
import type { Key, KeyCreated, KeyRotated } from '../../../src/domain/accounts/schemas.ts'
import { findKeys } from '../../../src/domain/accounts/store.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { ok } from '../../support/client.ts'
import { amongMany, expectFlatPage, idOfCopy, listOf, MANY_ROWS } from '../../support/lists.ts'

const PATH = '/console/api/keys'

describe('the list of API keys', () => {
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    app = await sharedApp()
  })
  beforeEach(async () => {
    owner = await app.organisation()
  })
  const newKey = (label: string) =>
    ok<KeyCreated>(app, 'POST', PATH, { key: owner.apiKey, body: { label, scopes: ['verify'] } })
  const keysOf = (key = owner.apiKey) => listOf<Key, 'keys'>(app, key, PATH, 'keys')

  it('comes page by page and by state, the newest first, and nobody else’s', async () => {
    const own = (await keysOf().rows())[0]?.keyId
    const revoked = await newKey('revoked')
    await app.request('DELETE', `${PATH}/${revoked.keyId}`, { key: owner.apiKey })
    const expired = await newKey('expired')
    const { keyId: active } = await ok<KeyRotated>(app, 'POST', `${PATH}/${expired.keyId}/rotate`, {
      key: owner.apiKey,
      body: { overlapSeconds: 3600 },
    })
    const ofState = async (status: string, limit: number) =>
      (await keysOf().all(limit, `status=${status}`)).map(({ keyId }) => keyId)
    expect(await ofState('active', 1)).to.deep.equal([active, expired.keyId, own])
    await app.services.database.knex('api_keys').where({ id: expired.keyId }).update({ expires_at: 1 })
    for (const limit of [1, 2, 50]) {
      const keys = await keysOf().all(limit)
      expect(keys.map(({ keyId, status }) => [keyId, status])).to.deep.equal([
        [active, 'active'],
        [expired.keyId, 'expired'],
        [revoked.keyId, 'revoked'],
        [own, 'active'],
      ])
      expect(await ofState('active', limit)).to.deep.equal([active, own])
      expect(await ofState('expired', limit)).to.deep.equal([expired.keyId])
      expect(await ofState('revoked', limit)).to.deep.equal([revoked.keyId])
    }
    // Who asks without a limit gets what earlier versions gave at once.
    expect(await keysOf().page()).to.have.property('nextCursor', null)
    const stranger = keysOf((await app.organisation()).apiKey)
    const mine = new Set([own, revoked.keyId, expired.keyId, active])
    for (const query of ['', 'status=active', 'status=revoked', `cursor=${active}`])
      expect((await stranger.rows(query)).filter(({ keyId }) => mine.has(keyId))).to.deep.equal([])
    for (const [query, place] of [
      ['cursor=key_1', 'query/cursor'],
      ['status=lost', 'query/status'],
      ['limit=1001', 'query/limit'],
    ] as const)
      expect((await keysOf().refused(query))[2], query).to.equal(place)
  })

  it('reads no more than it shows, however many there are', async () => {
    const { keyId } = await newKey('the newest')
    const { database } = app.services
    const { organisationId: organisation } = owner
    // One in thirty is in use: a page of those must not look at the others.
    const set = {
      digest: 'sha256(digest || int4send(i))',
      revoked_at: 'CASE WHEN i % 30 = 0 THEN NULL ELSE created_at END',
    }
    await amongMany(database, 'api_keys', keyId, set, async () => {
      const now = Date.now()
      for (const status of [undefined, 'active', 'revoked'] as const)
        for (const before of [undefined, idOfCopy('key', 1500)])
          await expectFlatPage(database, 'api_keys', async ({ limit }) => ({
            rows: await findKeys(database, { organisation, status, now, before, limit }),
          }))
      const first = await keysOf().page()
      expect([first.keys.length, first.nextCursor]).to.deep.equal([1000, first.keys.at(-1)?.keyId])
      // That of the organisation, and the one above.
      expect(await keysOf().all(1000)).to.have.length(MANY_ROWS + 2)
    })
  })
})
