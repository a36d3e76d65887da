/** What strangers learn of a token that was revoked: from the list that the token itself names. */
import { expect } from 'chai'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { isRevokedOutside } from '../../support/domain/statuses.ts'
import { payloadOf, tokenRoutesOf } from '../../support/domain/tokens.ts'

const MINUTE_MS = 60_000

describe('the status of a token', () => {
  let app: TestApp
  let tokens: ReturnType<typeof tokenRoutesOf>
  let now = Date.now()
  before(async () => {
    app = await startTestApp({ clock: { now: () => now } })
    tokens = tokenRoutesOf(app, (await app.organisation()).apiKey)
  })
  after(() => app.close())
  const isRevoked = (token: string): Promise<boolean> => {
    now += MINUTE_MS
    return isRevokedOutside(app, payloadOf(token), new Date(now))
  }

  it('is its own, and says that it was revoked; using it up says nothing', async () => {
    const [kept, revoked, used] = [
      await tokens.issued({ ttl: 3600 }),
      await tokens.issued({ ttl: 3600 }),
      await tokens.issued({ ttl: 3600, singleUse: true }),
    ]
    const all = [kept, revoked, used].map(({ token }) => JSON.stringify(payloadOf(token).status))
    expect(new Set(all).size).to.equal(3)
    for (const { token } of [kept, revoked, used]) expect(await isRevoked(token)).to.equal(false)
    expect((await tokens.revoke(revoked.tokenId)).status).to.equal(200)
    expect((await tokens.revoke(revoked.tokenId)).status).to.equal(200)
    expect((await tokens.validate({ token: used.token, consume: true })).body.consumed).to.equal(true)
    expect(await isRevoked(revoked.token)).to.equal(true)
    for (const { token } of [kept, used]) expect(await isRevoked(token)).to.equal(false)
    expect((await tokens.validate({ token: revoked.token })).body.reasonCodes).to.deep.equal([
      'TOKEN_REVOKED',
    ])
  })
})
