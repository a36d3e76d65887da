/** The field that finds places, and what it found below it. Nothing is loaded until it is used. @module */
import { byId, make, say } from '../elements.ts'
import type { Place } from './finding.ts'

const load = () => import('./index-asked.ts')

const entry = ({ url, title, kind, note }: Place): HTMLElement =>
  make(
    'li',
    {},
    make(
      'a',
      { href: url },
      make('span', { class: 'found-title' }, title),
      make('span', { class: 'found-kind' }, kind),
      make('span', { class: 'found-note' }, note),
    ),
  )

const summary = (count: number, text: string): string => {
  if (count === 0) return `Nothing is called “${text}”. The first page lists everything.`
  return count === 1 ? '1 place' : `${count} places`
}

/** Puts the field where the page keeps a place for it. */
export const offerSearch = (): void => {
  const field = make('input', {
    id: 'sought',
    type: 'search',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: 'Path, name, error, words',
    'aria-controls': 'found',
  })
  const count = make('p', { class: 'found-count', role: 'status' })
  const list = make('ul', {})
  const panel = make('div', { id: 'found', hidden: '' }, count, list)
  byId('docs-search', HTMLElement).append(make('label', { for: 'sought' }, 'Search the docs'), field, panel)

  const close = () => {
    panel.hidden = true
    list.replaceChildren()
  }
  const show = async (): Promise<void> => {
    const text = field.value.trim()
    if (text === '') return close()
    panel.hidden = false
    try {
      const { find } = await load()
      // Meanwhile the reader may have typed on, or left.
      if (field.value.trim() !== text || panel.hidden) return
      const found = find(text)
      list.replaceChildren(...found.map(entry))
      say(count, summary(found.length, text))
    } catch {
      say(count, 'The search could not be loaded. The first page lists everything.')
    }
  }
  const step = (by: number): void => {
    const stops: HTMLElement[] = [field, ...list.querySelectorAll('a')]
    const at = stops.indexOf(document.activeElement as HTMLElement)
    stops[Math.min(Math.max(at + by, 0), stops.length - 1)]?.focus()
  }
  field.addEventListener('focus', () => void load().catch(() => undefined), { once: true })
  field.addEventListener('input', () => void show())
  const around = byId('docs-search', HTMLElement)
  around.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && event.target === field) list.querySelector('a')?.click()
    else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') step(event.key === 'ArrowDown' ? 1 : -1)
    else if (event.key === 'Escape') {
      close()
      field.focus()
    } else return
    event.preventDefault()
  })
  // A place on this very page is reached without leaving it.
  list.addEventListener('click', close)
  document.addEventListener('pointerdown', ({ target }) => {
    if (target instanceof Node && !around.contains(target)) close()
  })
}
