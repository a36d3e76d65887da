/** Getting at the page, and writing into it: text only, never markup. @module */

/** @throws Error when the page has no such element */
export const byId = <T extends Element>(id: string, kind: new () => T): T => {
  const element = document.getElementById(id)
  if (!(element instanceof kind)) throw new Error(`the page has no ${kind.name} called ${id}`)
  return element
}

/** @returns the part of an address as it reads without percent signs, undefined where that is malformed */
export const decoded = (part: string): string | undefined => {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

export type Child = Node | string

/** A new element. Strings become text. */
export const make = <K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string>>,
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] => {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  element.append(...children)
  return element
}

/** Says something new and nothing else: what is said already is not said again to those who listen. */
export const say = (element: Element, text: string): void => {
  if (element.textContent !== text) element.textContent = text
}

/**
 * Call once. Where what has the focus goes, such as the button of a row that is removed, the heading of the page takes it, or that of
 * the window over it, unless something else does: whoever works by keyboard or ear keeps a place (WCAG 2.4.3). What is seen stays.
 */
export const keepFocus = (): void => {
  let last: EventTarget | null = null
  document.addEventListener('focusin', ({ target }) => {
    last = target
  })
  const look = (): void => {
    if (!(last instanceof Element) || last.isConnected || document.activeElement !== document.body) return
    const heading =
      document.querySelector<HTMLElement>('dialog[open] h2') ?? document.querySelector<HTMLElement>('main h1')
    // While nothing is shown, there is none: it comes with a later change.
    if (heading === null) return
    heading.tabIndex = -1
    heading.focus({ preventScroll: true })
  }
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true })
}
