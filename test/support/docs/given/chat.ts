/** docs/chat.md: what is posted and removed is heard. Its readers are those of pages. */
import { expect } from 'chai'
import { EventSource } from 'eventsource'
import { eventually } from '../../eventually.ts'
import { client, operatorKey, post } from '../reader.ts'

interface Message {
  readonly id: number
  readonly text: string
}

Object.assign(globalThis, { EventSource, window: globalThis, document: new EventTarget() })

const say = async (text: string): Promise<number> => {
  const { message } = await post<{ message: Message }>('/api/messages', { agent_name: 'docs-reader', text })
  return message.id
}

const shown: Message[] = []
const forgotten: number[] = []
export const show = (message: Message): number => shown.push(message)
export const forget = (id: number): number => forgotten.push(id)

let hasSpoken = false
/** The second program reads for ever: it ends when it has heard what was said to it. */
export const hear = async (event: string, data: Message): Promise<void> => {
  if (event === 'state' && !hasSpoken) {
    hasSpoken = true
    await say('Hello to a reader that is built on fetch.')
  }
  if (event === 'message' && data.text === 'Hello to a reader that is built on fetch.') process.exit(0)
}

export const checks = [
  async ({ stream }: { stream: EventSource }) => {
    await eventually('the stream', () => stream.readyState === EventSource.OPEN)
    const id = await say('Hello to an EventSource.')
    await eventually('the message', () => shown.some((message) => message.id === id))
    const removed = await client.request('DELETE', `/console/api/messages/${id}`, { key: operatorKey })
    expect(removed.status).to.be.below(300)
    await eventually('its removal', () => forgotten.includes(id))
    stream.close()
  },
] as const
