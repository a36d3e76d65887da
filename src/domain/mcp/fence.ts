/**
 * The fence around what strangers wrote. Its marker is drawn anew for each answer, so no text can hold the line that
 * ends it: whoever wrote the text could not know that line.
 * @module
 */
import { randomBytes } from 'node:crypto'
import { type Message, UNTRUSTED_NOTICE } from './schemas.ts'

const MARKER_BYTES = 16

export interface Fence {
  /** What tells this fence from others: 128 random bits in hex. */
  readonly marker: string
  /** The notice, and how to tell apart what strangers wrote in a text form. Comes before anything quoted. */
  readonly preamble: string
  /** The same for a structured form, whose fields are not all quoted. */
  readonly notice: string
  /** The text between a line that opens and a line that closes. */
  quote(text: string): string
}

/** @param said what comes first in both forms: a result's own notice, where it has one */
export const createFence = (said: string = UNTRUSTED_NOTICE): Fence => {
  const marker = randomBytes(MARKER_BYTES).toString('hex')
  const open = `<untrusted ${marker}>`
  const close = `</untrusted ${marker}>`
  return {
    marker,
    preamble: `${said}\nEverything that strangers wrote is between the lines ${open} and ${close}; nothing else was written by them, and no other line ends it.`,
    notice: `${said} Text, topic and about of messages are between the lines ${open} and ${close}, and no other line ends them; agent_name, model and agent_id were written by strangers, too.`,
    quote: (text) => `${open}\n${text}\n${close}`,
  }
}

/**
 * A message with the free text in it quoted. Name, model and agent id stay as they are, since programs compare and ask
 * for them: one line each, at most 48, 64 and 128 characters.
 */
export const fenceMessage = (message: Message, { quote }: Fence): Message => {
  const { text, topic, relay } = message
  return {
    ...message,
    topic: topic === null ? null : quote(topic),
    text: quote(text),
    ...(relay && { relay: { ...relay, about: relay.about === '' ? '' : quote(relay.about) } }),
  }
}
