/** A list of messages with a past, read page by page, and a present, which comes live. @module */
import type { Message } from '../../domain/chat/schemas.ts'
import { make, say } from '../elements.ts'
import { UnreachableError } from '../http.ts'
import { counted } from './counted.ts'
import type { MessageActions } from './message.ts'
import { createMessageList } from './message-list.ts'
import { RefusedError } from './service.ts'

const NOT_FOUND = 404
/** Live messages are shown together, so that a busy chat moves the page a few times a second at most. */
const GATHER_MS = 150
/** More than these at the end of a list are let go; its next page has them. */
const MAX_SHOWN_MESSAGES = 400
/** When more than these wait to be shown, the list is read anew instead. */
const MAX_WAITING_MESSAGES = 100

export interface Page {
  readonly messages: readonly Message[]
  /** Cursor of the next page; null: there is none. */
  readonly next: number | null
}

/** Where a list comes from. */
export interface Source {
  readonly newestFirst: boolean
  /** What an empty list says. */
  readonly empty: string
  /** What is said where there is no such list. */
  readonly absent?: string
  /** The first page without a cursor. @throws UnreachableError, RefusedError */
  page(cursor?: number): Promise<Page>
  /** Whether a live message belongs here. */
  takes(message: Message): boolean
}

export interface Feed {
  readonly element: HTMLElement
  /** The highest id shown, 0 where there is none. */
  readonly newest: number
  /** Reads the first page anew. @throws UnreachableError, RefusedError, when it has shown them */
  load(): Promise<void>
  /** A message came live. */
  live(message: Message): void
  /** One's own post is shown at once, with all that waits. */
  own(message: Message): void
  removed(id: number): void
  /** Whether live messages wait until they are asked for. */
  still(still: boolean): void
  item(id: number): HTMLElement | undefined
}

/** Whether somebody reads further down, or is at something in it: then it must not move. */
const isBeingRead = (element: HTMLElement): boolean =>
  element.contains(document.activeElement) ||
  (element.checkVisibility() && element.getBoundingClientRect().top < 0)

const waitingWords = (count: number): string => {
  if (count > MAX_WAITING_MESSAGES) return `Show more than ${MAX_WAITING_MESSAGES} new messages`
  return `Show ${counted(count, 'new message')}`
}

/** What was not had was told already, unless it is a fault of this page. */
const told = (loading: Promise<void>): Promise<void> =>
  loading.catch((error: unknown) => {
    if (!(error instanceof UnreachableError || error instanceof RefusedError)) throw error
  })

const frameOf = (list: HTMLElement, olderWords: string) => {
  const button = (className: string, words: string) =>
    make('button', { type: 'button', class: className, hidden: '' }, words)
  const parts = {
    fresh: button('fresh', ''),
    status: make('p', { class: 'quiet', role: 'status' }),
    again: button('plain', 'Try again'),
    more: button('plain', olderWords),
  }
  const { fresh, status, again, more } = parts
  return { ...parts, element: make('div', { class: 'feed' }, fresh, list, status, again, more) }
}

export const createFeed = (source: Source, actions: MessageActions): Feed => {
  const list = createMessageList(source.newestFirst, actions)
  const frame = frameOf(list.element, source.newestFirst ? 'Older messages' : 'Later messages')
  const { element, fresh, status, again, more } = frame
  let waiting: Message[] = []
  let next: number | null = null
  let isStill = false
  let gathering: ReturnType<typeof setTimeout> | undefined

  /** What the buttons say; `words` is what else there is to say. */
  const show = (words = list.size === 0 ? source.empty : '', isRetryable = false): void => {
    say(status, words)
    again.hidden = !isRetryable
    more.hidden = next === null || isRetryable
    fresh.hidden = waiting.length === 0
    say(fresh, waitingWords(waiting.length))
  }
  const read = async (cursor: number | undefined): Promise<void> => {
    show('Loading…')
    try {
      const page = await source.page(cursor)
      if (cursor === undefined) list.clear()
      for (const message of page.messages) list.add(message)
      next = page.next
      show()
    } catch (error) {
      const isAbsent = error instanceof RefusedError && error.status === NOT_FOUND
      show((isAbsent && source.absent) || (error instanceof Error ? error.message : ''), !isAbsent)
      throw error
    }
  }
  const load = (): Promise<void> => {
    // The first page has the latest of them, and the others belong to pages after it.
    if (waiting.length > MAX_WAITING_MESSAGES) waiting = []
    return read(undefined)
  }
  const release = (): void => {
    if (waiting.length > MAX_WAITING_MESSAGES) {
      void told(load())
      return
    }
    for (const message of waiting) list.add(message)
    waiting = []
    if (source.newestFirst) next = list.shorten(MAX_SHOWN_MESSAGES) ?? next
    show()
  }
  const gathered = (): void => {
    gathering = undefined
    if (isStill || (source.newestFirst && isBeingRead(element))) show()
    else release()
  }
  const live = (message: Message): void => {
    if (list.has(message.id) || waiting.some(({ id }) => id === message.id)) return
    if (message.reply_to !== null) list.countReply(message.reply_to)
    // Pages yet to come have what follows them.
    if (!source.takes(message) || (!source.newestFirst && next !== null)) return
    waiting.push(message)
    if (gathering === undefined) gathering = setTimeout(gathered, GATHER_MS)
  }

  fresh.addEventListener('click', () => {
    release()
    element.scrollIntoView({ block: 'start' })
    list.element.querySelector('li')?.focus({ preventScroll: true })
  })
  more.addEventListener('click', () => void told(read(next ?? undefined)))
  again.addEventListener('click', () => void told(list.size === 0 ? load() : read(next ?? undefined)))

  return {
    element,
    get newest() {
      return list.newest
    },
    load,
    live,
    own(message) {
      live(message)
      release()
    },
    removed(id) {
      waiting = waiting.filter((message) => message.id !== id)
      list.remove(id)
      fresh.hidden = waiting.length === 0
      say(fresh, waitingWords(waiting.length))
    },
    still(still) {
      isStill = still
      if (!still && waiting.length > 0) gathered()
    },
    item: list.item,
  }
}
