/**
 * What compiles as a route's answer. The compiler is what tests here: `npm run check` fails on a marked line that compiles, and on
 * any other that does not.
 */
import { Readable } from 'node:stream'
import { expect } from 'chai'
import Type from 'typebox'
import { createEventStreams } from '../../src/http/event-stream.ts'
import { Reply, type Route, route } from '../../src/http/route.ts'

const get = {
  name: 'x',
  method: 'GET',
  path: '/x',
  auth: 'none',
  tag: 'T',
  summary: 'x',
  errors: [],
} as const

const Card = Type.Object({ kind: Type.Literal('card'), last4: Type.String() })
const Cash = Type.Object({ kind: Type.Literal('cash'), coins: Type.Integer() })
const Order = Type.Object({
  id: Type.String(),
  note: Type.Optional(Type.String()),
  place: Type.Object({ city: Type.String() }),
  lines: Type.Array(Type.Object({ sku: Type.String() })),
  paid: Type.Union([Card, Cash, Type.Null()]),
  extra: Type.Record(Type.String(), Type.Unknown()),
})
const Busy = Type.Object({ busy: Type.Literal(true) })

const response = { 200: Order, 503: Busy }
const order = { id: 'o1', place: { city: 'Rome' }, lines: [{ sku: 'a' }], paid: null, extra: {} }
const card = { kind: 'card', last4: '4242' } as const

describe('the types of answers', () => {
  /** Routes are made and never called. */
  const compiled = (...routes: readonly Route<unknown>[]) => expect(routes).not.to.be.empty

  it('let through the first status as its body, and every declared one as a Reply', () => {
    const twice = { 200: Busy, 503: Busy }
    compiled(
      route({ ...get, response, handler: () => order }),
      route({ ...get, response, handler: async () => ({ ...order, note: 'x', paid: card }) }),
      route({ ...get, response, handler: () => ({ ...order, extra: { of: { any: 'kind' } } }) }),
      route({ ...get, response, handler: () => new Reply(200, order, { Vary: 'Accept' }) }),
      route({ ...get, response, handler: ({ ip }) => (ip ? order : new Reply(503, { busy: true })) }),
      route({ ...get, response: twice, handler: ({ ip }) => new Reply(ip ? 200 : 503, { busy: true }) }),
      route({ ...get, response: { 201: Busy }, handler: () => ({ busy: true }) }),
      route({ ...get, response: { 200: Busy, 304: null }, handler: () => new Reply(304, undefined) }),
    )
  })

  it('refuse another shape', () => {
    compiled(
      // @ts-expect-error a member is missing
      route({ ...get, response, handler: () => ({ id: 'o1' }) }),
      // @ts-expect-error a member has another type
      route({ ...get, response, handler: () => ({ ...order, id: 1 }) }),
      // @ts-expect-error a member may be undefined
      route({ ...get, response, handler: ({ headers }) => ({ ...order, id: headers.host }) }),
      // @ts-expect-error text is not the object
      route({ ...get, response, handler: async () => 'order' }),
      // @ts-expect-error nothing is not the object
      route({ ...get, response, handler: () => undefined }),
      // @ts-expect-error anything at all
      route({ ...get, response, handler: () => JSON.parse('{}') }),
      // @ts-expect-error anything at all, deeper
      route({ ...get, response, handler: () => ({ ...order, lines: JSON.parse('[]') }) }),
    )
  })

  it('refuse misspelt members and members too many, at any depth', () => {
    const place = { city: 'Rome', zip: '00100' }
    const lines = [{ sku: 'a', price: 3 }]
    const paid = { ...card, coins: 3 }
    compiled(
      // @ts-expect-error misspelt, where it is optional
      route({ ...get, response, handler: () => ({ ...order, notes: 'x' }) }),
      // @ts-expect-error one too many, promised
      route({ ...get, response, handler: async ({ ip }) => ({ ...order, ip }) }),
      // @ts-expect-error in an object
      route({ ...get, response, handler: () => ({ ...order, place }) }),
      // @ts-expect-error in a list
      route({ ...get, response, handler: () => ({ ...order, lines }) }),
      // @ts-expect-error of another form of a union
      route({ ...get, response, handler: () => ({ ...order, paid }) }),
      // @ts-expect-error of no form of a union, beside null
      route({ ...get, response, handler: ({ ip }) => ({ ...order, paid: ip ? { ...card, ip } : null }) }),
      // @ts-expect-error in one of two answers
      route({ ...get, response, handler: ({ ip }) => (ip ? order : { ...order, ip }) }),
      // @ts-expect-error in a Reply
      route({ ...get, response, handler: () => new Reply(200, { ...order, place }) }),
      // @ts-expect-error in a Reply of another status
      route({ ...get, response, handler: () => new Reply(503, { busy: true, seconds: 3 }) }),
    )
  })

  it('refuse a Reply of an undeclared status, and one with the body of another', () => {
    compiled(
      // @ts-expect-error undeclared
      route({ ...get, response, handler: () => new Reply(202, order) }),
      // @ts-expect-error one of them undeclared
      route({ ...get, response, handler: ({ ip }) => new Reply(ip ? 200 : 202, order) }),
      // @ts-expect-error a status that is only known when it runs
      route({ ...get, response, handler: ({ ip }) => new Reply(ip.length, order) }),
      // @ts-expect-error the body of 503
      route({ ...get, response, handler: () => new Reply(200, { busy: true }) }),
      // @ts-expect-error the body of 200
      route({ ...get, response, handler: () => new Reply(503, order) }),
      // @ts-expect-error a body of no known type
      route({ ...get, response, handler: (): Reply => new Reply(200, order) }),
      // @ts-expect-error the body of another status than the first
      route({ ...get, response, handler: () => ({ busy: true }) }),
    )
  })

  it('let nothing but nothing through where the body is empty', () => {
    const response = { 204: null }
    compiled(
      route({ ...get, response, handler: () => {} }),
      route({ ...get, response, handler: async () => undefined }),
      route({ ...get, response, handler: () => new Reply(204, undefined, { Vary: 'Accept' }) }),
      // @ts-expect-error an object
      route({ ...get, response, handler: () => order }),
      // @ts-expect-error an object in a Reply
      route({ ...get, response, handler: () => new Reply(204, order) }),
    )
  })

  it('let bytes, text and streams through where the route says what they are', () => {
    const text = { ...get, response: { 200: Type.String() } }
    const both = { ...get, response, produces: ['application/json', 'text/html'] as const }
    const json = { ...get, response, produces: 'application/json' }
    const events = createEventStreams()
    compiled(
      route({ ...text, produces: 'text/plain', handler: () => 'text' }),
      route({ ...text, produces: 'image/png', handler: async () => Buffer.from('png') }),
      route({ ...text, produces: 'text/csv', handler: () => new Reply(200, Readable.from(['a'])) }),
      route({ ...text, produces: 'text/event-stream', handler: () => events.answer(() => () => {}) }),
      route({ ...both, handler: ({ ip }) => (ip ? order : new Reply(200, '<html>')) }),
      route({ ...json, produces: 'application/json', handler: () => Buffer.from('{}') }),
      // @ts-expect-error bytes of no declared type
      route({ ...get, response, handler: () => Buffer.from('{}') }),
      // @ts-expect-error text that would be quoted as JSON
      route({ ...json, produces: 'application/json', handler: () => '{}' }),
      // @ts-expect-error events of no declared type
      route({ ...text, produces: 'text/plain', handler: () => events.answer(() => () => {}) }),
      // @ts-expect-error another object
      route({ ...both, handler: () => ({ busy: true }) }),
    )
    events.close()
  })
})
