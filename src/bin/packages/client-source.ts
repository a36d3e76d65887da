/**
 * Writes build/client/: what ties `src/bin/packages/contents/client` to the operations, and the types that @hey-api/openapi-ts makes of the OpenAPI
 * document. Both are made from the route values, so the client can't be behind the service.
 * @module
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { OpenApiDocument } from '../../http/openapi/openapi.ts'

interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly enum?: readonly string[]
}
type Content = Readonly<Record<string, { readonly schema?: Schema }>>
interface Described {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: { readonly content: Content }
  /** One with nothing in it: no credential is needed. */
  readonly security: readonly object[]
  readonly responses: Readonly<Record<string, { description: string; readonly content?: Content }>>
}
type Paths = Readonly<Record<string, Readonly<Record<string, Described>>>>
interface Document {
  readonly paths: Paths
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** An operation as the client has it. */
interface Row {
  readonly name: string
  readonly summary: string
  /** As the client has it. */
  readonly group: string
  readonly line: string
  readonly query: string
  readonly flags: string
  /** Media types of its answers; `none`: without a body. */
  readonly types: readonly string[]
  /** Statuses of refusals that need have no code. */
  readonly uncoded: readonly string[]
  /** The member of an answer that holds the items of a page. */
  readonly items: string | undefined
  readonly answer: string
}

const upperFirst = (name: string): string => `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`
const groupName = (group: string): string =>
  group.toLowerCase().replace(/ (\w)/g, (_, letter: string) => letter.toUpperCase())

const JSON_TYPE = /^application\/(\w+\+)?json$/

const NO_BODY = 'none'

const typesOf = ({ responses }: Described): string[] => {
  const success = Object.entries(responses).filter(([status]) => status.startsWith('2'))
  const types = success.flatMap(([, { content }]) => (content ? Object.keys(content) : [NO_BODY]))
  return [...new Set(types)]
}

/** Statuses of answers that are neither successes nor always errors with a code, as those of health. */
const uncodedOf = ({ responses }: Described): string[] =>
  Object.entries(responses)
    .filter(([status]) => !status.startsWith('2'))
    .filter(([, { content }]) => {
      const schema = content?.['application/json']?.schema
      return schema !== undefined && schema.allOf === undefined
    })
    .map(([status]) => status)

/** What an operation answers, by the kinds of its contents. */
const answerOf = ({ operationId }: Described, types: readonly string[]): string => {
  const kindOf = (type: string): string => {
    if (type === NO_BODY) return 'undefined'
    if (JSON_TYPE.test(type)) return `api.${upperFirst(operationId)}Response`
    return /^text\/|ndjson/.test(type) ? 'string' : 'Blob'
  }
  return [...new Set(types.map(kindOf))].join(' | ')
}

const rowsOf = ({ paths, components }: Document): Row[] => {
  const resolved = (schema: Schema = {}): Schema =>
    schema.$ref === undefined ? schema : resolved(components.schemas[schema.$ref.split('/').at(-1) ?? ''])
  const hasMembers = (schema: Schema): boolean =>
    Object.keys(resolved(schema).properties ?? {}).length > 0 ||
    (resolved(schema).anyOf ?? []).some(hasMembers)

  const rowOf = (path: string, method: string, described: Described): Row => {
    const { operationId: name, summary, tags, parameters = [], requestBody, responses, security } = described
    const namesIn = (place: string) => parameters.filter((one) => one.in === place).map((one) => one.name)
    const page = resolved(responses['200']?.content?.['application/json']?.schema).properties ?? {}
    const items =
      namesIn('query').some((member) => ['cursor', 'after'].includes(member)) && 'nextCursor' in page
        ? Object.keys(page).find((member) => resolved(page[member]).type === 'array')
        : undefined
    const body = requestBody?.content['application/json']?.schema
    const flags = [
      namesIn('header').includes('Idempotency-Key') ? 'i' : '',
      security.some((one) => Object.keys(one).length === 0) ? 'o' : '',
      requestBody === undefined ? '' : body !== undefined && hasMembers(body) ? 'b' : 'w',
      'text/event-stream' in (responses['200']?.content ?? {}) ? 's' : '',
    ].join('')
    const line = `${method.toUpperCase()} ${path}`
    const query = namesIn('query').join(' ')
    const types = typesOf(described)
    const answer = answerOf(described, types)
    const uncoded = uncodedOf(described)
    return {
      name,
      summary,
      group: groupName(tags[0] ?? ''),
      line,
      query,
      flags,
      types,
      uncoded,
      items,
      answer,
    }
  }
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => rowOf(path, method, described)),
  )
}

const callOf = ({ name, flags, items, answer }: Row): string => {
  const input = `${flags.includes('w') ? 'WithBody' : 'Flat'}<api.${upperFirst(name)}Data>`
  if (flags.includes('s')) return `(input?: ${input}, options?: CallOptions) => AsyncGenerator<ChatEvent>`
  if (items === undefined) return `Call<${input}, ${answer}>`
  return `ListCall<${input}, ${answer}, (${answer})['${items}'][number]>`
}

