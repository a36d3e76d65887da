/** Consents through the real app: recorded with a receipt, asked about, superseded, withdrawn. */
import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { compactVerify, createRemoteJWKSet } from 'jose'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { CONTROLLER, consentRoutesOf } from '../../support/domain/consents.ts'

const FULL = {
  subjectId: 'ada',
  controller: CONTROLLER,
  purposes: ['newsletter', 'analytics'],
  dataCategories: ['email', 'purchase_history'],
  legalBasis: 'explicit_consent',
  noticeUrl: 'https://shop.example/privacy?v=3#email',
  noticeHash: 'ab'.repeat(32),
  method: 'web_form',
  jurisdiction: 'GB-SCT',
  language: 'en-GB',
}
const UNKNOWN = 'cns_00000000000000000000000000'

describe('consents', () => {
  let app: TestApp
  let owner: TestOrganisation
  let consents: ReturnType<typeof consentRoutesOf>
  before(async () => {
    app = await sharedApp()
  })
  beforeEach(async () => {
    owner = await app.organisation()
    consents = consentRoutesOf(app, owner.apiKey)
  })
  const entries = () =>
    app.services.database
      .knex('ledger_entries')
      .where({ organisation: owner.organisationId })
      .whereIn('type', ['attest', 'revoke'])
      .orderBy('idx')
  const newsletter = (subjectId: string, more: object = {}) => ({ subjectId, purpose: 'newsletter', ...more })

  it('hold for who asks by their subject, also while they are recorded anew', async () => {
    await consents.logged({ subjectId: 'renewing' })
    const reasons = new Set<string | undefined>()
    for (let round = 0; round < 30; round++) {
      let isRecorded = false
      const recorded = consents.logged({ subjectId: 'renewing' }).finally(() => {
        isRecorded = true
      })
      while (!isRecorded) {
        const asked = [1, 2, 3].map(() => consents.reason(newsletter('renewing')))
        for (const reason of await Promise.all(asked)) reasons.add(reason)
      }
      await recorded
    }
    expect([...reasons]).to.deep.equal([undefined])
  }).timeout(60_000)

  it('are receipts that an outside library verifies, with the terms of ISO/IEC TS 27560', async () => {
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
    const logged = await consents.logged({ ...FULL, expiresAt })
    expect(logged).to.include({ status: 'given', version: 1 })
    expect(logged.digest).to.equal(createHash('sha256').update(logged.receipt).digest('hex'))
    const keys = createRemoteJWKSet(new URL(`${app.url}/.well-known/jwks.json`))
    const { payload, protectedHeader } = await compactVerify(logged.receipt, keys)
    expect(protectedHeader).to.deep.include({ alg: 'EdDSA', typ: 'cr+jws' })
    expect(Object.keys(protectedHeader).sort()).to.deep.equal(['alg', 'kid', 'typ'])
    const record = JSON.parse(Buffer.from(payload).toString())
    const [{ event_time, validity_duration, ...event }] = record.events
    const lasts = (Date.parse(expiresAt) - Date.parse(event_time)) / 1000
    expect(validity_duration).to.equal(`PT${lasts}S`)
    expect(event).to.deep.equal({
      event_type: 'explicit',
      event_state: 'consent_given',
      entity_id: owner.organisationId,
    })
    const { pii_principal_id } = record.header
    expect(pii_principal_id).to.match(/^[0-9a-f]{64}$/)
    expect({ ...record, iat: 0, events: [] }).to.deep.equal({
      iss: app.url,
      org: owner.organisationId,
      iat: 0,
      header: {
        schema_version: 'ISO/IEC TS 27560:2023',
        record_id: logged.consentId,
        pii_principal_id,
      },
      pii_processing: {
        purposes: FULL.purposes.map((purpose) => ({ purpose, lawful_basis: 'explicit_consent' })),
        pii_information: FULL.dataCategories.map((pii_type) => ({ pii_type })),
        pii_controllers: [CONTROLLER],
        privacy_notice: FULL.noticeUrl,
        privacy_notice_hash: FULL.noticeHash,
        language: 'en-GB',
        collection_method: 'web_form',
        jurisdiction: 'GB-SCT',
      },
      party_identification: [{ party_name: CONTROLLER, party_role: 'pii_controller' }],
      events: [],
    })
  })

  it('are entries of the ledger, at the place that the answer names, about somebody whom they do not name', async () => {
    const { consentId, digest, leafHash, leafIndex } = await consents.logged(FULL)
    await consents.revoke(consentId, 'asked by telephone')
    const rows = await entries()
    expect(rows.map(({ type }) => type)).to.deep.equal(['attest', 'revoke'])
    const [recorded, withdrawn] = rows
    expect(recorded.idx).to.equal(leafIndex)
    expect(Buffer.from(recorded.leaf_hash).toString('hex')).to.equal(leafHash)
    expect([recorded.digest, withdrawn.digest]).to.deep.equal([digest, digest])
    expect(withdrawn.subject).to.equal(recorded.subject)
    expect(JSON.parse(recorded.entry).data).to.deep.equal({ event: 'consent.recorded', status: 'given' })
    expect(JSON.parse(withdrawn.entry).data).to.deep.equal({ event: 'consent.withdrawn' })
  })

  it('leave neither subject nor purposes readable in the database', async () => {
    const { consentId } = await consents.logged({ ...FULL, subjectId: 'ada@example.org' })
    const reason = 'ada@example.org telephoned'
    await consents.revoke(consentId, reason)
    expect((await consents.status(consentId)).body.history.at(-1)?.reason).to.equal(reason)
    const { knex } = app.services.database
    const where = { organisation: owner.organisationId }
    const rows = [
      await knex('consents').where(where),
      await knex('consent_purposes').where(where),
      await knex('consent_withdrawals').where(where),
      await knex('ledger_entries').where(where),
    ].flat()
    const text = JSON.stringify(rows, (_, value) =>
      value?.type === 'Buffer' ? Buffer.from(value.data).toString('latin1') : value,
    )
    expect(text).to.contain(consentId)
    expect(text).not.to.match(/ada@example|newsletter|purchase|shop\.example|YWRhQGV4/)
  })

  it('hold for their subject, purpose, controller and data, and for nothing else', async () => {
    const { consentId } = await consents.logged(FULL)
    const found = await consents.verify(newsletter('ada'))
    expect(found.status).to.equal(200)
    expect(found.body).to.deep.equal({
      valid: true,
      consentId,
      status: 'given',
      purpose: 'newsletter',
      expiresAt: null,
    })
    const { reason } = consents
    expect(await reason(newsletter('ada', { controller: CONTROLLER }))).to.equal(undefined)
    expect(await reason(newsletter('ada', { dataCategories: ['email'] }))).to.equal(undefined)
    expect(await reason(newsletter('ada', { dataCategories: ['email', 'health'] }))).to.equal(
      'data_category_mismatch',
    )
    expect(await reason(newsletter('ada', { controller: `${CONTROLLER}/` }))).to.equal('no_consent')
    expect(await reason({ subjectId: 'ada', purpose: 'Newsletter' })).to.equal('no_consent')
    expect(await reason({ consentId })).to.equal(undefined)
    expect(await reason({ consentId, purpose: 'analytics', subjectId: 'ada' })).to.equal(undefined)
    expect(await reason({ consentId, purpose: 'profiling' })).to.equal('purpose_mismatch')
    expect(await reason({ consentId, controller: 'https://other.example' })).to.equal('controller_mismatch')
  })

  it('without data categories cover none that is asked for', async () => {
    await consents.logged()
    expect(await consents.reason(newsletter('ada', { dataCategories: ['email'] }))).to.equal(
      'data_category_mismatch',
    )
  })

  it('of another person never answer for the one who is asked about', async () => {
    const { consentId } = await consents.logged({ subjectId: 'ada' })
    await consents.logged({ subjectId: 'bob', status: 'refused' })
    expect(await consents.reason(newsletter('ada'))).to.equal(undefined)
    expect(await consents.reason(newsletter('bob'))).to.equal('refused')
    for (const subjectId of ['bob', 'Ada', 'ada ', 'adа', 'carol']) {
      const { body } = await consents.verify({ consentId, subjectId, purpose: 'newsletter' })
      expect(body, subjectId).to.deep.equal({
        valid: false,
        consentId,
        status: null,
        purpose: 'newsletter',
        expiresAt: null,
        reason: 'subject_mismatch',
      })
      if (subjectId !== 'bob') expect(await consents.reason(newsletter(subjectId))).to.equal('no_consent')
    }
  })

  it('of another organisation do not exist', async () => {
    const { consentId } = await consents.logged()
    const other = await app.organisation()
    const strangers = consentRoutesOf(app, other.apiKey)
    expect((await strangers.status(consentId)).status).to.equal(404)
    expect((await strangers.revoke(consentId)).status).to.equal(404)
    expect((await strangers.verify({ consentId })).status).to.equal(404)
    expect(await strangers.reason(newsletter('ada'))).to.equal('no_consent')
    expect((await consents.status(UNKNOWN)).status).to.equal(404)
    expect(await consents.reason({ consentId })).to.equal(undefined)
    // Pseudonyms of one person can't be compared either.
    await strangers.logged()
    const subjects = await app.services.database
      .knex('consents')
      .whereIn('organisation', [owner.organisationId, other.organisationId])
      .distinct('subject')
    expect(subjects).to.have.length(2)
  })

  it('that were refused never hold, and a later answer counts', async () => {
    const refused = await consents.logged({ status: 'refused' })
    expect(refused.status).to.equal('refused')
    expect(await consents.reason({ consentId: refused.consentId })).to.equal('refused')
    const given = await consents.logged()
    expect(given.version).to.equal(2)
    expect(await consents.reason(newsletter('ada'))).to.equal(undefined)
    expect(await consents.reason({ consentId: refused.consentId })).to.equal('superseded')
    await consents.logged({ status: 'refused' })
    expect(await consents.reason(newsletter('ada'))).to.equal('refused')
    expect(await consents.reason({ consentId: given.consentId })).to.equal('superseded')
  })

  it('are superseded for each purpose by itself', async () => {
    const first = await consents.logged({ purposes: ['newsletter', 'analytics'] })
    const second = await consents.logged({ purposes: ['analytics', 'profiling'], status: 'refused' })
    expect([first.version, second.version]).to.deep.equal([1, 2])
    const { consentId } = first
    expect(await consents.reason({ consentId, purpose: 'newsletter' })).to.equal(undefined)
    expect(await consents.reason(newsletter('ada'))).to.equal(undefined)
    expect(await consents.reason({ consentId, purpose: 'analytics' })).to.equal('superseded')
    expect(await consents.reason({ subjectId: 'ada', purpose: 'analytics' })).to.equal('refused')
    // Asked as a whole it doesn't hold any more.
    expect(await consents.reason({ consentId })).to.equal('purpose_required')
    expect((await consents.status(consentId)).body.status).to.equal('given')
    const third = await consents.logged({ purposes: ['newsletter'] })
    const { body } = await consents.status(consentId)
    expect({ ...body, history: body.history.map(({ at: _, ...event }) => event) }).to.deep.equal({
      consentId,
      status: 'superseded',
      version: 1,
      purposes: ['newsletter', 'analytics'],
      history: [
        { status: 'given', purposes: ['newsletter', 'analytics'] },
        { status: 'superseded', purposes: ['analytics'], supersededBy: second.consentId },
        { status: 'superseded', purposes: ['newsletter'], supersededBy: third.consentId },
      ],
    })
    expect((await consents.status(third.consentId)).body.version).to.equal(3)
  })

  describe('whose status others can read', () => {
    type Logged = Awaited<ReturnType<typeof consents.logged>>
    const isRevoked = ({ credential }: Logged) =>
      app.services.statuses.isSet(Number(credential?.fields.status))

    it('are revoked once nothing of them stands, and not before', async () => {
      const first = await consents.logged({ purposes: ['newsletter', 'analytics'] })
      const other = await consents.logged({ purposes: ['newsletter'], controller: 'https://other.example' })
      await consents.logged({ purposes: ['analytics'], status: 'refused' })
      expect(await isRevoked(first)).to.equal(false)
      const latest = await consents.logged({ purposes: ['newsletter', 'profiling'] })
      expect(await isRevoked(first)).to.equal(true)
      expect(await isRevoked(other)).to.equal(false)
      expect(await isRevoked(latest)).to.equal(false)
      const whole = await consents.logged({ purposes: ['profiling', 'newsletter'] })
      expect(await isRevoked(latest)).to.equal(true)
      expect(await isRevoked(whole)).to.equal(false)
    })

    it('are revoked by two records at the same time that take a purpose each', async () => {
      for (let round = 0; round < 5; round++) {
        const subjectId = `person-${round}`
        const first = await consents.logged({ subjectId, purposes: ['newsletter', 'analytics'] })
        await Promise.all(
          ['newsletter', 'analytics'].map((purpose) => consents.logged({ subjectId, purposes: [purpose] })),
        )
        expect(await isRevoked(first)).to.equal(true)
      }
    })
  })

  it('of two controllers stand beside each other, and nobody is taken for the other', async () => {
    const other = 'https://other.example'
    await consents.logged()
    const second = await consents.logged({ controller: other, status: 'refused' })
    expect(second.version).to.equal(1)
    expect(await consents.reason(newsletter('ada'))).to.equal('controller_required')
    expect(await consents.reason(newsletter('ada', { controller: CONTROLLER }))).to.equal(undefined)
    expect(await consents.reason(newsletter('ada', { controller: other }))).to.equal('refused')
  })

  it('stay withdrawn, and answer the first withdrawal again', async () => {
    const { consentId } = await consents.logged()
    const first = await consents.revoke(consentId, 'asked by telephone')
    expect([first.status, first.body.status]).to.deep.equal([200, 'withdrawn'])
    expect((await consents.revoke(consentId, 'again')).body).to.deep.equal(first.body)
    expect(await consents.reason(newsletter('ada'))).to.equal('withdrawn')
    const { body } = await consents.status(consentId)
    expect(body.status).to.equal('withdrawn')
    expect(body.history.at(-1)).to.deep.equal({
      status: 'withdrawn',
      at: first.body.withdrawnAt,
      purposes: ['newsletter'],
      reason: 'asked by telephone',
    })
    // A new record counts; the old one is withdrawn as before.
    const again = await consents.logged()
    expect(await consents.reason(newsletter('ada'))).to.equal(undefined)
    expect((await consents.status(consentId)).body.status).to.equal('withdrawn')
    // Nothing comes back when the later one goes.
    await consents.revoke(again.consentId)
    expect(await consents.reason(newsletter('ada'))).to.equal('withdrawn')
    expect((await entries()).map(({ type }) => type)).to.deep.equal(['attest', 'revoke', 'attest', 'revoke'])
  })

  it('that took the place of earlier ones never give it back', async () => {
    const first = await consents.logged()
    const second = await consents.logged()
    await consents.revoke(second.consentId)
    expect(await consents.reason(newsletter('ada'))).to.equal('withdrawn')
    expect(await consents.reason({ consentId: first.consentId })).to.equal('superseded')
  })

  it('are withdrawn once, however many ask at the same time', async () => {
    const { consentId } = await consents.logged()
    const answers = await Promise.all(Array.from({ length: 12 }, () => consents.revoke(consentId)))
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).to.equal(1)
    expect(answers.map(({ status }) => status)).to.deep.equal(Array(12).fill(200))
    expect((await entries()).map(({ type }) => type)).to.deep.equal(['attest', 'revoke'])
  })

  it('recorded at the same time get versions of their own, and the last of the ledger decides', async () => {
    const made = await Promise.all(
      Array.from({ length: 8 }, (_, i) => consents.logged({ status: i % 2 === 0 ? 'given' : 'refused' })),
    )
    expect(made.map(({ version }) => version).sort()).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8])
    const ordered = [...made].sort((a, b) => a.leafIndex - b.leafIndex)
    expect(ordered.map(({ version }) => version)).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8])
    const last = ordered.at(-1)
    const { body } = await consents.verify(newsletter('ada'))
    expect([body.consentId, body.valid]).to.deep.equal([last?.consentId, last?.status === 'given'])
    const statuses = await Promise.all(ordered.map(({ consentId }) => consents.status(consentId)))
    expect(statuses.map((answer) => answer.body.status)).to.deep.equal([
      ...Array(7).fill('superseded'),
      last?.status,
    ])
  })

  it('that are withdrawn while a new one is recorded leave the new one standing', async () => {
    for (const [i, revokesFirst] of [true, false, true, false].entries()) {
      const subjectId = `racer-${i}`
      const old = await consents.logged({ subjectId })
      const revoke = () => consents.revoke(old.consentId)
      const log = () => consents.logged({ subjectId })
      await Promise.all(revokesFirst ? [revoke(), log()] : [log(), revoke()])
      expect(await consents.reason(newsletter(subjectId))).to.equal(undefined)
      expect(await consents.reason({ consentId: old.consentId })).to.equal('withdrawn')
    }
  })

  it('answer a request repeated under its Idempotency-Key as they did the first', async () => {
    const headers = { 'idempotency-key': 'once' }
    const first = await consents.log({}, headers)
    await consents.logged()
    const again = await consents.log({}, headers)
    expect(again.status).to.equal(201)
    expect(again.body).to.deep.equal(first.body)
    expect((await entries()).length).to.equal(2)
  })

  it('are refused with the field where the input is wrong', async () => {
    const of = async (body: object) => {
      const { status, body: error } = await consents.log(body)
      return `${status} ${error.details?.[0]?.path}`
    }
    const long = (length: number) => 'é'.repeat(length)
    const many = (length: number) => Array.from({ length }, (_, i) => `name-${i}`)
    const cases: [body: object, path: string][] = [
      [{ subjectId: '' }, '/subjectId'],
      [{ subjectId: long(257) }, '/subjectId'],
      [{ controller: undefined }, '/controller'],
      [{ controller: long(257) }, '/controller'],
      [{ controller: 'a\nb' }, '/controller'],
      [{ purposes: [] }, '/purposes'],
      [{ purposes: many(9) }, '/purposes'],
      [{ purposes: ['a', 'a'] }, '/purposes'],
      [{ purposes: ['__proto__', '__proto__'] }, '/purposes'],
      [{ purposes: [long(129)] }, '/purposes/0'],
      [{ purposes: [''] }, '/purposes/0'],
      [{ dataCategories: [] }, '/dataCategories'],
      [{ dataCategories: many(17) }, '/dataCategories'],
      [{ dataCategories: [long(129)] }, '/dataCategories/0'],
      [{ status: 'withdrawn' }, '/status'],
      [{ legalBasis: long(129) }, '/legalBasis'],
      [{ method: long(129) }, '/method'],
      [{ noticeUrl: 'http://shop.example/' }, '/noticeUrl'],
      [{ noticeUrl: 'https://' }, '/noticeUrl'],
      [{ noticeUrl: 'https://user:pass@shop.example/' }, '/noticeUrl'],
      [{ noticeUrl: ' https://shop.example/' }, '/noticeUrl'],
      [{ noticeUrl: '/privacy' }, '/noticeUrl'],
      [{ noticeUrl: `https://shop.example/${'a'.repeat(2048)}` }, '/noticeUrl'],
      [{ noticeHash: 'AB'.repeat(32) }, '/noticeHash'],
      [{ noticeHash: 'ab' }, '/noticeHash'],
      [{ jurisdiction: 'gb' }, '/jurisdiction'],
      [{ jurisdiction: 'XX' }, '/jurisdiction'],
      [{ jurisdiction: 'UK' }, '/jurisdiction'],
      [{ jurisdiction: 'GB-XYZ' }, '/jurisdiction'],
      [{ language: 'en_GB' }, '/language'],
      [{ language: 'e' }, '/language'],
      [{ language: 'english-language-of-britain' }, '/language'],
      [{ expiresAt: new Date(Date.now() - 1000).toISOString() }, '/expiresAt'],
      [{ expiresAt: '9999-12-31T23:59:59-12:00' }, '/expiresAt'],
      [{ expiresAt: 'tomorrow' }, '/expiresAt'],
    ]
    for (const [body, path] of cases) expect(await of(body), JSON.stringify(body)).to.equal(`422 ${path}`)
    expect((await entries()).length).to.equal(0)
  })

  it('hold as much as they may, and the receipt of the largest is taken', async () => {
    const names = (length: number) => Array.from({ length }, (_, i) => `${'𝒜'.repeat(126)}${10 + i}`)
    const largest = await consents.logged({
      subjectId: '𝒜'.repeat(256),
      controller: '"'.repeat(256),
      purposes: names(8),
      dataCategories: names(16),
      legalBasis: '𝒜'.repeat(128),
      method: '𝒜'.repeat(128),
      noticeUrl: `https://shop.example/${'𝒜'.repeat(2027)}`,
      noticeHash: 'ab'.repeat(32),
      jurisdiction: 'FR-75C',
      language: 'sl-Latn-IT-nedis',
      expiresAt: '9999-12-31T23:59:59.999Z',
    })
    expect(largest.receipt.length).to.be.within(32_768, 65_536)
    const caller = { organisation: owner.organisationId } as Parameters<
      typeof app.services.consents.forCircuit
    >[0]
    const asked = { consent: { receipt: largest.receipt }, purpose: names(8)[7] ?? '' }
    expect(await app.services.consents.forCircuit(caller, asked)).to.include({ consentId: largest.consentId })
  })

  it('are asked about in one of two forms, about the past and now', async () => {
    const of = async (body: object) => {
      const { status, body: error } = await consents.verify(body)
      return `${status} ${error.details?.[0]?.path}`
    }
    expect(await of({})).to.equal('422 ')
    expect(await of({ subjectId: 'ada' })).to.equal('422 /purpose')
    expect(await of({ purpose: 'newsletter' })).to.equal('422 /subjectId')
    expect(await of({ consentId: 'cns_1' })).to.equal('422 /consentId')
    expect(await of(newsletter('ada', { at: '2026-01-01' }))).to.equal('422 /at')
    const soon = new Date(Date.now() + 3_600_000).toISOString()
    expect(await of(newsletter('ada', { at: soon }))).to.equal('422 /at')
    expect(await of(newsletter('ada', { dataCategories: [] }))).to.equal('422 /dataCategories')
    expect(await of({ consentId: UNKNOWN })).to.equal('404 undefined')
  })

  it('take a key with scope consent', async () => {
    const body = { label: 'no consent', scopes: ['proof', 'kyc', 'token'] }
    const { body: made } = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      key: owner.apiKey,
      body,
    })
    const others = consentRoutesOf(app, made.apiKey)
    expect((await others.log()).status).to.equal(403)
    expect((await others.verify(newsletter('ada'))).status).to.equal(403)
    expect((await others.revoke(UNKNOWN)).status).to.equal(403)
    expect((await others.status(UNKNOWN)).status).to.equal(403)
  })
})
