/**
 * Keeps the till on the device, so that it starts without a network: its page and what that is made of, one cache for each
 * build. Everything else goes to the service, as if this program weren't there.
 * @module
 */
import { ACTIVATE } from './worker-path.ts'

/** Filled in by the build: addresses of all files of the till, and a name that changes with any of them. */
declare const TILL_FILES: readonly string[]
declare const TILL_BUILD: string

const PAGE = '/terminal'
const CACHE = `assay-till-${TILL_BUILD}`

/** What the till asks the service, as patterns of addresses. */
const OF_THE_SERVICE = ['/api/*', '/health*'] as const

/** The types of a worker's scope aren't there beside those of a page. */
interface Extendable extends Event {
  waitUntil(work: Promise<unknown>): void
}
interface Route {
  readonly condition: { readonly urlPattern: string }
  readonly source: 'network'
}
interface Installing extends Extendable {
  /** Not in all browsers. */
  addRoutes?(routes: readonly Route[]): Promise<void>
}
interface Fetching extends Extendable {
  readonly request: Request
  respondWith(answer: Promise<Response>): void
}
interface Scope {
  addEventListener(type: 'install', listener: (event: Installing) => void): void
  addEventListener(type: 'activate', listener: (event: Extendable) => void): void
  addEventListener(type: 'fetch', listener: (event: Fetching) => void): void
  addEventListener(type: 'message', listener: (event: MessageEvent) => void): void
  skipWaiting(): Promise<void>
  readonly clients: { claim(): Promise<void> }
}
const scope = globalThis as unknown as Scope

scope.addEventListener('install', (event) => {
  const keep = async (): Promise<void> => {
    const cache = await caches.open(CACHE)
    await cache.addAll([PAGE, ...TILL_FILES].map((path) => new Request(path, { cache: 'reload' })))
  }
  event.waitUntil(keep())
  // Past this program: Chromium lets a new version take its place only once it has nothing to do, and now and then did not see that
  // any more where the till asked the service in just that moment.
  const routes = OF_THE_SERVICE.map((urlPattern): Route => ({ condition: { urlPattern }, source: 'network' }))
  event.addRoutes?.(routes).catch(() => undefined)
})

scope.addEventListener('activate', (event) => {
  const takeOver = async (): Promise<void> => {
    const old = (await caches.keys()).filter((name) => name.startsWith('assay-till-') && name !== CACHE)
    await Promise.all(old.map((name) => caches.delete(name)))
    await scope.clients.claim()
  }
  event.waitUntil(takeOver())
})

scope.addEventListener('message', ({ data }) => {
  if (data === ACTIVATE) void scope.skipWaiting()
})

scope.addEventListener('fetch', (event) => {
  const { request } = event
  const url = new URL(request.url)
  if (request.method !== 'GET' || url.origin !== location.origin) return
  if (url.pathname !== PAGE && !TILL_FILES.includes(url.pathname)) return
  const answer = async (): Promise<Response> =>
    (await (await caches.open(CACHE)).match(url.pathname)) ?? fetch(request)
  event.respondWith(answer())
})
