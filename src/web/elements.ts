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
