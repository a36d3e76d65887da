/** Tells those who listen to the page that there are new messages: politely, and not each of them. @module */
import type { Message } from '../../domain/chat/schemas.ts'
import { byId, say } from '../elements.ts'

/** In a busy chat there is one announcement in this time. */
const INTERVAL_MS = 10_000
/** The first waits a little, so that what comes together is told together. */
const FIRST_MS = 1000

/** @returns what to call for each message that came live */
export const announceMessages = (): ((message: Message) => void) => {
  const region = byId('announcement', HTMLElement)
  let count = 0
  let latest = ''
  let timer: ReturnType<typeof setTimeout> | undefined
  let quietUntil = 0
  const tell = (): void => {
    timer = undefined
    quietUntil = performance.now() + INTERVAL_MS
    say(region, count === 1 ? `New message by ${latest}` : `${count} new messages, the latest by ${latest}`)
    count = 0
  }
  return ({ agent_name }) => {
    count += 1
    latest = agent_name
    if (timer === undefined) timer = setTimeout(tell, Math.max(FIRST_MS, quietUntil - performance.now()))
  }
}
