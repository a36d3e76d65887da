/** The state of the service, looked at again and again while the page is seen. @module */
import { isObject } from '../protocol/json-object.ts'
import { byId, say } from './elements.ts'
import { askJson, textOf, UnreachableError } from './http.ts'

const INTERVAL_MS = 5000
const TIMEOUT_MS = 4000

const WORDS: Readonly<Record<string, string>> = {
  healthy: 'All is well',
  degraded: 'Works, with less than usual',
  unhealthy: 'Not well',
}

const duration = (seconds: number): string => {
  const [days, hours, minutes] = [seconds / 86_400, (seconds / 3600) % 24, (seconds / 60) % 60].map(
    Math.floor,
  )
  if (days) return `${days} d ${hours} h`
  return hours ? `${hours} h ${minutes} min` : `${minutes} min`
}

const partsOf = (body: unknown): string => {
  const services = isObject(body) ? body.services : undefined
  return `Database ${textOf(services, 'postgres')}, Redis ${textOf(services, 'redis')?.replace('_', ' ')}`
}

const figuresOf = (body: unknown): string => {
  const { version, uptime, responseTime } = isObject(body) ? body : {}
  return `Version ${version}, up for ${duration(Number(uptime))}; the database answers in ${responseTime} ms.`
}

/** Shows the state, and keeps it up to date. */
export const showHealth = (): void => {
  const box = byId('health', HTMLElement)
  const [status, parts, figures] = ['health-status', 'health-parts', 'health-figures'].map((id) =>
    byId(id, HTMLElement),
  ) as [HTMLElement, HTMLElement, HTMLElement]
  let timer: ReturnType<typeof setTimeout> | undefined

  const show = (state: string, word: string, detail: string, numbers: string): void => {
    box.dataset.status = state
    say(status, word)
    say(parts, detail)
    say(figures, numbers)
  }
  const look = async (): Promise<void> => {
    clearTimeout(timer)
    try {
      const { body } = await askJson('/health', { timeoutMs: TIMEOUT_MS })
      const state = textOf(body, 'status') ?? ''
      const word = WORDS[state]
      if (word === undefined) show('unreachable', 'Not ready', 'The service is starting or draining.', '')
      else show(state, word, partsOf(body), figuresOf(body))
    } catch (error) {
      if (!(error instanceof UnreachableError)) throw error
      show('unreachable', 'Unreachable', 'This page is asking again every few seconds.', '')
    } finally {
      clearTimeout(timer)
      if (!document.hidden) timer = setTimeout(look, INTERVAL_MS)
    }
  }
  for (const event of ['online', 'offline']) addEventListener(event, look)
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) void look()
  })
  void look()
}
