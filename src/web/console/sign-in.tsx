/** What people see who are not signed in: sign-in, or sign-up, at whatever address they came to. @module */
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { FlowStarted, ProviderInfo } from '../../domain/accounts/oidc/schemas.ts'
import { CodeField } from './parts/code.tsx'
import { Field, Form, textIn } from './parts/form.tsx'
import { Main } from './parts/main.tsx'
import { MAX_PASSWORD_CHARACTERS, NewPassword } from './parts/password.tsx'
import { rethrowFault, ServiceError, send, wordsOf } from './service.ts'
import { signIn, signUp } from './session.ts'

const SIGN_UP = '/console/sign-up'
const PROVIDER = '/console/api/oidc'
const MAX_EMAIL_CHARACTERS = 254
const MAX_NAME_CHARACTERS = 100

const Email = () => (
  <Field
    name="email"
    type="email"
    label="E-mail"
    required
    autocomplete="username"
    maxLength={MAX_EMAIL_CHARACTERS}
  />
)

const SignUp = () => {
  const { route } = useLocation()
  return (
    <Main
      title="Create an account"
      lead="It comes with an organisation of its own and 100 free proofs, which are valid for 30 days."
    >
      <Form
        action="Create account"
        submit={async (values) => {
          await signUp({
            email: textIn(values, 'email'),
            password: textIn(values, 'password'),
            organisation: textIn(values, 'organisation'),
          })
          route('/console', true)
        }}
      >
        <Field
          name="organisation"
          label="Organisation"
          hint="Your firm or project, as others should see it."
          required
          maxLength={MAX_NAME_CHARACTERS}
          autocomplete="organization"
        />
        <Email />
        <NewPassword advice="There is no mail to reset it by: keep it." />
      </Form>
      <p>
        You have one already? <a href="/console">Sign in</a>
      </p>
    </Main>
  )
}

interface Typed {
  readonly email: string
  readonly password: string
}

/** Signing in elsewhere, where the operator offers it. Nothing is said until it is known. */
const WithProvider = () => {
  const [name, setName] = useState<string | null>(null)
  const [problem, setProblem] = useState('')
  const saying = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      setProblem(wordsOf(error))
      rethrowFault(error)
    }
  }
  useEffect(() => {
    void saying(async () => setName(((await send('GET', PROVIDER)) as ProviderInfo).name))
  }, [])
  const go = () =>
    saying(async () => location.assign(((await send('POST', PROVIDER, { body: {} })) as FlowStarted).url))
  return (
    <>
      {name !== null && (
        <p>
          <button type="button" class="plain" onClick={go}>
            Sign in with {name}
          </button>
        </p>
      )}
      <p class="error" role="alert">
        {problem}
      </p>
    </>
  )
}

/** Asks for e-mail and password, and for a code where the account needs one. */
const PasswordForm = ({ needsCode }: { needsCode(typed: Typed): void }) => (
  <>
    <Form
      action="Sign in"
      submit={async (values) => {
        const typed = { email: textIn(values, 'email'), password: textIn(values, 'password') }
        try {
          await signIn(typed)
        } catch (error) {
          if (!(error instanceof ServiceError && error.code === 'totp_required')) throw error
          needsCode(typed)
        }
      }}
    >
      <Email />
      <Field
        name="password"
        type="password"
        label="Password"
        required
        maxLength={MAX_PASSWORD_CHARACTERS}
        autocomplete="current-password"
      />
    </Form>
    <WithProvider />
    <p>
      No account yet? <a href={SIGN_UP}>Create one</a>
    </p>
  </>
)

const CodeForm = ({ typed, back }: { readonly typed: Typed; back(): void }) => {
  const form = useRef<HTMLDivElement>(null)
  useEffect(() => form.current?.querySelector('input')?.focus(), [])
  return (
    <div ref={form}>
      <p role="status">
        The password of <strong class="name">{typed.email}</strong> is right. This account also needs a code.
      </p>
      <Form
        action="Sign in"
        submit={(values) => signIn({ ...typed, code: textIn(values, 'code') })}
        beside={
          <button type="button" class="plain" onClick={back}>
            Start again
          </button>
        }
      >
        <CodeField />
      </Form>
    </div>
  )
}

const SignIn = ({ ended }: { readonly ended: boolean }) => {
  const [typed, setTyped] = useState<Typed | undefined>()
  return (
    <Main title="Sign in">
      {ended && (
        <div class="notice" data-tone="warn" role="alert">
          <p>
            Your session has ended. Sign in again to go on where you were. What was typed and not sent is
            gone.
          </p>
        </div>
      )}
      {typed === undefined ? (
        <PasswordForm needsCode={setTyped} />
      ) : (
        <CodeForm typed={typed} back={() => setTyped(undefined)} />
      )}
    </Main>
  )
}

export const SignedOut = ({ ended }: { readonly ended: boolean }) => {
  const { path } = useLocation()
  return <div class="gate">{path === SIGN_UP ? <SignUp /> : <SignIn ended={ended} />}</div>
}
