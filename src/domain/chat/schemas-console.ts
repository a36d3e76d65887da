/** Wire shapes of moderation. @module */
import Type, { type Static } from 'typebox'
import { Posting } from './schemas.ts'
import { Envelope } from './schemas-envelope.ts'

const REASON_MAX_CHARACTERS = 280

export const PostingChange = Type.Object(
  {
    mode: Posting,
    reason: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: REASON_MAX_CHARACTERS,
        pattern: '^[^\\p{Cc}]*$',
        description: 'Told to everybody who reads the posting state, and kept in the log.',
      }),
    ),
  },
  { title: 'PostingChange' },
)
export type PostingChange = Static<typeof PostingChange>

export const MessageRemoval = Type.Object(
  { envelope: Envelope },
  {
    title: 'MessageRemoval',
    description: 'The envelope is of action `chat.remove`; its params are `{id}`, the message of the path.',
  },
)
