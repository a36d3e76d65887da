/** The typed client as its users have it, made of the routes as they are. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { clientProgram } from '../../src/bin/packages/client-source.ts'
import type { ClientOptions } from '../../src/bin/packages/contents/client/request.ts'
import { describeApi } from '../../src/server/api-description.ts'
import { routes } from '../../src/server/routes.ts'
import { fill, placeholdersOf, WITHOUT_SUCCESS } from './fixtures.ts'
import { ROOT } from './sources.ts'

interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  readonly retries?: number
  readonly timeoutMs?: number
}
export type Method = ((input?: object, options?: CallOptions) => Promise<unknown>) & {
  readonly all: (input?: object) => AsyncGenerator<unknown>
}
export interface ClientModule {
  createClient(options: ClientOptions): Readonly<Record<string, Method>>
  isErrorOf(operation: string, error: unknown): boolean
  verifyWebhook(received: object): { readonly valid: boolean }
  readonly AssayError: new () => Error
}
export interface AssayError extends Error {
  readonly status: number
  readonly error: string
  readonly requestId?: string
  readonly body?: { readonly answer?: unknown }
}

interface Described {
  readonly operationId: string
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: object }[]
}
const described = describeApi(routes, 'https://assay.example.org')
const document = JSON.parse(JSON.stringify(described)) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
}
const operations = new Map(
  Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .map((operation) => [operation.operationId, operation]),
)
/** Those whose bodies may have members of any name. */
const OPEN = ['askHermes', 'verifyInPod']
/** Those whose bodies may have more members than they name. */
const TAKES_MORE = ['callMcp', 'decidePolicy', 'evaluateAccess', 'evaluateAccessAll']
/** What the client has no words for: criteria by query, which may have any name; by body it has. */
export const REFUSED: Readonly<Record<string, number>> = { ...WITHOUT_SUCCESS, askHermesByQuery: 422 }

/** What a caller of the client writes for the example of a route. */
export const inputOf = (route: (typeof routes)[number], values: Readonly<Record<string, string>>): object => {
  const { params = {}, query = {}, body } = fill(route, values)
  const { parameters = [] } = operations.get(route.name) as Described
  const inPath = parameters.filter((one) => one.in === 'path').map(({ name }) => name)
  const isNumber = (name: string) =>
    /"(integer|number)"/.test(JSON.stringify(parameters.find((one) => one.name === name)?.schema))
  const typed = (members: object) =>
    Object.fromEntries(
      Object.entries(members)
        // A question by query may name anything; the one by body is the client's.
        .filter(([name]) => parameters.some((one) => one.name === name))
        .map(([name, value]) => [name, isNumber(name) ? Number(value) : value]),
    )
  const path = inPath.map((name) => [name, params[name] ?? values[name]])
  return {
    ...(OPEN.includes(route.name) ? { body } : (body as object | undefined)),
    ...typed(query),
    ...typed(Object.fromEntries(path)),
  }
}

/** What the build would write, loaded. */
export const loadClient = async (): Promise<ClientModule> => {
  const directory = await mkdtemp(join(ROOT, 'build/clients-'))
  try {
    const file = join(directory, 'index.ts')
    await writeFile(file, clientProgram(described))
    return (await import(file)) as ClientModule
  } finally {
    await rm(directory, { recursive: true })
  }
}

/** A program that calls every operation as its example does, and again with a member that there is none, which must not compile. */
export const callsProgram = (): string => {
  const calls = routes.flatMap((route) => {
    // Any text will do for ids, and this one for numbers, too.
    const input = inputOf(route, Object.fromEntries([...placeholdersOf(route)].map((name) => [name, '1'])))
    const right = `assay.${route.name}(${JSON.stringify(input)})`
    if (TAKES_MORE.includes(route.name)) return [right]
    const wrong = `assay.${route.name}(${JSON.stringify({ ...input, undeclared: 1 })})`
    return [right, `// @ts-expect-error: ${route.name} has no such member\n  ${wrong}`]
  })
  return `import { createClient, isErrorOf } from 'assay-client'
const assay = createClient({ baseUrl: '' })
export const said = (error: unknown) => {
  if (!isErrorOf('verify', error)) return
  if (error.error === 'rate_limited') return error.retryAfter
  if (error.error === 'not_the_service') return error.message
  // @ts-expect-error: it refuses nothing without a code
  if (error.error === 'no_success') return
  // @ts-expect-error: no code of this operation
  return error.error === 'badge_unknown'
}
export const ill = (error: unknown) => {
  if (isErrorOf('getHealth', error) && error.error === 'no_success') return error.body.answer.database.status
  if (isErrorOf('callMcp', error) && error.error === 'no_success') return error.body.answer.error.code
}
export const calls = () => {
  ${calls.join('\n  ')}
}
`
}
