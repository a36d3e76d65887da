/** The tools of the endpoint: their order, their listing, and calling one. @module */
import type { CallToolResult, ListToolsResult } from '@modelcontextprotocol/server'
import type { TObject } from 'typebox'
import { AppError, type Misfit } from '../../errors.ts'
import { type KnownName, MAX_UNKNOWN_TOLD, unknownMember } from '../../json/unknown-members.ts'
import type { Poster } from '../chat/service.ts'
import { createFence } from './fence.ts'
import type { Tool, ToolServices } from './tool.ts'
import { getStats, getThread, postMessage, readMessages, searchMessages } from './tools-messages.ts'
import { dailyPrompt, getPrompt, listPrompts, randomPrompt } from './tools-prompts.ts'

/** In the order in which they are listed, which clients may rely on. */
const TOOLS: readonly Tool[] = [
  listPrompts,
  getPrompt,
  dailyPrompt,
  randomPrompt,
  readMessages,
  getThread,
  searchMessages,
  getStats,
  postMessage,
]

/** Undefined: the arguments fit. They may be changed in place: defaults, nulls that count as absent. */
type Check = (value: unknown) => Misfit | undefined

export interface ToolsDeps extends ToolServices {
  readonly checkArguments: (schema: TObject) => Check
  /** The body that an error has everywhere in this service. */
  readonly describeError: (error: unknown, requestId: string) => { readonly error: string }
  /** Told of each call and its outcome: `ok`, or the code of the error. */
  readonly onToolCall: (tool: string, outcome: string) => void
}

interface ToolCall {
  readonly input: unknown
  readonly unknown: readonly string[]
}

export interface Tools {
  readonly listing: ListToolsResult
  /**
   * Runs a tool. What goes wrong in it is a result with `isError`, whose text is the JSON of the error's body: the model
   * may do better with it. There is no structured form of it, since clients hold that against the schema of success.
   * @param call the arguments, and names of members beside them that no call has
   * @returns undefined for a name that no tool has
   */
  call(name: string, call: ToolCall, poster: Poster): Promise<CallToolResult> | undefined
}

/** JSON Schemas and nothing that TypeBox notes beside them. */
const plain = <T>(value: object): T => JSON.parse(JSON.stringify(value))

const LISTING: ListToolsResult = {
  tools: TOOLS.map(({ name, title, description, input, output, annotations }) => ({
    name,
    title,
    description,
    inputSchema: plain({ ...input, additionalProperties: false }),
    outputSchema: plain(output),
    annotations: { title, ...annotations },
  })),
}

/**
 * A result as structure and as text, since some hosts show models the one and some the other; in both, what strangers
 * wrote comes after the notice and inside the fence.
 */
const asResult = (tool: Tool, result: { readonly notice?: string }): CallToolResult => {
  const fence = createFence(result.notice)
  // The tool was checked in full when it was declared; here its types are gone.
  const text = tool.text(result as never, fence)
  const fenced = tool.fenced?.(result as never, fence)
  if (fenced === undefined) return { content: [{ type: 'text', text }], structuredContent: { ...result } }
  const { notice, marker, preamble } = fence
  return {
    content: [{ type: 'text', text: `${preamble}\n\n${text}` }],
    structuredContent: { notice, fence: marker, ...fenced },
    _meta: { untrusted: true },
  }
}

const toldOf = (
  names: readonly string[],
  known: readonly string[],
  elsewhere?: readonly KnownName[],
): Misfit | undefined => {
  const [first, ...more] = names
    .slice(0, MAX_UNKNOWN_TOLD)
    .map((name) => unknownMember('', name, known, elsewhere))
  return first && { code: 'unknown_member', details: [first, ...more] }
}

const argumentsOf = ({ input }: Tool): string[] => Object.keys(input.properties)

/** Members beside the arguments, which the protocol does not have. */
const unknownBeside = (tool: Tool, names: readonly string[]): Misfit | undefined =>
  toldOf(
    names,
    ['name', 'arguments'],
    argumentsOf(tool).map((name) => ({ name, place: 'arguments' })),
  )

/** Arguments that a tool does not have; the chat itself ignores what it does not know, and a model should hear of it. */
const unknownIn = (tool: Tool, sent: unknown): Misfit | undefined => {
  const known = argumentsOf(tool)
  const names = typeof sent === 'object' && sent !== null ? Object.keys(sent) : []
  return toldOf(
    names.filter((name) => !known.includes(name)),
    known,
  )
}

export const createTools = ({ checkArguments, describeError, onToolCall, ...services }: ToolsDeps): Tools => {
  const tools = new Map(
    TOOLS.map((tool) => [
      tool.name,
      { tool, check: tool.unchecked ? undefined : checkArguments(tool.input) },
    ]),
  )

  const run = async (tool: Tool, check: Check | undefined, call: ToolCall, poster: Poster) => {
    const beside = unknownBeside(tool, call.unknown)
    if (beside)
      throw new AppError(beside.code, { message: 'Unknown member of a call.', details: beside.details })
    const input = call.input ?? {}
    const misfit = check ? check(input) : unknownIn(tool, input)
    if (misfit) {
      const message = `The arguments do not match the schema of ${tool.name}.`
      throw new AppError(misfit.code, { message, details: misfit.details })
    }
    return asResult(tool, await tool.run(input as never, services, poster))
  }

  return {
    listing: LISTING,
    call(name, call, poster) {
      const found = tools.get(name)
      return (
        found &&
        run(found.tool, found.check, call, poster).then(
          (result) => {
            onToolCall(name, 'ok')
            return result
          },
          (error: unknown): CallToolResult => {
            const body = describeError(error, poster.requestId)
            onToolCall(name, body.error)
            return { content: [{ type: 'text', text: JSON.stringify(body) }], isError: true }
          },
        )
      )
    },
  }
}
