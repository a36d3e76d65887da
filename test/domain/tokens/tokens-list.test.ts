/** All tokens of an organisation, as its operators look through them. */
import { expect } from 'chai'
import { findHybridTokenPage } from '../../../src/domain/hybrid-tokens/store-list.ts'
import type { ListedToken } from '../../../src/domain/tokens/schemas-list.ts'
import { findTokenPage } from '../../../src/domain/tokens/store-list.ts'
import { MAX_SEARCHED_ROWS } from '../../../src/store/pages.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { hybridRoutesOf } from '../../support/domain/hybrid-tokens.ts'
import { tokenRoutesOf } from '../../support/domain/tokens.ts'
import { expectFlatPage, listOf } from '../../support/lists.ts'

const TOKENS = '/console/api/tokens'

describe('the list of tokens', () => {
  let now = Date.now()
  let app: TestApp
  let owner: TestOrganisation
  let tokens: ReturnType<typeof tokenRoutesOf>
  const list = (key = owner.apiKey) => listOf<ListedToken, 'tokens'>(app, key, TOKENS, 'tokens')
  const idsOf = (rows: readonly ListedToken[]) => rows.map(({ tokenId }) => tokenId)
  before(async () => {
    app = await startTestApp({ clock: { now: () => now } })
  })
  after(() => app.close())
  beforeEach(async () => {
    owner = await app.organisation()
    tokens = tokenRoutesOf(app, owner.apiKey)
  })

  /** Copies a token, straight into the table. */
  const fill = async (tokenId: string, count: number) => {
    await app.services.database.knex.raw(
      `INSERT INTO tokens (id, organisation, entry_index, type, single_use, jws_hash, sealed, issued_at, expires_at, subject)
        SELECT 'tok_' || lpad(i::text, 20, '0') || substr(id, 25), organisation, 0, type, single_use, jws_hash, sealed,
          issued_at - i, expires_at, CASE WHEN i % 100 = 0 THEN subject END
          FROM tokens, generate_series(1, :count) AS i WHERE id = :tokenId`,
      { tokenId, count },
    )
    await app.services.database.knex.raw('ANALYZE tokens')
  }

  it('has every token, newest first, and those of a subject or state', async () => {
    const used = await tokens.issued({ subject: 'ada', singleUse: true, audience: 'gate' })
    now += 1_000
    const revoked = await tokens.issued({ subject: 'bob', type: 'qr' })
    now += 1_000
    const short = await tokens.issued({ subject: 'ada', ttl: 1 })
    now += 2_000
    const active = await tokens.issued({ subject: 'ada' })
    await tokens.validate({ token: used.token, audience: 'gate', consume: true })
    await tokens.revoke(revoked.tokenId, 'lost')
    const rows = await list().rows()
    expect(rows.map(({ tokenId, status, subject }) => [tokenId, status, subject])).to.deep.equal([
      [active.tokenId, 'active', 'ada'],
      [short.tokenId, 'expired', 'ada'],
      [revoked.tokenId, 'revoked', 'bob'],
      [used.tokenId, 'used', 'ada'],
    ])
    expect(rows[2]).to.include({ revocationReason: 'lost', type: 'qr', audience: null, usedAt: null })
    expect(rows[3]).to.include({ singleUse: true, audience: 'gate', revokedAt: null })
    expect(JSON.stringify(rows)).to.not.contain(active.token.slice(-40))
    for (const [status, token] of Object.entries({ active, expired: short, revoked, used }))
      expect(idsOf(await list().rows(`status=${status}`)), status).to.deep.equal([token.tokenId])
    expect(idsOf(await list().rows('subject=ada'))).to.deep.equal([
      active.tokenId,
      short.tokenId,
      used.tokenId,
    ])
    expect(idsOf(await list().rows('subject=ada&status=used'))).to.deep.equal([used.tokenId])
    expect(idsOf(await list().rows('type=qr'))).to.deep.equal([revoked.tokenId])
    expect(await list().rows('subject=Ada')).to.deep.equal([])
  })

  it('has hybrid tokens among the others, by kind, subject and state, and goes on after one', async () => {
    const hybrid = hybridRoutesOf(app, owner.apiKey)
    const issued = async (make: () => Promise<string>) => {
      now = Math.floor(now / 1_000) * 1_000 + 1_000
      return make()
    }
    const exp = Math.floor(now / 1_000) + 3_600
    const first = await issued(async () => (await tokens.issued({ subject: 'ada' })).tokenId)
    const second = await issued(async () => (await hybrid.issued({ subject: 'ada', exp })).token_id)
    const third = await issued(async () => (await tokens.issued({ subject: 'bob' })).tokenId)
    const last = await issued(async () => (await hybrid.issued({ subject: 'bob', exp })).token_id)
    await tokens.revoke(last, 'lost')
    const all = [last, third, second, first]
    expect(idsOf(await list().rows())).to.deep.equal(all)
    for (const limit of [1, 2, 3]) expect(idsOf(await list().all(limit))).to.deep.equal(all)
    const [newest] = await list().rows('type=hybrid&status=revoked')
    expect(newest).to.include({
      ...{ tokenId: last, type: 'hybrid', subject: 'bob', audience: null, singleUse: false },
      ...{ status: 'revoked', revocationReason: 'lost' },
    })
    for (const [query, expected] of [
      ['type=hybrid', [last, second]],
      ['type=jwt', [third, first]],
      ['subject=ada', [second, first]],
      ['subject=ada&type=hybrid&status=active', [second]],
      ['status=revoked', [last]],
      ['status=used', []],
    ] as const)
      expect(idsOf(await list().rows(query)), query).to.deep.equal(expected)
    const { apiKey: stranger } = await app.organisation()
    expect(await list(stranger).rows('type=hybrid')).to.deep.equal([])
    expect((await list().refused(`cursor=${second}`, stranger))[2]).to.equal('query/cursor')
    expect(await app.services.database.knex('hybrid_tokens').where({ subject: 'ada' })).to.deep.equal([])
  })

  it('is of this organisation alone, and tells subjects nowhere in the clear', async () => {
    const { tokenId } = await tokens.issued({ subject: 'ada' })
    const other = await app.organisation()
    expect(await list(other.apiKey).page('subject=ada')).to.deep.equal({
      tokens: [],
      nextCursor: null,
      complete: true,
    })
    expect(await list().refused(`cursor=${tokenId}`, other.apiKey)).to.deep.equal([
      400,
      'invalid_query',
      'query/cursor',
    ])
    const { tokenId: theirs } = await tokenRoutesOf(app, other.apiKey).issued({ subject: 'ada' })
    const kept = await app.services.database.knex('tokens').whereIn('id', [tokenId, theirs]).pluck('subject')
    expect(new Set(kept).size).to.equal(2)
    expect(kept.every((subject: string) => /^[0-9a-f]{64}$/.test(subject))).to.equal(true)
    expect((await list().refused('status=lost'))[2]).to.equal('query/status')
    expect((await list().refused(`subject=${'x'.repeat(257)}`))[2]).to.equal('query/subject')
  })

  it('reads no more than it shows, and looks for a state among a bounded number', async () => {
    const { tokenId } = await tokens.issued({ subject: 'ada' })
    const count = MAX_SEARCHED_ROWS + 500
    await fill(tokenId, count)
    const { database } = app.services
    const row = await database.knex('tokens').where({ id: tokenId }).first('subject')
    const filter = { organisation: owner.organisationId, now }
    for (const narrowed of [filter, { ...filter, subject: row.subject }])
      await expectFlatPage(database, 'tokens', (page) => findTokenPage(database, narrowed, page))
    const { token_id } = await hybridRoutesOf(app, owner.apiKey).issued({ subject: 'ada' })
    await database.knex.raw(
      `INSERT INTO hybrid_tokens (organisation, id, entry_index, digest, policy_bits, sealed, issued_at, expires_at, subject)
        SELECT organisation, 'hyt_' || lpad(i::text, 20, '0') || substr(id, 25), 0, digest, policy_bits, sealed,
          issued_at - i, expires_at, CASE WHEN i % 100 = 0 THEN subject END
          FROM hybrid_tokens, generate_series(1, :count) AS i WHERE id = :token_id`,
      { token_id, count },
    )
    await database.knex.raw('ANALYZE hybrid_tokens')
    const { subject } = await database.knex('hybrid_tokens').where({ id: token_id }).first('subject')
    for (const narrowed of [filter, { ...filter, subject }])
      await expectFlatPage(database, 'hybrid_tokens', (page) => findHybridTokenPage(database, narrowed, page))
    const first = await list().page('status=revoked')
    expect(first.tokens).to.deep.equal([])
    const next = await list().page(`status=revoked&cursor=${first.nextCursor}`)
    expect(next).to.deep.equal({ tokens: [], nextCursor: null, complete: true })
  })
})
