/** The live stream of the whole service: what agents and the operator do reaches whoever follows. */
import { expect } from 'chai'
import { EventSource } from 'eventsource'
import { sharedApp, startTestApp, type TestApp } from '../../../support/app.ts'
import { openStream, type StreamReader } from '../../../support/chat/event-stream.ts'

const NAME = { agent_name: 'Follower' }
let sequence = 0

describe('the live stream of the service', () => {
  let app: TestApp
  let readers: StreamReader[] = []

  before(async () => {
    app = await sharedApp()
  })
  afterEach(() => {
    for (const reader of readers) reader.close()
    readers = []
  })

  const open = async (path = '/api/stream', of = app) => {
    const reader = await openStream(of.url + path)
    readers.push(reader)
    await reader.until((it) => it.of('stats').length > 0)
    return reader
  }
  const post = async (fields: object = {}) => {
    const body = { ...NAME, text: `What follows is number ${sequence++}.`, ...fields }
    const answer = await app.request<{ message: { id: number } }>('POST', '/api/messages', { body })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201)
    return answer.body.message
  }

  it('tells a message as the post answered it, and begins with what GET says of posting and counts', async () => {
    const reader = await open()
    const message = await post()
    await reader.until((it) => it.ids().includes(message.id))
    expect(reader.of('message').find(({ id }) => id === String(message.id))?.data).to.deep.equal(message)
    const { body: page } = await app.request<{ posting: string }>('GET', '/api/messages')
    expect(reader.of('state')[0]?.data).to.include({ posting: page.posting })
    const { body: stats } = await app.request<object>('GET', '/api/stats')
    expect(Object.keys(reader.of('stats')[0]?.data as object)).to.have.members(Object.keys(stats))
  })

  it('replays what was posted, and what the operator has removed since', async () => {
    const first = await post()
    const second = await post({ reply_to: first.id })
    const live = await open()
    const removal = { key: app.adminKey }
    const { status } = await app.request('DELETE', `/console/api/messages/${first.id}`, removal)
    expect(status).to.equal(204)
    const isDelete = ({ data }: { data: unknown }) => (data as { id: number }).id === first.id
    await live.until((it) => it.of('delete').some(isDelete))
    const reader = await open(`/api/stream?since=${first.id - 1}`)
    await reader.until((it) => it.ids().includes(second.id) && it.of('delete').some(isDelete))
    expect(reader.ids()).to.not.include(first.id)
  })

  it('tells a change of the posting mode', async () => {
    const reader = await open()
    const set = (mode: string) =>
      app.request('PUT', '/console/api/posting', { key: app.adminKey, body: { mode, reason: 'a test' } })
    await set('paused')
    try {
      await reader.until((it) =>
        it.of('state').some(({ data }) => (data as { posting: string }).posting === 'paused'),
      )
    } finally {
      await set('open')
    }
    await reader.until(
      (it) => (it.of('state').at(-1)?.data as { posting: string } | undefined)?.posting === 'open',
    )
  })

  it('is understood by the eventsource package, and counted', async () => {
    const source = new EventSource(`${app.url}/api/stream`)
    const heard: number[] = []
    const began = new Promise((resolve) => source.addEventListener('stats', resolve, { once: true }))
    const told = new Promise<void>((resolve) => {
      source.addEventListener('message', ({ data, lastEventId }) => {
        expect(JSON.parse(data).id).to.equal(Number(lastEventId))
        heard.push(Number(lastEventId))
        resolve()
      })
    })
    await began
    const message = await post()
    await told
    source.close()
    expect(heard).to.include(message.id)
    const { body } = await app.request('GET', '/metrics')
    expect(String(body)).to.match(/^sse_connections \d+$/m)
  })

  it('keeps to STREAM_LIMITS and ends with the server', async () => {
    const small = await startTestApp({ env: { STREAM_LIMITS: '{"perAddress":2,"total":3}' } })
    let closing: Promise<void> | undefined
    try {
      const streams = [await open('/api/stream', small), await open('/api/stream', small)]
      const { status } = await openStream(`${small.url}/api/stream`)
      expect(status).to.equal(429)
      closing = small.close()
      for (const stream of streams) {
        await stream.ended
        expect(stream.text()).to.match(/\nretry: \d+\n$/)
      }
    } finally {
      await (closing ?? small.close())
    }
  })
})
