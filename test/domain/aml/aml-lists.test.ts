/** Watch lists: loaded from a directory and from the console, atomically, the same on every server. */
import { hash } from 'node:crypto'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { loadConfig } from '../../../src/config/config.ts'
import { createLists, type ListsService } from '../../../src/domain/aml/lists/lists.ts'
import { checkableTypes, type Snapshot } from '../../../src/domain/aml/lists/snapshots.ts'
import type { WatchLists } from '../../../src/domain/aml/schemas-lists.ts'
import type { Health } from '../../../src/domain/system/schemas.ts'
import type { AppError } from '../../../src/errors.ts'
import { sharedApp, startTestApp, type TestApp } from '../../support/app.ts'
import {
  type ErrorBody,
  EU,
  ftm,
  listsOf,
  OFAC,
  onBare,
  outcomeOf,
  screen,
  upload,
  VECTORS,
} from '../../support/domain/watch-lists.ts'
import { eventually } from '../../support/eventually.ts'
import { callerOf, openTestLedger, type TestLedger } from '../../support/ledger.ts'

describe('watch lists', () => {
  let directory: string
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'assay-aml-'))
    for (const name of [...OFAC, 'consolidated.xml', 'entities.ftm.json'])
      copyFileSync(join(VECTORS, name), join(directory, name))
    writeFileSync(join(directory, 'README.md'), 'not a list')
  })
  after(() => rmSync(directory, { recursive: true, force: true }))

  describe('of a directory', () => {
    let app: TestApp
    let lists: ReturnType<typeof listsOf>
    before(async () => {
      app = await startTestApp({ env: { AML_LISTS: directory } })
      lists = listsOf(app)
    })
    after(() => app.close())

    it('are loaded at start, each with count, hash and files, and replace the sample', async () => {
      const { lists: loaded, sample, uncovered, problem, problems, listVersion } = await lists.get()
      expect({ sample, uncovered, problem, problems }).to.deep.equal({
        sample: false,
        uncovered: [],
        problem: null,
        problems: [],
      })
      expect(listVersion).to.match(/^v1-[0-9a-f]{16}$/)
      expect(
        loaded.map(({ listId, format, source, entries }) => [listId, format, source, entries]),
      ).to.deep.equal([
        ['ofac-sdn', 'ofac', 'directory', 3],
        ['un-consolidated', 'un', 'directory', 2],
        ['entities', 'opensanctions', 'directory', 2],
      ])
      expect(loaded[1]?.publishedAt).to.match(/^20/)
      expect(loaded[0]?.publishedAt).to.equal(null)
      expect(loaded[0]?.files.map(({ name }) => name)).to.have.members(OFAC)
      for (const { sha256, files } of loaded)
        for (const hash of [sha256, ...files.map((file) => file.sha256)])
          expect(hash).to.match(/^[0-9a-f]{64}$/)
      expect((await screen(app, 'Boris Testovich'))?.result).to.equal('review')
      expect((await screen(app, 'Hamza Abu al-Khayali'))?.matches[0]).to.deep.include({
        listId: 'un-consolidated',
      })
      expect((await screen(app, 'Petra Erfunden', 'pep'))?.matches[0]).to.deep.include({ listId: 'entities' })
      expect((await screen(app, 'Ivan Arkadyevich Testov'))?.result).to.equal('clear')
    })

    it('are loaded again without a restart, with an entry in the log and a new version', async () => {
      const before = await lists.get()
      expect((await screen(app, 'Zacharias Nachgetragen'))?.result).to.equal('clear')
      const file = join(directory, 'entities.ftm.json')
      const original = readFileSync(file, 'utf8')
      writeFileSync(file, `${original}${ftm('Zacharias Nachgetragen')}\n`)
      const { status, body } = await lists.change({ action: 'reload' })
      expect(status).to.equal(200)
      expect(body.listVersion).not.to.equal(before.listVersion)
      const hashes = ({ lists: all }: WatchLists) => all.map(({ sha256 }) => sha256)
      expect(hashes(body).map((hash, i) => hash === hashes(before)[i])).to.deep.equal([true, true, false])
      const result = await screen(app, 'Zacharias Nachgetragen')
      expect(result).to.deep.include({ result: 'review', listVersion: body.listVersion })
      expect(await app.services.database.knex('aml_snapshots').select('version')).to.have.length(2)
      expect((await lists.change({ action: 'reload' })).body).to.deep.equal(body)
    })

    it('stay as they were where a file is broken, told by name in console, metrics and health; the others change', async () => {
      const before = await lists.get()
      const file = join(directory, 'sdn.csv')
      const original = readFileSync(file, 'utf8')
      for (const [content, message, line] of [
        [original.replace('1002,', '1002,"x",'), 'sdn.csv, line 2: has 13 columns instead of 12', 2],
        ['', 'ofac-sdn: contains no entries', null],
        [
          original.split('\n')[0],
          'ofac-sdn: has 1 entries, previously 3. If it is complete, send acceptLoss',
          null,
        ],
      ] as const) {
        writeFileSync(file, content ?? '')
        const added = `Nobody Yet ${line}`
        writeFileSync(join(directory, 'more.ftm.json'), ftm(added))
        const { status, body } = await lists.change({ action: 'reload' })
        expect(status).to.equal(200)
        const [problem, ...others] = body.problems
        expect(others).to.deep.equal([])
        expect(problem).to.deep.include({ listId: 'ofac-sdn', checkTypes: ['sanctions'], line, message })
        expect(problem?.earlierEntries).to.equal(true)
        const own = ({ lists: all }: WatchLists) => all.find(({ listId }) => listId === 'ofac-sdn')
        expect(own(body)).to.deep.equal(own(before))
        expect(body.uncovered).to.deep.equal([])
        expect((await screen(app, added))?.result).to.equal('review')
        const result = await screen(app, 'Boris Testovich')
        expect(result?.result).to.equal('review')
        const used = result?.lists.map(({ listId, outdated }) => `${listId} ${outdated}`)
        expect(used).to.include.members(['ofac-sdn true', 'un-consolidated false'])
        const { body: health } = await app.request<Health>('GET', '/health')
        expect(health.watchLists).to.deep.equal({ status: 'outdated', failed: ['ofac-sdn'] })
        const metrics = await app.services.system.metricsText()
        expect(metrics).to.contain('aml_list_failed{list="ofac-sdn"} 1')
        expect(metrics).to.contain('aml_list_failed{list="un-consolidated"} 0')
      }
      writeFileSync(file, original)
      const mended = await lists.change({ action: 'reload' })
      expect(mended.body.problems).to.deep.equal([])
      rmSync(join(directory, 'more.ftm.json'))
      const { body: without } = await lists.change({ action: 'reload', acceptLoss: true })
      expect(without.lists.map(({ listId }) => listId)).not.to.include('more')
      expect(await app.services.system.metricsText()).to.contain('aml_list_failed{list="ofac-sdn"} 0')
    })

    it('have an age in each answer: from their publication, or else from when they were loaded', async () => {
      const result = await screen(app, 'Somebody Unlisted')
      const { lists: loaded } = await lists.get()
      const used = result?.lists ?? []
      expect(used.map(({ listId }) => listId)).to.have.members(loaded.map(({ listId }) => listId))
      for (const { listId, publishedAt, loadedAt, ageSeconds } of used) {
        const own = loaded.find((list) => list.listId === listId)
        expect({ publishedAt, loadedAt }, listId).to.deep.equal({
          publishedAt: own?.publishedAt,
          loadedAt: own?.loadedAt,
        })
        const from = Date.parse(publishedAt ?? loadedAt)
        expect(ageSeconds).to.equal(Math.floor((Date.parse(result?.checkedAt ?? '') - from) / 1000))
      }
      // Entries that are the same keep their age, however often they are read.
      const file = join(directory, 'consolidated.xml')
      writeFileSync(file, `${readFileSync(file, 'utf8')}\n`)
      const { body } = await lists.change({ action: 'reload' })
      for (const { listId, loadedAt } of body.lists)
        expect(loadedAt, listId).to.equal(loaded.find((list) => list.listId === listId)?.loadedAt)
    })

    it('are refused when most of a list is gone, unless that is accepted', async () => {
      const names = Array.from({ length: 20 }, (_, i) => `Person Number${String.fromCharCode(97 + i)}`)
      expect((await lists.change(upload('shrinking', ftm(...names)))).status).to.equal(200)
      const cut = upload('shrinking', ftm(...names.slice(0, 9)))
      const { status, body } = await lists.change<ErrorBody>(cut)
      expect(`${status} ${body.error}`).to.equal('422 list_invalid')
      expect(body.message).to.contain('has 9 entries, previously 20')
      expect((await lists.change({ ...cut, acceptLoss: true })).status).to.equal(200)
      expect((await lists.change({ action: 'remove', listId: 'shrinking' })).status).to.equal(200)
    })

    it('stay where the directory has lost one of them, unless that is accepted', async () => {
      const file = join(directory, 'consolidated.xml')
      const original = readFileSync(file)
      rmSync(file)
      const { status, body } = await lists.change({ action: 'reload' })
      expect(status).to.equal(200)
      expect(body.problems.map(({ listId, message }) => [listId, message])).to.deep.equal([
        [
          'un-consolidated',
          'un-consolidated: is not in the directory any more. If it shall go, send acceptLoss',
        ],
      ])
      expect((await screen(app, 'Hamza Abu al-Khayali'))?.result).to.equal('review')
      const accepted = await lists.change({ action: 'reload', acceptLoss: true })
      expect(accepted.body.lists.map(({ listId }) => listId)).not.to.include('un-consolidated')
      expect(accepted.body.problems).to.deep.equal([])
      writeFileSync(file, original)
      expect((await lists.change({ action: 'reload' })).status).to.equal(200)
    })

    it('that were uploaded outlive a reload, and can be removed', async () => {
      await lists.change(upload('own', ftm('Quirin Hochgeladen'), { checkTypes: ['watchlist'] }))
      await lists.change({ action: 'reload' })
      const result = await screen(app, 'Quirin Hochgeladen', 'watchlist')
      expect(result?.matches[0]).to.deep.include({ listId: 'own', entryId: 'p-0' })
      const { status } = await lists.change({ action: 'remove', listId: 'own' })
      expect(status).to.equal(200)
      expect((await screen(app, 'Quirin Hochgeladen', 'watchlist'))?.result).to.equal('clear')
      expect((await lists.change({ action: 'remove', listId: 'own' })).status).to.equal(404)
    })

    it('are the same on another server of the database within a second or two, told or not', async () => {
      const other = await createLists({ ...onBare(app.services), source: { directory } })
      try {
        expect(other.current().version).to.equal((await lists.get()).listVersion)
        const { body } = await lists.change(upload('spreading', ftm('Ottokar Verbreitet')))
        await eventually('the other server has the list', () => other.current().version === body.listVersion)
        expect(await outcomeOf(other.current(), 'Ottokar Verbreitet')).to.equal('review')
        const { body: again } = await lists.change({ action: 'remove', listId: 'spreading' })
        await eventually('and without it', () => other.current().version === again.listVersion)
      } finally {
        await other.close()
      }
    })

    it('survive changes from several sides at once: each list is there once', async () => {
      const ids = ['one', 'two', 'three', 'four', 'five']
      const answers = await Promise.all(
        ids.map((id) => lists.change(upload(`all-${id}`, ftm(`Somebody ${id}`)))),
      )
      expect(answers.map(({ status }) => status)).to.deep.equal(ids.map(() => 200))
      const { lists: loaded } = await lists.get()
      expect(loaded.map(({ listId }) => listId).filter((id) => id.startsWith('all-'))).to.have.members(
        ids.map((id) => `all-${id}`),
      )
      for (const id of ids) await lists.change({ action: 'remove', listId: `all-${id}` })
    })
  })

  describe('on a server that starts', () => {
    let folder: string
    let bare: TestLedger
    beforeEach(async () => {
      folder = mkdtempSync(join(tmpdir(), 'assay-aml-start-'))
      bare = await openTestLedger()
    })
    afterEach(async () => {
      await bare.close()
      rmSync(folder, { recursive: true, force: true })
    })
    const write = (name: string, content: string) => writeFileSync(join(folder, name), content)
    /** What a server has when it has started. */
    const serve = async (): Promise<ListsService> => {
      const lists = await createLists({ ...onBare(bare), source: { directory: folder } })
      await lists.close()
      return lists
    }

    it('do not become older by the files of its directory', async () => {
      write('a.ftm.json', ftm('Old Person'))
      expect((await serve()).current().number).to.equal(1)
      expect((await serve()).current().number).to.equal(1)
      write('a.ftm.json', ftm('New Person'))
      expect((await serve()).current().number).to.equal(2)
      write('a.ftm.json', ftm('Old Person'))
      const stale = (await serve()).current()
      expect(stale.number).to.equal(2)
      expect(await outcomeOf(stale, 'New Person')).to.equal('review')
    })

    for (const [name, format] of [
      ['csl.csv', 'csl'],
      ['csl.json', 'csl'],
      ['eu.xml', 'eu'],
      ['sdn.xml', 'ofac-xml'],
      ['UK-Sanctions-List.csv', 'uk'],
    ] as const)
      it(`have the hash and size of their files, by which a start knows older ones, as ${name} does`, async () => {
        const content = readFileSync(join(VECTORS, 'published', name), 'utf8')
        write('lists.json', JSON.stringify({ lists: [{ listId: 'a', format, files: [name] }] }))
        write(name, content)
        const { lists } = (await serve()).current()
        expect(lists[0]?.files).to.deep.equal([
          { name, sha256: hash('sha256', content), bytes: Buffer.byteLength(content) },
        ])
        write(name, `${content}\n`)
        expect((await serve()).current().number).to.equal(2)
        write(name, content)
        expect((await serve()).current().number).to.equal(2)
      })

    it('keep the entries of their last versions alone, however often they change by starts', async () => {
      let now = Date.now()
      for (let i = 0; i < 7; i++) {
        write('a.ftm.json', ftm(`Person Number${i}`))
        const lists = await createLists({
          ...onBare(bare),
          clock: { now: () => now },
          source: { directory: folder },
        })
        await lists.close()
        expect(lists.current().number).to.equal(i + 1)
        now += 2 * 3_600_000
      }
      const contents = await bare.database.knex('aml_contents').distinct('content')
      expect(contents).to.have.length(4)
    })

    it('stay the last good ones where a file is broken, also on servers that start later; none are where the stored ones are', async () => {
      write('a.ftm.json', ftm('Some Person'))
      await serve()
      write('a.ftm.json', '{')
      const messages = ({ problems }: Snapshot) => problems.map(({ message }) => message)
      for (let i = 0; i < 2; i++) {
        const broken = (await serve()).current()
        expect(messages(broken)).to.deep.equal(['a.ftm.json, line 1: is not JSON'])
        expect(await outcomeOf(broken, 'Some Person')).to.equal('review')
        expect(broken.number).to.equal(2)
      }
      write('a.ftm.json', ftm('New Person'))
      const mended = (await serve()).current()
      expect(messages(mended)).to.deep.equal([])
      expect(await outcomeOf(mended, 'New Person')).to.equal('review')
      await bare.database.knex('aml_contents').update({ bytes: Buffer.from('altered') })
      expect((await serve()).current().lists).to.deep.equal([])
    })

    it('clear nobody of what a configured list is for that was never loaded', async () => {
      for (const name of OFAC) copyFileSync(join(VECTORS, name), join(folder, name))
      write('peps.ftm.json', ftm('Some Person').replace('sanction', 'role.pep'))
      write('eu.xml', '')
      const started = (await serve()).current()
      expect(started.lists.map(({ listId }) => listId)).to.deep.equal(['ofac-sdn', 'peps'])
      expect(checkableTypes(started)).to.deep.equal(['pep'])
      expect(started.problems.map(({ listId, checkTypes }) => [listId, ...checkTypes])).to.deep.equal([
        ['eu', 'sanctions'],
      ])
      // Files that are broken in any other way hold back no more than that.
      for (const [name, content] of [
        ['eu.xml', '<html>Service unavailable</html>'],
        ['eu.xml', '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><export>&x;</export>'],
        ['eu.xml', EU.slice(0, -20)],
        ['eu.xml', Buffer.from(EU, 'utf16le')],
        ['eu.xml', EU.replaceAll('wholeName', 'other')],
        ['eu.zip', 'PK'],
      ] as const) {
        rmSync(join(folder, 'eu.xml'), { force: true })
        writeFileSync(join(folder, name), content)
        const { problems, lists, ...rest } = (await serve()).current()
        expect(problems[0]?.message, String(content)).to.match(new RegExp(`^${name}`))
        expect(checkableTypes({ problems, lists }), String(content)).to.deep.equal(['pep'])
        expect(await outcomeOf({ problems, lists, ...rest }, 'Boris Testovich')).to.equal('review')
      }
      rmSync(join(folder, 'eu.zip'))
      write('eu.xml', EU)
      const loaded = (await serve()).current()
      expect(loaded.problems).to.deep.equal([])
      expect(checkableTypes(loaded)).to.deep.equal(['sanctions', 'pep'])
      expect(await outcomeOf(loaded, 'Robert Gabriel Mugabe')).to.equal('review')
    })

    it('are those that the manifest names, whether their files are there or not', async () => {
      write(
        'lists.json',
        JSON.stringify({
          lists: [
            { listId: 'a', format: 'opensanctions', files: ['a.json'], checkTypes: ['pep'] },
            { listId: 'eu', format: 'eu', files: ['not-yet-fetched.xml'] },
          ],
        }),
      )
      write('a.json', ftm('Some Person'))
      const started = (await serve()).current()
      expect(started.problems.map(({ message }) => message)).to.deep.equal([
        'not-yet-fetched.xml: is missing in the directory',
      ])
      expect(checkableTypes(started)).to.deep.equal(['pep'])
      write('not-yet-fetched.xml', EU)
      expect(checkableTypes((await serve()).current())).to.deep.equal(['sanctions', 'pep'])
    })

    it('refuse a file that is too large before it is read', async () => {
      write('a.ftm.json', ftm('Some Person'))
      write('big.ftm.json', '')
      truncateSync(join(folder, 'big.ftm.json'), 5 * 1024 ** 3)
      const { problems, lists } = (await serve()).current()
      expect(problems.map(({ message }) => message)).to.deep.equal([
        'big.ftm.json: has 5368709120 bytes, more than the 4294967296 allowed',
      ])
      expect(lists.map(({ listId }) => listId)).to.deep.equal(['a'])
    })

    it('are told to be unreadable without the path of their directory, which is nobody else’s business', async () => {
      const unreadable = join(folder, 'gone')
      const lists = await createLists({ ...onBare(bare), source: { directory: unreadable } })
      const reload = () =>
        lists.reload(callerOf('org_1'), false).then(
          () => 'accepted',
          ({ code, message }: AppError) => `${code} ${message}`,
        )
      try {
        expect(lists.problem()?.message).to.equal('AML_LISTS: cannot be read (ENOENT)')
        expect(await reload()).to.equal('list_invalid AML_LISTS: cannot be read (ENOENT)')
        mkdirSync(unreadable)
        expect(await reload()).to.equal('list_invalid AML_LISTS: contains no lists')
        symlinkSync(join(unreadable, 'nowhere'), join(unreadable, 'a.ftm.json'))
        expect(await reload()).to.equal('accepted')
        expect(lists.current().problems[0]?.message).to.equal('a.ftm.json: cannot be read (ENOENT)')
      } finally {
        await lists.close()
      }
    })

    it('need a manifest where file names say nothing', async () => {
      const lists = await createLists({ ...onBare(bare), source: { directory: folder } })
      const refusal = (): Promise<string> =>
        lists.reload(callerOf('org_1'), false).then(
          ({ problems }) => problems[0]?.message ?? 'accepted',
          (error: Error) => error.message,
        )
      const manifest = (list: object) => write('lists.json', JSON.stringify({ lists: [list] }))
      const own = { listId: 'own', format: 'ofac', files: ['export.csv'] }
      try {
        expect(lists.problem()?.message).to.contain('contains no lists')
        expect(lists.current().lists).to.deep.equal([])
        write('export.csv', readFileSync(join(VECTORS, 'sdn.csv'), 'utf8'))
        expect(await refusal()).to.contain(
          'export.csv: is no list whose form is known; describe it in lists.json',
        )
        manifest({ ...own, listId: 'Own' })
        expect(await refusal()).to.contain('lists[0].listId must match')
        manifest({ ...own, format: 'un-known' })
        expect(await refusal()).to.contain('lists[0].format must be one of')
        manifest({ ...own, files: ['../export.csv'] })
        expect(await refusal()).to.contain('lists[0].files must name files in the directory')
        manifest({ ...own, checkTypes: ['all'] })
        expect(await refusal()).to.contain('lists[0].checkTypes must contain some of')
        manifest({ ...own, checkTypes: ['watchlist'] })
        expect(await refusal()).to.equal('accepted')
        const [list] = lists.current().lists
        expect(list).to.deep.include({ listId: 'own', checkTypes: ['watchlist'], entries: 3 })
        expect(lists.problem()).to.equal(undefined)
        await lists.remove(callerOf('org_1'), 'own')
        rmSync(join(folder, 'lists.json'))
        rmSync(join(folder, 'export.csv'))
        write('sdn.csv', readFileSync(join(VECTORS, 'sdn.csv'), 'utf8'))
        expect(await refusal()).to.equal('alt.csv: is missing beside sdn.csv')
      } finally {
        await lists.close()
      }
    })
  })

  it('can be changed by operators only, and say which field is wrong', async () => {
    const app = await sharedApp()
    const { apiKey } = await app.organisation()
    const lists = listsOf(app)
    expect((await lists.change({ action: 'reload' }, apiKey)).status).to.equal(403)
    expect((await app.request('GET', '/console/api/lists', { key: apiKey })).status).to.equal(200)
    const fault = async (body: object) => {
      const { status, body: error } = await lists.change<ErrorBody>(body)
      return `${status} ${error.error} ${error.details?.[0]?.path}`
    }
    expect(await fault({ action: 'upload', listId: 'x' })).to.equal('422 validation_failed /format')
    expect(await fault({ action: 'remove' })).to.equal('422 validation_failed /listId')
    expect(await fault({ action: 'remove', listId: 'Ä' })).to.equal('422 validation_failed /listId')
    expect(await fault({ action: 'reload' })).to.equal('409 conflict undefined')
    expect(await fault(upload('sample', ftm('A B')))).to.equal('422 list_invalid sample')
    expect(await fault(upload('empty', '\n'))).to.equal('422 list_invalid empty.ftm.json')
    const twice = `${ftm('A B')}\n${ftm('C D')}`
    expect(await fault(upload('twice', twice))).to.equal('422 list_invalid twice')
    const big = await lists.change<ErrorBody>(upload('big', 'x'.repeat(1024 * 1024)))
    expect(big.status).to.equal(413)
  })

  it('come from AML_LISTS: a directory, none, or by default the sample', () => {
    const of = (AML_LISTS?: string) => loadConfig({ DATA_DIR: 'memory', AML_LISTS }).amlLists
    expect(of()).to.equal('sample')
    expect(of('none')).to.equal('none')
    expect(of('/srv/lists')).to.deep.equal({ directory: '/srv/lists' })
  })
})
