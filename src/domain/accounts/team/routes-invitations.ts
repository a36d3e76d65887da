/** Routes of invitations. @module */
import { route } from '../../../http/route.ts'
import type { Invitations } from './invitations.ts'
import {
  Acceptance,
  InvitationCreated,
  InvitationPage,
  InvitationParams,
  InvitationsQuery,
  Member,
  NewInvitation,
} from './schemas.ts'

interface Services {
  readonly accounts: {
    readonly invitations: Pick<Invitations, 'create' | 'list' | 'revoke'>
    acceptInvitation(acceptance: Acceptance, ip: string, requestId: string): Promise<Member>
  }
}

const shared = { auth: 'console', scope: 'keys', tag: 'Team' } as const

const createInvitation = route({
  ...shared,
  name: 'createInvitation',
  method: 'POST',
  path: '/console/api/invitations',
  summary: 'Invite somebody to the organisation',
  description:
    "The text of the invitation is shown once. Whoever has it can join once, with this e-mail address and role, while the account or API key that invited them may still do so. In a link it belongs behind `#`, which browsers don't send. At most 1,000 can be open. Nobody can give a role that may do more than they may themselves.",
  body: NewInvitation,
  response: { 201: InvitationCreated },
  errors: ['limit_reached'],
  example: { body: { email: 'grace@shop.example', role: 'operator' } },
  handler: ({ caller, body }, { accounts }: Services) => accounts.invitations.create(caller, body),
})

const listInvitations = route({
  ...shared,
  name: 'listInvitations',
  method: 'GET',
  path: '/console/api/invitations',
  summary: 'List open invitations',
  description:
    'Newest first. Used, revoked and expired invitations are not kept. Their text is never shown again.',
  query: InvitationsQuery,
  response: { 200: InvitationPage },
  errors: [],
  handler: ({ caller, query }, { accounts }: Services) => accounts.invitations.list(caller, query),
})

const deleteInvitation = route({
  ...shared,
  name: 'deleteInvitation',
  method: 'DELETE',
  path: '/console/api/invitations/{invitationId}',
  summary: 'Revoke an invitation',
  description: 'It is not found when it was used, was revoked or has expired.',
  params: InvitationParams,
  response: { 204: null },
  errors: ['not_found'],
  handler: ({ caller, params }, { accounts }: Services) =>
    accounts.invitations.revoke(caller, params.invitationId),
})

const acceptInvitation = route({
  name: 'acceptInvitation',
  method: 'POST',
  path: '/console/api/invitations/accept',
  auth: 'none',
  tag: 'Team',
  summary: 'Join an organisation',
  description:
    'Creates an account with the e-mail address and role of the invitation, and ends all other invitations of the organisation to that address. An invitation that is unknown, has expired, was used or was revoked returns 410 `invitation_invalid`. Counted together with sign-ups: 20 an hour from one address.',
  body: Acceptance,
  response: { 201: Member },
  queued: false,
  errors: ['invitation_invalid', 'email_taken', 'rate_limited', 'unavailable'],
  example: { body: { invitation: '{invitation}', password: 'correct horse battery' } },
  handler: ({ body, ip, requestId }, { accounts }: Services) =>
    accounts.acceptInvitation(body, ip, requestId),
})

export const invitationRoutes = [createInvitation, listInvitations, deleteInvitation, acceptInvitation]
