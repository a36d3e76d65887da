/** Invitations: who may invite whom, and that each lets in one person once. */
import { expect } from 'chai'
import { DEFAULT_SCOPES } from '../../../../src/caller.ts'
import type { Me } from '../../../../src/domain/accounts/schemas.ts'
import type {
  InvitationCreated,
  InvitationPage,
  Member,
} from '../../../../src/domain/accounts/team/schemas.ts'
import { findInvitations } from '../../../../src/domain/accounts/team/store.ts'
import { sharedApp, startTestApp, type TestApp } from '../../../support/app.ts'
import type { RequestOptions } from '../../../support/client.ts'
import { newAccount, signIn, signUp } from '../../../support/domain/accounts.ts'
import { addMember, invited, openTeam } from '../../../support/domain/team.ts'
import { amongMany, expectFlatPage } from '../../../support/lists.ts'

const INVITATIONS = '/console/api/invitations'
const PASSWORD = 'correct horse battery'

interface Failure {
  error: string
  message: string
  request_id: string
}

const accept = (app: TestApp, invitation: string, options: RequestOptions = {}) =>
  app.request<Member & Failure>('POST', `${INVITATIONS}/accept`, {
    ...options,
    body: { invitation, password: PASSWORD },
  })

/** What somebody is told who is not let in, without what differs by request. */
const refusal = async (app: TestApp, invitation: string) => {
  const { status, body } = await accept(app, invitation)
  return { status, error: body.error, message: body.message }
}

const INVALID = {
  status: 410,
  error: 'invitation_invalid',
  message: 'The invitation is unknown, has expired, was used or was revoked.',
}

