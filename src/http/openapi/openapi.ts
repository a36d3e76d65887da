/**
 * The OpenAPI 3.1 document, made from the same routes that are served.
 * @module
 */
import type { TSchema } from 'typebox'
import { ERRORS, type ErrorCode } from '../../errors.ts'
import { errorCodesOf, isRootFamily, takesIdempotencyKey } from '../errors.ts'
import { asJsonSchema } from '../input/schema.ts'
import { needsAllScopes, type Route, scopesOf } from '../route.ts'
import {
  commonHeaders,
  ErrorSchema,
  errorHeaders,
  HEADERS,
  headerRef,
  idempotencyParameter,
  RootErrorSchema,
  SECURITY,
  SECURITY_SCHEMES,
} from './components.ts'
import { createSchemaComponents, type SchemaComponents } from './schemas.ts'

export interface OpenApiInfo {
  readonly title: string
  readonly version: string
  readonly description: string
  /** SPDX identifier. */
  readonly license: string
  readonly serverUrl: string
  /** Tag name → description; every tag that a route uses must be here. */
  readonly tags: Readonly<Record<string, string>>
  /** What stands for `{placeholder}` in examples of bodies whose schema asks for more than any text. */
  readonly exampleValues: Readonly<Record<string, string>>
  /** What operations answer to their examples, by name. */
  readonly exampleAnswers: Readonly<Record<string, { readonly status: number; readonly body: unknown }>>
  /** Absent: none. */
  readonly webhooks?: readonly OpenApiWebhook[]
}

/** A request that the service sends (OpenAPI 3.1 §4.8.1.1, `webhooks`). */
export interface OpenApiWebhook {
  readonly name: string
  readonly summary: string
  readonly description: string
  readonly tag: string
  /** Header name → what it holds. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: TSchema
}

/** What descriptions of all operations have in common. */
interface Known extends Pick<OpenApiInfo, 'exampleValues' | 'exampleAnswers'> {
  readonly components: SchemaComponents
}

export type OpenApiDocument = Record<string, unknown>

const JSON_MEDIA_TYPE = 'application/json'
const HTML_MEDIA_TYPE = 'text/html'

/** An example's text as the value it stands for; placeholders mean something to tests only. */
const parameterExample = (
  text: string | undefined,
  schema: TSchema | undefined,
): string | number | undefined => {
  if (text === undefined || /^\{\w+\}$/.test(text)) return undefined
  const { type } = schema ? asJsonSchema(schema) : {}
  return type === 'integer' || type === 'number' ? Number(text) : text
}

/** A body's example with values that fit the schema; `{…Number}` stands for a number. */
const bodyExample = (example: unknown, values: OpenApiInfo['exampleValues']): unknown =>
  JSON.parse(
    JSON.stringify(example).replaceAll(/"\{(\w+)\}"/g, (whole, name: string) =>
      name.endsWith('Number') ? '1' : name in values ? JSON.stringify(values[name]) : whole,
    ),
  )

const parameters = (route: Route, components: SchemaComponents) => {
  const declare = (where: 'path' | 'query', name: string, schema: TSchema | undefined, required: boolean) => {
    const { description, ...shape } = schema ? components.use(schema) : { type: 'string' }
    const text = (where === 'path' ? route.example?.params : route.example?.query)?.[name]
    const example = parameterExample(text, schema)
    return {
      name,
      in: where,
      required,
      ...(description && { description }),
      schema: shape,
      ...(example !== undefined && { example }),
    }
  }
  const pathNames = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)
  const { properties: query, required = [] } = route.query ? asJsonSchema(route.query) : {}
  return [
    ...pathNames.map((name) => declare('path', name, route.params?.properties[name], true)),
    ...Object.entries(query ?? {}).map(([name, schema]) =>
      declare('query', name, schema, required.includes(name)),
    ),
    ...Object.entries(route.headers ?? {}).map(([name, description]) => ({
      name,
      in: 'header',
      required: false,
      description,
      schema: { type: 'string' },
    })),
    ...(takesIdempotencyKey(route) ? [idempotencyParameter(route)] : []),
  ]
}

