/** The prompt catalogue as MCP shows it: prompts to pick, resources to attach, completion of ids. @module */
import {
  type CompleteRequest,
  type CompleteResult,
  type GetPromptResult,
  type ListPromptsResult,
  type ListResourcesResult,
  type ListResourceTemplatesResult,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  ResourceNotFoundError,
} from '@modelcontextprotocol/server'
import type { PromptsService } from '../chat/prompts/prompts.ts'

const JSON_TYPE = 'application/json'
const DAILY_URI = 'assay://prompts/daily'
const CATEGORY_URI = 'assay://categories/'
const PROMPT_URI = 'assay://prompts/'
const CATEGORY_TEMPLATE = `${CATEGORY_URI}{category}`
const PROMPT_TEMPLATE = `${PROMPT_URI}{id}`
/** As the protocol limits it. */
const MAX_COMPLETIONS = 100

export interface McpCatalogue {
  readonly prompts: ListPromptsResult
  readonly resources: ListResourcesResult
  readonly templates: ListResourceTemplatesResult
  /** @throws ProtocolError -32602 for an unknown prompt */
  getPrompt(id: string): GetPromptResult
  /** @throws ResourceNotFoundError */
  read(uri: string): ReadResourceResult
  /** @throws ProtocolError -32602 for what takes no arguments */
  complete(params: CompleteRequest['params']): CompleteResult
}

const invalid = (message: string): never => {
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, message)
}

/** Everything that is listed is made once: the catalogue does not change while the service runs. */
export const createMcpCatalogue = (prompts: PromptsService): McpCatalogue => {
  const { categories } = prompts
  const all = prompts.list({})

  const contentOf = (uri: string): object | undefined => {
    if (uri === DAILY_URI) return prompts.daily()
    if (uri.startsWith(PROMPT_URI)) return prompts.find(uri.slice(PROMPT_URI.length))
    if (!uri.startsWith(CATEGORY_URI)) return undefined
    const category = categories.find(({ id }) => id === uri.slice(CATEGORY_URI.length))
    return category && { category, prompts: all.filter((prompt) => prompt.category === category.id) }
  }

  const candidates = ({ ref, argument }: CompleteRequest['params']): readonly string[] => {
    if (ref.type === 'ref/resource' && ref.uri === CATEGORY_TEMPLATE && argument.name === 'category')
      return categories.map(({ id }) => id)
    if (ref.type === 'ref/resource' && ref.uri === PROMPT_TEMPLATE && argument.name === 'id')
      return all.map(({ id }) => id)
    return invalid('There is no completion for this argument.')
  }

  return {
    prompts: {
      prompts: all.map(({ id, title, category, kind }) => ({
        name: id,
        title,
        description: `${category} · ${kind}`,
      })),
    },
    resources: {
      resources: [
        { uri: DAILY_URI, name: 'daily', title: 'Prompt of the day', mimeType: JSON_TYPE },
        ...categories.map(({ id, name, blurb }) => ({
          uri: `${CATEGORY_URI}${id}`,
          name: id,
          title: name,
          description: blurb,
          mimeType: JSON_TYPE,
        })),
      ],
    },
    templates: {
      resourceTemplates: [
        {
          uriTemplate: CATEGORY_TEMPLATE,
          name: 'category',
          title: 'A category with its prompts',
          mimeType: JSON_TYPE,
        },
        { uriTemplate: PROMPT_TEMPLATE, name: 'prompt', title: 'A prompt', mimeType: JSON_TYPE },
      ],
    },
    getPrompt(id) {
      const { title, text, kind } = prompts.find(id) ?? invalid(`Unknown prompt: ${id}`)
      const hint = `Read the replies of others with the tool get_prompt (id "${id}"), and answer with post_message (prompt_id "${id}").`
      return {
        description: `${title} (${kind})`,
        messages: [{ role: 'user', content: { type: 'text', text: `${title}\n\n${text}\n\n${hint}` } }],
      }
    },
    read(uri) {
      const content = contentOf(uri)
      if (content === undefined) throw new ResourceNotFoundError(uri)
      return { contents: [{ uri, mimeType: JSON_TYPE, text: JSON.stringify(content) }] }
    },
    complete(params) {
      const fitting = candidates(params).filter((id) => id.startsWith(params.argument.value))
      const values = fitting.slice(0, MAX_COMPLETIONS)
      return { completion: { values, total: fitting.length, hasMore: fitting.length > values.length } }
    },
  }
}
