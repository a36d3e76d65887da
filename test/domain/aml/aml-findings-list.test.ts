/** The list of findings stays as quick, however many there are and whoever of the people was erased. */
import { expect } from 'chai'
import { FINDING_STATES, findFindings } from '../../../src/domain/aml/subscriptions/store.ts'
import { MAX_SEARCHED_ROWS } from '../../../src/store/pages.ts'
import { startTestApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { screeningRoutesOf } from '../../support/domain/screening.ts'
import { amongMany, expectFlatPage, idOfCopy } from '../../support/lists.ts'

const IVAN = { name: 'Ivan Petrovich Nachgetragen', dateOfBirth: '1961-04-12', country: 'RU' }

describe('the list of findings', () => {
  let app: TestApp
  let owner: TestOrganisation
  let routes: ReturnType<typeof screeningRoutesOf>
  before(async () => {
    app = await startTestApp({ env: { AML_LISTS: 'none' } })
    await screeningRoutesOf(app, app.adminKey).upload([
      { id: 'p-1', name: IVAN.name, birthDate: IVAN.dateOfBirth, country: 'ru' },
    ])
  })
  after(() => app?.close())
  beforeEach(async () => {
    owner = await app.organisation()
    routes = screeningRoutesOf(app, owner.apiKey)
  })

  /** @returns the id of the only finding */
  const found = async (): Promise<string> => {
    const { findings } = await routes.subscribed({ userId: 'u', ...IVAN })
    return findings[0]?.findingId ?? expect.fail('nothing was found')
  }

  for (const state of FINDING_STATES)
    it(`reads no more than it shows, also where few are ${state}`, async () => {
      const id = await found()
      const { database } = app.services
      // One in a hundred is in this state: a page of those must not look at the others.
      const set = {
        decision_entry: state === 'decided' ? 'CASE WHEN i % 100 = 0 THEN -i END' : 'NULL',
        void_at: `CASE WHEN i % 100 ${state === 'void' ? '=' : '>'} 0 THEN found_at END`,
      }
      await amongMany(database, 'aml_findings', id, set, async () => {
        for (const asked of [undefined, state])
          for (const before of [undefined, idOfCopy('fnd', 2500)])
            await expectFlatPage(database, 'aml_findings', ({ limit }, watched) =>
              findFindings(watched, { organisation: owner.organisationId, state: asked, before, limit }),
            )
      })
    })

  it('passes over those of erased people, so many for a page, and goes on after them', async () => {
    const id = await found()
    await app.services.database.knex.raw(
      `WITH erased AS (
        INSERT INTO kyc_subjects (organisation, subject, generation, sealed_key, erased_at)
          SELECT organisation, 'erased', 1, '', 1 FROM aml_findings WHERE id = :id)
      INSERT INTO aml_findings (id, organisation, subject, generation, entry_index, sealed, found_at)
        SELECT 'fnd_7' || lpad(i::text, 25, 'z'), organisation, 'erased', 1, entry_index, sealed, found_at
          FROM aml_findings, generate_series(1, :count) AS i WHERE id = :id`,
      { id, count: MAX_SEARCHED_ROWS + 5 },
    )
    const first = await routes.findings({})
    expect(first.findings).to.deep.equal([])
    const next = await routes.findings({ cursor: first.nextCursor ?? '' })
    expect(next.findings.map(({ findingId }) => findingId)).to.deep.equal([id])
    expect(next.nextCursor).to.equal(null)
    const decided = await routes.findings({ status: 'decided' })
    expect(decided).to.deep.equal({ findings: [], nextCursor: null })
  })
})
