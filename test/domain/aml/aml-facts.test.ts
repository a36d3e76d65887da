/** What rules read of people: of those who are screened again by findings and decisions, of others by the last check. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Finding } from '../../../src/domain/aml/schemas-subscriptions.ts'
import { findingRecords, subjectRecords } from '../../../src/domain/aml/subscriptions/records.ts'
import { newId } from '../../../src/ids.ts'
import { readJws } from '../../../src/protocol/jws.ts'
import type { Database } from '../../../src/store/database.ts'
import { type Listed, listedText } from '../../support/domain/screening.ts'
import { type ScreeningServer, startScreeningServer } from '../../support/domain/screening-servers.ts'
import { eventually } from '../../support/eventually.ts'
import { rejection } from '../../support/rejection.ts'
import { openTestDatabase } from '../../support/servers/database.ts'

const IVAN = { name: 'Ivan Petrovich Nachgetragen', birthDate: '1961-04-12' }
const OTHER: Listed = { id: 'p-other', name: 'Zacharias Quirin Unbeteiligt' }
const LISTED: Listed = { id: 'p-1', ...IVAN }
const SEEN = { verdict: 'not_this_person', reason: 'The passport was seen.' } as const
/** As many as are found at a time. */
const MAX_MATCHES = 10

describe('what rules read of screening', () => {
  let database: Database
  let server: ScreeningServer

  before(async () => {
    database = await openTestDatabase()
  })
  after(() => database.close())
  beforeEach(async () => {
    server = await startScreeningServer(database, newId('org', Date.now()))
    await server.upload(OTHER)
  })
  afterEach(() => server.close())

  const decide = (finding: Finding | undefined, input: Parameters<typeof server.review.decide>[2] = SEEN) =>
    server.review.decide(server.caller, finding?.findingId ?? '', input)
  const rescreened = async (): Promise<void> => {
    const running = server.rescreen()
    await eventually(
      'everybody is screened again',
      async () => (await server.review.progress(server.caller)).behind === 0,
    )
    await running.close()
  }

  it('lists have changed for whom they were not screened against yet, and no longer', async () => {
    await server.subscribe('u', IVAN)
    expect(await server.facts('u')).to.deep.include({ result: 'clear', lists_changed: false })
    await server.upload(OTHER, { id: 'p-2', name: 'Nobody Ofimportance' })
    expect(await server.facts('u')).to.deep.include({ result: 'clear', lists_changed: true })
    const before = Date.now()
    await rescreened()
    const { checked_at, ...facts } = await server.facts('u')
    expect(facts).to.deep.equal({ result: 'clear', sanctions: 'clear', risk_score: 0, lists_changed: false })
    expect(Date.parse(String(checked_at))).to.be.at.least(before)
  })

  it('a check says what the lists say, and changes nothing for whom findings and decisions are kept', async () => {
    await server.upload(OTHER, LISTED)
    const { findings } = await server.subscribe('u', IVAN)
    expect((await server.check('u', 'Somebody Unlisted'))?.result).to.equal('clear')
    expect(await server.facts('u')).to.deep.include({ result: 'hit', sanctions: 'hit' })
    await decide(findings[0])
    expect((await server.check('u', IVAN.name))?.result).to.equal('review')
    expect(await server.facts('u')).to.deep.include({ result: 'clear', sanctions: 'clear' })
    // Of what nobody is screened again for, the check says everything.
    await server.lists.upload(
      server.caller,
      {
        listId: 'peps',
        format: 'opensanctions',
        checkTypes: ['pep'],
        files: [{ name: 'peps.ftm.json', open: () => [Buffer.from(listedText([LISTED]))] }],
      },
      true,
    )
    await server.check('u', IVAN.name, 'pep')
    expect(await server.facts('u')).to.deep.include({ result: 'review', sanctions: 'clear', pep: 'review' })
    await server.lists.remove(server.caller, 'peps')
  })

  it('once nobody is screened again the last check counts, and findings that wait or were confirmed count on', async () => {
    await server.upload(OTHER, LISTED)
    for (const userId of ['waits', 'confirmed', 'other']) await server.subscribe(userId, IVAN)
    const of = async (userId: string) =>
      (await server.findings('open')).find((finding) => finding.userId === userId)
    await decide(await of('confirmed'), { verdict: 'confirmed', reason: 'It is.' })
    await decide(await of('other'))
    for (const userId of ['waits', 'confirmed', 'other'])
      await server.subscriptions.end(server.caller, userId)
    expect(await server.facts('other')).to.deep.equal({ result: 'review', reason: 'no_subject_data' })
    for (const userId of ['waits', 'confirmed', 'other']) await server.check(userId, 'Somebody Unlisted')
    expect(await server.facts('waits')).to.deep.include({ result: 'hit', sanctions: 'hit' })
    expect(await server.facts('confirmed')).to.deep.include({ result: 'hit', sanctions: 'hit' })
    expect(await server.facts('other')).to.deep.include({ result: 'clear', sanctions: 'clear' })
    await decide(await of('waits'))
    expect(await server.facts('waits')).to.deep.include({ result: 'clear', risk_score: 0 })
  })

  /** Puts what an earlier version would have sealed in the place of what this one did. */
  const resealed = async (
    { seal, open }: typeof findingRecords | typeof subjectRecords,
    [table, key]: readonly [table: string, key: string],
    change: object,
  ): Promise<void> => {
    const { person, sealing } = (await server.persons.find(server.caller, 'u')) ?? expect.fail('nobody')
    const of = database.knex(table).where({ organisation: person.organisation })
    const row = await of.clone().first()
    const place = row[key]
    const record = { ...open(sealing, place, row.sealed), ...change }
    await of.update({ sealed: Buffer.from(seal(sealing, place, record as never)) })
  }

  describe('of a type that was added later', () => {
    const BOTH: Listed = { ...LISTED, topics: ['sanction', 'role.pep'] }
    const PEP: Listed = { id: 'p-pep', name: 'Quirina Xaveria Unbekannt', topics: ['role.pep'] }
    /** Found when the person was screened for one type, and asked about when they are screened for two. */
    const widened = async (): Promise<Finding> => {
      await server.upload(OTHER, PEP, BOTH)
      const before = await server.subscribe('u', IVAN, ['pep'])
      expect(before.findings.map(({ checkTypes }) => checkTypes)).to.deep.equal([['sanctions', 'pep']])
      // Of what nobody is screened again for, a finding says what is bad.
      expect(await server.facts('u')).to.deep.include({ pep: 'hit', sanctions: 'hit' })
      const { findings } = await server.subscribe('u', IVAN, ['sanctions', 'pep'])
      expect(findings).to.deep.equal(before.findings)
      return findings[0] ?? expect.fail('nothing was found')
    }

    it('says what was found before of an entry that is listed for it, and what was decided of that', async () => {
      const finding = await widened()
      expect(await server.facts('u')).to.deep.include({ result: 'hit', pep: 'hit', sanctions: 'hit' })
      await decide(finding)
      expect(await server.facts('u')).to.deep.include({ result: 'clear', pep: 'clear', sanctions: 'clear' })
      await decide(finding, { verdict: 'confirmed', reason: 'It is.' })
      expect(await server.facts('u')).to.deep.include({ result: 'hit', pep: 'hit', sanctions: 'hit' })
    })

    it('says so of what earlier versions found, too, and of any type once its entry is gone', async () => {
      const finding = await widened()
      await resealed(findingRecords, ['aml_findings', 'id'], { checkTypes: ['pep'], allTypes: undefined })
      expect(await server.facts('u')).to.deep.include({ pep: 'hit', sanctions: 'hit' })
      await decide(finding, { verdict: 'confirmed', reason: 'It is.' })
      await server.upload(OTHER, PEP)
      await rescreened()
      expect(await server.facts('u')).to.deep.include({ pep: 'hit', sanctions: 'hit', watchlist: 'hit' })
    })

    it('says nothing of an entry that was never listed for it, gone or not', async () => {
      await server.upload(OTHER, { ...PEP, id: 'p-1', name: IVAN.name }, PEP)
      const { findings } = await server.subscribe('u', { name: IVAN.name }, ['sanctions', 'pep'])
      await decide(findings[0], { verdict: 'confirmed', reason: 'It is.' })
      expect(await server.facts('u')).to.deep.include({ pep: 'hit', sanctions: 'clear' })
      await server.upload(OTHER, PEP)
      await rescreened()
      expect(await server.facts('u')).to.deep.include({ pep: 'hit', sanctions: 'clear' })
    })
  })

  it('nobody is clear by a name of digits alone, which earlier versions have taken', async () => {
    await server.subscribe('u', { name: 'Somebody Unlisted' })
    expect(await server.facts('u')).to.deep.include({ result: 'clear' })
    await resealed(subjectRecords, ['aml_subscriptions', 'subject'], { name: '360 2000' })
    expect(await server.facts('u')).to.deep.include({
      result: 'review',
      sanctions: 'review',
      reason: 'name_not_comparable',
    })
  })

  it('nobody is cleared of a type of which more may match than are found at a time', async () => {
    const listed = Array.from({ length: MAX_MATCHES }, (_, i): Listed => ({ ...LISTED, id: `p-${i}` }))
    await server.upload(OTHER, ...listed.slice(1))
    const nine = await server.subscribe('nine', IVAN)
    expect(nine.findings).to.have.length(MAX_MATCHES - 1)
    for (const finding of nine.findings) await decide(finding)
    expect(await server.facts('nine')).to.deep.include({ result: 'clear' })
    await server.upload(OTHER, ...listed, { ...LISTED, id: 'p-never-found' })
    const ten = await server.subscribe('ten', IVAN)
    expect(ten.findings).to.have.length(MAX_MATCHES)
    for (const finding of ten.findings) await decide(finding)
    expect(await server.facts('ten')).to.deep.include({
      result: 'review',
      sanctions: 'review',
      reason: 'more_matches',
      risk_score: 50,
    })
    await decide(ten.findings[0], { verdict: 'confirmed', reason: 'It is.' })
    const facts = await server.facts('ten')
    expect(facts).to.deep.include({ result: 'hit', sanctions: 'hit', risk_score: 100 })
    expect(facts).not.to.have.property('reason')
  })

  it('nobody is clear of a type of which a configured list was never loaded, checked or screened again', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'assay-aml-facts-'))
    const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
    write('own.ftm.json', listedText([OTHER, LISTED]))
    write('peps.ftm.json', listedText([OTHER]).replace('sanction', 'role.pep'))
    const own = await startScreeningServer(database, newId('org', Date.now()), { directory: folder })
    try {
      await own.check('checked', 'Somebody Unlisted')
      await own.check('checked', 'Somebody Unlisted', 'pep')
      await own.subscribe('watched', { name: 'Somebody Unlisted' })
      await own.subscribe('listed', IVAN)
      write('eu.xml', '<export>')
      await own.lists.reload(own.caller, false)
      for (const userId of ['checked', 'watched'])
        expect(await own.facts(userId), userId).to.deep.include({
          result: 'review',
          sanctions: 'review',
          reason: 'lists_unavailable',
          risk_score: 50,
        })
      expect(await own.facts('checked')).to.deep.include({ pep: 'clear' })
      const listed = await own.facts('listed')
      expect(listed).to.deep.include({ result: 'hit', sanctions: 'hit', risk_score: 100 })
      expect(listed).not.to.have.property('reason')
    } finally {
      rmSync(folder, { recursive: true })
      for (const listId of ['own', 'peps', 'eu']) await own.lists.remove(own.caller, listId)
      await own.close()
    }
  })

  it('a decision names the lists in which the entry was found, and none is taken on an entry that changed since', async () => {
    await server.upload(OTHER, LISTED)
    const { findings } = await server.subscribe('u', IVAN)
    await server.upload(OTHER, LISTED, { id: 'p-2', name: 'Nobody Ofimportance' })
    const decided = await decide(findings[0])
    const payload = readJws(decided.decision?.jws ?? '')?.payload
    expect(payload).to.deep.include({
      list_version: findings[0]?.listVersion,
      entry_digest: findings[0]?.entryDigest,
    })
    // It was not screened against the newest lists by deciding.
    expect(await server.facts('u')).to.deep.include({ result: 'clear', lists_changed: true })
    await server.upload(OTHER, { ...LISTED, country: 'by' })
    // Even before anybody is screened again.
    expect(await server.facts('u')).to.deep.include({ result: 'hit', lists_changed: true })
    const refused = await rejection(decide(findings[0], { verdict: 'confirmed', reason: 'It is.' }))
    expect(refused).to.deep.include({
      code: 'conflict',
      message: 'The entry has changed since it was found; look at it again.',
    })
    await rescreened()
    const [over] = await server.findings('void')
    expect(over?.void?.reason).to.equal('entry_changed')
    expect(await server.facts('u')).to.deep.include({ result: 'hit', lists_changed: false })
  })

  it('an entry that has left the lists can be decided about until that is noticed, and the decision is kept', async () => {
    await server.upload(OTHER, LISTED)
    const { findings } = await server.subscribe('u', IVAN)
    await server.upload(OTHER)
    await decide(findings[0])
    await rescreened()
    await server.upload(OTHER, LISTED)
    await rescreened()
    expect((await server.findings('decided')).map(({ findingId }) => findingId)).to.deep.equal([
      findings[0]?.findingId,
    ])
    expect(await server.facts('u')).to.deep.include({ result: 'clear' })
  })
})
