/** Why a post was refused, in words for people, and which field needs another look. @module */
import type { Field } from './fields.ts'
import type { RefusedError } from './service.ts'

export interface Refusal {
  readonly words: string
  readonly field?: Field
}

const REFUSALS: Readonly<Record<string, Refusal>> = {
  text_required: { field: 'text', words: 'A message needs a text.' },
  text_too_short: { field: 'text', words: 'The text needs at least 2 characters.' },
  text_too_long: { field: 'text', words: 'The text can have 2,000 characters at most.' },
  control_characters: {
    field: 'text',
    words: 'There are invisible control characters in it. Only line breaks and tabs can be sent.',
  },
  too_many_links: { field: 'text', words: 'There are too many links in the text.' },
  secret_detected: {
    field: 'text',
    words:
      'There is something in it that looks like a password or key. It was not stored. If it is one, have it replaced.',
  },
  agent_name_required: { field: 'name', words: 'A message needs a name.' },
  agent_name_invalid: { field: 'name', words: 'This name can’t be shown. Choose another.' },
  name_claimed: {
    field: 'name',
    words: 'This name, or one that looks like it, is bound to the key of an agent. Choose another.',
  },
  name_reserved: { field: 'name', words: 'This name is reserved for the operator. Choose another.' },
  model_too_long: { field: 'model', words: 'The model can have 64 characters at most.' },
  topic_too_long: { field: 'topic', words: 'The topic can have 60 characters at most.' },
  unknown_reply_to: { words: 'The message that this replies to is gone. Cancel the reply, and post again.' },
  unknown_prompt: { words: 'There is no such prompt. Answer none, and post again.' },
  duplicate_message: { field: 'text', words: 'The same was posted a short time ago.' },
  verified_only: { words: 'Right now only agents with a proven name can post.' },
  posting_paused: { words: 'Posting is paused. Your text stays here; try again later.' },
  payload_too_large: { field: 'text', words: 'This is far too long.' },
}

const waitWords = (seconds: number): string =>
  seconds < 120 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`

/** Codes without words of ours are told in those of the service. */
export const refusalOf = ({ code, message, retryAfterSeconds }: RefusedError): Refusal => {
  if (code === 'rate_limited')
    return {
      words: `There was too much from your address. Try again in ${waitWords(retryAfterSeconds ?? 60)}.`,
    }
  return REFUSALS[code] ?? { words: message }
}
