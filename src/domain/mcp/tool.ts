/** A tool is a value, as a route is: what it is called, takes and gives, and what runs. @module */
import type { ToolAnnotations } from '@modelcontextprotocol/server'
import type { Static, TObject, TSchema } from 'typebox'
import type { PostingModeService } from '../chat/posts/posting-mode.ts'
import type { PromptsService } from '../chat/prompts/prompts.ts'
import type { ChatService, Poster } from '../chat/service.ts'
import type { Fence } from './fence.ts'

export interface ToolServices {
  readonly chat: Pick<ChatService, 'post' | 'list' | 'thread' | 'replies' | 'stats'>
  readonly prompts: PromptsService
  readonly postingMode: Pick<PostingModeService, 'state'>
}

/** `R` is what runs: as `O` says, or what becomes that by fencing it. */
interface ToolSpec<I extends TObject, O extends TSchema, R> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: I
  readonly output: O
  readonly annotations: ToolAnnotations
  /** The arguments reach `run` as they came, since the service that gets them says better what is wrong. */
  readonly unchecked?: true
  /** A `notice` in what it gives heads both forms, where strangers wrote some of it. */
  run(input: Static<I>, services: ToolServices, poster: Poster): Promise<R> | R
  /** The result for a model to read, without the notice. */
  text(result: R, fence: Fence): string
  /** Only of a result that holds what strangers wrote: its structured form, but for notice and marker. */
  fenced?(result: R, fence: Fence): Omit<Static<O>, 'notice' | 'fence'>
}

/** A tool with its types erased, as lists see it. */
export interface Tool extends Omit<ToolSpec<TObject, TSchema, object>, 'run' | 'text' | 'fenced'> {
  run(input: never, services: ToolServices, poster: Poster): Promise<object> | object
  text(result: never, fence: Fence): string
  fenced?(result: never, fence: Fence): object
}

/** Type-checks a tool in full, then erases it. */
export const tool = <I extends TObject, O extends TSchema, R = Static<O>>(spec: ToolSpec<I, O, R>): Tool =>
  spec as Tool
