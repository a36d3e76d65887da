/** The account that is signed in: what it is called, its password, and where else it is signed in. @module */
import { useState } from 'preact/hooks'
import type { SessionList } from '../../../domain/accounts/schemas.ts'
import type { PageProps } from '../page.ts'
import { Field, FieldError, Form, textIn } from '../parts/form.tsx'
import { useReading } from '../parts/loaded.tsx'
import { Main } from '../parts/main.tsx'
import { NewPassword } from '../parts/password.tsx'
import { Copyable } from '../parts/secret.tsx'
import { Sessions } from '../parts/sessions.tsx'
import { number, State } from '../parts/text.tsx'
import { ask } from '../session.ts'
import { Identity, useLink } from './identity.tsx'
import { SecondFactor } from './second-factor.tsx'

const ChangePassword = ({ changed }: { changed(): Promise<void> }) => {
  const [said, say] = useState('')
  return (
    <section aria-labelledby="password">
      <h2 id="password">Change the password</h2>
      <p>All other sessions of the account end with it, and an identity that is linked is unlinked.</p>
      <Form
        action="Change password"
        clears
        submit={async (values) => {
          say('')
          const newPassword = textIn(values, 'newPassword')
          if (newPassword !== textIn(values, 'again'))
            throw new FieldError('again', 'This is not the same password.')
          await ask('PUT', '/console/api/password', {
            body: { currentPassword: textIn(values, 'currentPassword'), newPassword },
          })
          say('The password was changed, and all other sessions have ended.')
          await changed()
        }}
      >
        <Field
          name="currentPassword"
          type="password"
          label="Current password"
          required
          autocomplete="current-password"
        />
        <NewPassword name="newPassword" label="New password" />
        <Field name="again" type="password" label="New password again" required autocomplete="new-password" />
      </Form>
      <p role="status">{said}</p>
    </section>
  )
}

export const Account = ({ me }: PageProps) => {
  const sessions = useReading<SessionList>('/console/api/sessions')
  const link = useLink()
  /** Other sessions end, and with a new password or one-time codes the link as well. */
  const changed = async (): Promise<void> => {
    await Promise.all([sessions.again(), link.again()])
  }
  return (
    <Main title="Account">
      <section aria-labelledby="you">
        <h2 id="you">You and your organisation</h2>
        <dl>
          <dt>E-mail</dt>
          <dd>{me.email}</dd>
          <dt>Organisation</dt>
          <dd>{me.organisation}</dd>
          <dt>Subscription</dt>
          <dd>
            {me.subscription === 'active' ? (
              <State tone="good">Active</State>
            ) : (
              <State tone="warn">Inactive: the free proofs are used, while there are any</State>
            )}
          </dd>
          <dt>Requests per minute</dt>
          <dd>{number(me.rateLimitPerMinute)}</dd>
        </dl>
        <Copyable label="Organisation id" value={me.organisationId} />
        <Copyable label="Default merchant id" value={me.merchantId} />
      </section>

      <Sessions reading={sessions} />
      <Identity link={link} />
      <SecondFactor changed={changed} />
      <ChangePassword changed={changed} />
    </Main>
  )
}
