/** The list of terminals, page by page and by state. */
import { expect } from 'chai'
import type { Terminal, TerminalCreated } from '../../../src/domain/terminals/schemas.ts'
import { findTerminals } from '../../../src/domain/terminals/store.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { ok } from '../../support/client.ts'
import { amongMany, expectFlatPage, idOfCopy, listOf, MANY_ROWS } from '../../support/lists.ts'

const PATH = '/console/api/terminals'

describe('the list of terminals', () => {
  let app: TestApp
  let owner: TestOrganisation
  before(async () => {
    // Of its own: where an organisation has nearly all rows of a table, others' newer ones are read and left out.
    app = await startTestApp()
  })
  after(() => app.close())
  beforeEach(async () => {
    owner = await app.organisation()
  })
  const terminal = (label: string) =>
    ok<TerminalCreated>(app, 'POST', PATH, { key: owner.apiKey, body: { label } })
  const terminalsOf = (key = owner.apiKey) => listOf<Terminal, 'terminals'>(app, key, PATH, 'terminals')
  const labelsOf = (terminals: readonly Terminal[]) => terminals.map(({ label }) => label)

  it('comes page by page and by state, the newest first, and nobody else’s', async () => {
    const first = await terminal('first')
    const second = await terminal('second')
    await terminal('third')
    await app.request('DELETE', `${PATH}/${second.terminalId}`, { key: owner.apiKey })
    const { all, page, refused } = terminalsOf()
    for (const limit of [1, 2, 3, 50]) {
      expect(labelsOf(await all(limit))).to.deep.equal(['third', 'second', 'first'])
      expect(labelsOf(await all(limit, 'status=active'))).to.deep.equal(['third', 'first'])
      expect(labelsOf(await all(limit, 'status=revoked'))).to.deep.equal(['second'])
    }
    // Who asks without a limit gets what earlier versions gave at once.
    expect(await page()).to.have.property('nextCursor', null)
    const stranger = terminalsOf((await app.organisation()).apiKey)
    for (const query of ['', 'status=active', 'status=revoked', `cursor=${first.terminalId.slice(0, -1)}z`])
      expect(await stranger.page(query)).to.deep.equal({ terminals: [], nextCursor: null })
    for (const [query, place] of [
      ['cursor=ter_1', 'query/cursor'],
      ['status=lost', 'query/status'],
      ['limit=0', 'query/limit'],
      ['limit=1001', 'query/limit'],
    ] as const)
      expect((await refused(query))[2], query).to.equal(place)
  })

  it('reads no more than it shows, however many there are', async () => {
    const { terminalId } = await terminal('the newest')
    const { database } = app.services
    const { organisationId: organisation, merchantId: merchant } = owner
    // One in thirty is in use: a page of those must not look at the others.
    const revoked_at = 'CASE WHEN i % 30 = 0 THEN NULL ELSE created_at END'
    await amongMany(database, 'terminals', terminalId, { revoked_at }, async () => {
      for (const asked of [{}, { status: 'active' }, { status: 'revoked' }, { merchant }] as const)
        for (const before of [undefined, idOfCopy('ter', 1500)])
          await expectFlatPage(database, 'terminals', async ({ limit }) => ({
            rows: await findTerminals(database, { organisation, before, limit, ...asked }),
          }))
      const { all, page } = terminalsOf()
      const first = await page()
      expect([first.terminals.length, first.nextCursor]).to.deep.equal([
        1000,
        first.terminals.at(-1)?.terminalId,
      ])
      expect(await all(1000)).to.have.length(MANY_ROWS + 1)
      expect(await all(7, 'status=active')).to.have.length(MANY_ROWS / 30 + 1)
    })
  })
})
