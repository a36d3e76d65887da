/** Event streams as published readers of them see them: those of browsers' own kind, and those built on fetch. */
import {
  type EventSourceMessage,
  EventStreamContentType,
  fetchEventSource,
} from '@microsoft/fetch-event-source'
import { expect } from 'chai'
import { EventSource } from 'eventsource'
import Type from 'typebox'
import {
  createEventStreams,
  type EventConnection,
  type EventStreams,
  eventFrame,
} from '../../src/http/event-stream.ts'
import { route } from '../../src/http/route.ts'
import { openStream } from '../support/chat/event-stream.ts'
import { eventually } from '../support/eventually.ts'
import { type HttpKit, startHttpKit } from '../support/http-kit.ts'

const HEARTBEAT_MS = 5
/** What the fetch-based reader takes for granted, as its pages have it. */
const PAGE = { window: globalThis, document: new EventTarget() }
const STATE = { event: 'state', data: '{"posting":"open"}' }
const MESSAGE = { event: 'message', id: '7', data: '{"id":7}' }

describe('readers of event streams', () => {
  let kit: HttpKit
  let streams: EventStreams
  let connections: EventConnection[]

  before(() => Object.assign(globalThis, PAGE))
  after(() => {
    for (const name of Object.keys(PAGE)) Reflect.deleteProperty(globalThis, name)
  })
  beforeEach(async () => {
    connections = []
    streams = createEventStreams({ heartbeatMs: HEARTBEAT_MS })
    const follow = route({
      name: 'follow',
      method: 'GET',
      path: '/api/stream',
      auth: 'none',
      cost: 0,
      tag: 'Test',
      summary: 'Follow',
      response: { 200: Type.String() },
      produces: 'text/event-stream',
      errors: [],
      handler: () =>
        streams.answer((connection) => {
          connections.push(connection)
          return () => undefined
        }),
    })
    kit = await startHttpKit([follow])
  })
  afterEach(async () => {
    streams.close()
    await kit.close()
  })

  /** What every reader is sent: an event, a while of nothing but heartbeats, another event. */
  const send = async (): Promise<void> => {
    const all = [...connections]
    for (const connection of all) connection.send(eventFrame(STATE.event, STATE.data))
    const witness = await openStream(`${kit.url}/api/stream`)
    await witness.until(({ text }) => text().split('\n:\n').length > 3)
    witness.close()
    for (const connection of all) connection.send(eventFrame(MESSAGE.event, MESSAGE.data, 7))
  }

  it('built on fetch hear the events and nothing else, whatever keeps the stream awake', async () => {
    const heard: EventSourceMessage[] = []
    const stop = new AbortController()
    let isClosed = false
    const reading = fetchEventSource(`${kit.url}/api/stream`, {
      openWhenHidden: true,
      signal: stop.signal,
      onmessage: (event) => heard.push(event),
      onclose: () => {
        isClosed = true
      },
      onerror: (error) => {
        throw error
      },
    })
    await eventually('the stream', () => connections.length === 1)
    await send()
    await eventually('both events', () => heard.some(({ id }) => id === MESSAGE.id))
    streams.close()
    await reading
    // `retry` comes with the first event, where such readers look for it.
    const [state, message] = [
      { ...STATE, id: '', retry: 3000 },
      { ...MESSAGE, retry: undefined },
    ]
    expect(heard).to.deep.equal([state, message])
    expect(isClosed).to.equal(true)
    stop.abort()
  })

  it('built on fetch come back after the end if their onclose throws, with the last id they saw', async () => {
    const asked: (string | undefined)[] = []
    const stop = new AbortController()
    const reading = fetchEventSource(`${kit.url}/api/stream`, {
      openWhenHidden: true,
      signal: stop.signal,
      async onopen({ headers }) {
        expect(headers.get('content-type')).to.include(EventStreamContentType)
      },
      fetch(input, init) {
        asked.push(new Headers(init?.headers).get('last-event-id') ?? undefined)
        return fetch(input, init)
      },
      onclose() {
        throw new Error('The stream has ended; come back.')
      },
      onerror: () => 1,
    })
    await eventually('the stream', () => connections.length === 1)
    connections[0]?.send(eventFrame(MESSAGE.event, MESSAGE.data, 7))
    connections[0]?.end()
    await eventually('the second stream', () => connections.length === 2)
    stop.abort()
    await reading
    expect(asked).to.deep.equal([undefined, '7'])
  })

  it('as browsers have them hear the same, and know when to come back', async () => {
    const source = new EventSource(`${kit.url}/api/stream`)
    const heard: string[] = []
    for (const kind of [STATE.event, MESSAGE.event])
      source.addEventListener(kind, ({ type, data }) => heard.push(`${type} ${data}`))
    await eventually('the stream', () => connections.length === 1)
    await send()
    await eventually('both events', () => heard.length === 2)
    expect(heard).to.deep.equal([`state ${STATE.data}`, `message ${MESSAGE.data}`])
    source.close()
  })
})
