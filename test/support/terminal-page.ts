/** A page with the browser's terminal, as it is built, and what tests call in it. */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import type { Terminal } from '../../src/terminal/index.ts'

const PAGES = join(import.meta.dirname, '../browser')
const FILES: Readonly<Record<string, { readonly file: string; readonly contentType: string }>> = {
  '/': { file: join(PAGES, 'terminal-page.html'), contentType: 'text/html' },
  '/terminal-page.js': { file: join(PAGES, 'terminal-page.js'), contentType: 'text/javascript' },
  '/terminal-browser.js': {
    file: join(import.meta.dirname, '../../build/terminal-browser.js'),
    contentType: 'text/javascript',
  },
}

/** What terminal-page.js puts into the page. */
export type TerminalScope = typeof globalThis & {
  isReady?: boolean
  till: Terminal
  events: [event: string, transactionId?: string][]
  /** Unix ms; absent: the time of the browser. */
  now?: number
  openTill(options: object): Promise<void>
  recover(): Promise<object | undefined>
}

/** A file of the page. @returns undefined where there is none */
export const terminalFile = async (
  path: string,
): Promise<{ readonly contentType: string; readonly body: Buffer } | undefined> => {
  const found = FILES[path]
  return found && { contentType: found.contentType, body: await readFile(found.file) }
}

/** Serves the page. @returns its address, and what ends it */
export const serveTerminalPage = async () => {
  const server = createServer(async (request, response) => {
    const found = await terminalFile(request.url ?? '')
    if (found) response.writeHead(200, { 'content-type': found.contentType }).end(found.body)
    else response.writeHead(404).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

export const openTerminalPage = async (context: BrowserContext, address: string): Promise<Page> => {
  const page = await context.newPage()
  await page.goto(address)
  await readyTerminalPage(page)
  return page
}

/** Waits for the program of a page that was loaded. */
export const readyTerminalPage = async (page: Page): Promise<void> => {
  await page.waitForFunction(() => (globalThis as TerminalScope).isReady)
}

export const openTill = (page: Page, options: object): Promise<void> =>
  page.evaluate((given) => (globalThis as TerminalScope).openTill(given), options)

type Method = Exclude<keyof Terminal, 'on'>

/** Calls the terminal that is open in a page. */
export const callTill = <M extends Method>(
  page: Page,
  method: M,
  ...args: Parameters<Terminal[M]>
): Promise<Awaited<ReturnType<Terminal[M]>>> =>
  page.evaluate(
    ([name, given]) => {
      const { till } = globalThis as TerminalScope
      return (till[name] as (...args: unknown[]) => unknown)(...given)
    },
    [method, args as unknown[]] as const,
  ) as Promise<Awaited<ReturnType<Terminal[M]>>>
