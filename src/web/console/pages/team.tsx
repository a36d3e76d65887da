/** Who belongs to the organisation: members with their roles, and invitations that are open. @module */
import { useState } from 'preact/hooks'
import type {
  Invitation,
  InvitationCreated,
  InvitationPage,
  Member,
  MemberPage,
} from '../../../domain/accounts/team/schemas.ts'
import { mayChange, type PageProps } from '../page.ts'
import { Confirm, FormDialog } from '../parts/confirm.tsx'
import { Field, Form, Select, textIn } from '../parts/form.tsx'
import { Loaded, More, usePages } from '../parts/loaded.tsx'
import { Main } from '../parts/main.tsx'
import { RoleSelect } from '../parts/role.tsx'
import { Secrets, useUnkept } from '../parts/secret.tsx'
import { ActButton, Table } from '../parts/table.tsx'
import { Time } from '../parts/text.tsx'
import { ask, askWho } from '../session.ts'

const MAX_EMAIL_CHARACTERS = 254
const DAY_SECONDS = 24 * 3600

const EXPIRIES = [
  { value: String(DAY_SECONDS), label: 'One day' },
  { value: String(7 * DAY_SECONDS), label: 'A week' },
  { value: String(30 * DAY_SECONDS), label: '30 days' },
]

const Invite = ({ invited }: { invited(invitation: InvitationCreated): void }) => (
  <details class="box">
    <summary>Invite somebody</summary>
    <Form
      action="Make the link"
      submit={async (values) => {
        const body = {
          email: textIn(values, 'email').trim(),
          role: textIn(values, 'role'),
          expiresIn: Number(textIn(values, 'expiresIn')),
        }
        invited(await ask<InvitationCreated>('POST', '/console/api/invitations', { body }))
      }}
    >
      <Field
        name="email"
        type="email"
        label="E-mail"
        hint="No mail is sent: you get a link, and pass it on."
        required
        maxLength={MAX_EMAIL_CHARACTERS}
      />
      <RoleSelect value="operator" />
      <Select
        name="expiresIn"
        label="The link works for"
        options={EXPIRIES}
        value={String(7 * DAY_SECONDS)}
      />
    </Form>
  </details>
)

type Act =
  | { readonly kind: 'role' | 'remove'; readonly target: Member }
  | { readonly kind: 'withdraw'; readonly target: Invitation }

interface ActProps {
  readonly act: Act
  readonly me: PageProps['me']
  done(): Promise<void>
  close(): void
}

const ActDialog = ({ act, me, done, close }: ActProps) => {
  const { email } = act.target
  if (act.kind === 'withdraw')
    return (
      <FormDialog
        title={`Withdraw the invitation of ${email}`}
        action="Withdraw"
        danger
        close={close}
        submit={async () => {
          await ask('DELETE', `/console/api/invitations/${act.target.invitationId}`)
          await done()
        }}
      >
        <p>The link works no more. You can invite them again.</p>
      </FormDialog>
    )
  const path = `/console/api/accounts/${act.target.accountId}`
  // Of oneself: what one may do is read anew.
  const changed = async (): Promise<void> =>
    act.target.accountId === me.accountId ? await askWho() : await done()
  if (act.kind === 'role')
    return (
      <FormDialog
        title={`The role of ${email}`}
        action="Save"
        close={close}
        submit={async (values) => {
          await ask('PATCH', path, { body: { role: textIn(values, 'role') } })
          await changed()
        }}
      >
        <p>It holds at once, in the sessions that are open as well.</p>
        <RoleSelect value={act.target.role} />
      </FormDialog>
    )
  return (
    <Confirm
      title={`Remove ${email}`}
      name={email}
      action="Remove member"
      close={close}
      run={async () => {
        await ask('DELETE', path)
        await changed()
      }}
    >
      <p>
        The account is deleted for good, and its sessions end. API keys stay: revoke those that they know.
      </p>
    </Confirm>
  )
}

interface ListProps<T> {
  readonly rows: readonly T[]
  readonly changes: boolean
  choose(act: Act): void
}

