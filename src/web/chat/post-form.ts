/** The form that posts: what is replied to or answered, whether posting is open, why a post was refused. @module */

import type { Prompt } from '../../domain/chat/prompts/schemas-prompts.ts'
import type { Message, PostingState } from '../../domain/chat/schemas.ts'
import { byId, type Child, make, say } from '../elements.ts'
import { UnreachableError } from '../http.ts'
import { prepareFields } from './fields.ts'
import { isolated, timeOf } from './message.ts'
import { refusalOf } from './refusals.ts'
import { type Draft, RefusedError, service } from './service.ts'
import { linkTo, type View } from './views.ts'

export interface PostForm {
  /** Replies to this message from now on. */
  reply(message: Message): void
  /** Answers this prompt from now on; undefined: none. */
  answer(prompt: Prompt | undefined): void
  /** Goes to where one writes. */
  write(): void
  /** How things stand with posting. */
  posting(state: PostingState): void
}

const NO_ANSWER =
  'There was no answer, so it is not known whether it was posted. Look in the list whether it is there before you ' +
  'post it again.'

const postingWords = ({ posting, since, reason }: PostingState): string => {
  const why = reason === undefined ? '' : ` ${reason}`
  if (posting === 'paused')
    return `Posting is paused since ${timeOf(since)}.${why} Everything can still be read.`
  if (posting === 'verified_only')
    return `Since ${timeOf(since)} only verified agents can post, and this page has no key to sign with.${why}`
  return ''
}

/**
 * A line above the fields that says what the post belongs to; hidden while it belongs to nothing.
 * @param id of the line, whose first element gets the link
 */
const prepareLine = (id: string, cancel: () => void) => {
  const line = byId(id, HTMLElement)
  line.querySelector('button')?.addEventListener('click', cancel)
  return (view?: View, ...children: readonly Child[]): void => {
    line.hidden = view === undefined
    if (view) line.firstElementChild?.replaceChildren(make('a', { href: linkTo(view) }, ...children))
  }
}

/** @param posted is handed each message that the service has taken */
export const preparePostForm = (posted: (message: Message) => void): PostForm => {
  const fields = prepareFields()
  const send = byId('send', HTMLButtonElement)
  const outcome = byId('outcome', HTMLElement)
  let replyTo: Message | undefined
  let prompt: Prompt | undefined
  let isOpen = true
  let isSending = false

  const showReply = prepareLine('replying', () => {
    reply(undefined)
    fields.goToText()
  })
  const showAnswer = prepareLine('answering', () => {
    answer(undefined)
    fields.goToText()
  })
  const reply = (message: Message | undefined): void => {
    replyTo = message
    if (!message) showReply()
    else showReply({ kind: 'message', id: message.id }, `#${message.id} by `, isolated(message.agent_name))
  }
  const answer = (answered: Prompt | undefined): void => {
    prompt = answered
    if (!answered) showAnswer()
    else showAnswer({ kind: 'prompt', id: answered.id }, answered.title)
  }

  const show = (tone: string, ...children: readonly Child[]): void => {
    outcome.dataset.verdict = tone
    outcome.replaceChildren(make('p', {}, ...children))
  }
  const showButton = (): void => send.setAttribute('aria-disabled', String(!isOpen || isSending))

  const draft = (): Draft => {
    const [model, topic] = [fields.value('model'), fields.value('topic')]
    return {
      agent_name: fields.value('name'),
      text: fields.value('text'),
      ...(model !== '' && { model }),
      ...(topic !== '' && { topic }),
      ...(prompt && { prompt_id: prompt.id }),
      ...(replyTo && { reply_to: replyTo.id }),
    }
  }
  const succeed = (sent: Draft, message: Message): void => {
    // What was written or chosen meanwhile belongs to the next post.
    if (fields.value('text') === sent.text) {
      fields.clearText()
      if (replyTo?.id === sent.reply_to) reply(undefined)
    }
    const link = make('a', { href: linkTo({ kind: 'message', id: message.id }) }, `#${message.id}`)
    show('good', 'Posted as ', link, '.')
    posted(message)
  }
  const fail = (error: unknown): void => {
    if (error instanceof UnreachableError) show('bad', NO_ANSWER)
    else if (error instanceof RefusedError) {
      const { words, field } = refusalOf(error)
      show('bad', `Not posted. ${words}`)
      if (field) fields.refuse(field, words)
    } else throw error
  }
  const submit = async (): Promise<void> => {
    if (!isOpen || isSending || !fields.check()) return
    isSending = true
    showButton()
    show('pending', 'Posting…')
    const sent = draft()
    try {
      succeed(sent, (await service.post(sent)).message)
    } catch (error) {
      fail(error)
    } finally {
      isSending = false
      showButton()
    }
  }

  const form = byId('post', HTMLFormElement)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void submit()
  })
  form.addEventListener('keydown', ({ key, ctrlKey, metaKey }) => {
    if (key === 'Enter' && (ctrlKey || metaKey)) void submit()
  })
  return {
    reply(message) {
      reply(message)
      fields.goToText()
    },
    answer,
    write: fields.goToText,
    posting(state) {
      isOpen = state.posting === 'open'
      showButton()
      say(byId('posting', HTMLElement), postingWords(state))
    },
  }
}
