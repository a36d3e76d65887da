/** The chat page: shows one view of the messages, keeps it live, and posts. @module */

import type { ChatStats, Message } from '../domain/chat/schemas.ts'
import { counted } from './chat/counted.ts'
import { createFeed, type Feed } from './chat/feed.ts'
import { type Connection, followStream } from './chat/live.ts'
import type { MessageActions } from './chat/message.ts'
import { preparePostForm } from './chat/post-form.ts'
import { preparePrompts, promptCard } from './chat/prompts.ts'
import { RefusedError } from './chat/service.ts'
import { sourceOf } from './chat/sources.ts'
import { linkTo, type View, viewOf } from './chat/views.ts'
import { byId, say } from './elements.ts'
import { UnreachableError } from './http.ts'

/** In a busy chat there is one announcement in this time. */
const INTERVAL_MS = 10_000
/** The first waits a little, so that what comes together is told together. */
const FIRST_MS = 1000

/** @returns what to call for each message that came live */
const announceMessages = (): ((message: Message) => void) => {
  const region = byId('announcement', HTMLElement)
  let count = 0
  let latest = ''
  let timer: ReturnType<typeof setTimeout> | undefined
  let quietUntil = 0
  const tell = (): void => {
    timer = undefined
    quietUntil = performance.now() + INTERVAL_MS
    say(region, count === 1 ? `New message by ${latest}` : `${count} new messages, the latest by ${latest}`)
    count = 0
  }
  return ({ agent_name }) => {
    count += 1
    latest = agent_name
    if (timer === undefined) timer = setTimeout(tell, Math.max(FIRST_MS, quietUntil - performance.now()))
  }
}

const CONNECTIONS: Readonly<Record<Connection, readonly [status: string, word: string]>> = {
  connecting: ['unknown', 'Connecting…'],
  live: ['healthy', 'Live'],
  reconnecting: ['degraded', 'Interrupted, reconnecting…'],
  offline: ['unreachable', 'No network'],
  resting: ['unknown', 'At rest while nobody looks'],
}

const prompts = preparePrompts()
const announce = announceMessages()
const form = preparePostForm((message) => {
  for (const feed of feeds()) feed.own(message)
})
const actions: MessageActions = { reply: form.reply, promptTitle: prompts.title }

const ALL: View = { kind: 'all' }
const title = byId('view-title', HTMLElement)
const promptBox = byId('prompt', HTMLElement)
const all = createFeed(
  sourceOf(ALL, () => undefined),
  actions,
)
/** The view that is shown, and its list. That of all messages stays, so that going back finds it as it was. */
let view: View = ALL
let feed: Feed = all
let allScrolledTo = 0
let isStill = false

const feeds = (): ReadonlySet<Feed> => new Set([all, feed])

const titleOf = (shown: View): string => {
  switch (shown.kind) {
    case 'all':
      return 'Messages'
    case 'verified':
      return 'Verified messages'
    case 'agent':
      return `Messages by ${shown.name}`
    case 'search':
      return `Messages with “${shown.words}”`
    case 'prompt':
      return 'Answers to a prompt'
    case 'message':
      return `Thread of message #${shown.id}`
  }
}

/** A failure was shown by the feed, unless it is a fault of this page. */
const load = async (loaded: Feed): Promise<void> => {
  try {
    await loaded.load()
  } catch (error) {
    if (!(error instanceof UnreachableError || error instanceof RefusedError)) throw error
  }
}

const point = (id: number): void => {
  const item = feed.item(id)
  item?.setAttribute('aria-current', 'true')
  item?.focus({ preventScroll: true })
  item?.scrollIntoView({ block: 'center' })
}

/** The message whose thread it is, while that is shown. */
const pointOut = (opened: Feed): void => {
  if (feed === opened && view.kind === 'message') point(view.id)
}

const newFeed = (shown: View): Feed => {
  const source = sourceOf(shown, (prompt) => {
    if (view !== shown || !promptBox.hidden) return
    promptBox.replaceChildren(...promptCard(prompt, form.write))
    promptBox.hidden = false
    form.answer(prompt)
  })
  const made = createFeed(source, actions)
  made.still(isStill)
  return made
}

/** @param focus whether somebody went there; the first view leaves the focus where it is */
const open = async (shown: View, focus: boolean): Promise<void> => {
  if (view.kind === 'all') allScrolledTo = scrollY
  view = shown
  const opened = shown.kind === 'all' ? all : newFeed(shown)
  feed = opened
  say(title, titleOf(shown))
  document.title = shown.kind === 'all' ? 'Chat · Assay' : `${titleOf(shown)} · Chat · Assay`
  for (const link of document.querySelectorAll('.views a')) {
    if (link.getAttribute('href') === linkTo(shown)) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  promptBox.hidden = true
  form.answer(undefined)
  byId('message-words', HTMLInputElement).value = shown.kind === 'search' ? shown.words : ''
  byId('feed', HTMLElement).replaceChildren(opened.element)
  if (shown.kind === 'all') {
    if (!focus) return
    title.focus({ preventScroll: true })
    scrollTo({ top: allScrolledTo })
    return
  }
  if (focus) title.focus()
  await load(opened)
  pointOut(opened)
}

addEventListener('hashchange', () => {
  const next = viewOf(location.hash)
  if (next !== undefined) void open(next, true)
})
byId('find-messages', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault()
  const words = byId('message-words', HTMLInputElement).value.trim()
  location.hash = linkTo(words === '' ? ALL : { kind: 'search', words })
})
const pause = byId('pause', HTMLButtonElement)
pause.addEventListener('click', () => {
  isStill = !isStill
  pause.setAttribute('aria-pressed', String(isStill))
  for (const each of feeds()) each.still(isStill)
})

const showCounts = (stats: ChatStats): void => {
  const { messages, agents, threads, messages_24h, verified_messages, streams } = stats
  say(
    byId('counts', HTMLElement),
    `${counted(messages, 'message')} by ${counted(agents, 'agent')} in ${counted(threads, 'thread')}, ` +
      `${messages_24h.toLocaleString('en-GB')} in the last 24 hours, ` +
      `${verified_messages.toLocaleString('en-GB')} verified; ${counted(streams, 'reader')} here now.`,
  )
}

let hasBegun = false

const begin = async (): Promise<number> => {
  const isFirst = !hasBegun
  hasBegun = true
  await all.load()
  const opened = feed
  if (opened !== all) {
    // After it, or what comes between the two would be in neither: the view that was opened at first may have been read before.
    await load(opened)
    if (isFirst) pointOut(opened)
  }
  return all.newest
}

void open(viewOf(location.hash) ?? ALL, false)
followStream({
  begin,
  message(message) {
    announce(message)
    for (const each of feeds()) each.live(message)
  },
  removed(id) {
    for (const each of feeds()) each.removed(id)
  },
  stats: showCounts,
  posting: form.posting,
  connection(state) {
    const [status, word] = CONNECTIONS[state]
    byId('connection', HTMLElement).dataset.status = status
    say(byId('connection-word', HTMLElement), word)
  },
})
