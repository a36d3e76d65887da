/** What the examples of all operations are answered with: asked of a real server, and what of it the documents keep. */
import { join } from 'node:path'
import type { Route } from '../../src/http/route.ts'
import { ANSWER_URL } from '../../src/server/example-answers.ts'
import type { TestApp } from './app.ts'
import { isSuccess } from './client.ts'
import { createFixtures, fill } from './fixtures.ts'

export const ANSWERS_FILE = join(import.meta.dirname, '../../src/server/example-answers.json')

/** One item tells as much as a hundred of its kind. */
const MAX_OBJECTS_IN_LIST = 2

export interface ExampleAnswer {
  readonly status: number
  readonly body: unknown
}

/** Calls the example of a route, in an organisation of its own. */
export const callExample = async (app: TestApp, route: Route): Promise<ExampleAnswer> => {
  const { key, headers, values } = await createFixtures(app, route)
  const { url, body } = fill(route, values)
  const answer = await app.request(route.method, url, { body, key, headers })
  return { status: answer.status, body: answer.body }
}

/** The document in which the answers are shown. */
const ITSELF = 'getOpenApi'

/**
 * Whether a status of a route is answered with JSON, of which the document shows an example: also the refusal of what a server
 * does only once somebody has set it up.
 */
export const isShown = ({ name, response, produces = 'application/json' }: Route, status: number): boolean =>
  name !== ITSELF &&
  (!isSuccess({ status }) ||
    ((response[status] ?? null) !== null &&
      [produces].flat().some((type) => type.split(';')[0] === 'application/json')))

const shortened = (value: unknown): unknown => {
  if (typeof value === 'string' && value.startsWith('<svg')) return '<svg …</svg>'
  if (Array.isArray(value)) {
    const isOfObjects = value.every(
      (item) => typeof item === 'object' && item !== null && !Array.isArray(item),
    )
    return (isOfObjects ? value.slice(0, MAX_OBJECTS_IN_LIST) : value).map(shortened)
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shortened(member)]))
}

/** An answer as the documents keep it: lists are short, and it may have come from any server. */
export const keptAnswer = (app: TestApp, { status, body }: ExampleAnswer): ExampleAnswer => {
  const { host } = new URL(app.url)
  const text = JSON.stringify(shortened(body))
  return {
    status,
    body: JSON.parse(text.replaceAll(app.url, ANSWER_URL).replaceAll(host, new URL(ANSWER_URL).host)),
  }
}

/** Each place of a value with the type of what stands there: `/results/*\/decision: string`. */
export const shapeOf = (value: unknown, place = ''): readonly string[] => {
  if (value === null) return [`${place}: null`]
  if (typeof value !== 'object') return [`${place}: ${typeof value}`]
  const isList = Array.isArray(value)
  const below = Object.entries(value).flatMap(([name, member]) =>
    shapeOf(member, `${place}/${isList ? '*' : name}`),
  )
  return [...new Set([`${place}: ${isList ? 'list' : 'object'}`, ...below])].sort()
}
