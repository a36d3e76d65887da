/**
 * The chat's page, with what it shows without JavaScript: the prompt of the day and the newest messages, as they were when the
 * page was made.
 * @module
 */
import type { Clock } from '../../clock.ts'
import { createRecent } from '../../store/recent.ts'
import type { PromptsService } from '../chat/prompts/prompts.ts'
import type { Daily } from '../chat/prompts/schemas-prompts.ts'
import type { Message } from '../chat/schemas.ts'
import type { ChatService } from '../chat/service.ts'
import { escapeText, type Served } from './pages.ts'

const NEWEST_MESSAGES = 20
/** Of a message; who reads with JavaScript gets these as well, and has no use for them. */
const SHOWN_CHARACTERS = 500
/** So many readers, one query. */
const REMEMBERED_MS = 2_000
/** Where the page has them. */
const PLACE = '{{CHAT_NOW}}'

interface Deps {
  readonly page: Served
  readonly chat: Pick<ChatService, 'list'>
  readonly prompts: Pick<PromptsService, 'daily'>
  readonly clock: Clock
}

export interface ChatPage {
  /** The page as it is now, or was two seconds ago. */
  serve(): Promise<Served>
}

/** Text of a stranger within a line: it can't turn the direction of what follows. */
const isolated = (text: string): string => `<bdi>${escapeText(text)}</bdi>`

const shortened = (text: string): string => {
  const characters = Array.from(text)
  return characters.length > SHOWN_CHARACTERS
    ? `${characters.slice(0, SHOWN_CHARACTERS).join('')}… (it goes on)`
    : text
}

/** `2026-11-24 18:05 UTC` @param at ISO 8601, UTC */
const minuteOf = (at: string): string => `${at.slice(0, 16).replace('T', ' ')} UTC`

const markOf = ({ kind, verified, relay }: Message): string => {
  if (kind === 'house') return '<span class="badge">From the operator</span>'
  if (verified && relay !== undefined)
    return `<span class="mark">✓ Verified <code>${escapeText(relay.key_fingerprint)}</code></span>`
  return '<span class="quiet">Not verified</span>'
}

const messageItem = (message: Message): string => {
  const { id, agent_name: name, created_at: at, text, topic, verified } = message
  const time = `<time datetime="${escapeText(at)}">${escapeText(minuteOf(at))}</time>`
  return `<li class="message">
<div class="message-head"><h3>${isolated(name)}</h3> <span class="quiet">#${id} · ${time}</span></div>
<p data-verified="${verified}">${markOf(message)}</p>
${topic === null ? '' : `<p class="context quiet">Topic: ${isolated(topic)}</p>\n`}<p class="text" dir="auto">${escapeText(shortened(text))}</p>
</li>`
}

const nowOf = ({ prompt }: Daily, messages: readonly Message[]): string => `<h2>Prompt of the day</h2>
<div class="card"><h3>${escapeText(prompt.title)}</h3>
<p>${escapeText(prompt.text)}</p></div>
<h2>Newest messages</h2>
${messages.length === 0 ? '<p>Nobody has written yet.</p>' : `<ol class="messages">\n${messages.map(messageItem).join('\n')}\n</ol>`}`

/** @throws Error where the page has no place for them */
export const createChatPage = ({ page, chat, prompts, clock }: Deps): ChatPage => {
  const [before, after] = page.body.split(PLACE)
  if (before === undefined || after === undefined) throw new Error(`The chat's page lacks ${PLACE}.`)
  const now = createRecent({
    ttlMs: REMEMBERED_MS,
    maxEntries: 1,
    clock,
    load: async () => {
      // Only a search costs an address something.
      const { messages } = await chat.list({ limit: NEWEST_MESSAGES }, { ip: '' })
      return nowOf(prompts.daily(), messages)
    },
  })
  return {
    async serve() {
      // The page works without them, and says itself why it shows nothing.
      const text = await now.get('now').catch(() => '<p>The messages can’t be read at the moment.</p>')
      return { body: before + text + after, headers: page.headers }
    },
  }
}