/** @throws Error where a group has the name of an operation */
const glueOf = (rows: readonly Row[]): string => {
  const groups = [...new Set(rows.map(({ group }) => group))].sort()
  const clash = groups.find((group) => rows.some(({ name }) => name === group))
  if (clash !== undefined) throw new Error(`${clash} is a group of operations and an operation`)
  const table = rows.map(({ name, group, line, query, flags, types, uncoded, items }) => {
    const answers = [...types, ...uncoded].join(' ')
    const row = [group, line, query, flags, answers, ...(items === undefined ? [] : [items])]
    return `  ${name}: ${JSON.stringify(row)},`
  })
  const namesIn = (group: string) =>
    rows
      .filter((row) => row.group === group)
      .map(({ name }) => `'${name}'`)
      .join(' | ')
  return `// generated by src/bin/packages/client-source.ts from the OpenAPI document; change the routes instead
import { type Call, createOperations, type Flat, type ListCall, type TableRow, type WithBody } from '../../src/bin/packages/contents/client/client.ts'
import { AssayError, type ErrorOf } from '../../src/bin/packages/contents/client/errors.ts'
import type { Attempt, CallOptions, ClientOptions } from '../../src/bin/packages/contents/client/request.ts'
import type { StreamEvent } from '../../src/bin/packages/contents/client/stream.ts'
import type * as api from './types.gen.ts'

export { verifyWebhook, type WebhookDelivery, type WebhookVerdict } from '../../src/bin/packages/contents/client/webhook.ts'
export { AssayError, type Attempt, type CallOptions, type ClientOptions, type ErrorOf, type StreamEvent }

const TABLE: Readonly<Record<string, TableRow>> = {
${table.join('\n')}
}

/** Of the chat's stream. Whatever it says was written by strangers. */
export type ChatEvent =
  | (StreamEvent & { readonly event: 'message'; readonly data: api.Message })
  | (StreamEvent & { readonly event: 'delete'; readonly data: { readonly id: number } })
  | (StreamEvent & { readonly event: 'state' | 'stats'; readonly data: Readonly<Record<string, unknown>> })

/** Every operation by its id. */
export interface Operations {
${rows.map((row) => `  /** ${row.summary}. */\n  readonly ${row.name}: ${callOf(row)}`).join('\n')}
}

/** The bodies of the errors of each operation. */
export interface ErrorBodies {
${rows.map(({ name }) => `  readonly ${name}: api.${upperFirst(name)}Error`).join('\n')}
}

/** Every operation, and again in the groups of the documentation. */
export interface Client extends Operations {
${groups.map((group) => `  readonly ${group}: Pick<Operations, ${namesIn(group)}>`).join('\n')}
}

/** @throws TypeError for an address that is none */
export const createClient = (options: ClientOptions): Client =>
  createOperations(TABLE, options) as unknown as Client

/** What something between answered, such as a proxy with a page of its own. */
export interface NotTheService {
  readonly error: 'not_the_service'
  readonly message: string
}

/** What health and MCP answer that is no success and has no code. */
export interface NoSuccess<Answer> {
  readonly error: 'no_success'
  readonly message: string
  readonly answer: Answer
}
type Coded<Body> = Body extends { readonly error: string } ? Body : NoSuccess<Body>

/** Whether an operation answered with an error, or something between did; its codes are told apart by \`error\`. */
export const isErrorOf = <Name extends keyof ErrorBodies>(
  operation: Name,
  error: unknown,
): error is ErrorOf<Coded<ErrorBodies[Name]> | NotTheService> => error instanceof AssayError && error.operation === operation
`
}

/** What errors mean is in the documentation; said again for each operation it would be most of the types. */
const withoutErrorTexts = (document: OpenApiDocument): Document => {
  const copy = JSON.parse(JSON.stringify(document)) as Document
  for (const methods of Object.values(copy.paths))
    for (const { responses } of Object.values(methods))
      for (const [status, response] of Object.entries(responses))
        if (!status.startsWith('2')) response.description = ''
  return copy
}

/** What ties the types to the code that makes requests: a program without them, since types are erased. @param document of all routes */
export const clientProgram = (document: OpenApiDocument): string =>
  glueOf(rowsOf(JSON.parse(JSON.stringify(document)) as Document))

/** All routes. What they are made of reads the core, so it is loaded only once that was built. */
export const describeAll = async (): Promise<OpenApiDocument> => {
  const [{ describeApi }, { routes }] = await Promise.all([
    import('../../server/api-description.ts'),
    import('../../server/routes.ts'),
  ])
  return describeApi(routes, 'https://assay.example.org')
}

/** Programs may be loading it, so what is right is left alone. @param output build/client, or a folder as deep as that */
export const writeClientProgram = (output: string, document: OpenApiDocument): void => {
  const file = join(output, 'index.ts')
  const program = clientProgram(document)
  mkdirSync(output, { recursive: true })
  if (!existsSync(file) || readFileSync(file, 'utf8') !== program) writeFileSync(file, program)
}

/** The program, and its types beside it, which take seconds. @param output as {@link writeClientProgram} has it */
export const writeClientSource = async (output: string, document: OpenApiDocument): Promise<void> => {
  writeClientProgram(output, document)
  // Only who compiles or publishes has need of it.
  const { createClient } = await import('@hey-api/openapi-ts')
  await createClient({
    input: withoutErrorTexts(document) as never,
    output: { path: output, clean: false, entryFile: false },
    plugins: ['@hey-api/typescript'],
    logs: { level: 'silent' },
  })
}
