/** Members of an organisation, with roles. */
import type { Role } from '../../../src/caller.ts'
import type { InvitationCreated, Member } from '../../../src/domain/accounts/team/schemas.ts'
import { type Client, ok, type RequestOptions } from '../client.ts'
import { newAccount, signIn, signUp } from './accounts.ts'

/** Invites somebody. @param by an owner */
export const invited = (
  client: Client,
  by: RequestOptions,
  invitation: { role?: Role; email?: string; expiresIn?: number } = {},
): Promise<InvitationCreated> =>
  ok(client, 'POST', '/console/api/invitations', {
    ...by,
    body: { email: newAccount().email, role: 'viewer', ...invitation },
  })

/** An account that joins an organisation by invitation. @param by an owner */
export const addMember = async (client: Client, by: RequestOptions, role: Role) => {
  const { email, password } = newAccount()
  const { invitation } = await invited(client, by, { email, role })
  const { accountId } = await ok<Member>(client, 'POST', '/console/api/invitations/accept', {
    body: { invitation, password },
  })
  return { email, password, accountId }
}

/** An owner who is signed in, and further members who are. */
export const openTeam = async (client: Client, ...roles: readonly Role[]) => {
  const account = await signUp(client)
  const owner = { ...account, ...(await signIn(client, account)) }
  const members = []
  for (const role of roles) {
    const member = await addMember(client, owner, role)
    members.push({ ...member, role, ...(await signIn(client, member)) })
  }
  return { owner, members, organisationId: account.organisationId }
}