const requestBody = (route: Route, { components, exampleValues }: Known) => {
  if (route.body === undefined) return {}
  const { required = [], type } = asJsonSchema(route.body)
  const example = route.example?.body
  const isChecked = (route.bodyForm ?? 'checked') === 'checked'
  const media = {
    schema: isChecked ? components.useClosed(route.body) : components.use(route.body),
    ...(example !== undefined && { example: bodyExample(example, exampleValues) }),
  }
  return {
    requestBody: {
      required: type !== 'object' || required.length > 0,
      content: { [JSON_MEDIA_TYPE]: media },
    },
  }
}

/** What a server answered to the example with this status, as a member of a media type. */
const exampleAt = ({ name }: Route, status: number, answers: OpenApiInfo['exampleAnswers']) => {
  const shown = answers[name]
  return shown?.status === status ? { example: shown.body } : {}
}

const successContent = (
  route: Route,
  status: number,
  schema: TSchema,
  { components, exampleAnswers }: Known,
) => {
  const isFirst = String(status) === Object.keys(route.response)[0]
  const types = isFirst ? [route.produces ?? JSON_MEDIA_TYPE].flat() : [JSON_MEDIA_TYPE]
  const example = exampleAt(route, status, exampleAnswers)
  return Object.fromEntries(
    types.map((type) => {
      const [mediaType = type] = type.split(';')
      if (mediaType !== JSON_MEDIA_TYPE) return [mediaType, { schema: { type: 'string' } }]
      return [mediaType, { schema: components.use(schema), ...example }]
    }),
  )
}

/** Of answers that are no errors with a code. */
const STATUS_WORDS: Readonly<Record<number, string>> = {
  200: 'Done.',
  201: 'Created.',
  202: 'Accepted.',
  204: 'Success, without a body.',
  304: 'Not modified, without a body.',
}

