/** The list of an organisation's pods, with the domains that lead to each. */
import { expect } from 'chai'
import type { OwnPod, OwnPodList } from '../../../src/domain/pods/schemas.ts'
import { findPods, updateDomain } from '../../../src/domain/pods/store.ts'
import { sharedApp, type TestApp, type TestOrganisation } from '../../support/app.ts'
import { ok } from '../../support/client.ts'
import { bindDomain, createPod } from '../../support/domain/pods.ts'
import { amongMany, expectFlatPage, idOfCopy, listOf, MANY_ROWS } from '../../support/lists.ts'
import { readsOf } from '../../support/query-plans.ts'

const PATH = '/console/api/pods'

describe('the list of pods', () => {
  let app: TestApp
  let owner: TestOrganisation
  let names = 0

  before(async () => {
    app = await sharedApp()
  })
  beforeEach(async () => {
    owner = await app.organisation()
  })

  const listed = async (key = owner.apiKey) => (await ok<OwnPodList>(app, 'GET', PATH, { key })).pods
  const newPod = async (key = owner.apiKey) => (await createPod(app, key)).podId
  const bound = async (podId: string): Promise<string> => {
    const domain = `list${++names}-${owner.organisationId.slice(-8)}.shop.example`
    await bindDomain(app, podId, domain)
    return domain
  }
  const domainsIn = (pods: readonly OwnPod[]) =>
    Object.fromEntries(pods.map(({ podId, domains }) => [podId, domains.map(({ domain }) => domain)]))

  it('has every domain of each pod, the one bound last first, and nobody else’s', async () => {
    const stranger = await app.organisation()
    await bound(await newPod(stranger.apiKey))
    const [none, one, two] = [await newPod(), await newPod(), await newPod()]
    expect(domainsIn(await listed())).to.deep.equal({ [none]: [], [one]: [], [two]: [] })
    const only = await bound(one)
    const earlier = await bound(two)
    await new Promise((resolve) => setTimeout(resolve, 5))
    const later = await bound(two)
    expect(domainsIn(await listed())).to.deep.equal({ [none]: [], [one]: [only], [two]: [later, earlier] })
    await bindDomain(app, two, only)
    expect(domainsIn(await listed())).to.deep.equal({ [none]: [], [one]: [], [two]: [only, later, earlier] })
  })

  it('comes page by page, the newest first, and nobody else’s', async () => {
    const podIds: string[] = []
    for (let count = 0; count < 3; count++) podIds.unshift(await newPod())
    const domain = await bound(podIds[2] ?? '')
    const { all, page, refused } = listOf<OwnPod, 'pods'>(app, owner.apiKey, PATH, 'pods')
    for (const limit of [1, 2, 3, 50]) {
      const pods = await all(limit)
      expect(pods.map(({ podId }) => podId)).to.deep.equal(podIds)
      expect(domainsIn(pods)[podIds[2] ?? '']).to.deep.equal([domain])
    }
    // Who asks without a limit gets what earlier versions gave at once.
    expect(await page()).to.have.property('nextCursor', null)
    const { apiKey: stranger } = await app.organisation()
    expect(
      await listOf<OwnPod, 'pods'>(app, stranger, PATH, 'pods').page(`cursor=${podIds[0]}`),
    ).to.deep.equal({ pods: [], nextCursor: null })
    for (const [query, place] of [
      ['cursor=pod_1', 'query/cursor'],
      ['limit=0', 'query/limit'],
      ['limit=1001', 'query/limit'],
    ] as const)
      expect((await refused(query))[2], query).to.equal(place)
  })

  it('reads no more than it shows, however many there are', async () => {
    const podId = await newPod()
    const { database } = app.services
    const { organisationId: organisation } = owner
    const key_digest = 'sha256(key_digest || int4send(i))'
    await amongMany(database, 'pods', podId, { key_digest }, async () => {
      for (const before of [undefined, idOfCopy('pod', 1500)])
        await expectFlatPage(database, 'pods', async ({ limit }) => ({
          rows: await findPods(database, organisation, { before, limit }),
        }))
      const list = listOf<OwnPod, 'pods'>(app, owner.apiKey, PATH, 'pods')
      const first = await list.page()
      expect([first.pods.length, first.nextCursor]).to.deep.equal([1000, first.pods.at(-1)?.podId])
      expect(await list.all(1000)).to.have.length(MANY_ROWS + 1)
    })
  })

  it('says which domain still leads here, and since when one was not seen', async () => {
    const podId = await newPod()
    const domain = await bound(podId)
    const { knex } = app.services.database
    const row = await knex('pod_domains').where({ domain }).first()
    const boundAt = new Date(row.bound_at).toISOString()
    const seen = async () => (await listed()).flatMap(({ domains }) => domains)
    expect(await seen()).to.deep.equal([{ domain, status: 'bound', boundAt, unseenSince: null }])
    const unseenSince = '2026-01-31T12:00:00.000Z'
    const absent_since = Date.parse(unseenSince)
    await updateDomain(knex, row, { proven: true, absent_since })
    expect(await seen()).to.deep.equal([{ domain, status: 'bound', boundAt, unseenSince }])
    await updateDomain(knex, row, { proven: false, absent_since })
    expect(await seen()).to.deep.equal([{ domain, status: 'lapsed', boundAt, unseenSince }])
  })

  it('is what a change takes back whole, also when a domain was bound meanwhile, and answers', async () => {
    const podId = await newPod()
    const [pod = expect.fail('no pod is listed')] = await listed()
    const domain = await bound(podId)
    const changed = await ok<OwnPod>(app, 'PATCH', `${PATH}/${podId}`, {
      key: owner.apiKey,
      body: { ...pod, name: 'Renamed' },
    })
    expect([changed.name, changed.domains.map((one) => one.domain)]).to.deep.equal(['Renamed', [domain]])
    expect(await listed()).to.deep.equal([changed])
    const same = await ok<OwnPod>(app, 'PATCH', `${PATH}/${podId}`, { key: owner.apiKey, body: changed })
    expect(same).to.deep.equal(changed)
  })

  it('reads the domains of its own pods only, however many others there are', async () => {
    const podId = await newPod()
    await bound(podId)
    const { knex } = app.services.database
    const others = Array.from({ length: 2000 }, (_, index) => ({
      domain: `other${index}-${podId.slice(-8)}.shop.example`,
      pod: `pod_other${index % 100}`,
      bound_at: 1,
      proven: false,
      check_at: Number.MAX_SAFE_INTEGER,
      absent_since: null,
    }))
    await knex.batchInsert('pod_domains', others)
    try {
      await knex.raw('ANALYZE pod_domains')
      const reads = await readsOf(app.services.database, () => listed())
      const own = reads.filter(({ text }) => text.includes('from "pod_domains"'))
      expect(own.map(({ rows, indexes }) => [rows, indexes])).to.deep.equal([[1, ['pod_domains_pod']]])
    } finally {
      await knex('pod_domains').whereLike('pod', 'pod_other%').delete()
    }
  })
})
