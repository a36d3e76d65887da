/** Two server processes on one PostgreSQL: lists that are changed on one of them are those that the other screens against. */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { AmlResult } from '../../../src/domain/aml/schemas.ts'
import type { ChangeLists, WatchLists } from '../../../src/domain/aml/schemas-lists.ts'
import type { Client } from '../../support/client.ts'
import { eventually } from '../../support/eventually.ts'
import { type Cluster, startCluster } from '../../support/servers/cluster.ts'

const VECTORS = join(import.meta.dirname, '../../vectors/aml')
const FILES = ['sdn.csv', 'alt.csv', 'add.csv', 'entities.ftm.json']
const UPLOADS = 6

const person = (id: string, name: string): string =>
  JSON.stringify({ id, schema: 'Person', properties: { name: [name], topics: ['sanction'] } })

const upload = (listId: string, name: string): ChangeLists => ({
  action: 'upload',
  listId,
  format: 'opensanctions',
  files: [{ name: `${listId}.ftm.json`, content: person('p-1', name) }],
})

describe('watch lists on two servers', () => {
  let cluster: Cluster
  let directory: string
  let a: Client
  let b: Client

  before(async function () {
    const { DATABASE_URL } = process.env
    if (!DATABASE_URL) {
      console.log('      SKIPPED: needs DATABASE_URL')
      return this.skip()
    }
    directory = mkdtempSync(join(tmpdir(), 'assay-aml-cluster-'))
    for (const name of FILES) copyFileSync(join(VECTORS, name), join(directory, name))
    cluster = await startCluster(DATABASE_URL, 2, { AML_LISTS: directory })
    ;[a, b] = cluster.clients as [Client, Client]
  })

  after(async () => {
    const codes = (await cluster?.end()) ?? []
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true })
    expect(codes.every((code) => code === 0)).to.equal(true)
  })

  const lists = async (shop: Client): Promise<WatchLists> =>
    (await shop.request('GET', '/console/api/lists', { key: cluster.adminKey })).body as WatchLists
  const change = async (shop: Client, body: ChangeLists): Promise<WatchLists> => {
    const answer = await shop.request('POST', '/console/api/lists', { key: cluster.adminKey, body })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return answer.body as WatchLists
  }
  const screen = async (shop: Client, name: string): Promise<AmlResult> => {
    const body = { userId: 'u', name, checkTypes: ['sanctions'] }
    const answer = await shop.request('POST', '/api/aml/check', { key: cluster.adminKey, body })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return (answer.body as [AmlResult])[0]
  }
  /** Once it says so. */
  const screensBy = (shop: Client, version: string): Promise<void> =>
    eventually(
      'the other server screens against the new lists',
      async () => (await screen(shop, 'Somebody Unlisted')).listVersion === version,
      { pauseMs: 50 },
    )

  it('both load the directory at start, and one version comes of it', async () => {
    const [first, second] = [await lists(a), await lists(b)]
    expect(first.listVersion).to.match(/^v1-/)
    expect(second).to.deep.equal(first)
    expect(first.problems).to.deep.equal([])
  })

  it('a list that one of them reads again is that of the other, without a restart', async () => {
    for (const shop of [a, b]) expect((await screen(shop, 'Zacharias Nachgetragen')).result).to.equal('clear')
    const file = join(directory, 'entities.ftm.json')
    writeFileSync(file, `${readFileSync(file, 'utf8')}${person('p-new', 'Zacharias Nachgetragen')}\n`)
    const { listVersion } = await change(a, { action: 'reload' })
    expect(await screen(a, 'Zacharias Nachgetragen')).to.deep.include({ result: 'review', listVersion })
    await screensBy(b, listVersion)
    expect(await screen(b, 'Zacharias Nachgetragen')).to.deep.include({ result: 'review', listVersion })
    expect(await lists(b)).to.deep.equal(await lists(a))
  })

  it('a list that one of them is sent, or loses, is sent to or lost by the other', async () => {
    const { listVersion } = await change(b, upload('own', 'Quirin Hochgeladen'))
    await screensBy(a, listVersion)
    expect((await screen(a, 'Quirin Hochgeladen')).matches[0]).to.deep.include({ listId: 'own' })
    const { listVersion: without } = await change(a, { action: 'remove', listId: 'own' })
    await screensBy(b, without)
    expect((await screen(b, 'Quirin Hochgeladen')).result).to.equal('clear')
  })

  it('lists that both are sent at once are all there on both', async () => {
    const ids = Array.from({ length: UPLOADS }, (_, i) => `raced-${i}`)
    await Promise.all(ids.map((id, i) => change(i % 2 === 0 ? a : b, upload(id, `Somebody ${id}`))))
    const loaded = async (shop: Client): Promise<string[]> =>
      (await lists(shop)).lists.map(({ listId }) => listId).filter((id) => id.startsWith('raced-'))
    for (const shop of [a, b])
      await eventually('all lists are there', async () => (await loaded(shop)).length === UPLOADS, {
        pauseMs: 50,
      })
    for (const shop of [a, b]) expect(await loaded(shop)).to.have.members(ids)
    expect(await lists(b)).to.deep.equal(await lists(a))
  })
})
