/** What operators see and do in the console, through a real server. */
import { expect } from 'chai'
import type { Me, OrganisationPage } from '../../../src/domain/accounts/schemas.ts'
import { findOrganisations } from '../../../src/domain/accounts/store.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { signIn, signUp } from '../../support/domain/accounts.ts'
import { addMember } from '../../support/domain/team.ts'
import { amongMany, expectFlatPage, idOfCopy } from '../../support/lists.ts'

const ORGANISATIONS = '/console/api/organisations'

describe('operators', () => {
  let app: TestApp
  before(async () => {
    app = await startTestApp()
  })
  after(() => app.close())

  const list = async (query = '') =>
    (await app.request<OrganisationPage>('GET', ORGANISATIONS + query, { key: app.adminKey })).body
  const meOf = async (headers: Readonly<Record<string, string>>) =>
    (await app.request<Me>('GET', '/console/api/me', { headers })).body

  it('are the owners of the organisation default, whom its admin key invites', async () => {
    const owner = await signIn(app, await addMember(app, { key: app.adminKey }, 'owner'))
    expect((await meOf(owner.headers)).scopes).to.include('admin')
    const made = await app.request(`POST`, ORGANISATIONS, {
      headers: owner.headers,
      body: { name: 'Made here' },
    })
    expect(made.status).to.equal(201)
    const others = [
      await signIn(app, await addMember(app, { key: app.adminKey }, 'operator')),
      await signIn(app, await signUp(app)),
    ]
    for (const { headers } of others) {
      expect((await meOf(headers)).scopes).to.not.include('admin')
      expect((await app.request('GET', ORGANISATIONS, { headers })).status).to.equal(403)
    }
  })

  it('are made by nobody who is none: a key without scope admin invites no owner of default', async () => {
    const { body } = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      key: app.adminKey,
      body: {
        scopes: (await meOf({ 'x-api-key': app.adminKey })).scopes.filter((scope) => scope !== 'admin'),
      },
    })
    const invite = (role: string) =>
      app.request<{ error?: string }>('POST', '/console/api/invitations', {
        key: body.apiKey,
        body: { email: 'eve@example.com', role },
      })
    expect((await invite('owner')).body.error).to.equal('insufficient_scope')
    expect((await invite('operator')).status).to.equal(201)
  })

  it('revoke the admin key from a session that lacks a right of it, and replace it only with that right', async () => {
    const scopes = ['verify', 'egress:private']
    const made = async (key: string) =>
      (await app.request<{ keyId: string }>('POST', '/console/api/keys', { key, body: { scopes } })).body
    const { keyId } = await made(app.adminKey)
    const operator = await signIn(app, await addMember(app, { key: app.adminKey }, 'owner'))
    const path = `/console/api/keys/${keyId}`
    const asked = (method: string, at: string, headers: Readonly<Record<string, string>>) =>
      app.request<{ error?: string }>(method, at, { headers })
    expect((await asked('POST', `${path}/rotate`, operator.headers)).body.error).to.equal(
      'insufficient_scope',
    )
    expect((await asked('DELETE', path, operator.headers)).status).to.equal(204)
    // Not beyond the organisation.
    const stranger = await app.organisation()
    const { body } = await app.request<{ keyId: string }>('POST', '/console/api/keys', {
      key: stranger.apiKey,
      body: { scopes: ['verify'] },
    })
    expect((await asked('DELETE', `/console/api/keys/${body.keyId}`, operator.headers)).status).to.equal(404)
  })

  it('list all organisations, newest first or by name, page by page, by subscription', async () => {
    const names = ['Quay 1', 'quay 2', 'Quay_3', 'Other']
    const ids: string[] = []
    for (const name of names) {
      const { body } = await app.request<{ organisationId: string }>('POST', ORGANISATIONS, {
        key: app.adminKey,
        body: { name },
      })
      ids.push(body.organisationId)
    }
    const { accountId, organisationId } = await signUp(app)
    expect(accountId).to.be.a('string')
    const all = await list()
    expect(all.organisations.slice(0, 5).map((one) => one.organisationId)).to.deep.equal([
      organisationId,
      ...ids.toReversed(),
    ])
    expect(all.organisations[0]).to.include({ subscription: 'inactive', accounts: 1 })
    expect(all.organisations[1]).to.include({ name: 'Other', subscription: 'active', accounts: 0 })
    const named = await list('?name=QUAY')
    expect(named.organisations.map(({ name }) => name)).to.deep.equal(['Quay 1', 'quay 2', 'Quay_3'])
    expect((await list('?name=quay_')).organisations.map(({ name }) => name)).to.deep.equal(['Quay_3'])
    const inactive = await list('?subscription=inactive')
    expect(inactive.organisations.every(({ subscription }) => subscription === 'inactive')).to.equal(true)
    const first = await list('?limit=2&name=quay')
    expect(first.organisations).to.have.length(2)
    const second = await list(`?limit=2&name=quay&cursor=${first.nextCursor}`)
    expect(second.organisations.map(({ name }) => name)).to.deep.equal(['Quay_3'])
    expect(second.nextCursor).to.equal(null)
    expect(await list('?name=quay&cursor=org_zzzzzzzzzzzzzzzzzzzzzzzzzz')).to.deep.equal({
      organisations: [],
      nextCursor: null,
    })
  })

  it('read no more than they list, however many organisations there are', async () => {
    const { database } = app.services
    const { organisationId } = await app.organisation()
    // One in a hundred is inactive: a page of those must not look at the others.
    const set = {
      name: "'Pier ' || lpad(i::text, 5, '0')",
      subscription: "CASE WHEN i % 100 = 0 THEN 'inactive' ELSE 'active' END",
    }
    await amongMany(database, 'organisations', organisationId, set, async () => {
      for (const filter of [
        {},
        { subscription: 'inactive' },
        { name: 'pier' },
        { name: 'PIER 0', subscription: 'inactive' },
      ])
        for (const before of [undefined, idOfCopy('org', filter.name ? 700 : 2300)])
          await expectFlatPage(database, 'organisations', async ({ limit }) => ({
            rows: await findOrganisations(database, { ...filter, before, limit }),
          }))
    })
  })

  it('refuse what they don’t know', async () => {
    for (const query of ['?limit=0', '?limit=101', '?subscription=none', '?cursor=x', '?name='])
      expect((await app.request('GET', ORGANISATIONS + query, { key: app.adminKey })).status, query).to.equal(
        400,
      )
  })
})
