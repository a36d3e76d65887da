/** Wire forms of the members of an organisation and of invitations. @module */
import Type, { type Static } from 'typebox'
import { ROLES } from '../../../caller.ts'
import { askedId, DateTime, idOf, NextCursor, orNull, pageLimit } from '../../../json/schemas.ts'
import { Email, NewPassword } from '../schemas.ts'

export const Role = Type.Enum([...ROLES], { description: 'What the member may do.' })

export const Member = Type.Object(
  {
    accountId: idOf('acc'),
    email: Type.String(),
    role: Role,
    createdAt: DateTime,
    lastSignInAt: orNull(DateTime, { description: 'Null before the first time.' }),
  },
  { title: 'Member' },
)
export type Member = Static<typeof Member>

/** What members are told of each other. */
export const NamedMember = Type.Object(Type.Pick(Member, ['accountId', 'email']).properties, {
  title: 'NamedMember',
})
export type NamedMember = Static<typeof NamedMember>

/** Members of a member that nobody changes. They may come back with a change, as they were. */
export const FIXED_OF_MEMBER = ['accountId', 'email', 'createdAt'] as const

export const MembersQuery = Type.Object({
  cursor: Type.Optional(askedId('acc', { description: '`nextCursor` of the previous page.' })),
  limit: pageLimit(100, 50),
})
export type MembersQuery = Static<typeof MembersQuery>

export const MemberPage = Type.Object(
  { accounts: Type.Array(Member), nextCursor: NextCursor },
  { title: 'MemberPage' },
)
export type MemberPage = Static<typeof MemberPage>

export const MemberParams = Type.Object({ accountId: idOf('acc') })

export const NewInvitation = Type.Object(
  {
    email: Email,
    role: Role,
    expiresIn: Type.Optional(
      Type.Integer({
        minimum: 60,
        maximum: 30 * 24 * 3600,
        default: 7 * 24 * 3600,
        description: 'Seconds until it expires.',
      }),
    ),
  },
  { title: 'NewInvitation' },
)
export type NewInvitation = Static<typeof NewInvitation>

export const Invitation = Type.Object(
  {
    invitationId: idOf('inv'),
    email: Type.String(),
    role: Role,
    createdAt: DateTime,
    expiresAt: DateTime,
  },
  { title: 'Invitation' },
)
export type Invitation = Static<typeof Invitation>

export const InvitationCreated = Type.Object(
  {
    ...Invitation.properties,
    invitation: Type.String({ description: 'Shown once. Whoever has it can join.' }),
  },
  { title: 'InvitationCreated' },
)
export type InvitationCreated = Static<typeof InvitationCreated>

export const InvitationsQuery = Type.Object({
  cursor: Type.Optional(askedId('inv', { description: '`nextCursor` of the previous page.' })),
  limit: pageLimit(100, 50),
})
export type InvitationsQuery = Static<typeof InvitationsQuery>

export const InvitationPage = Type.Object(
  { invitations: Type.Array(Invitation), nextCursor: NextCursor },
  { title: 'InvitationPage' },
)
export type InvitationPage = Static<typeof InvitationPage>

export const InvitationParams = Type.Object({ invitationId: idOf('inv') })

export const Acceptance = Type.Object(
  { invitation: Type.String({ maxLength: 512 }), password: NewPassword },
  { title: 'Acceptance' },
)
export type Acceptance = Static<typeof Acceptance>

export const MemberChange = Type.Object(
  {
    ...Type.Partial(Type.Pick(Member, [...FIXED_OF_MEMBER, 'lastSignInAt'])).properties,
    role: Type.Optional(Role),
  },
  { title: 'MemberChange' },
)
export type MemberChange = Static<typeof MemberChange>