const responses = (route: Route, known: Known) => {
  const { components } = known
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of [...errorCodesOf(route)].sort()) {
    const [status] = ERRORS[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const errorSchema = components.use(isRootFamily(route.path) ? RootErrorSchema : ErrorSchema)
  const result: Record<string, unknown> = {}
  for (const [status, codes] of byStatus) {
    const own = route.response[status]
    // A text is a page for browsers, which takes the error's place and not one beside it.
    const page = own &&
      asJsonSchema(own).type === 'string' && { [HTML_MEDIA_TYPE]: { schema: components.use(own) } }
    const error = {
      allOf: [errorSchema, { type: 'object', required: ['error'], properties: { error: { enum: codes } } }],
    }
    const schema = own && !page ? { anyOf: [components.use(own), error] } : error
    const description = codes.map((code) => `\`${code}\`: ${ERRORS[code][1]}`).join('\n\n')
    result[status] = {
      description,
      headers: errorHeaders(route, status),
      // Of what a server refuses until somebody has set it up, the refusal is the example.
      content: {
        [JSON_MEDIA_TYPE]: { schema, ...exampleAt(route, status, known.exampleAnswers) },
        ...page,
      },
    }
  }
  for (const [key, schema] of Object.entries(route.response)) {
    const status = Number(key)
    if (byStatus.has(status)) continue
    const description = STATUS_WORDS[status] ?? 'Refused; see the body.'
    const replayed = takesIdempotencyKey(route) && {
      'Idempotency-Replayed': headerRef('IdempotencyReplayed'),
    }
    const headers = { ...commonHeaders(route), ...replayed }
    result[status] =
      schema === null
        ? { description, headers }
        : { description, headers, content: successContent(route, status, schema, known) }
  }
  return result
}

const operation = (route: Route, known: Known) => {
  const scopes = scopesOf(route).map((scope) => `\`${scope}\``)
  const together = scopes.join(needsAllScopes(route) ? ' and ' : ' or ')
  const scope = scopes.length > 0 && `Needs a credential with scope ${together}.`
  const token = route.auth === 'merchant' && 'Terminal tokens are accepted.'
  const own =
    route.addressLimit &&
    `At most ${route.addressLimit.requests} requests in ${route.addressLimit.windowSeconds} s from one address; they do not count against the general limit.`
  const description = [route.description, scope, token, own].filter(Boolean).join('\n\n')
  const declared = parameters(route, known.components)
  return {
    operationId: route.name,
    summary: route.summary,
    ...(description && { description }),
    tags: [route.tag],
    security: SECURITY[route.auth],
    ...(declared.length > 0 && { parameters: declared }),
    ...requestBody(route, known),
    responses: responses(route, known),
  }
}

const byText =
  <T>(text: (item: T) => string) =>
  (a: T, b: T) =>
    text(a) < text(b) ? -1 : 1

const webhook = (
  { name, summary, description, tag, headers, body }: OpenApiWebhook,
  use: SchemaComponents['use'],
) => ({
  post: {
    operationId: `receive.${name}`,
    summary,
    description,
    tags: [tag],
    security: [],
    parameters: Object.entries(headers).map(([header, text]) => ({
      name: header,
      in: 'header',
      required: true,
      description: text,
      schema: { type: 'string' },
    })),
    requestBody: { required: true, content: { [JSON_MEDIA_TYPE]: { schema: use(body) } } },
    responses: {
      '2XX': { description: 'Received. The body is ignored.' },
      '4XX': { description: 'Not accepted; the delivery is repeated at most twice.' },
    },
  },
})

/**
 * The document in steps, an operation each: all at once it would give nobody else a turn for a tenth of a second.
 * @throws Error when operation names repeat, a tag has no description, or one schema name means two things
 */
export function* openApiSteps(
  routes: readonly Route[],
  info: OpenApiInfo,
): Generator<void, OpenApiDocument, void> {
  const sent = routes.flatMap(({ body, bodyForm = 'checked', response }) => [
    ...Object.values(response).filter((schema) => schema !== null),
    // What is not checked stays open as well.
    ...(body && bodyForm !== 'checked' ? [body] : []),
  ])
  const components = createSchemaComponents([...sent, ...(info.webhooks ?? []).map(({ body }) => body)])
  const paths: Record<string, Record<string, unknown>> = {}
  const names = new Set<string>()
  const tags = new Set<string>()
  for (const route of [...routes].sort(byText((r) => r.path))) {
    if (names.has(route.name)) throw new Error(`two routes are called ${route.name}`)
    if (info.tags[route.tag] === undefined)
      throw new Error(`tag ${route.tag} of ${route.name} has no description`)
    names.add(route.name)
    tags.add(route.tag)
    paths[route.path] = {
      ...paths[route.path],
      [route.method.toLowerCase()]: operation(route, { ...info, components }),
    }
    yield
  }
  return {
    openapi: '3.1.0',
    info: {
      title: info.title,
      version: info.version,
      description: info.description,
      license: { name: info.license, identifier: info.license },
    },
    servers: [{ url: info.serverUrl }],
    tags: [...tags].sort().map((name) => ({ name, description: info.tags[name] })),
    paths,
    ...(info.webhooks && {
      webhooks: Object.fromEntries(info.webhooks.map((sent) => [sent.name, webhook(sent, components.use)])),
    }),
    components: { schemas: components.all(), headers: HEADERS, securitySchemes: SECURITY_SCHEMES },
  }
}

/** The same at once. @throws as {@link openApiSteps} */
export const createOpenApi = (routes: readonly Route[], info: OpenApiInfo): OpenApiDocument => {
  const steps = openApiSteps(routes, info)
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}
