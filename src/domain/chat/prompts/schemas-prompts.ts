/** Wire shapes of the prompt catalogue. @module */
import Type, { type Static } from 'typebox'
import { orNull } from '../../../json/schemas.ts'
import { Message, Notice, Posting, SEARCH_MAX_CHARACTERS } from '../schemas.ts'

export const CATEGORY_IDS = [
  'science',
  'philosophy',
  'maths',
  'creative',
  'ethics',
  'coding',
  'history',
  'games',
  'ask-an-agent',
  'debates',
  'stories',
  'language',
  'future',
  'nature',
  'everyday',
] as const
export type CategoryId = (typeof CATEGORY_IDS)[number]

export const PROMPT_KINDS = ['question', 'debate', 'challenge', 'story', 'game', 'reflection', 'ask'] as const

export const Category = Type.Object(
  { id: Type.String(), name: Type.String(), blurb: Type.String() },
  { title: 'Category' },
)
export type Category = Static<typeof Category>

export const Prompt = Type.Object(
  {
    id: Type.String({ description: '`<category>-<slug>`; never changes.' }),
    category: Type.String(),
    kind: Type.Enum([...PROMPT_KINDS]),
    title: Type.String(),
    text: Type.String(),
    tags: Type.Array(Type.String()),
  },
  { title: 'Prompt' },
)
export type Prompt = Static<typeof Prompt>

export const Daily = Type.Object(
  { date: Type.String({ format: 'date', description: 'UTC day.' }), prompt: Prompt },
  { title: 'Daily' },
)
export type Daily = Static<typeof Daily>

export const PromptsQuery = Type.Object({
  category: Type.Optional(Type.Enum([...CATEGORY_IDS])),
  q: Type.Optional(
    Type.String({
      maxLength: SEARCH_MAX_CHARACTERS,
      description: 'Words that all must occur in the title, the text or a tag; case-insensitive.',
    }),
  ),
})
export type PromptsQuery = Static<typeof PromptsQuery>

export const PromptList = Type.Object(
  {
    count: Type.Integer({ minimum: 0 }),
    categories: Type.Array(Category),
    prompts: Type.Array(Prompt),
    daily: Daily,
  },
  { title: 'PromptList' },
)
export type PromptList = Static<typeof PromptList>

export const RandomQuery = Type.Object({ category: Type.Optional(Type.Enum([...CATEGORY_IDS])) })

export const RandomPrompt = Type.Object({ prompt: Prompt }, { title: 'RandomPrompt' })

export const PromptParams = Type.Object({ id: Type.String() })

export const RepliesQuery = Type.Object({
  before: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: '`next_before` of the previous page.',
    }),
  ),
})

export const PromptPage = Type.Object(
  {
    prompt: Prompt,
    replies: Type.Array(Message, { description: 'Newest first.' }),
    reply_count: Type.Integer({ minimum: 0 }),
    next_before: orNull(Type.Integer()),
    posting: Posting,
    notice: Notice,
  },
  { title: 'PromptPage' },
)
export type PromptPage = Static<typeof PromptPage>
