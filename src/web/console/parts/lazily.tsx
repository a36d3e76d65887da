/** A page's own code, which is fetched when the page is first visited: nobody waits for pages that they don't open. @module */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Page, PageProps } from '../page.ts'

/** What was fetched, so that a page that was left comes back at once. */
const fetched = new Map<Page, ComponentType<PageProps>>()

export const Lazily = ({ page, me }: PageProps & { readonly page: Page }) => {
  const [, setFetched] = useState(0)
  const [failed, setFailed] = useState(false)
  const Component = fetched.get(page)
  useEffect(() => {
    if (Component !== undefined) return
    page
      .load()
      .then((component) => {
        fetched.set(page, component)
        setFetched((count) => count + 1)
      })
      // The browser doesn't say why a module could not be had: a network that is down, or a file of the version before.
      .catch(() => setFailed(true))
  }, [page])
  if (Component !== undefined) return <Component me={me} />
  return (
    <main id="main" tabIndex={-1}>
      {failed ? (
        <div class="notice" data-tone="bad" role="alert">
          <h1>{page.title}</h1>
          <p>This page could not be loaded: the network is down, or the service was updated meanwhile.</p>
          <button type="button" class="plain" onClick={() => location.reload()}>
            Load the console again
          </button>
        </div>
      ) : (
        <p role="status">Loading…</p>
      )}
    </main>
  )
}
