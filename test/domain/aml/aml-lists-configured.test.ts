/** Configured watch lists of which something is wrong: the others are in service, and nobody is cleared of what is missing. */
import { appendFileSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'chai'
import { ListFileError } from '../../../src/domain/aml/lists/files/list-file.ts'
import { findLists } from '../../../src/domain/aml/lists/list-directory.ts'
import { createLists } from '../../../src/domain/aml/lists/lists.ts'
import { checkableTypes, type Snapshot } from '../../../src/domain/aml/lists/snapshots.ts'
import type { Health } from '../../../src/domain/system/schemas.ts'
import { startTestApp } from '../../support/app.ts'
import {
  type ErrorBody,
  EU,
  ftm,
  listsOf,
  OFAC,
  onBare,
  upload,
  VECTORS,
} from '../../support/domain/watch-lists.ts'
import { eventually } from '../../support/eventually.ts'
import { openTestLedger, type TestLedger } from '../../support/ledger.ts'
import { rejection } from '../../support/rejection.ts'

describe('configured watch lists', () => {
  let folder: string
  let bare: TestLedger
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'assay-aml-configured-'))
    bare = await openTestLedger()
  })
  afterEach(async () => {
    await bare.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const write = (name: string, content: string) => writeFileSync(join(folder, name), content)
  /** What a server has when it has started. */
  const started = async (): Promise<Snapshot> => {
    const lists = await createLists({ ...onBare(bare), source: { directory: folder } })
    await lists.close()
    return lists.current()
  }

  it('are in service whatever is wrong with another one of the manifest, which is told by name and clears nobody', async () => {
    const manifest = (...lists: unknown[]) => write('lists.json', JSON.stringify({ lists }))
    const good = { listId: 'a', format: 'opensanctions', files: ['a.json'], checkTypes: ['pep'] }
    const eu = { listId: 'eu', format: 'eu', files: ['eu.xml'] }
    write('a.json', ftm('Some Person'))
    write('eu.xml', EU)
    const told = async () => {
      const { lists, problems, screening, ...rest } = await started()
      const of = (await screening.screen({ name: 'Some Person', identifiers: [] }))?.('pep').result
      expect(of, 'the list that is right is searched').to.equal('review')
      return {
        loaded: lists.map(({ listId }) => listId),
        problems: problems.map(({ listId, message }) => `${listId}: ${message}`),
        checkable: checkableTypes({ lists, problems, ...rest }),
      }
    }
    for (const [faulty, problem, checkable] of [
      [[{ ...eu, format: 'html' }], /^eu: lists\.json: lists\[1\]\.format must be one of/, []],
      [
        [{ ...eu, format: 'html', checkTypes: ['sanctions'] }],
        /^eu: lists\.json: lists\[1\]\.format must be one of/,
        ['pep'],
      ],
      [[{ ...eu, files: ['../eu.xml'] }], /^eu: lists\.json: lists\[1\]\.files must name files/, ['pep']],
      [[{ ...eu, checkTypes: ['all'] }], /^eu: lists\.json: lists\[1\]\.checkTypes must contain/, []],
      [[{ ...eu, listId: 'EU' }], /^lists\[1\]: lists\.json: lists\[1\]\.listId must match/, ['pep']],
      [[null], /^lists\[1\]: lists\.json: lists\[1\]\.listId must match/, []],
      [[eu, eu], /^eu: lists\.json: has two lists with the id eu$/, ['pep']],
      [[eu, { ...eu, checkTypes: ['pep'] }], /^eu: lists\.json: has two lists with the id eu$/, []],
    ] as const) {
      manifest(good, ...faulty)
      const { loaded, problems, checkable: types } = await told()
      expect(loaded, String(problem)).to.deep.equal(['a'])
      expect(problems).to.have.length(1)
      expect(problems[0]).to.match(problem)
      expect(types, String(problem)).to.deep.equal(checkable)
    }
    manifest(good, eu)
    expect(await told()).to.deep.equal({
      loaded: ['a', 'eu'],
      problems: [],
      checkable: ['sanctions', 'pep'],
    })
    // What was loaded once stays in service, and is told to be old.
    manifest(good, eu, { ...eu, checkTypes: ['watchlist'] })
    expect(await told()).to.deep.equal({
      loaded: ['a', 'eu'],
      problems: ['eu: lists.json: has two lists with the id eu'],
      checkable: ['sanctions', 'pep'],
    })
  })

  it('are in service where two files are one list, of which neither is read', async () => {
    for (const name of OFAC) copyFileSync(join(VECTORS, name), join(folder, name))
    copyFileSync(join(VECTORS, 'published/sdn.xml'), join(folder, 'sdn.xml'))
    write('peps.ftm.json', ftm('Some Person').replace('sanction', 'role.pep'))
    const { lists, problems } = await started()
    expect(lists.map(({ listId }) => listId)).to.deep.equal(['peps'])
    expect(problems.map(({ message }) => message)).to.deep.equal([
      'sdn.xml: is the list ofac-sdn, and so is add.csv',
    ])
    expect(checkableTypes({ lists, problems })).to.deep.equal(['pep'])
    rmSync(join(folder, 'sdn.xml'))
    const mended = await started()
    expect(mended.problems).to.deep.equal([])
    expect(checkableTypes(mended)).to.deep.equal(['sanctions', 'pep'])
  })

  it('are not read half where somebody is still writing them', async () => {
    write('a.ftm.json', `${ftm('Some Person')}\n`)
    const [list] = await findLists(folder, [])
    if (list === undefined || list.source instanceof ListFileError) throw new Error('no list')
    const [file] = list.source.files
    const read = async (): Promise<void> => {
      for await (const _ of file?.open() ?? []) appendFileSync(join(folder, 'a.ftm.json'), ftm('Next Person'))
    }
    const error = await rejection(read())
    expect(error).to.be.instanceOf(ListFileError)
    expect(String(error)).to.include('a.ftm.json: changed while it was read')
  })

  it('clear nobody where nobody can tell which lists there should be, until they were loaded once', async () => {
    write('lists.json', '{"lists": [')
    const app = await startTestApp({ env: { AML_LISTS: folder } })
    try {
      const lists = listsOf(app)
      const body = { userId: 'u', name: 'Somebody Unlisted', checkTypes: ['sanctions'] }
      const check = () => app.request<ErrorBody>('POST', '/api/aml/check', { key: app.adminKey, body })
      // It is made anew every few seconds.
      const healthIs = (wanted: Health['watchLists']) =>
        eventually(`health says ${wanted.status}`, async () =>
          isDeepStrictEqual((await app.request<Health>('GET', '/health')).body.watchLists, wanted),
        )
      const failed = async () =>
        /aml_list_failed\{list="lists\.json"\} (\d)/.exec(await app.services.metrics.text())?.[1]
      expect((await lists.change(upload('own', ftm('Quirin Hochgeladen')))).status).to.equal(200)
      const unavailable = await check()
      expect(`${unavailable.status} ${unavailable.body.error}`).to.equal('503 lists_unavailable')
      expect(unavailable.body.message).to.contain('never loaded: lists.json')
      const told = await lists.get()
      expect(told.uncovered).to.deep.equal(['sanctions', 'pep', 'watchlist', 'adverse_media'])
      expect(told.problem?.message).to.equal('lists.json: is not JSON')
      expect(told.problems.map(({ listId, earlierEntries }) => [listId, earlierEntries])).to.deep.equal([
        ['lists.json', false],
      ])
      await healthIs({ status: 'unavailable', failed: ['lists.json'] })
      expect(await failed()).to.equal('1')

      const eu = { listId: 'eu', format: 'eu', files: ['eu.xml'] }
      write('lists.json', JSON.stringify({ lists: [eu] }))
      write('eu.xml', EU)
      expect((await lists.change({ action: 'reload' })).status).to.equal(200)
      expect((await check()).status).to.equal(200)
      await healthIs({ status: 'current', failed: [] })
      expect(await failed()).to.equal(undefined)

      write('lists.json', '[]')
      const refused = await lists.change<ErrorBody>({ action: 'reload' })
      expect(`${refused.status} ${refused.body.error}`).to.equal('422 list_invalid')
      expect((await check()).status).to.equal(200)
      await healthIs({ status: 'outdated', failed: ['lists.json'] })
      expect(await failed()).to.equal('1')
      expect((await lists.get()).problem?.message).to.equal('lists.json: has no array `lists`')
    } finally {
      await app.close()
    }
  })
})
