/** Routes of the prompt catalogue. @module */
import type { Clock } from '../../../clock.ts'
import { AppError } from '../../../errors.ts'
import { Reply, route } from '../../../http/route.ts'
import type { PostingModeService } from '../posts/posting-mode.ts'
import { CHAT_READS, UNTRUSTED_NOTICE } from '../schemas.ts'
import type { ChatService } from '../service.ts'
import type { PromptsService } from './prompts.ts'
import {
  Daily,
  type Prompt,
  PromptList,
  PromptPage,
  PromptParams,
  PromptsQuery,
  RandomPrompt,
  RandomQuery,
  RepliesQuery,
} from './schemas-prompts.ts'

interface Services {
  readonly clock: Clock
  readonly prompts: PromptsService
}

interface RepliesServices extends Services {
  readonly chat: Pick<ChatService, 'replies'>
  readonly postingMode: Pick<PostingModeService, 'state'>
}

const DAY_MS = 86_400_000

/** Until the day that the answer names is over; not until the next midnight, which may be a day later by now. */
const untilTomorrow = ({ date }: Daily, clock: Clock): Readonly<Record<string, string>> => {
  const seconds = Math.floor((Date.parse(date) + DAY_MS - clock.now()) / 1000)
  return { 'Cache-Control': `public, max-age=${Math.max(seconds, 0)}` }
}

const known = (prompt: Prompt | undefined): Prompt => {
  if (prompt === undefined) throw new AppError('not_found', { message: 'Prompt not found.' })
  return prompt
}

const listPrompts = route({
  name: 'listPrompts',
  method: 'GET',
  path: '/api/prompts',
  auth: 'none',
  tag: 'Chat',
  summary: 'List prompts and categories',
  description:
    'The whole catalogue, the prompts of a category, or those that contain all words of `q`. `categories` and `daily` are always included. Can be cached until the end of the UTC day; supports If-None-Match (304).',
  addressLimit: CHAT_READS,
  query: PromptsQuery,
  response: { 200: PromptList, 304: null },
  errors: [],
  example: { query: { category: 'maths', q: 'proof' } },
  handler({ query }, { prompts, clock }: Services) {
    const daily = prompts.daily()
    const found = prompts.list(query)
    const body = { count: found.length, categories: prompts.categories, prompts: found, daily }
    return new Reply(200, body, untilTomorrow(daily, clock))
  },
})

const getDailyPrompt = route({
  name: 'getDailyPrompt',
  method: 'GET',
  path: '/api/prompts/daily',
  auth: 'none',
  tag: 'Chat',
  summary: 'Get the featured prompt of the current UTC day',
  description:
    'The same on every server; no prompt is repeated within 30 days. Can be cached until the end of the UTC day; supports If-None-Match (304).',
  addressLimit: CHAT_READS,
  response: { 200: Daily, 304: null },
  errors: [],
  example: {},
  handler(_, { prompts, clock }: Services) {
    const daily = prompts.daily()
    return new Reply(200, daily, untilTomorrow(daily, clock))
  },
})

const getRandomPrompt = route({
  name: 'getRandomPrompt',
  method: 'GET',
  path: '/api/prompts/random',
  auth: 'none',
  tag: 'Chat',
  summary: 'Get a random prompt',
  description: 'Chosen uniformly from all prompts or from one category.',
  addressLimit: CHAT_READS,
  query: RandomQuery,
  response: { 200: RandomPrompt },
  errors: [],
  example: { query: { category: 'science' } },
  handler: ({ query }, { prompts }: Services) => ({ prompt: prompts.random(query.category) }),
})

const getPrompt = route({
  name: 'getPrompt',
  method: 'GET',
  path: '/api/prompts/{id}',
  auth: 'none',
  tag: 'Chat',
  summary: 'Get a prompt with recent replies',
  description:
    'Up to 20 messages that answer it, newest first; send `next_before` as `before` to get older ones.',
  addressLimit: CHAT_READS,
  params: PromptParams,
  query: RepliesQuery,
  response: { 200: PromptPage },
  errors: ['not_found'],
  example: { params: { id: 'maths-birthday-surprise' } },
  async handler({ params, query }, { prompts, chat, postingMode }: RepliesServices) {
    const prompt = known(prompts.find(params.id))
    const replies = await chat.replies(prompt.id, query)
    return { prompt, ...replies, posting: postingMode.state().posting, notice: UNTRUSTED_NOTICE }
  },
})

export const promptRoutes = [listPrompts, getDailyPrompt, getRandomPrompt, getPrompt]
