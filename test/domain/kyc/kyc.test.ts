/** People through the real app: checked, asked about, shown what is held, and forgotten. */
import { expect } from 'chai'
import type { InclusionProof } from '../../../src/domain/audit/schemas.ts'
import type { ZkpVerified } from '../../../src/domain/audit/schemas-zkp.ts'
import type { PersonVerified } from '../../../src/domain/kyc/schemas.ts'
import { createSealing, SealingError } from '../../../src/keys/sealing.ts'
import { createSubjectPseudonyms } from '../../../src/keys/subject-pseudonyms.ts'
import { dataCommitment } from '../../../src/protocol/commitment.ts'
import { sharedApp, startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { proveEntry } from '../../support/domain/audit-proofs.ts'
import { ANNA, annaWith, kycRoutesOf, namesOf } from '../../support/domain/kyc.ts'
import { callerOf } from '../../support/ledger.ts'
import { passportZone } from '../../support/reference/machine-readable-zone.ts'
import { verifyInclusion } from '../../support/reference/merkle-proofs.ts'
import { sealingOf } from '../../support/sealing.ts'

const ZONE = {
  country: 'SWE',
  familyName: 'ERIKSSON',
  givenName: 'ANNA MARIA',
  number: 'L898902C3',
  birthDate: '740812',
  expiresAt: '990415',
} as const
const YEAR_MS = 365 * 86_400_000
const bytes = (hex: string) => Buffer.from(hex, 'hex')

describe('KYC', () => {
  let app: TestApp
  let owner: TestOrganisation
  let kyc: ReturnType<typeof kycRoutesOf>
  before(async () => {
    app = await sharedApp()
  })
  beforeEach(async () => {
    owner = await app.organisation()
    kyc = kycRoutesOf(app, owner.apiKey)
  })
  const checked = async (data: object, more: object = {}): Promise<PersonVerified> => {
    const { status, body } = await kyc.verify({ userId: 'user-7', data, ...more })
    expect(status, JSON.stringify(body)).to.equal(200)
    return body
  }
  const rowsOf = (table: string) =>
    app.services.database.knex(table).where({ organisation: owner.organisationId })
  const entries = () => rowsOf('ledger_entries').whereIn('type', ['attest', 'revoke']).orderBy('idx')

  describe('by internal', () => {
    it('verifies complete and plausible data at basic, self-asserted, until the document ends or a year is over', async () => {
      const body = await checked(ANNA)
      expect(body).to.include({
        status: 'verified',
        level: 'basic',
        source: 'self_asserted',
        provider: 'internal',
        providerReference: null,
        credentialIssued: true,
      })
      expect(body.reference).to.match(/^kyc_[0-9a-z]{26}$/)
      expect(Date.parse(body.expiresAt ?? '') - Date.parse(body.verifiedAt ?? '')).to.equal(YEAR_MS)
      expect(namesOf(body, 'failed')).to.deep.equal([])
      expect(namesOf(body, 'passed')).to.include.members(['name', 'date_of_birth', 'age', 'document_expiry'])
      const soon = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10)
      const ending = await checked(annaWith({ expiresAt: soon }))
      expect(ending.expiresAt).to.equal(new Date(Date.parse(soon) + 86_400_000).toISOString())
    })

    it('leaves what is missing or unclear for review, and names it', async () => {
      const cases: readonly (readonly [object, string[]])[] = [
        [{}, ['name', 'date_of_birth', 'document', 'document_country', 'document_expiry']],
        [{ ...ANNA, familyName: undefined }, ['name']],
        [{ ...ANNA, givenName: 'R2-D2' }, ['name']],
        [{ ...ANNA, dateOfBirth: '1974-02-30' }, ['date_of_birth']],
        [{ ...ANNA, dateOfBirth: '2999-01-01' }, ['date_of_birth']],
        [{ ...ANNA, dateOfBirth: '1850-01-01' }, ['date_of_birth']],
        [{ ...ANNA, dateOfBirth: `${new Date().getUTCFullYear() - 10}-01-01` }, ['age']],
        [annaWith({ number: '??' }), ['document']],
        [annaWith({ country: 'XX' }), ['document_country']],
        [annaWith({ mrz: 'P<' }), ['mrz_format']],
        [annaWith({ mrz: passportZone({ ...ZONE, country: 'UTO' }).join('\n') }), ['mrz_format']],
        [
          annaWith({ mrz: passportZone({ ...ZONE, familyName: 'NILSSON' }).join('\n') }),
          ['mrz_matches_name'],
        ],
        // It begins alike, and the zone has room for the rest.
        [annaWith({ mrz: passportZone({ ...ZONE, familyName: 'ERIK' }).join('\n') }), ['mrz_matches_name']],
      ]
      for (const [data, failed] of cases) {
        const body = await checked(data)
        expect(namesOf(body, 'failed'), JSON.stringify(data)).to.deep.equal(failed)
        expect(body).to.include({
          status: 'review',
          level: 'none',
          verifiedAt: null,
          expiresAt: null,
          credentialIssued: false,
        })
      }
    })

    it('rejects an expired document, and data that a well-read zone contradicts', async () => {
      expect(namesOf(await checked(annaWith({ expiresAt: '2020-01-01' })), 'failed')).to.deep.equal([
        'document_expiry',
      ])
      const zone = passportZone(ZONE).join('\n')
      expect((await checked(annaWith({ mrz: zone }))).status).to.equal('verified')
      const other = await checked({ ...annaWith({ mrz: zone }), dateOfBirth: '1975-08-12' })
      expect([other.status, namesOf(other, 'failed')]).to.deep.equal(['rejected', ['mrz_matches_data']])
      // In another script nothing of a name was compared, and nothing is said to have been.
      const greek = { ...annaWith({ mrz: zone }), familyName: 'Έρικσον' }
      expect(namesOf(await checked(greek), 'skipped')).to.deep.equal(['mrz_matches_name'])
      const wrong = await checked({ ...greek, givenName: 'Eva' })
      expect(namesOf(wrong, 'failed')).to.deep.equal(['mrz_matches_name'])
      // The same contradiction in a zone that was read badly is for people to look at.
      const misread = zone.replace('740812', '750812')
      const unclear = await checked(annaWith({ mrz: misread }))
      expect([unclear.status, namesOf(unclear, 'failed')]).to.deep.equal([
        'review',
        ['mrz_check_digits', 'mrz_matches_data'],
      ])
    })

    it('refuses levels above its own, unknown providers and malformed fields by name', async () => {
      const of = async (body: object) => {
        const { status, body: error } = await kyc.verify({ userId: 'user-7', data: ANNA, ...body })
        return `${status} ${error.details?.[0]?.path} ${error.details?.[0]?.code}`
      }
      expect(await of({ level: 'standard' })).to.equal('422 /level provider_required')
      expect(await of({ level: 'enhanced' })).to.equal('422 /level provider_required')
      expect(await of({ provider: 'acme' })).to.equal('422 /provider unknown')
      expect(await of({ provider: '__proto__' })).to.equal('422 /provider unknown')
      expect(await of({ level: 'none' })).to.equal('422 /level enum')
      expect(await of({ userId: '' })).to.equal('422 /userId min_length')
      for (const userId of ['.', '..']) expect(await of({ userId })).to.equal('422 /userId pattern')
      expect(await of({ userId: 'u'.repeat(257) })).to.equal('422 /userId max_length')
      expect(await of({ data: undefined })).to.equal('422 /data required')
      expect(await of({ data: { dateOfBirth: '12.08.1974' } })).to.equal('422 /data/dateOfBirth pattern')
      expect(await of({ data: { givenName: 'A'.repeat(201) } })).to.equal('422 /data/givenName max_length')
      expect(await of({ data: { document: { type: 'library_card' } } })).to.equal(
        '422 /data/document/type enum',
      )
      expect(await rowsOf('kyc_subjects')).to.deep.equal([])
      expect((await kyc.verify({ userId: 'u'.repeat(256), data: ANNA, level: 'basic' })).status).to.equal(200)
    })
  })

  describe('standing', () => {
    it('is that of the newest check that verified or rejected; others wait', async () => {
      expect((await kyc.standing('user-7')).status).to.equal(404)
      const review = await checked({})
      expect((await kyc.standing('user-7')).body).to.include({
        status: 'review',
        reference: review.reference,
      })
      const verified = await checked(ANNA)
      await checked({})
      expect((await kyc.standing('user-7')).body).to.include({
        status: 'verified',
        level: 'basic',
        reference: verified.reference,
      })
      await checked(annaWith({ expiresAt: '2020-01-01' }))
      await checked({})
      expect((await kyc.standing('user-7')).body).to.include({ status: 'rejected', level: 'none' })
      expect((await kyc.credential('user-7')).status).to.equal(404)
    })

    it('is nobody else’s to see', async () => {
      await kyc.verified('user-7')
      const other = kycRoutesOf(app, (await app.organisation()).apiKey)
      for (const ask of [other.standing, other.held, other.credential, other.erase])
        expect((await ask('user-7')).status).to.equal(404)
      const { body } = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
        key: owner.apiKey,
        body: { label: 'narrow', scopes: ['aml'] },
      })
      expect((await kycRoutesOf(app, body.apiKey).standing('user-7')).status).to.equal(403)
      expect((await app.request('GET', '/api/kyc/user-7')).status).to.equal(401)
    })

    it('gives facts for rules, and none about whom nobody knows', async () => {
      const caller = callerOf(owner.organisationId)
      expect((await app.services.kyc.factsOf(caller, 'user-7')).facts).to.deep.equal({
        status: 'none',
        level: 'none',
      })
      expect(await app.services.kyc.nameOf(caller, 'user-7')).to.equal(undefined)
      const { verifiedAt, expiresAt } = await kyc.verified('user-7')
      expect((await app.services.kyc.factsOf(caller, 'user-7')).facts).to.deep.equal({
        status: 'verified',
        level: 'basic',
        source: 'self_asserted',
        expired: false,
        verified_at: verifiedAt,
        expires_at: expiresAt,
        age_over_18: true,
        country: 'SE',
      })
      expect(await app.services.kyc.nameOf(caller, 'user-7')).to.deep.equal({
        name: 'Anna Maria Eriksson',
        dateOfBirth: '1974-08-12',
        country: 'SE',
      })
    })

    it('is expired, with level none, once its time is over', async () => {
      const clock = { offset: 0, now: () => Date.now() + clock.offset }
      const own = await startTestApp({ clock })
      try {
        const { apiKey, organisationId } = await own.organisation()
        const routes = kycRoutesOf(own, apiKey)
        await routes.verified('user-7')
        clock.offset = YEAR_MS + 1000
        expect((await routes.standing('user-7')).body).to.include({ status: 'expired', level: 'none' })
        const { facts } = await own.services.kyc.factsOf(callerOf(organisationId), 'user-7')
        expect(facts).to.include({ status: 'expired', level: 'none', expired: true })
        expect(facts).not.to.have.any.keys('country', 'age_over_18')
      } finally {
        await own.close()
      }
    })
  })

  describe('keeps', () => {
    it('everything sealed: neither rows nor ledger hold what is known of a person', async () => {
      await kyc.verified('user-7')
      const rows = [...(await rowsOf('kyc_subjects')), ...(await rowsOf('kyc_checks')), ...(await entries())]
      expect(rows).to.have.length(3)
      const text = JSON.stringify(rows, (_, value: unknown) =>
        value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
      )
      for (const secret of [
        'user-7',
        ANNA.givenName,
        'Eriksson',
        // A year alone may stand in ids and hashes by chance.
        ANNA.dateOfBirth,
        ANNA.dateOfBirth.replaceAll('-', ''),
        'L898902C3',
        'Storgatan',
        'verified',
        'basic',
      ])
        expect(text).not.to.contain(secret)
    })

    it('what opens the commitment in the ledger, and tells it to whoever must know', async () => {
      const first = await checked({ givenName: 'Anna' })
      const second = await kyc.verified('user-7')
      const { body } = await kyc.held('user-7')
      expect(body.userId).to.equal('user-7')
      expect(body.checks.map(({ committed }) => committed.reference)).to.deep.equal([
        second.reference,
        first.reference,
      ])
      const [newest, oldest] = body.checks
      expect(oldest?.digest).to.equal(first.digest)
      expect(newest?.committed).to.deep.include({
        data: ANNA,
        userId: 'user-7',
        status: 'verified',
        level: 'basic',
      })
      const digest = dataCommitment(Buffer.from(newest?.salt ?? '', 'base64url'), newest?.committed)
      expect([digest, digest]).to.deep.equal([second.digest, newest?.digest])
      const [entry] = (await entries()).slice(-1)
      expect(JSON.parse(entry.entry)).to.deep.include({
        digest,
        type: 'attest',
        data: { event: 'kyc.checked' },
      })
      expect(entry.idx).to.equal(second.leafIndex)
    })

    it('one key of a person, however many first checks come at once', async () => {
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => kyc.verify({ userId: 'user-7', data: ANNA })),
      )
      expect(answers.map(({ status }) => status)).to.deep.equal(Array(8).fill(200))
      expect(await rowsOf('kyc_subjects')).to.have.length(1)
      expect((await kyc.held('user-7')).body.checks).to.have.length(8)
      const newest = answers.map(({ body }) => body).sort((a, b) => b.leafIndex - a.leafIndex)[0]
      expect((await kyc.standing('user-7')).body.reference).to.equal(newest?.reference)
    })

    it('one check where a request is repeated under its Idempotency-Key', async () => {
      const headers = { 'idempotency-key': 'once' }
      const ask = () => kyc.verify({ userId: 'user-7', data: ANNA }, headers)
      const [first, second] = [await ask(), await ask()]
      expect(second.body).to.deep.equal(first.body)
      expect(await rowsOf('kyc_checks')).to.have.length(1)
    })
  })

  describe('erasure', () => {
    it('makes what is stored unreadable while the ledger still verifies', async () => {
      const { leafIndex, leafHash } = await kyc.verified('user-7')
      const [before] = await rowsOf('kyc_subjects')
      expect((await kyc.erase('user-7')).body).to.include({ success: true, status: 'erased' })
      for (const ask of [kyc.standing, kyc.held, kyc.credential])
        expect((await ask('user-7')).status).to.equal(404)
      const { facts } = await app.services.kyc.factsOf(callerOf(owner.organisationId), 'user-7')
      expect(facts).to.deep.equal({ status: 'none', level: 'none' })

      const [subject] = await rowsOf('kyc_subjects')
      const [check] = await rowsOf('kyc_checks')
      expect([subject.sealed_key, check.sealed.length > 0]).to.deep.equal(['', true])
      // The master key alone opens nothing; the person's own would have.
      const master = await sealingOf(app)
      const place = { table: 'kyc_checks', column: 'sealed', row: check.id }
      expect(() => master.open('kyc-check', place, check.sealed)).to.throw(SealingError)
      const keyPlace = {
        table: 'kyc_subjects',
        column: 'sealed_key',
        row: JSON.stringify([owner.organisationId, subject.subject, 1]),
      }
      expect(() =>
        master.open('kyc-person', keyPlace, Buffer.from(subject.sealed_key, 'base64url')),
      ).to.throw(SealingError)
      const key = master.open('kyc-person', keyPlace, Buffer.from(before.sealed_key, 'base64url'))
      expect(createSealing(key).open('kyc-check', place, check.sealed)).not.to.equal(undefined)

      const path = `/api/audit/inclusion?index=${leafIndex}`
      const { body: included } = await app.request<InclusionProof>('GET', path, { key: owner.apiKey })
      const hashes = included.hashes.map(bytes)
      expect(
        verifyInclusion(leafIndex, included.treeSize, bytes(leafHash), hashes, bytes(included.root)),
      ).to.equal(true)
      const { proof, publicInputs } = await proveEntry(app, owner.apiKey, { index: leafIndex })
      const { body: zkp } = await app.request<ZkpVerified>('POST', '/api/audit/zkp-verify', {
        key: owner.apiKey,
        body: { proof, publicInputs },
      })
      expect(zkp).to.include({ valid: true, integrity_verified: true })
    }).timeout(60_000)

    it('is an entry, happens once however often it is asked for, and is told again as it was', async () => {
      await kyc.verified('user-7')
      const answers = await Promise.all([1, 2, 3].map(() => kyc.erase('user-7')))
      answers.push(await kyc.erase('user-7'))
      for (const { status, body } of answers) expect([status, body]).to.deep.equal([200, answers[0]?.body])
      const erasures = (await entries()).filter(({ type }) => type === 'revoke')
      expect(erasures).to.have.length(1)
      expect(JSON.parse(erasures[0].entry).data).to.deep.equal({ event: 'kyc.erased' })
      expect((await kyc.erase('nobody')).status).to.equal(404)
    })

    it('begins a new record when the person comes back, of which the old one is no part', async () => {
      const old = await kyc.verified('user-7')
      await kyc.erase('user-7')
      const next = await kyc.verified('user-7')
      const { body } = await kyc.held('user-7')
      expect(body.checks.map(({ committed }) => committed.reference)).to.deep.equal([next.reference])
      expect(next.reference).not.to.equal(old.reference)
      const second = await kyc.erase('user-7')
      expect(second.status).to.equal(200)
      expect((await kyc.standing('user-7')).status).to.equal(404)
      const subjects = await rowsOf('kyc_subjects').orderBy('generation')
      expect(subjects.map(({ generation, sealed_key }) => [generation, sealed_key])).to.deep.equal([
        [1, ''],
        [2, ''],
      ])
    })

    it('leaves no key behind, whichever of checks and erasure come at once is first', async () => {
      await kyc.verified('user-7')
      const [erased, ...checks] = await Promise.all([
        kyc.erase('user-7'),
        ...Array.from({ length: 6 }, () => kyc.verify({ userId: 'user-7', data: ANNA })),
      ])
      expect(erased.status).to.equal(200)
      for (const { status } of checks) expect(status).to.be.oneOf([200, 409])
      const [first, ...later] = await rowsOf('kyc_subjects').orderBy('generation')
      expect(first.sealed_key).to.equal('')
      const shown = await kyc.held('user-7')
      expect(shown.status).to.equal(later.length === 0 ? 404 : 200)
      // What was answered after the erasure is kept, and what came before it is gone.
      const erasure = (await entries()).find(({ type }) => type === 'revoke')?.idx
      const recorded = checks.flatMap(({ status, body }) => (status === 200 ? [body] : []))
      const kept = recorded.filter(({ leafIndex }) => leafIndex > erasure).map(({ reference }) => reference)
      const held = shown.body.checks?.map(({ committed }) => committed.reference) ?? []
      expect(held).to.have.members(kept)
    })

    it('refuses a check that read the person’s key just before, and leaves nothing of it', async () => {
      await kyc.verified('user-7')
      const [before] = await rowsOf('kyc_subjects')
      await kyc.erase('user-7')
      // What a check sees that began earlier.
      await rowsOf('kyc_subjects').update({ sealed_key: before.sealed_key, erased_at: null })
      const [checks, logged] = [await rowsOf('kyc_checks'), await entries()]
      const { status, body } = await kyc.verify({ userId: 'user-7', data: ANNA })
      expect([status, body.error]).to.deep.equal([409, 'conflict'])
      expect(await rowsOf('kyc_checks')).to.deep.equal(checks)
      expect(await entries()).to.deep.equal(logged)
    })

    it('finds people by a pseudonym that stays, under a key that no row holds', async () => {
      await kyc.verified('user-7')
      const pseudonyms = createSubjectPseudonyms({ sealing: await sealingOf(app) })
      const [subject] = await rowsOf('kyc_subjects')
      expect(subject.subject).to.equal(await pseudonyms.of(owner.organisationId, 'kyc', 'user-7'))
    })
  })
})
