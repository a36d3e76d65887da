/** The OpenAPI document as its pages read it. @module */
import type { JsonSchema } from '../../../http/input/schema.ts'
import { describeApi } from '../../../server/api-description.ts'
import { routes } from '../../../server/routes.ts'

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description?: string
  readonly schema: JsonSchema
  readonly example?: string | number
}

interface Media {
  readonly schema: JsonSchema
  readonly example?: unknown
}

export interface Answer {
  readonly description: string
  readonly content?: Readonly<Record<string, Media>>
}

interface Described {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly [string]
  readonly security: readonly Readonly<Record<string, unknown>>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, Answer>>
}

export interface Operation extends Described {
  /** Upper case. */
  readonly method: string
  readonly path: string
}

export interface Description {
  readonly info: { readonly description: string; readonly version: string }
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly operations: readonly Operation[]
  /** What the service sends, by event. */
  readonly webhooks: Readonly<Record<string, Described>>
  readonly schemas: Readonly<Record<string, JsonSchema>>
}

type Document = Pick<Description, 'info' | 'tags'> & {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly webhooks: Readonly<Record<string, { readonly post: Described }>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

/** The document that a server at this address answers with. */
export const readDescription = (baseUrl: string): Description => {
  const document = JSON.parse(JSON.stringify(describeApi(routes, baseUrl))) as Document
  return {
    info: document.info,
    tags: document.tags,
    operations: Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, described]) => ({
        ...described,
        method: method.toUpperCase(),
        path,
      })),
    ),
    webhooks: Object.fromEntries(Object.entries(document.webhooks).map(([name, { post }]) => [name, post])),
    schemas: document.components.schemas,
  }
}
