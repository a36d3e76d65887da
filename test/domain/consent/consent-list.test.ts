/** Somebody's consents, as an operator looks through them. */
import { expect } from 'chai'
import type { ListedConsent } from '../../../src/domain/consent/schemas-list.ts'
import { findLatest, findReplaced } from '../../../src/domain/consent/store.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { consentRoutesOf } from '../../support/domain/consents.ts'
import { listOf } from '../../support/lists.ts'
import { readsOf } from '../../support/query-plans.ts'

const CONSENTS = '/console/api/consents'

describe('the list of consents', () => {
  let app: TestApp
  let owner: TestOrganisation
  let consents: ReturnType<typeof consentRoutesOf>
  const list = (key = owner.apiKey) => listOf<ListedConsent, 'consents'>(app, key, CONSENTS, 'consents')
  beforeEach(async () => {
    app = await sharedApp()
    owner = await app.organisation()
    consents = consentRoutesOf(app, owner.apiKey)
  })

  it('has all consents of a subject, newest first, with what each is worth now', async () => {
    const old = await consents.logged({ purposes: ['newsletter', 'analytics'], dataCategories: ['email'] })
    const newer = await consents.logged({ purposes: ['newsletter'] })
    const withdrawn = await consents.logged({ purposes: ['profiling'] })
    const refused = await consents.logged({ purposes: ['ads'], status: 'refused' })
    await consents.logged({ subjectId: 'bob' })
    await consents.revoke(withdrawn.consentId, 'asked by telephone')
    const { consents: rows, nextCursor } = await list().page('subject=ada')
    expect(nextCursor).to.equal(null)
    expect(rows.map(({ consentId, status }) => [consentId, status])).to.deep.equal([
      [refused.consentId, 'refused'],
      [withdrawn.consentId, 'withdrawn'],
      [newer.consentId, 'given'],
      [old.consentId, 'given'],
    ])
    expect(rows[1]).to.include({ withdrawalReason: 'asked by telephone' })
    expect(rows[3]).to.deep.include({
      controller: 'https://shop.example',
      purposes: ['newsletter', 'analytics'],
      supersededPurposes: ['newsletter'],
      dataCategories: ['email'],
      recordedAt: old.recordedAt,
      merkleIndex: old.leafIndex,
      withdrawnAt: null,
    })
    for (const { consentId, status } of rows)
      expect((await consents.status(consentId)).body.status, consentId).to.equal(status)
    expect((await list().all(3, 'subject=ada')).map(({ consentId }) => consentId)).to.deep.equal(
      rows.map(({ consentId }) => consentId),
    )
  })

  it('needs a subject, and is of this organisation alone', async () => {
    const { consentId } = await consents.logged()
    expect(await list().refused('')).to.deep.equal([400, 'invalid_query', 'query/subject'])
    const { apiKey: stranger } = await app.organisation()
    expect(await list(stranger).rows('subject=ada')).to.deep.equal([])
    expect((await list().refused(`subject=ada&cursor=${consentId}`, stranger))[2]).to.equal('query/cursor')
  })

  it('reads no more than it shows, however many there are', async () => {
    const { consentId } = await consents.logged()
    await app.services.database.knex.raw(
      `INSERT INTO consents (id, organisation, entry_index, subject, controller_hash, answer, receipt_hash, sealed, recorded_at)
        SELECT 'cns_' || lpad(i::text, 20, '0') || substr(id, 25), organisation, -i, CASE WHEN i % 2 = 0 THEN subject ELSE 'other' END,
          controller_hash, answer, receipt_hash, sealed, recorded_at
          FROM consents, generate_series(1, 20000) AS i WHERE id = :consentId`,
      { consentId },
    )
    await app.services.database.knex.raw('ANALYZE consents')
    const reads = await readsOf(app.services.database, async () => {
      expect(await list().rows('subject=ada&limit=1')).to.have.length(1)
    })
    const own = reads.filter(({ text }) => text.includes('from "consents"'))
    expect(own).to.have.length(1)
    expect(own[0]?.rows, `${own[0]?.indexes}`).to.be.at.most(8)
  })

  it('looks at a few records of a subject for what a new one replaces, and for what counts, however many there are', async () => {
    const { consentId } = await consents.logged({ subjectId: 'often' })
    const { database } = app.services
    await database.knex.raw(
      `INSERT INTO consent_purposes (consent, purpose_hash, organisation, subject, controller_hash, entry_index, recorded_at)
        SELECT 'cns_' || own.entry_index || i, purpose_hash, organisation, subject, controller_hash, -i, recorded_at
        FROM consent_purposes AS own, generate_series(1, 2000) AS i WHERE consent = ?`,
      [consentId],
    )
    const row = await database.knex('consent_purposes').where({ consent: consentId }).first()
    const { organisation, subject, controller_hash: controllerHash, purpose_hash: purposeHash } = row
    const named = { organisation, subject, controllerHash, purposeHashes: [purposeHash] }
    const sought = { organisation, subject, purposeHash, controllerHash: undefined, at: undefined }
    const reads = await readsOf(database, async (watched) => {
      const replaced = await findReplaced(watched, named)
      expect(replaced.map(({ id }) => id)).to.deep.equal([consentId])
      expect(await findLatest(watched, sought)).to.deep.equal([consentId])
    })
    // The service's own work looks at other tables meanwhile.
    const own = reads.filter(({ text }) => text.includes('consent_purposes'))
    expect(own).to.have.length(2)
    for (const { rows, text } of own) expect(rows, text).to.be.at.most(40)
  })
})
