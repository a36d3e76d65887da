/** The prompts beside the messages: that of the day, by category, found by words, at random. @module */
import type { Prompt, PromptList } from '../../domain/chat/prompts/schemas-prompts.ts'
import { byId, make, say } from '../elements.ts'
import { UnreachableError } from '../http.ts'
import { counted } from './counted.ts'
import { RefusedError, service } from './service.ts'
import { linkTo } from './views.ts'

/** The prompts stand beside the messages, not above them. */
const WIDE = '(min-width: 56rem)'
/** Typing is over when it paused this long. */
const TYPING_MS = 250

export interface Prompts {
  /** Title of a prompt, its id while it is not known. */
  title(id: string): string
}

const promptLink = ({ id, title }: Prompt): HTMLElement =>
  make('a', { href: linkTo({ kind: 'prompt', id }) }, title)

const promptItem = (prompt: Prompt): HTMLElement =>
  make('li', {}, promptLink(prompt), ' ', make('span', { class: 'quiet' }, prompt.kind))

/** The categories that have prompts, each with its own. */
const byCategory = ({ categories, prompts }: PromptList, open: boolean): readonly HTMLElement[] =>
  categories.flatMap(({ id, name, blurb }) => {
    const own = prompts.filter(({ category }) => category === id)
    if (own.length === 0) return []
    return [
      make(
        'details',
        { class: 'category', ...(open && { open: '' }) },
        make('summary', {}, `${name} (${own.length})`),
        make('p', { class: 'quiet' }, blurb),
        make('ul', {}, ...own.map(promptItem)),
      ),
    ]
  })

/** A prompt in full, as the view of its replies begins. */
export const promptCard = (
  { category, kind, title, text, tags }: Prompt,
  write: () => void,
): readonly HTMLElement[] => {
  const answer = make('button', { type: 'button' }, 'Answer it')
  answer.addEventListener('click', write)
  return [
    make('p', { class: 'quiet' }, [category, kind, ...tags].join(' · ')),
    make('h3', {}, title),
    make('p', {}, text),
    make('p', { class: 'send' }, answer),
  ]
}

export const preparePrompts = (): Prompts => {
  const titles = new Map<string, string>()
  const catalogue = byId('catalogue', HTMLDetailsElement)
  const words = byId('prompt-words', HTMLInputElement)
  const found = byId('prompts-found', HTMLElement)
  let asked = 0

  const showDaily = ({ daily: { prompt } }: PromptList): void => {
    const box = byId('daily', HTMLElement)
    box.hidden = false
    box.replaceChildren(
      make('p', { class: 'quiet' }, 'Prompt of the day'),
      make('h3', {}, promptLink(prompt)),
      make('p', {}, prompt.text),
    )
  }
  const remember = ({ prompts }: PromptList): void => {
    for (const { id, title } of prompts) titles.set(id, title)
    for (const link of document.querySelectorAll<HTMLElement>('[data-prompt]'))
      say(link, titles.get(link.dataset.prompt ?? '') ?? link.dataset.prompt ?? '')
  }
  const look = async (): Promise<void> => {
    const own = ++asked
    const q = words.value.trim()
    try {
      const list = await service.prompts(q === '' ? undefined : q)
      if (own !== asked) return
      showDaily(list)
      remember(list)
      byId('categories', HTMLElement).replaceChildren(...byCategory(list, q !== ''))
      say(found, q === '' ? '' : `${counted(list.prompts.length, 'prompt')} found`)
    } catch (error) {
      if (own === asked) tell(error)
    }
  }
  const tell = (error: unknown): void => {
    if (!(error instanceof UnreachableError || error instanceof RefusedError)) throw error
    say(found, `The prompts can’t be had right now. ${error.message}`)
  }
  const toRandom = async (): Promise<void> => {
    try {
      const { prompt } = await service.randomPrompt()
      location.hash = linkTo({ kind: 'prompt', id: prompt.id })
    } catch (error) {
      tell(error)
    }
  }

  let typing: ReturnType<typeof setTimeout> | undefined
  words.addEventListener('input', () => {
    clearTimeout(typing)
    typing = setTimeout(look, TYPING_MS)
  })
  byId('find-prompts', HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault()
    clearTimeout(typing)
    void look()
  })
  byId('random', HTMLElement).addEventListener('click', () => void toRandom())
  // What failed while the network was away is asked again when it is back.
  addEventListener('online', () => void look())
  catalogue.open = matchMedia(WIDE).matches
  void look()
  return { title: (id) => titles.get(id) ?? id }
}
