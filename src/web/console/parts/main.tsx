/** A page with its title, which is announced. @module */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

interface MainProps {
  readonly title: string
  readonly lead?: ComponentChildren
  readonly children: ComponentChildren
}

/** The document has shown a page already; its first leaves the focus to the browser. */
let hasShown = false

/** A page: its heading takes the focus, so that screen readers say where one is. */
export const Main = ({ title, lead, children }: MainProps) => {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Console · Assay`
    if (hasShown) heading.current?.focus()
    hasShown = true
  }, [title])
  return (
    <main id="main" tabIndex={-1}>
      <h1 tabIndex={-1} ref={heading}>
        {title}
      </h1>
      {lead !== undefined && <p class="lead">{lead}</p>}
      {children}
    </main>
  )
}
