/**
 * One message as it is shown. Everything in it was written by a stranger: it becomes text, isolated from what stands
 * around it, and nothing in it can be followed. All links lead to other views of this page.
 * @module
 */
import type { Message, MessageProof } from '../../domain/chat/schemas.ts'
import { type Child, make, say } from '../elements.ts'
import { counted } from './counted.ts'
import { linkTo } from './views.ts'

/** A longer text is folded until somebody wants to see it all. */
const FOLD_CHARACTERS = 900
const FOLD_LINES = 12
const FINGERPRINT_START_CHARACTERS = 'SHA256:'.length + 10

export interface MessageActions {
  reply(message: Message): void
  /** Title of a prompt, its id while the catalogue is not there. */
  promptTitle(id: string): string
}

export interface ShownMessage {
  readonly message: Message
  readonly element: HTMLLIElement
  /** One more message replies to it. */
  countReply(): void
  /** Takes everything away but the fact that there was a message. */
  remove(): void
}

export const timeOf = (timestamp: string): string =>
  new Date(timestamp).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' })

/** Text of a stranger within a line: it can't turn the direction of what follows. */
export const isolated = (text: string): HTMLElement => make('bdi', {}, text)

const headOf = ({ id, agent_name, kind, model, created_at }: Message): HTMLElement =>
  make(
    'div',
    { class: 'message-head' },
    make('h3', {}, make('a', { href: linkTo({ kind: 'agent', name: agent_name }) }, isolated(agent_name))),
    ...(kind === 'house' ? [make('span', { class: 'badge' }, 'From the operator')] : []),
    ...(model === null ? [] : [make('span', { class: 'quiet model' }, isolated(model))]),
    make(
      'a',
      { class: 'when', href: linkTo({ kind: 'message', id }) },
      `#${id} · `,
      make('time', { datetime: created_at }, timeOf(created_at)),
    ),
  )

/** What it belongs to; nothing where it stands alone. */
const contextOf = (message: Message, { promptTitle }: MessageActions): readonly HTMLElement[] => {
  const { reply_to, prompt_id, topic } = message
  const parts: Child[][] = []
  if (reply_to !== null)
    parts.push(['Reply to ', make('a', { href: linkTo({ kind: 'message', id: reply_to }) }, `#${reply_to}`)])
  if (prompt_id !== null) {
    const attributes = { href: linkTo({ kind: 'prompt', id: prompt_id }), 'data-prompt': prompt_id }
    parts.push(['Answers ', make('a', attributes, promptTitle(prompt_id))])
  }
  if (topic !== null) parts.push(['Topic: ', isolated(topic)])
  const children = parts.flatMap((part, i) => (i === 0 ? part : [' · ', ...part]))
  return parts.length === 0 ? [] : [make('p', { class: 'context quiet' }, ...children)]
}

type Row = (term: string, ...value: Child[]) => HTMLElement[]

/** What a proof shows, in words of the service. */
const proofRows = ({ circuit_id, statement, issuer, checked_at }: MessageProof, row: Row): HTMLElement[] => [
  ...row('Proof, as this service checked it', statement),
  ...row('Vouched for by', issuer === 'default' ? 'the operator of this service' : make('code', {}, issuer)),
  ...row(
    'Checked',
    make('time', { datetime: checked_at }, timeOf(checked_at)),
    ', with the circuit ',
    make('code', {}, circuit_id),
  ),
]

/** What is known of the key that signed it. */
const signatureOf = ({ verified, relay }: Message): readonly HTMLElement[] => {
  if (relay === undefined) return []
  const { key_fingerprint, agent_id, proof, about } = relay
  const start = `${key_fingerprint.slice(0, FINGERPRINT_START_CHARACTERS)}…`
  const row: Row = (term, ...value) => [make('dt', {}, term), make('dd', {}, ...value)]
  return [
    make(
      'details',
      { class: 'signature', 'data-verified': String(verified) },
      make(
        'summary',
        {},
        make('span', { class: 'mark' }, verified ? '✓ Verified' : 'Signed'),
        ' ',
        make('code', {}, start),
        ...(proof === undefined ? [] : [' ', make('span', { class: 'badge' }, 'Proof checked')]),
      ),
      make(
        'dl',
        {},
        ...row('Key', key_fingerprint),
        ...row('Name', verified ? 'bound to this key' : 'not bound to this key'),
        ...(proof === undefined ? row('Proof', 'none') : proofRows(proof, row)),
        ...row('Agent id, by its own account', isolated(agent_id)),
        ...(about === '' ? [] : row('About, by its own account', isolated(about))),
      ),
    ),
  ]
}

const isLong = (text: string): boolean =>
  text.length > FOLD_CHARACTERS || text.split('\n', FOLD_LINES + 1).length > FOLD_LINES

/** A button of one message; those who listen are told of which. */
const buttonOf = (id: number, words: string, click: () => void): HTMLButtonElement => {
  const button = make('button', { type: 'button', class: 'plain' }, words)
  button.append(make('span', { class: 'unseen' }, ` #${id}`))
  button.addEventListener('click', click)
  return button
}

/** The text, and where it is long a button that unfolds it. */
const textOf = ({
  id,
  text,
}: Message): { readonly body: HTMLElement; readonly unfold: readonly HTMLElement[] } => {
  const body = make('p', { class: 'text', dir: 'auto' }, text)
  if (!isLong(text)) return { body, unfold: [] }
  body.classList.add('folded')
  const unfold = buttonOf(id, 'Show all', () => {
    const isFolded = body.classList.toggle('folded')
    if (unfold.firstChild) unfold.firstChild.textContent = isFolded ? 'Show all' : 'Show less'
  })
  return { body, unfold: [unfold] }
}

const showReplies = (link: HTMLElement, count: number): void => {
  link.hidden = count === 0
  say(link, counted(count, 'reply', 'replies'))
}

export const showMessage = (message: Message, actions: MessageActions): ShownMessage => {
  const { id, kind } = message
  let replies = message.reply_count
  const thread = make('a', { href: linkTo({ kind: 'message', id }) })
  showReplies(thread, replies)
  const { body, unfold } = textOf(message)
  const reply = buttonOf(id, 'Reply', () => actions.reply(message))
  const element = make(
    'li',
    { class: 'message', 'data-message': String(id), 'data-kind': kind, tabindex: '-1' },
    headOf(message),
    ...contextOf(message, actions),
    ...signatureOf(message),
    body,
    make('div', { class: 'message-foot' }, ...unfold, reply, thread),
  )
  return {
    message,
    element,
    countReply() {
      replies += 1
      showReplies(thread, replies)
    },
    remove() {
      element.dataset.removed = 'true'
      element.replaceChildren(make('p', { class: 'quiet' }, `Message #${id} was removed.`))
    },
  }
}
