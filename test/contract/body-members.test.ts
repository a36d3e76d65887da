/** A member that nobody knows is refused in every object of every body, but for those of one list. */
import { expect } from 'chai'
import fc from 'fast-check'
import {
  bodies,
  describeBodies,
  document,
  type Level,
  openness,
  resolved,
  writtenBodies,
} from '../../src/bin/docs/body-members.ts'
import type { ErrorDetail } from '../../src/errors.ts'
import type { JsonSchema } from '../../src/http/input/schema.ts'
import type { Route } from '../../src/http/route.ts'
import { routes } from '../../src/server/routes.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createArbitraries } from '../support/arbitrary.ts'
import { createFixtures, fill } from '../support/fixtures.ts'

const UNKNOWN = 'undeclared_member'
const { fitting } = createArbitraries(document.components.schemas)

const someObject = (schema: JsonSchema): object =>
  fc.sample(fitting(schema), { seed: 1, numRuns: 1 })[0] as object

/** A body with an unknown member in the object at the place; undefined where the schema has no object there. */
const withUnknownAt = (given: JsonSchema, [token, ...rest]: readonly string[]): unknown => {
  const schema = resolved(given)
  const alternatives = schema.anyOf ?? schema.oneOf
  if (alternatives) {
    for (const part of alternatives) {
      const value = withUnknownAt(part, token === undefined ? [] : [token, ...rest])
      if (value !== undefined) return value
    }
    return undefined
  }
  if (token === undefined)
    return schema.type === 'object' ? { ...someObject(schema), [UNKNOWN]: 1 } : undefined
  const { properties, items, additionalProperties: others } = schema
  const inner =
    properties?.[token] ??
    (token === '*' ? (items ?? (typeof others === 'object' ? others : undefined)) : undefined)
  const value = inner && withUnknownAt(inner, rest)
  if (value === undefined) return undefined
  return items ? [value] : { ...someObject(schema), [token]: value }
}

const tokensOf = (place: string): string[] => place.split('/').slice(1)

describe('members of bodies', () => {
  let app: TestApp
  let key: string
  before(async () => {
    // One of its own: it posts examples to the chat, which refuses a text that was posted before.
    app = await startTestApp()
    key = (await app.organisation()).apiKey
  })
  after(() => app.close())

  /** Where the operation is called, and by whom. */
  const callOf = async (route: Route) => {
    if (route.path.includes('{') || route.auth === 'session') {
      const { values, ...caller } = await createFixtures(app, route)
      return { url: fill(route, values).url, ...caller }
    }
    return {
      url: route.path,
      key: route.auth === 'none' ? undefined : route.scope === 'admin' ? app.adminKey : key,
    }
  }

  it('are told in docs/body-members.md as they are (npm run docs:bodies writes it)', () => {
    expect(writtenBodies()).to.equal(describeBodies())
  })

  it('stay open only for a reason', () => {
    const open = bodies.flatMap(({ operation, levels }) =>
      levels
        .filter((level) => !level.isClosed && openness(operation, level) === undefined)
        .map(({ place }) => `${operation} ${place}`),
    )
    expect(open).to.deep.equal([])
  })

  /** Whether it is closed by the schema that is checked; nodes of trees are closed by what reads them, after all else. */
  const isChecked = ({ isClosed, isInItself }: Level) => isClosed && !isInItself
  const closedBodies = bodies.filter(({ levels }) => levels.some(isChecked))
  for (const { operation, schema, levels } of closedBodies) {
    it(`that are unknown are refused by ${operation}, wherever they stand`, async () => {
      const route = routes.find(({ name }) => name === operation)
      if (route === undefined) throw new Error(`no route is called ${operation}`)
      const { url, ...caller } = await callOf(route)
      for (const { place } of levels.filter(isChecked)) {
        const body = withUnknownAt(schema, tokensOf(place))
        expect(body, place).not.to.equal(undefined)
        const answer = await app.request<{ error: string; details?: ErrorDetail[] }>(route.method, url, {
          ...caller,
          body,
        })
        const said = `${place} ${JSON.stringify(body)} ${JSON.stringify(answer.body)}`
        expect([answer.status, answer.body.error], said).to.deep.equal([422, 'unknown_member'])
        const path = `${place.replaceAll('*', '0')}/${UNKNOWN}`
        const told = answer.body.details?.find((detail) => detail.path === path)
        expect(told?.message, said).to.match(/known/)
      }
    })
  }

  /** The example with an unknown member in the object at the place, if it has one there. */
  const extended = (value: unknown, [token, ...rest]: readonly string[]): unknown => {
    if (typeof value !== 'object' || value === null) return undefined
    if (token === undefined) return Array.isArray(value) ? undefined : { ...value, [UNKNOWN]: 1 }
    const name = token === '*' ? '0' : token
    const inner = extended((value as Record<string, unknown>)[name], rest)
    if (inner === undefined) return undefined
    return Array.isArray(value) ? [inner, ...value.slice(1)] : { ...value, [name]: inner }
  }

  for (const { operation, levels } of bodies) {
    const route = routes.find(({ name }) => name === operation)
    const judged = levels.filter(
      (level) => !isChecked(level) && extended(route?.example?.body, tokensOf(level.place)) !== undefined,
    )
    if (route === undefined || judged.length === 0) continue
    it(`that are unknown are judged by ${operation} in ${judged.map(({ place }) => place || 'its body').join(', ')}`, async () => {
      for (const level of judged) {
        const { place, isClosed } = level
        const { values, ...caller } = await createFixtures(app, route)
        const { url, body } = fill(route, values)
        const sent = extended(body, tokensOf(place))
        const answer = await app.request<{ error?: string }>(route.method, url, { ...caller, body: sent })
        const said = JSON.stringify(answer.body)
        if (isClosed || openness(operation, level)?.isRefused)
          expect(answer.body.error, said).to.equal('unknown_member')
        else {
          expect(answer.body?.error, said).not.to.equal('unknown_member')
          if (place === '') expect(answer.status, said).to.be.within(200, 299)
        }
      }
    })
  }
})
