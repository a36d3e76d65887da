/** Any page of the documentation, which is whole without this. @module */
import { offerSearch } from './docs/search.ts'
import type { Trial } from './docs/trial.tsx'
import { decoded, make } from './elements.ts'

/** Of a long list of contents, the part that this page is in. */
const showWhere = (): void => {
  const contents = document.getElementById('contents')
  const current = contents?.querySelector<HTMLElement>('[aria-current]')
  // Not scrollIntoView, which would scroll the page as well.
  if (contents && current) contents.scrollTop = current.offsetTop - contents.clientHeight / 2
}

/** What is folded around the place that the address names. */
const unfold = (): void => {
  const place = document.getElementById(decoded(location.hash.slice(1)) ?? '')
  for (let around = place?.closest('details'); around; around = around.parentElement?.closest('details'))
    around.open = true
}

const begin = async (section: HTMLElement, button: HTMLButtonElement): Promise<void> => {
  const trial = JSON.parse(section.dataset.trial ?? '') as Trial
  const place = make('div', { class: 'trial' })
  // What became of the last try.
  button.nextElementSibling?.remove()
  try {
    const { openTrial } = await import('./docs/trial.tsx')
    button.replaceWith(place)
    openTrial(place, trial, section.dataset.operation ?? '')
  } catch {
    button.after(make('p', { class: 'error', role: 'alert' }, 'The form could not be loaded. Try again.'))
  }
}

/** A button below each example that can be run here. The form is loaded when the first one is asked for. */
const offerTrials = (): void => {
  for (const section of document.querySelectorAll<HTMLElement>('[data-trial]')) {
    const title = section.querySelector('h2')?.firstChild?.textContent?.trim() ?? ''
    const button = make(
      'button',
      { type: 'button', class: 'plain' },
      'Try it',
      make('span', { class: 'away' }, `: ${title}`),
    )
    button.addEventListener('click', () => void begin(section, button))
    section.append(button)
  }
}

addEventListener('hashchange', unfold)
unfold()
showWhere()
offerSearch()
offerTrials()
