/** What stands around every page of who is signed in: their name, and the sidebar. @module */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { Me } from '../../domain/accounts/schemas.ts'
import { addressOf, GROUPS, isAllowed } from './directory.ts'
import { rethrowFault, wordsOf } from './service.ts'
import { signOut } from './session.ts'

const Sidebar = ({ me }: { readonly me: Me }) => {
  const { path } = useLocation()
  const [open, setOpen] = useState(false)
  useEffect(() => setOpen(false), [path])
  const groups = GROUPS.map(({ title, pages }) => ({
    title,
    pages: pages.filter((page) => isAllowed(page, me)),
  }))
  return (
    <nav class="sidebar" aria-label="Console">
      <button
        type="button"
        class="plain menu"
        aria-expanded={open}
        aria-controls="sidebar-pages"
        onClick={() => setOpen(!open)}
      >
        Menu
      </button>
      <div id="sidebar-pages" class={open ? 'pages open' : 'pages'}>
        {groups
          .filter(({ pages }) => pages.length > 0)
          .map(({ title, pages }) => (
            <div key={title} class="group">
              <p class="group-title">{title}</p>
              <ul>
                {pages.map((page) => (
                  <li key={page.title}>
                    <a href={addressOf(page)} aria-current={addressOf(page) === path ? 'page' : undefined}>
                      {page.title}
                    </a>
                  </li>
                ))}
              </ul>
            </div>
          ))}
      </div>
    </nav>
  )
}

const Who = ({ me }: { readonly me: Me }) => {
  const [problem, setProblem] = useState('')
  const [busy, setBusy] = useState(false)
  const leave = async (): Promise<void> => {
    if (busy) return
    setBusy(true)
    try {
      await signOut()
    } catch (error) {
      setProblem(`You are still signed in: ${wordsOf(error)}`)
      rethrowFault(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <section class="who" aria-label="Signed in">
      <p>
        <strong>{me.organisation}</strong> <span class="quiet">{me.email}</span>
      </p>
      <button type="button" class="plain" aria-disabled={busy} onClick={leave}>
        Sign out
      </button>
      <p class="error" role="alert">
        {problem}
      </p>
    </section>
  )
}

export const Frame = ({ me, children }: { readonly me: Me; readonly children: ComponentChildren }) => (
  <div class="frame">
    <Who me={me} />
    <Sidebar me={me} />
    {children}
  </div>
)
