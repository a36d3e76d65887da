/** Where the identity provider sends people back to: signs them in, or links their account. @module */
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { Main } from './parts/main.tsx'
import { rethrowFault, send, wordsOf } from './service.ts'
import { ask, askWho, session } from './session.ts'

export const IDENTITY_RETURN = '/console/oidc'
/** Links while somebody is signed in. */
const ACCOUNT = '/console/account'

export const IdentityReturn = () => {
  const { route } = useLocation()
  const [problem, setProblem] = useState('')
  // Who comes back to link is signed in; signing in begins where nobody is.
  const [links] = useState(session.value.state === 'in')
  useEffect(() => {
    const body = { query: location.search }
    // What the provider answered is of no use twice, and has no place in the history.
    history.replaceState(null, '', IDENTITY_RETURN)
    const finish = async (): Promise<void> => {
      try {
        if (links) await ask('POST', '/console/api/oidc/link/confirm', { body })
        else {
          await send('POST', '/console/api/oidc/session', { body })
          await askWho()
        }
        route(links ? ACCOUNT : '/console', true)
      } catch (error) {
        setProblem(wordsOf(error))
        rethrowFault(error)
      }
    }
    void finish()
  }, [])
  if (problem === '')
    return (
      <main id="main">
        <p role="status">Signing in…</p>
      </main>
    )
  return (
    <Main title={links ? 'Not linked' : 'Not signed in'}>
      <div class="notice" data-tone="bad" role="alert">
        <p>{problem}</p>
      </div>
      <p>{links ? <a href={ACCOUNT}>Back to Account</a> : <a href="/console">Back to Sign in</a>}</p>
    </Main>
  )
}