describe('invitations', () => {
  let app: TestApp
  before(async () => {
    app = await sharedApp()
  })
  const list = async (options: RequestOptions, query = '') =>
    (await app.request<InvitationPage>('GET', INVITATIONS + query, options)).body
  const revoke = async (options: RequestOptions, id: string) =>
    (await app.request('DELETE', `${INVITATIONS}/${id}`, options)).status

  it('make a member with the address and role that they name', async () => {
    const { owner } = await openTeam(app)
    const { email } = newAccount()
    const made = await invited(app, owner, { email, role: 'operator' })
    expect(made).to.deep.include({ email: email.toLowerCase(), role: 'operator' })
    expect(Date.parse(made.expiresAt) - Date.parse(made.createdAt)).to.equal(7 * 24 * 3_600_000)
    const joined = await accept(app, made.invitation)
    expect(joined.status).to.equal(201)
    expect(joined.body).to.deep.include({ email: email.toLowerCase(), role: 'operator', lastSignInAt: null })
    const { headers } = await signIn(app, { email, password: PASSWORD })
    const me = (await app.request<Me>('GET', '/console/api/me', { headers })).body
    expect(me).to.deep.include({
      accountId: joined.body.accountId,
      organisationId: owner.organisationId,
      role: 'operator',
    })
  })

  it('are listed newest first while they are open, page by page, without their text', async () => {
    const { owner } = await openTeam(app)
    const made: InvitationCreated[] = []
    for (let i = 0; i < 3; i++) made.push(await invited(app, owner))
    const [oldest, , newest] = made.map(({ invitation, ...shown }) => shown)
    const first = await list(owner, '?limit=2')
    expect(first.invitations[0]).to.deep.equal(newest)
    const rest = await list(owner, `?limit=2&cursor=${first.nextCursor}`)
    expect(rest).to.deep.equal({ invitations: [oldest], nextCursor: null })
    await accept(app, made[0]?.invitation ?? '')
    expect((await list(owner)).invitations).to.have.length(2)
  })

  it('are listed without a look at those of others, however many there are', async () => {
    const { owner } = await openTeam(app)
    const { organisationId: organisation } = owner
    const made = await invited(app, owner, { role: 'viewer' })
    const { database } = app.services
    const now = Date.now()
    // Of one organisation there are never more than may be open: whoever invites removes all that expired.
    const set = {
      organisation: "CASE WHEN i % 100 = 0 THEN organisation ELSE 'org_other' END",
      digest: 'sha256(digest || int4send(i))',
    }
    await amongMany(database, 'invitations', made.invitationId, set, async () => {
      for (const before of [undefined, made.invitationId])
        await expectFlatPage(database, 'invitations', async ({ limit }) => ({
          rows: await findInvitations(database, organisation, { now, before, limit }),
        }))
    })
  })

  it('are kept as a digest alone, and go when they are used', async () => {
    const { owner } = await openTeam(app)
    const { invitationId, invitation } = await invited(app, owner)
    const { knex } = app.services.database
    const row = await knex('invitations').where({ id: invitationId }).first()
    expect(Buffer.from(row.digest)).to.have.length(32)
    expect(JSON.stringify(row)).to.not.contain(invitation)
    await accept(app, invitation)
    expect(await knex('invitations').where({ id: invitationId })).to.deep.equal([])
  })

  it('let nobody in who has none, or whose one was used or revoked, all in the same words', async () => {
    const { owner } = await openTeam(app)
    const used = await invited(app, owner)
    await accept(app, used.invitation)
    const revoked = await invited(app, owner)
    expect(await revoke(owner, revoked.invitationId)).to.equal(204)
    expect(await revoke(owner, revoked.invitationId)).to.equal(404)
    for (const text of [
      '',
      'x',
      'A'.repeat(43),
      used.invitation,
      revoked.invitation,
      `${revoked.invitation} `,
    ])
      expect(await refusal(app, text)).to.deep.equal(INVALID)
  })

  it('to an address all go with the first one used, and with the member; those of others stay', async () => {
    const { owner } = await openTeam(app)
    const { owner: stranger } = await openTeam(app)
    const { email } = newAccount()
    const other = await invited(app, owner)
    const foreign = await invited(app, stranger, { email })
    const [first, second] = [
      await invited(app, owner, { email }),
      await invited(app, owner, { email, role: 'owner' }),
    ]
    const openIds = async () => (await list(owner)).invitations.map(({ invitationId }) => invitationId)
    const { accountId } = (await accept(app, first.invitation)).body
    expect(await openIds(), 'one used').to.deep.equal([other.invitationId])
    const third = await invited(app, owner, { email: email.toUpperCase() })
    expect((await app.request('DELETE', `/console/api/accounts/${accountId}`, owner)).status).to.equal(204)
    expect(await openIds(), 'member removed').to.deep.equal([other.invitationId])
    for (const { invitation } of [second, third])
      expect(await refusal(app, invitation)).to.deep.equal(INVALID)
    for (const { invitation } of [foreign, other])
      expect((await accept(app, invitation)).status).to.equal(201)
  })

  it('let one in of many who come at once', async () => {
    const { owner } = await openTeam(app)
    const { invitation } = await invited(app, owner)
    const answers = await Promise.all(Array.from({ length: 5 }, () => accept(app, invitation)))
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 410, 410, 410, 410])
  })

  it('expire', async () => {
    let now = Date.now()
    const own = await startTestApp({ clock: { now: () => now } })
    try {
      const { owner } = await openTeam(own)
      const { invitation, invitationId } = await invited(own, owner, { expiresIn: 60 })
      now += 60_000
      expect(await refusal(own, invitation)).to.deep.equal(INVALID)
      const { body } = await own.request<InvitationPage>('GET', INVITATIONS, owner)
      expect(body.invitations).to.deep.equal([])
      expect((await own.request('DELETE', `${INVITATIONS}/${invitationId}`, owner)).status).to.equal(404)
      await invited(own, owner)
      expect(await own.services.database.knex('invitations').where({ id: invitationId })).to.deep.equal([])
    } finally {
      await own.close()
    }
  })

  it('of somebody who may no longer invite let nobody in', async () => {
    const { owner, members } = await openTeam(app, 'owner', 'owner')
    const [demoted = expect.fail('nobody'), removed = expect.fail('nobody')] = members
    const key = await app.request<{ apiKey: string; keyId: string }>('POST', '/console/api/keys', {
      ...owner,
      body: { scopes: [...DEFAULT_SCOPES, 'keys'] },
    })
    const all = await Promise.all([
      invited(app, demoted),
      invited(app, removed),
      invited(app, { key: key.body.apiKey }),
    ])
    await app.request('PATCH', `/console/api/accounts/${demoted.accountId}`, {
      ...owner,
      body: { role: 'auditor' },
    })
    await app.request('DELETE', `/console/api/accounts/${removed.accountId}`, owner)
    await app.request('DELETE', `/console/api/keys/${key.body.keyId}`, owner)
    for (const { invitation } of all) expect(await refusal(app, invitation)).to.deep.equal(INVALID)
  })

  it('are made, listed and revoked by owners alone, and by no other organisation', async () => {
    const { owner, members } = await openTeam(app, 'operator', 'viewer', 'auditor')
    const { invitationId } = await invited(app, owner)
    for (const member of members) {
      const body = { email: newAccount().email, role: 'viewer' }
      expect((await app.request('POST', INVITATIONS, { ...member, body })).status).to.equal(403)
      expect((await app.request('GET', INVITATIONS, member)).status).to.equal(403)
      expect(await revoke(member, invitationId)).to.equal(403)
    }
    const { owner: stranger } = await openTeam(app)
    expect(await revoke(stranger, invitationId)).to.equal(404)
    expect((await list(stranger)).invitations).to.deep.equal([])
  })

  it('do not tell who has an account already, before they are accepted', async () => {
    const { owner } = await openTeam(app)
    const known = await signUp(app)
    const { invitation } = await invited(app, owner, { email: known.email })
    const taken = await accept(app, invitation)
    expect([taken.status, taken.body.error]).to.deep.equal([409, 'email_taken'])
    const headers = { 'x-forwarded-for': '198.51.100.61' }
    const guesses = Array.from({ length: 21 }, () => accept(app, 'A'.repeat(43), { headers }))
    const statuses = (await Promise.all(guesses)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 429)).to.have.length(1)
    const body = newAccount()
    expect((await app.request('POST', '/console/api/accounts', { body, headers })).status).to.equal(429)
  })

  it('leave entries that name no address', async () => {
    const { owner } = await openTeam(app)
    await addMember(app, owner, 'owner')
    const { invitationId } = await invited(app, owner)
    await revoke(owner, invitationId)
    const { body } = await app.request<{ apiKey: string }>('POST', '/console/api/keys', {
      ...owner,
      body: { scopes: ['audit'] },
    })
    const log = await app.request('GET', '/api/audit?type=account&limit=50', { key: body.apiKey })
    for (const event of ['invitation.created', 'invitation.accepted', 'invitation.revoked'])
      expect(JSON.stringify(log.body)).to.contain(event)
    expect(JSON.stringify(log.body)).to.not.contain('@')
  })

  it('refuse an address, role or lifetime that is none, and a password that is too short', async () => {
    const { owner } = await openTeam(app)
    for (const [field, value] of [
      ['email', 'nobody'],
      ['role', 'admin'],
      ['expiresIn', 59],
      ['expiresIn', 30 * 24 * 3600 + 1],
    ] as const) {
      const body = { email: newAccount().email, role: 'viewer', [field]: value }
      const answer = await app.request<{ details: { path: string }[] }>('POST', INVITATIONS, {
        ...owner,
        body,
      })
      expect([answer.status, answer.body.details[0]?.path]).to.deep.equal([422, `/${field}`])
    }
    const { invitation } = await invited(app, owner)
    const body = { invitation, password: 'short' }
    expect((await app.request('POST', `${INVITATIONS}/accept`, { body })).status).to.equal(422)
  })
})