const MemberList = ({ rows, changes, choose, me }: ListProps<Member> & PageProps) => (
  <Table
    caption="Members, the newest first"
    rows={rows}
    keyOf={({ accountId }) => accountId}
    empty={<p>Nobody.</p>}
    columns={[
      {
        title: 'E-mail',
        cell: ({ email, accountId }) => (
          <>
            <strong class="address">{email}</strong>
            {accountId === me.accountId && <small>you</small>}
          </>
        ),
      },
      { title: 'Role', cell: ({ role }) => role },
      { title: 'Joined', cell: ({ createdAt }) => <Time at={createdAt} /> },
      {
        title: 'Last sign-in',
        cell: ({ lastSignInAt }) =>
          lastSignInAt === null ? <span class="quiet">Never</span> : <Time at={lastSignInAt} />,
      },
      {
        title: 'Actions',
        cell: (target) =>
          changes && (
            <span class="row-actions">
              <ActButton name={target.email} act={() => choose({ kind: 'role', target })}>
                Change role
              </ActButton>
              <ActButton danger name={target.email} act={() => choose({ kind: 'remove', target })}>
                Remove
              </ActButton>
            </span>
          ),
      },
    ]}
  />
)

const InvitationList = ({ rows, changes, choose }: ListProps<Invitation>) => (
  <Table
    caption="Open invitations, the newest first"
    rows={rows}
    keyOf={({ invitationId }) => invitationId}
    empty={<p>Nobody is invited now.</p>}
    columns={[
      { title: 'E-mail', cell: ({ email }) => <span class="address">{email}</span> },
      { title: 'Role', cell: ({ role }) => role },
      { title: 'Invited', cell: ({ createdAt }) => <Time at={createdAt} /> },
      { title: 'Works until', cell: ({ expiresAt }) => <Time at={expiresAt} /> },
      {
        title: 'Actions',
        cell: (target) =>
          changes && (
            <ActButton danger name={target.email} act={() => choose({ kind: 'withdraw', target })}>
              Withdraw
            </ActButton>
          ),
      },
    ]}
  />
)

const Link = ({ made, done }: { readonly made: InvitationCreated; done(): void }) => (
  <Secrets
    title={`The link for ${made.email}`}
    advice="Give it to them alone, over a channel that you trust: whoever opens it first joins in their place."
    values={{ Link: `${location.origin}/console/join#${made.invitation}` }}
    done={done}
  />
)

export const Team = ({ me }: PageProps) => {
  const members = usePages<MemberPage, Member>('/console/api/accounts', ({ accounts }) => accounts)
  const invitations = usePages<InvitationPage, Invitation>(
    '/console/api/invitations',
    ({ invitations }) => invitations,
  )
  const made = useUnkept<InvitationCreated>()
  const [act, setAct] = useState<Act | undefined>()
  const changes = mayChange(me, 'keys')
  return (
    <Main title="Team" lead="Who may sign in for the organisation, and what they may do.">
      {made.unkept.map((one) => (
        <Link key={one.invitationId} made={one} done={() => made.drop(one)} />
      ))}
      {changes && (
        <Invite
          key={made.count}
          invited={(invitation) => {
            made.add(invitation)
            void invitations.again()
          }}
        />
      )}
      <section aria-labelledby="members">
        <h2 id="members">Members</h2>
        <Loaded of={members}>
          {(rows) => <MemberList rows={rows} changes={changes} choose={setAct} me={me} />}
        </Loaded>
        <More of={members} />
      </section>
      <section aria-labelledby="invitations">
        <h2 id="invitations">Open invitations</h2>
        <Loaded of={invitations}>
          {(rows) => <InvitationList rows={rows} changes={changes} choose={setAct} />}
        </Loaded>
        <More of={invitations} />
      </section>
      {act && (
        <ActDialog
          act={act}
          me={me}
          done={act.kind === 'withdraw' ? invitations.again : members.again}
          close={() => setAct(undefined)}
        />
      )}
    </Main>
  )
}
