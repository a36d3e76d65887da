/** Joining an organisation by a link: `/console/join#` and the invitation, which browsers send to nobody. @module */
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { Member } from '../../domain/accounts/team/schemas.ts'
import { Form, textIn } from './parts/form.tsx'
import { Main } from './parts/main.tsx'
import { NewPassword } from './parts/password.tsx'
import { ROLE_TEXTS } from './parts/role.tsx'
import { send } from './service.ts'
import { session, signIn, signOut } from './session.ts'

export const JOIN = '/console/join'

/** 43 digits of base 62. Other fragments are places in the page, such as the one that the skip link leads to. */
const INVITATION = /^#([0-9A-Za-z]{43})$/

const invitationIn = (fragment: string): string => INVITATION.exec(fragment)?.[1] ?? ''

/** The invitation behind `#`: read from the address each time, and kept nowhere. */
const useFragment = (): string => {
  const [fragment, setFragment] = useState(() => invitationIn(location.hash))
  useEffect(() => {
    const read = (): void => setFragment(invitationIn(location.hash))
    addEventListener('hashchange', read)
    return () => removeEventListener('hashchange', read)
  }, [])
  return fragment
}

const SignedInAs = ({ email }: { readonly email: string | undefined }) => (
  <>
    <p>
      You are signed in as <strong>{email}</strong>. An invitation makes a new account, of its own e-mail
      address: sign out first, then this page goes on.
    </p>
    <Form action="Sign out" submit={signOut}>
      {null}
    </Form>
  </>
)

const Choose = ({ invitation }: { readonly invitation: string }) => {
  const { route } = useLocation()
  const [joined, setJoined] = useState<Member | undefined>()
  if (joined !== undefined)
    return (
      <div class="notice" data-tone="good" role="status">
        <p>
          You have joined as {joined.email}, with the role {joined.role}: {ROLE_TEXTS[joined.role]}.{' '}
          <a href="/console">Sign in</a>
        </p>
      </div>
    )
  return (
    <Form
      action="Join"
      submit={async (values) => {
        const password = textIn(values, 'password')
        const member = (await send('POST', '/console/api/invitations/accept', {
          body: { invitation, password },
        })) as Member
        // It is used up; nothing of it stays in the address or in the way back.
        history.replaceState(null, '', JOIN)
        setJoined(member)
        await signIn({ email: member.email, password })
        route('/console', true)
      }}
    >
      <NewPassword advice="You sign in with it, and with the e-mail address that was invited. There is no mail to reset it by: keep it." />
    </Form>
  )
}

export const Join = () => {
  const fragment = useFragment()
  const [invitation, setInvitation] = useState(fragment)
  useEffect(() => {
    if (fragment !== '') setInvitation(fragment)
  }, [fragment])
  const now = session.value
  return (
    <div class="gate">
      <Main title="Join an organisation" lead="Choose a password, and your account is made.">
        {invitation === '' ? (
          <div class="notice" data-tone="warn" role="alert">
            <p>
              This address has no invitation in it. Was the link copied in full, with all that stands behind
              the sign #?
            </p>
          </div>
        ) : now.state === 'in' ? (
          <SignedInAs email={now.me.email} />
        ) : (
          <Choose invitation={invitation} />
        )}
      </Main>
    </div>
  )
}
