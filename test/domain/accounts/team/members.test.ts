/** The members of an organisation: who they are, who may change that, and that an owner is left. */
import { expect } from 'chai'
import { DEFAULT_SCOPES, type Role } from '../../../../src/caller.ts'
import type { Me } from '../../../../src/domain/accounts/schemas.ts'
import type { Member, MemberPage, NamedMember } from '../../../../src/domain/accounts/team/schemas.ts'
import { sharedApp, type TestApp } from '../../../support/app.ts'
import type { RequestOptions } from '../../../support/client.ts'
import { signIn } from '../../../support/domain/accounts.ts'
import { addMember, openTeam } from '../../../support/domain/team.ts'

const ACCOUNTS = '/console/api/accounts'

interface Failure {
  error: string
  reason?: string
  details?: { path: string }[]
}

describe('members of an organisation', () => {
  let app: TestApp
  before(async () => {
    app = await sharedApp()
  })
  const list = (options: RequestOptions, query = '') =>
    app.request<MemberPage>('GET', ACCOUNTS + query, options)
  const change = (options: RequestOptions, accountId: string, body: object) =>
    app.request<Member & Failure>('PATCH', `${ACCOUNTS}/${accountId}`, { ...options, body })
  const remove = (options: RequestOptions, accountId: string) =>
    app.request<Failure | undefined>('DELETE', `${ACCOUNTS}/${accountId}`, options)
  const me = (options: RequestOptions) => app.request<Me>('GET', '/console/api/me', options)
  const rolesOf = async (organisation: string): Promise<Role[]> =>
    app.services.database.knex('accounts').where({ organisation }).orderBy('id').pluck('role')

  it('are listed newest first, with role and times, page by page', async () => {
    const { owner, members } = await openTeam(app, 'viewer')
    const unseen = await addMember(app, owner, 'auditor')
    const [viewer = expect.fail('nobody')] = members
    const { body } = await list(owner)
    expect(body.accounts.map(({ accountId, email, role }) => [accountId, email, role])).to.deep.equal([
      [unseen.accountId, unseen.email.toLowerCase(), 'auditor'],
      [viewer.accountId, viewer.email.toLowerCase(), 'viewer'],
      [owner.accountId, owner.email.toLowerCase(), 'owner'],
    ])
    const [first, second] = body.accounts
    expect(first?.lastSignInAt).to.equal(null)
    expect(Date.parse(second?.lastSignInAt ?? '')).to.be.at.least(Date.parse(second?.createdAt ?? ''))
    const pages = []
    let cursor: string | null = null
    do {
      const page: MemberPage = (await list(owner, `?limit=2${cursor === null ? '' : `&cursor=${cursor}`}`))
        .body
      pages.push(page.accounts.map(({ accountId }) => accountId))
      cursor = page.nextCursor
    } while (cursor !== null)
    expect(pages).to.deep.equal([[unseen.accountId, viewer.accountId], [owner.accountId]])
  })

  it('are known to each other by address, whatever their role, and to nobody else', async () => {
    const { owner, members } = await openTeam(app, 'operator', 'viewer', 'auditor')
    const { owner: stranger } = await openTeam(app)
    const { apiKey: key } = await app.organisation()
    const named = (options: RequestOptions, { accountId }: { accountId: string } = owner) =>
      app.request<NamedMember & Failure>('GET', `${ACCOUNTS}/${accountId}`, options)
    for (const reader of [owner, ...members]) {
      const { status, body } = await named(reader)
      expect([status, body]).to.deep.equal([
        200,
        { accountId: owner.accountId, email: owner.email.toLowerCase() },
      ])
    }
    const [operator = expect.fail('nobody'), viewer] = members
    expect((await named(stranger)).status).to.equal(404)
    expect((await named(owner, stranger)).status).to.equal(404)
    expect((await named({ key })).status).to.equal(403)
    expect((await named({})).status).to.equal(401)
    await remove(owner, operator.accountId)
    expect((await named(viewer ?? owner, operator)).status).to.equal(404)
  })

  it('are read from an index, in their order', async () => {
    const plan = await app.services.database.knex.transaction(async (trx) => {
      await trx.raw('SET LOCAL enable_seqscan = off')
      await trx.raw('SET LOCAL enable_sort = off')
      const page = trx('accounts').where({ organisation: 'org_x' }).orderBy('id', 'desc').limit(51)
      const { sql, bindings } = page.toSQL().toNative()
      return trx.raw<object>(`EXPLAIN ${sql.replace('$1', '?').replace('$2', '?')}`, [...bindings])
    })
    expect(JSON.stringify(plan)).to.contain('Index Scan Backward using accounts_organisation')
  })

  it('have a role that is told with who they are', async () => {
    const { owner, members } = await openTeam(app, 'auditor')
    expect((await me(owner)).body).to.deep.include({ role: 'owner', accountId: owner.accountId })
    const { scopes, role } = (await me(members[0] ?? {})).body
    expect({ scopes, role }).to.deep.equal({ scopes: [...DEFAULT_SCOPES], role: 'auditor' })
  })

  it('have another role at once when it is changed, in the sessions they have open', async () => {
    const { owner, members } = await openTeam(app, 'owner')
    const [other = expect.fail('nobody')] = members
    const write = (name: string) =>
      app.request('POST', '/console/api/merchants', { ...other, body: { name } })
    expect((await write('before')).status).to.equal(201)
    const demoted = await change(owner, other.accountId, { role: 'viewer' })
    expect([demoted.status, demoted.body.role]).to.deep.equal([200, 'viewer'])
    expect([(await write('after')).status, (await me(other)).body.role]).to.deep.equal([403, 'viewer'])
    expect((await list(other)).status).to.equal(403)
    await change(owner, other.accountId, { role: 'operator' })
    expect((await write('again')).status).to.equal(201)
  })

  it('are changed by their whole answer, of which nothing but the role counts', async () => {
    const { owner, members } = await openTeam(app, 'viewer')
    const { accountId = '' } = members[0] ?? {}
    const [shown] = (await list(owner)).body.accounts
    expect((await change(owner, accountId, { ...shown })).body).to.deep.equal(shown)
    const later = { ...shown, role: 'operator', lastSignInAt: null }
    expect((await change(owner, accountId, later)).body.role).to.equal('operator')
    const moved = await change(owner, accountId, { ...shown, email: 'eve@shop.example' })
    expect([moved.status, moved.body.error]).to.deep.equal([422, 'read_only'])
    for (const role of ['admin', '', null, ['owner']])
      expect((await change(owner, accountId, { role })).body.details?.[0]?.path).to.equal('/role')
  })

  it('are gone with their sessions when they are removed, and their address is free', async () => {
    const { owner, members } = await openTeam(app, 'operator')
    const [gone = expect.fail('nobody')] = members
    expect((await me(gone)).status).to.equal(200)
    expect((await remove(owner, gone.accountId)).status).to.equal(204)
    expect([(await me(gone)).status, (await signIn(app, gone)).status]).to.deep.equal([401, 401])
    expect((await list(owner)).body.accounts).to.have.length(1)
    expect((await remove(owner, gone.accountId)).status).to.equal(404)
    const { email, password } = gone
    const again = await app.request('POST', ACCOUNTS, { body: { email, password, organisation: 'My own' } })
    expect(again.status).to.equal(201)
  })

  it('are not found by another organisation', async () => {
    const { owner } = await openTeam(app)
    const { owner: stranger } = await openTeam(app)
    for (const options of [stranger, { key: (await app.organisation()).apiKey }]) {
      expect((await change(options, owner.accountId, { role: 'viewer' })).status).to.equal(404)
      expect((await remove(options, owner.accountId)).status).to.equal(404)
    }
    expect((await remove(owner, 'acc_unknown')).status).to.equal(404)
  })

  it('keep an owner: the last one can be neither removed nor given another role', async () => {
    const { owner, members, organisationId } = await openTeam(app, 'operator')
    const refused = [
      await remove(owner, owner.accountId),
      await change(owner, owner.accountId, { role: 'viewer' }),
    ]
    for (const { status, body } of refused)
      expect([status, body?.error, body?.reason]).to.deep.equal([409, 'conflict', 'LAST_OWNER'])
    expect((await change(owner, owner.accountId, { role: 'owner' })).status).to.equal(200)
    await change(owner, members[0]?.accountId ?? '', { role: 'owner' })
    expect((await change(owner, owner.accountId, { role: 'viewer' })).status).to.equal(200)
    expect(await rolesOf(organisationId)).to.deep.equal(['viewer', 'owner'])
  })

  it('keep an owner when two demote each other at once, and when two leave at once', async () => {
    for (const act of [
      (options: RequestOptions, id: string) => change(options, id, { role: 'viewer' }),
      remove,
    ]) {
      const { owner, members, organisationId } = await openTeam(app, 'owner')
      const [other = expect.fail('nobody')] = members
      const each = await Promise.all([act(owner, other.accountId), act(other, owner.accountId)])
      expect(each.filter(({ status }) => status < 300)).to.have.length(1)
      expect((await rolesOf(organisationId)).filter((role) => role === 'owner')).to.have.length(1)
    }
    const { owner, members, organisationId } = await openTeam(app, 'owner')
    const [other = expect.fail('nobody')] = members
    const left = await Promise.all([remove(owner, owner.accountId), remove(other, other.accountId)])
    expect(left.map(({ status }) => status).sort()).to.deep.equal([204, 409])
    expect(await rolesOf(organisationId)).to.deep.equal(['owner'])
  })

  it('are decided over by no key that may do less than they may', async () => {
    const { owner, members } = await openTeam(app, 'viewer')
    const { accountId = '' } = members[0] ?? {}
    const keyWith = async (scopes: readonly string[]) => {
      const { body } = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
        ...owner,
        body: { scopes },
      })
      return { key: body.apiKey }
    }
    const narrow = await keyWith(['keys', 'merchant'])
    expect((await change(narrow, accountId, { role: 'operator' })).body.error).to.equal('insufficient_scope')
    expect((await remove(narrow, owner.accountId)).body?.error).to.equal('insufficient_scope')
    const onScreen = await keyWith(['keys', ...DEFAULT_SCOPES.filter((scope) => scope !== 'export')])
    expect((await change(onScreen, accountId, { role: 'auditor' })).status).to.equal(403)
    const whole = await keyWith(['keys', ...DEFAULT_SCOPES])
    expect((await change(whole, accountId, { role: 'owner' })).body.role).to.equal('owner')
  })

  it('leave entries in the log for what was decided, and none for what was not', async () => {
    const { owner, members } = await openTeam(app, 'viewer')
    const { accountId = '' } = members[0] ?? {}
    const { apiKey } = (
      await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
        ...owner,
        body: { scopes: ['audit'] },
      })
    ).body
    await change(owner, accountId, { role: 'viewer' })
    await change(owner, accountId, { role: 'auditor' })
    await remove(owner, owner.accountId)
    await remove(owner, accountId)
    const { body } = await app.request<{ entries: { entry: { data: object } }[] }>(
      'GET',
      '/api/audit?type=account&limit=2',
      { key: apiKey },
    )
    expect(JSON.stringify(body.entries)).to.contain('account.removed').and.to.contain('role.changed')
    expect(JSON.stringify(body.entries)).to.not.contain('@')
  })
})
