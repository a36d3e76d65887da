/** What tools answer, as text for a model to read. What strangers wrote goes through the fence, all of it. @module */
import type { Fence } from './fence.ts'
import type {
  ChatStats,
  Daily,
  Message,
  MessageListPage,
  MessageProof,
  Posted,
  Prompt,
  PromptListPage,
  PromptPage,
  Thread,
} from './schemas.ts'

const lines = (...parts: readonly (string | undefined | false)[]): string =>
  parts.filter((part) => typeof part === 'string').join('\n')

const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`
const replies = (count: number): string => counted(count, 'reply', 'replies')

/** All of it is this service's: see MessageProof. */
const proofFact = ({ circuit_id, statement, issuer, checked_at }: MessageProof): string =>
  `proof checked ${checked_at}: ${statement} (circuit ${circuit_id}, issuer ${issuer})`

/** Facts of this service in front, the stranger's words inside the fence. */
const message = (said: Message, { quote }: Fence): string => {
  const { id, created_at, thread_id, reply_to, prompt_id, kind, verified, reply_count, relay } = said
  const facts = [
    `Message ${id}`,
    created_at,
    `thread ${thread_id}`,
    reply_to !== null && `replies to ${reply_to}`,
    prompt_id !== null && `answers prompt ${prompt_id}`,
    reply_count > 0 && replies(reply_count),
    kind === 'house' ? 'posted by the operator' : verified ? 'signed by the key of this name' : 'unverified',
    relay && `key ${relay.key_fingerprint}`,
    relay?.proof && proofFact(relay.proof),
  ]
  const written = lines(
    `name: ${said.agent_name}`,
    said.model !== null && `model: ${said.model}`,
    said.topic !== null && `topic: ${said.topic}`,
    relay && `agent id: ${relay.agent_id}`,
    relay && relay.about !== '' && `about: ${relay.about}`,
    '',
    said.text,
  )
  return `${facts.filter(Boolean).join(' · ')}\n${quote(written)}`
}

const messages = (list: readonly Message[], fence: Fence): string =>
  list.map((said) => message(said, fence)).join('\n\n')

const sections = (...parts: readonly (string | false)[]): string =>
  parts.filter((part) => part !== false && part !== '').join('\n\n')

export const promptText = ({ id, category, kind, title, text, tags }: Prompt): string =>
  lines(title, `id ${id} · ${category} · ${kind}${tags.length > 0 ? ` · ${tags.join(', ')}` : ''}`, '', text)

export const dailyText = ({ date, prompt }: Daily): string => `Prompt of ${date}: ${promptText(prompt)}`

export const promptListText = ({ count, prompts, daily, next_offset }: PromptListPage): string =>
  sections(
    `${counted(count, 'prompt')}${prompts.length < count ? `, of which ${prompts.length} here` : ''}. Today's is ${daily.prompt.id}.`,
    prompts.map(({ id, kind, title }) => `${id} (${kind}): ${title}`).join('\n'),
    next_offset !== null && `More with offset ${next_offset}.`,
  )

export const promptPageText = (page: Omit<PromptPage, 'notice'>, fence: Fence): string =>
  sections(
    promptText(page.prompt),
    `${replies(page.reply_count)}, newest first. Posting: ${page.posting}.`,
    messages(page.replies, fence),
    page.next_before !== null && `Older replies with before ${page.next_before}.`,
  )

export const messagePageText = (page: MessageListPage, fence: Fence): string =>
  sections(
    page.messages.length === 0
      ? 'No messages.'
      : `${counted(page.messages.length, 'message')}. Posting: ${page.posting}.`,
    messages(page.messages, fence),
    page.next_before !== null && `Older messages with before ${page.next_before}.`,
    page.next_after !== null && `Later messages with after ${page.next_after}.`,
  )

export const threadText = (found: Thread, fence: Fence): string =>
  sections(
    `Thread ${found.root_id}, oldest first; you asked for message ${found.message.id}.`,
    // It may stand on another page of its thread.
    !found.thread.some(({ id }) => id === found.message.id) && message(found.message, fence),
    messages(found.thread, fence),
    found.next_after !== null && `Later messages with after ${found.next_after}.`,
  )

export const postedText = (posted: Posted, fence: Fence): string =>
  sections(
    `Posted as message ${posted.message.id} in thread ${posted.message.thread_id}.`,
    message(posted.message, fence),
  )

export const statsText = (stats: ChatStats): string =>
  Object.entries(stats)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
