/** Routes of the members of an organisation. @module */
import { route } from '../../../http/route.ts'
import type { Members } from './members.ts'
import { Member, MemberChange, MemberPage, MemberParams, MembersQuery, NamedMember } from './schemas.ts'

interface Services {
  readonly accounts: { readonly members: Members }
}

const shared = { auth: 'console', scope: 'keys', tag: 'Team' } as const
const LAST_OWNER =
  "An organisation keeps at least one owner: its last one can't lose the role (409, `LAST_OWNER`)."

const listAccounts = route({
  ...shared,
  name: 'listAccounts',
  method: 'GET',
  path: '/console/api/accounts',
  summary: 'List the members of the organisation',
  description: 'Newest first.',
  query: MembersQuery,
  response: { 200: MemberPage },
  errors: [],
  handler: ({ caller, query }, { accounts }: Services) => accounts.members.list(caller, query),
})

const getAccount = route({
  name: 'getAccount',
  method: 'GET',
  path: '/console/api/accounts/{accountId}',
  auth: 'session',
  tag: 'Team',
  summary: 'Get the name of a member',
  description:
    'Says whose account proposed or decided something: decisions name the account. For every member of the same organisation, whatever their role.',
  params: MemberParams,
  response: { 200: NamedMember },
  errors: ['not_found'],
  example: { params: { accountId: '{accountId}' } },
  handler: ({ caller, params }, { accounts }: Services) => accounts.members.named(caller, params.accountId),
})

const updateAccount = route({
  ...shared,
  name: 'updateAccount',
  method: 'PATCH',
  path: '/console/api/accounts/{accountId}',
  summary: 'Change the role of a member',
  description: `The new role holds in the sessions that the member has open, on every server within a second. ${LAST_OWNER} Nobody can give or take a role that may do more than they may themselves.`,
  params: MemberParams,
  body: MemberChange,
  response: { 200: Member },
  errors: ['not_found', 'conflict', 'read_only'],
  example: { params: { accountId: '{accountId}' }, body: { role: 'auditor' } },
  handler: ({ caller, params, body }, { accounts }: Services) =>
    accounts.members.update(caller, params.accountId, body),
})

const deleteAccount = route({
  ...shared,
  name: 'deleteAccount',
  method: 'DELETE',
  path: '/console/api/accounts/{accountId}',
  summary: 'Remove a member from the organisation',
  description: `Deletes the account and open invitations to its address, and ends its sessions, on every server within a second. API keys stay: revoke those that the member knows. ${LAST_OWNER}`,
  params: MemberParams,
  response: { 204: null },
  errors: ['not_found', 'conflict'],
  handler: ({ caller, params }, { accounts }: Services) => accounts.members.remove(caller, params.accountId),
})

export const memberRoutes = [listAccounts, getAccount, updateAccount, deleteAccount]
