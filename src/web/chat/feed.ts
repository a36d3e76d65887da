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
  /** The highest id of the first page as it was read last, 0 where there is none. */
  readonly newest: number
  /** Reads the first page anew. @throws UnreachableError, RefusedError, when it has shown them */
  load(): Promise<void>
  /** A message came live. */
  live(message: Message): void
  /** One's own post is shown at once where it belongs, with all that waits. */
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

const waitingWords = (count: number, isOverfull: boolean): string =>
  isOverfull ? `Show more than ${MAX_WAITING_MESSAGES} new messages` : `Show ${counted(count, 'new message')}`

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
  /** Whether more came than may wait: then the first page is read anew, which has the latest of them. */
  let isOverfull = false
  /** What came live since the page that is being read was asked for, which may lack it. */
  let meanwhile: Message[] = []
  let newest = 0
  let next: number | null = null
  /** The page that is being read. */
  let reading: 'first' | 'next' | undefined
  /** The page that could not be read. */
  let failed: 'first' | 'next' | undefined
  /** Counts reads, so that a late answer to a former one is known as such. */
  let reads = 0
  let latest: Promise<void> = Promise.resolve()
  /** What is said of the latest read; nothing once it has shown what it read. */
  let words = ''
  let isStill = false
  let gathering: ReturnType<typeof setTimeout> | undefined

  const show = (): void => {
    say(status, words === '' && list.size === 0 ? source.empty : words)
    again.hidden = failed === undefined
    more.hidden = next === null || failed !== undefined
    fresh.hidden = waiting.length === 0 && !isOverfull
    say(fresh, waitingWords(waiting.length, isOverfull))
  }
  const showPage = ({ messages, next: after }: Page): void => {
    const isFirst = reading === 'first'
    reading = undefined
    words = ''
    next = after
    if (isFirst) {
      list.clear()
      // The first page has the latest of them, and the others belong to pages after it.
      waiting = []
      isOverfull = false
      newest = Math.max(0, ...messages.map(({ id }) => id))
    }
    for (const message of messages) list.add(message)
    const late = meanwhile.splice(0)
    if (isFirst) {
      for (const message of late) if (belongs(message)) live(message)
      release()
    } else {
      // The last page of a thread may lack what came while it was on its way.
      for (const message of late) keep(message)
      show()
    }
  }
  const settle = async (asked: Promise<Page>, own: number): Promise<void> => {
    try {
      const page = await asked
      if (own === reads) return showPage(page)
    } catch (error) {
      if (own === reads) {
        const isAbsent = error instanceof RefusedError && error.status === NOT_FOUND
        failed = isAbsent ? undefined : reading
        reading = undefined
        words = (isAbsent && source.absent) || (error instanceof Error ? error.message : '')
        show()
        throw error
      }
    }
    // A later read took its place.
    return latest
  }
  const read = (page: 'first' | 'next'): Promise<void> => {
    reading = page
    failed = undefined
    words = 'Loading…'
    meanwhile = []
    show()
    reads += 1
    latest = settle(source.page(page === 'first' ? undefined : (next ?? undefined)), reads)
    return latest
  }
  const release = (): void => {
    if (isOverfull) {
      void told(read('first'))
      return
    }
    for (const message of waiting) list.add(message)
    waiting = []
    // The page that is being read goes on where the list ended.
    if (source.newestFirst && reading === undefined) next = list.shorten(MAX_SHOWN_MESSAGES) ?? next
    show()
  }
  const gathered = (): void => {
    gathering = undefined
    const hasFirst = reading !== 'first' && failed !== 'first'
    if (isStill || !hasFirst || (source.newestFirst && isBeingRead(element))) show()
    else release()
  }
  /** Pages yet to come have what follows them. */
  const belongs = (message: Message): boolean =>
    source.takes(message) && (source.newestFirst || next === null)
  const isKnown = ({ id }: Message): boolean => list.has(id) || waiting.some((one) => one.id === id)
  const keep = (message: Message): void => {
    if (isKnown(message) || !belongs(message)) return
    if (waiting.length < MAX_WAITING_MESSAGES) waiting.push(message)
    else isOverfull = true
    if (gathering === undefined) gathering = setTimeout(gathered, GATHER_MS)
  }
  const live = (message: Message): void => {
    if (isKnown(message)) return
    if (reading !== undefined) meanwhile.push(message)
    if (message.reply_to !== null) list.countReply(message.reply_to)
    keep(message)
  }

  fresh.addEventListener('click', () => {
    release()
    element.scrollIntoView({ block: 'start' })
    list.element.querySelector('li')?.focus({ preventScroll: true })
  })
  more.addEventListener('click', () => {
    if (reading === undefined) void told(read('next'))
  })
  again.addEventListener('click', () => void told(read(failed ?? 'first')))

  return {
    element,
    get newest() {
      return newest
    },
    load: () => read('first'),
    live,
    own(message) {
      // The stream brings it as well, and counts it where it is not shown.
      if (!belongs(message)) return
      live(message)
      release()
    },
    removed(id) {
      waiting = waiting.filter((message) => message.id !== id)
      list.remove(id)
      show()
    },
    still(still) {
      isStill = still
      if (!still && (waiting.length > 0 || isOverfull)) gathered()
    },
    item: list.item,
  }
}
