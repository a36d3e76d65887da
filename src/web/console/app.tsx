/** The console as a whole: who is signed in decides between the sign-in and the page that the address names. @module */
import { render } from 'preact'
import { LocationProvider, useLocation } from 'preact-iso'
import type { Me } from '../../domain/accounts/schemas.ts'
import { keepFocus } from '../elements.ts'
import { addressOf, isAllowed, PAGES } from './directory.ts'
import { Frame } from './frame.tsx'
import { IDENTITY_RETURN, IdentityReturn } from './identity-return.tsx'
import { JOIN, Join } from './join.tsx'
import type { Page } from './page.ts'
import { Lazily } from './parts/lazily.tsx'
import { Main } from './parts/main.tsx'
import { askWho, session, watchWho } from './session.ts'
import { SignedOut } from './sign-in.tsx'

const NotFound = () => (
  <Main
    title="There is no such page"
    lead="The address may be mistyped, or from another version of the console."
  >
    <p>
      <a href="/console">Go to Home</a>
    </p>
  </Main>
)

const NotAllowed = ({ page }: { readonly page: Page }) => (
  <Main title={page.title}>
    <p>
      Your account lacks the right <code>{page.scope}</code>, which this page needs. An owner of the
      organisation can give it to you.
    </p>
  </Main>
)

const Shown = ({ me }: { readonly me: Me }) => {
  const { path } = useLocation()
  const page = PAGES.find((one) => addressOf(one) === path)
  if (page === undefined) return <NotFound />
  return isAllowed(page, me) ? <Lazily key={page.title} page={page} me={me} /> : <NotAllowed page={page} />
}

const App = () => {
  const { path } = useLocation()
  const now = session.value
  if (now.state === 'asking')
    return (
      <main id="main">
        <p role="status">Loading…</p>
      </main>
    )
  if (now.state === 'unknown')
    return (
      <Main title="Not reached">
        <div class="notice" data-tone="bad" role="alert">
          <p>{now.reason}</p>
          <button type="button" class="plain" onClick={askWho}>
            Try again
          </button>
        </div>
      </Main>
    )
  if (path === JOIN) return <Join />
  if (path === IDENTITY_RETURN) return <IdentityReturn />
  if (now.state === 'out') return <SignedOut ended={now.ended} />
  // Another account starts anew: nothing that was read or typed for the one before is left.
  return (
    <Frame key={`${now.me.organisationId} ${now.me.email}`} me={now.me}>
      <Shown me={now.me} />
    </Frame>
  )
}

/** Shows the console in place of what the document says without it. */
export const mount = (root: HTMLElement): void => {
  watchWho()
  keepFocus()
  root.replaceChildren()
  render(
    <LocationProvider scope="/console">
      <App />
    </LocationProvider>,
    root,
  )
  void askWho()
}
