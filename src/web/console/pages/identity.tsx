/** The identity that the account is linked to, at the operator's identity provider. @module */
import { useState } from 'preact/hooks'
import type { FlowStarted, Link } from '../../../domain/accounts/oidc/schemas.ts'
import { CodeField } from '../parts/code.tsx'
import { FormDialog } from '../parts/confirm.tsx'
import { Field, Form, textIn } from '../parts/form.tsx'
import { Loaded, type Reading, useReading } from '../parts/loaded.tsx'
import { State, Time } from '../parts/text.tsx'
import { ServiceError } from '../service.ts'
import { ask } from '../session.ts'

const LINK = '/console/api/oidc/link'

const StartLink = ({ name }: { readonly name: string }) => {
  const [needsCode, setNeedsCode] = useState(false)
  return (
    <details class="box">
      <summary>Link the account</summary>
      <p>You sign in at {name} now, and can sign in here with it from then on, without password and code.</p>
      <Form
        action="Go on"
        submit={async (values) => {
          const code = needsCode ? { code: textIn(values, 'code') } : {}
          try {
            const body = { password: textIn(values, 'password'), ...code }
            location.assign((await ask<FlowStarted>('POST', LINK, { body })).url)
          } catch (error) {
            if (!(error instanceof ServiceError && error.code === 'totp_required')) throw error
            setNeedsCode(true)
          }
        }}
      >
        <Field name="password" type="password" label="Password" required autocomplete="current-password" />
        {needsCode && <CodeField />}
      </Form>
    </details>
  )
}

/** What the account is linked with, for `Identity`. */
export const useLink = (): Reading<Link> => useReading<Link>(LINK)

/** Nothing, where there is no provider. */
export const Identity = ({ link }: { readonly link: Reading<Link> }) => {
  const [unlinking, setUnlinking] = useState(false)
  if (link.value !== undefined && link.value.name === null && link.value.linkedAt === null) return null
  const name = link.value?.name ?? 'the identity provider'
  return (
    <section aria-labelledby="identity">
      <h2 id="identity">Sign in with {name}</h2>
      <Loaded of={link}>
        {({ linkedAt }) =>
          linkedAt === null ? (
            <>
              <p>
                <State tone="quiet">Not linked</State>
              </p>
              <StartLink name={name} />
            </>
          ) : (
            <>
              <p>
                <State tone="good">Linked</State> since <Time at={linkedAt} />
              </p>
              <button type="button" class="plain danger" onClick={() => setUnlinking(true)}>
                Unlink
              </button>
            </>
          )
        }
      </Loaded>
      {unlinking && (
        <FormDialog
          title={`Unlink the account from ${name}?`}
          action="Unlink account"
          danger
          close={() => setUnlinking(false)}
          submit={async () => {
            await ask('DELETE', LINK)
            await link.again()
          }}
        >
          <p>Only your password opens the account then. It can be linked again.</p>
        </FormDialog>
      )}
    </section>
  )
}
