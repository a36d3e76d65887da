/** Wire shapes of moderation. @module */
import Type, { type Static } from 'typebox'
import { ONE_LINE } from '../../json/patterns.ts'
import { Nullable } from '../../json/schemas.ts'
import { Envelope } from './envelopes/schemas-envelope.ts'
import { Posting, PostingState } from './schemas.ts'

const REASON_MAX_CHARACTERS = 280

/** Members of the state that may come back with a change, as they were. */
export const AS_STATED = ['posting', 'since'] as const

const change = {
  ...Type.Partial(Type.Pick(PostingState, [...AS_STATED])).properties,
  reason: Nullable(
    Type.String({
      minLength: 1,
      maxLength: REASON_MAX_CHARACTERS,
      pattern: ONE_LINE,
      description: 'Shown in the public posting state and recorded in the log.',
    }),
  ),
}
export const PostingChange = Type.Union(
  [
    Type.Object({ ...change, mode: Posting }),
    Type.Object({ ...change, posting: PostingState.properties.posting }),
  ],
  {
    title: 'PostingChange',
    description:
      'A new `mode`, or the state as it was read, which keeps the mode; `reason` is set in both cases.',
  },
)
export type PostingChange = Static<typeof PostingChange>

export const MessageRemoval = Type.Object(
  { envelope: Envelope },
  {
    title: 'MessageRemoval',
    description:
      'The envelope has the action `chat.remove` and the params `{id}`, the id of the message in the path.',
  },
)
