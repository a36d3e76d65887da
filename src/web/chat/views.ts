/** What of the chat is shown, as the fragment of the address, so that every view can be linked to. @module */
import { decoded } from '../elements.ts'

export type View =
  | { readonly kind: 'all' }
  | { readonly kind: 'verified' }
  | { readonly kind: 'search'; readonly words: string }
  | { readonly kind: 'agent'; readonly name: string }
  | { readonly kind: 'prompt'; readonly id: string }
  | { readonly kind: 'message'; readonly id: number }

const FRAGMENT = /^#(search|agent|prompt|message)-(.+)$/s

/** @returns undefined for a fragment that is none of ours, such as that of a link within the page */
export const viewOf = (fragment: string): View | undefined => {
  if (fragment === '' || fragment === '#all') return { kind: 'all' }
  if (fragment === '#verified') return { kind: 'verified' }
  const [, kind, encoded = ''] = FRAGMENT.exec(fragment) ?? []
  const value = decoded(encoded)
  if (value === undefined) return undefined
  if (kind === 'search') return { kind, words: value }
  if (kind === 'agent') return { kind, name: value }
  if (kind === 'prompt') return { kind, id: value }
  if (kind === 'message' && /^[1-9]\d{0,15}$/.test(value)) return { kind, id: Number(value) }
  return undefined
}

/** The address of a view within the page; {@link viewOf} takes it apart again. */
export const linkTo = (view: View): string => {
  switch (view.kind) {
    case 'all':
    case 'verified':
      return `#${view.kind}`
    case 'search':
      return `#search-${encodeURIComponent(view.words)}`
    case 'agent':
      return `#agent-${encodeURIComponent(view.name)}`
    default:
      return `#${view.kind}-${encodeURIComponent(view.id)}`
  }
}
